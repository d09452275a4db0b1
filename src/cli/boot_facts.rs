//! Puts together what a preflight looks at: the configuration, the broker's user, its log dirs, the host.

use std::path::{Path, PathBuf};

use crate::cli::Context;
pub use crate::cli::boot_ports::Ports;
use crate::cli::boot_ports::{controllers, has_role, listeners};
use crate::cli::look::Look;
use crate::cli::target::Presence;
use crate::disk::{RealStorage, read_mounts};
use crate::engine::{BootDirsRead, read_boot_dirs};
use crate::format::file_name::META_PROPERTIES;
use crate::format::meta_properties::{MetaProperties, MetaPropertiesVersion};
use crate::log::{FindingCode, Severity};
use crate::observe::{
    heap_of, is_broker, max_map_count, mount_error, named_mounts, open_files_of, seconds_of,
    unit_setting,
};
use crate::plan::preflight::{
    AtBoot, BootFacts, BootUser, ConfigFacts, DirState, ExpectedMount, Grace, HostFacts, Limit,
    LogDirFacts, MetadataKept, PartitionFacts, Problem, StopFacts, check_boot,
};
use crate::settings::{BrokerConfig, Source};
use crate::terms::KafkaVersion;

/// `log.cleaner.dedupe.buffer.size` unless it is set.
const DEDUPE_BUFFER: u64 = 128 << 20;

/// Gathers all facts; nothing is changed.
pub fn boot_facts(context: &Context, look: &Look, ports: Ports) -> BootFacts {
    boot_facts_counted(context, look, ports, &BootDirsRead::default())
}

/// The same; `read` says how far it is, and can stop it.
pub fn boot_facts_counted(
    context: &Context,
    look: &Look,
    ports: Ports,
    read: &BootDirsRead,
) -> BootFacts {
    let broker = &look.candidate.broker;
    let metadata_dir = broker
        .metadata_log_dir
        .as_ref()
        .map(|dir| dir.value.clone());
    let dirs = read_boot_dirs(
        &RealStorage,
        &broker.log_dirs.value,
        metadata_dir.as_deref(),
        read,
    );
    let metadata_dir = metadata_dir.or_else(|| {
        let holds = |dir: &&LogDirFacts| {
            let mut logs = dir.partitions.iter();
            logs.any(PartitionFacts::is_metadata_log)
        };
        dirs.iter().find(holds).map(|dir| dir.path.clone())
    });
    // Without a file the log dirs say it: those of a ZooKeeper broker have version 0.
    let is_v1 = |dir: &LogDirFacts| {
        let meta = dir.meta.bytes().map(MetaProperties::parse);
        matches!(meta, Some(Ok(meta)) if meta.version == MetaPropertiesVersion::V1)
    };
    let is_kraft = look.version.version >= KafkaVersion::new(4, 0, 0)
        || metadata_dir.is_some() && broker.path.is_none()
        || dirs.iter().any(is_v1);
    let root = Path::new("/");
    let unit = look.candidate.unit.as_deref();
    BootFacts {
        version: look.version.version,
        now: context.now,
        config: config_facts(
            broker,
            metadata_dir,
            (look.identity.node_id, is_kraft),
            ports,
        ),
        user: user(root, unit, look.candidate.pid, &dirs),
        host: HostFacts {
            open_files: open_files(root, unit, look.candidate.pid),
            map_count: max_map_count(root),
            heap: heap_of(root, unit, look.candidate.pid).map(|heap| Limit {
                value: heap.bytes,
                source: heap.source,
            }),
            mounts: mounts(root, &dirs),
            clock: (!context.now_given).then_some(context.now),
        },
        dirs,
        image: look.topics.image.clone(),
    }
}

/// Returns the bytes of heap that the log cleaner takes when it starts; `None` where it does not.
fn dedupe_buffer(broker: &BrokerConfig) -> Option<u64> {
    let of = |key: &str| broker.properties.get(key).map(|value| value.trim());
    let is_off = of("log.cleaner.enable").is_some_and(|on| on.eq_ignore_ascii_case("false"));
    let buffer = || match of("log.cleaner.dedupe.buffer.size") {
        Some(bytes) => bytes.parse().ok(),
        None => Some(DEDUPE_BUFFER),
    };
    if is_off { None } else { buffer() }
}

