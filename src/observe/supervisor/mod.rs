//! Who would kill a slow boot: the systemd unit's limits, the memory limit of the cgroup, what the kernel killed.

mod cgroup;
mod kernel;
mod systemd;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use cgroup::Cgroup;
pub use kernel::KernelKill;
pub use systemd::UnitLimits;

/// What is known of those who could end a process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Supervision {
    /// The systemd unit that started it.
    pub unit: Option<UnitLimits>,
    /// Its cgroup.
    pub cgroup: Option<Cgroup>,
    /// Whether it runs in a container whose runtime may have probes of its own.
    pub in_pod: bool,
    /// Java processes that the kernel killed for memory, oldest first.
    pub kills: Vec<KernelKill>,
    /// What could not be seen, a clause each.
    pub unseen: Vec<String>,
}

/// Returns the kernel's word that it killed process `pid` for memory; `began_s` is when that began, in seconds since the
/// host's boot, as its id may be an older process' too.
pub(super) fn kernel_kill_of(root: &Path, pid: u32, began_s: u64) -> Option<KernelKill> {
    let kills = kernel::kernel_kills(&root.join("dev/kmsg")).ok()?;
    let of_it = |kill: &KernelKill| kill.pid == pid && kill.at_s >= began_s;
    kills.into_iter().rev().find(of_it)
}

/// Looks who supervises process `pid`; `root` is `/`, another folder in tests.
pub fn supervision_of(root: &Path, pid: u32) -> Supervision {
    let mut seen = Supervision::default();
    let text = std::fs::read_to_string(root.join(format!("proc/{pid}/cgroup")));
    let text = text.unwrap_or_default();
    seen.in_pod = text.contains("kubepods");
    seen.cgroup = cgroup::cgroup_of(root, &text);
    if let Some(unit) = super::process::unit_of_cgroup(&text) {
        seen.unit = Some(systemd::unit_limits(root, &unit));
    }
    match kernel::kernel_kills(&root.join("dev/kmsg")) {
        Ok(kills) => seen.kills = kills,
        Err(error) => seen.unseen.push(format!("the kernel's messages ({error})")),
    }
    seen
}