fn config_facts(
    broker: &BrokerConfig,
    metadata_dir: Option<PathBuf>,
    (stored_node_id, is_kraft): (Option<i32>, bool),
    ports: Ports,
) -> ConfigFacts {
    let roles = broker.process_roles.as_deref().unwrap_or_default();
    let voters = broker
        .properties
        .get("controller.quorum.voters")
        .or_else(|| broker.properties.get("controller.quorum.bootstrap.servers"))
        .map_or(0, |voters| voters.split(',').count());
    ConfigFacts {
        file: broker.path.clone(),
        node_id: broker
            .node_id
            .as_ref()
            .map(|id| id.value)
            .or(stored_node_id),
        metadata: if has_role(broker, "controller") && voters <= 1 {
            MetadataKept::HereAlone
        } else if !roles.is_empty() || is_kraft {
            MetadataKept::Quorum
        } else {
            MetadataKept::ZooKeeper
        },
        metadata_dir,
        log_dirs_line: match &broker.log_dirs.source {
            Source::File { line, .. } => Some(*line),
            _ => None,
        },
        ports: listeners(broker, ports),
        controllers: controllers(broker, ports),
        dedupe_buffer: dedupe_buffer(broker),
    }
}

/// Finds the user who will boot: that of the process, of the unit, or the owner of `meta.properties`.
fn user(
    root: &Path,
    unit: Option<&str>,
    pid: Option<u32>,
    dirs: &[LogDirFacts],
) -> Option<BootUser> {
    use std::os::unix::fs::MetadataExt as _;
    let of_process = pid.and_then(|pid| {
        let stat = std::fs::metadata(root.join(format!("proc/{pid}"))).ok()?;
        Some(named_user(stat.uid(), format!("the user of process {pid}")))
    });
    let of_unit = || {
        let unit = unit?;
        let setting = unit_setting(root, unit, "User")?;
        let source = setting.source("User");
        let user = match setting.value.parse() {
            Ok(uid) => nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid)),
            Err(_) => nix::unistd::User::from_name(&setting.value),
        };
        let user = user.ok().flatten()?;
        Some(named_user(user.uid.as_raw(), source))
    };
    let of_file = || {
        dirs.iter().find_map(|dir| {
            let owner = dir.entry(META_PROPERTIES)?.access;
            let source = format!("the owner of {}", dir.path.join(META_PROPERTIES).display());
            let mut user = named_user(owner.uid, source);
            if user.gids.is_empty() {
                user.gids.push(owner.gid);
            }
            Some(user)
        })
    };
    of_process.or_else(of_unit).or_else(of_file)
}

fn named_user(uid: u32, source: String) -> BootUser {
    let user = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid))
        .ok()
        .flatten();
    let mut gids = Vec::new();
    if let Some(user) = &user {
        gids.push(user.gid.as_raw());
        let groups = std::ffi::CString::new(user.name.as_str())
            .ok()
            .and_then(|name| nix::unistd::getgrouplist(&name, user.gid).ok());
        gids.extend(groups.into_iter().flatten().map(nix::unistd::Gid::as_raw));
    }
    BootUser {
        uid,
        gids,
        name: user.map_or_else(|| uid.to_string(), |user| user.name),
        source,
    }
}

/// Finds how many files the broker may have open: as its process has it, as its unit says, else as this session has it.
fn open_files(root: &Path, unit: Option<&str>, pid: Option<u32>) -> Option<Limit> {
    // That of a process that is gone is not known any more: its unit's is.
    if let Some(pid) = pid
        && let Some(value) = open_files_of(root, pid)
    {
        return Some(Limit {
            value,
            source: format!("the limit of process {pid}"),
        });
    }
    if let Some(unit) = unit {
        let setting = unit_setting(root, unit, "LimitNOFILE");
        return Some(match setting {
            Some(setting) => {
                // A JVM raises its soft limit to the hard one.
                let hard = setting.value.rsplit(':').next().unwrap_or_default();
                Limit {
                    value: match hard {
                        "infinity" => u64::MAX,
                        number => number.parse().ok()?,
                    },
                    source: setting.source("LimitNOFILE"),
                }
            }
            None => Limit {
                value: 524_288,
                source: format!("systemd's default, {unit} sets no LimitNOFILE="),
            },
        });
    }
    Some(Limit {
        value: open_files_of(root, std::process::id())?,
        source: "the limit of this session; the broker's own may differ".to_owned(),
    })
}

/// Returns the mounts that should be there for the log dirs.
fn mounts(root: &Path, dirs: &[LogDirFacts]) -> Vec<ExpectedMount> {
    let present = read_mounts();
    let over_a_dir = |point: &Path| dirs.iter().any(|dir| dir.path.starts_with(point));
    named_mounts(root)
        .into_iter()
        .filter(|mount| over_a_dir(&mount.mount_point))
        .map(|mount| {
            let is_mounted = present.iter().any(|of| of.mount_point == mount.mount_point);
            ExpectedMount {
                error: (!is_mounted)
                    .then(|| mount_error(root, &mount.source))
                    .flatten(),
                mount_point: mount.mount_point,
                source: mount.source,
                told_by: mount.told_by,
                is_mounted,
            }
        })
        .collect()
}

/// Returns the problems of all rules; over a running broker those of a next boot.
pub fn boot_problems(look: &Look, facts: &BootFacts) -> Vec<Problem> {
    let mut problems = check_boot(facts);
    if let Presence::Running { how, pid, locked } = &look.presence
        && (locked.is_empty() || pid.is_none_or(may_be_broker))
    {
        // Its own lock keeps no boot out that comes after it.
        problems.retain(|problem| problem.finding.code != FindingCode::LockHeld);
        let text = format!("{how}: a second broker does not start on its log dirs");
        problems.insert(
            0,
            Problem::new(FindingCode::LockHeld, AtBoot::Exits, text)
                .severity(Severity::Warning)
                .next("krescue preflight --stop says what a stop costs; below is what the boot behind it meets"),
        );
    }
    problems
}

/// Says whether a process is a broker or hides what it is; another that holds a lock keeps the broker out.
fn may_be_broker(pid: u32) -> bool {
    let proc = Path::new("/proc");
    let line = std::fs::read(proc.join(format!("{pid}/cmdline")));
    is_broker(proc, pid) || line.map_or(true, |line| line.is_empty())
}

/// Says whether every log dir could be listed.
pub(super) fn is_listed(facts: &BootFacts) -> bool {
    facts.dirs.iter().all(|dir| dir.state == DirState::Listed)
}

/// Gathers what a stop depends on beside the log dirs.
pub(super) fn stop_facts(look: &Look) -> StopFacts {
    let root = Path::new("/");
    let unit = look.candidate.unit.as_deref();
    let pid = look.presence.pid().or(look.candidate.pid);
    let cgroup = pid
        .and_then(|pid| std::fs::read_to_string(root.join(format!("proc/{pid}/cgroup"))).ok())
        .unwrap_or_default();
    let in_container = ["kubepods", "docker", "containerd", "libpod", "crio"]
        .iter()
        .any(|word| cgroup.contains(word));
    let setting = |key: &str| unit.and_then(|unit| unit_setting(root, unit, key));
    let timeout = setting("TimeoutStopSec").or_else(|| setting("TimeoutSec"));
    let kills = setting("SendSIGKILL").is_none_or(|kills| {
        !["no", "false", "off", "0"].contains(&kills.value.to_ascii_lowercase().as_str())
    });
    let limited = timeout.as_ref().map(|timeout| seconds_of(&timeout.value));
    let grace = match (unit, timeout, limited) {
        (Some(_), _, _) if !kills => Grace::Unlimited("its unit says SendSIGKILL=no".to_owned()),
        (_, Some(timeout), Some(Some(seconds))) => Grace::Seconds {
            seconds,
            source: timeout.source("TimeoutStopSec"),
        },
        (_, Some(timeout), _) => {
            let source = timeout.source("TimeoutStopSec");
            Grace::Unlimited(format!("no limit by {source}"))
        }
        _ if in_container => Grace::Container,
        (Some(unit), None, _) => Grace::Seconds {
            seconds: SYSTEMD_STOP_S,
            source: format!("systemd's default, {unit} sets no TimeoutStopSec="),
        },
        (None, None, _) => Grace::Unlimited("no unit of systemd is known to stop it".to_owned()),
    };
    let plain = &look.candidate.broker.properties;
    StopFacts {
        grace,
        signal: setting("KillSignal")
            .map(|signal| (signal.value.clone(), signal.source("KillSignal"))),
        controlled_shutdown: plain
            .get("controlled.shutdown.enable")
            .map(|enable| enable.trim().eq_ignore_ascii_case("true")),
        retry_keys: [
            "controlled.shutdown.max.retries",
            "controlled.shutdown.retry.backoff.ms",
        ]
        .into_iter()
        .filter(|key| plain.contains_key(*key))
        .collect(),
        min_isr: plain
            .get("min.insync.replicas")
            .and_then(|min| min.trim().parse().ok()),
        dirty_bytes: dirty_bytes(root),
        runs: matches!(look.presence, Presence::Running { .. }),
    }
}

/// `DefaultTimeoutStopSec=` of systemd, in seconds.
const SYSTEMD_STOP_S: u64 = 90;

/// Returns the host's bytes that wait to be written.
fn dirty_bytes(root: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Dirty:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
