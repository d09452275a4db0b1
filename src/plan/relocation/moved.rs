//! What a relocation comes to.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::log::Finding;
use crate::plan::{Class, Step, Verdict};
use crate::terms::Offset;

/// What a relocation comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relocation {
    /// The log dir that the partition goes to.
    pub to: PathBuf,
    /// The name of the copy there until it is whole, and of the source here once the copy has its place.
    pub aside: String,
    /// Bytes of the files that are copied; 0 where the dir is renamed, or the copy is there already.
    pub copied_bytes: u64,
    /// Bytes that become free on the volume that it leaves.
    pub freed: u64,
    /// Whether no other replica is known to be in sync.
    pub last_copy: bool,
    /// Bytes of its `.log` files.
    pub bytes: u64,
}

impl Relocation {
    /// Returns how it must be confirmed: nothing goes but what was compared with its copy, unless it is the last one.
    pub fn class(&self) -> Class {
        if self.last_copy { Class::C } else { Class::B }
    }
}

/// What is decided of a relocation.
#[derive(Debug, Clone, PartialEq)]
pub struct RelocationPlan {
    /// [`Verdict::Move`], or why not.
    pub verdict: Verdict,
    /// What an apply does, in this order.
    pub steps: Vec<Step>,
    /// What the operator should know.
    pub findings: Vec<Finding>,
    /// Whether the target's clean-shutdown marker must go: the next boot has to read the log that comes.
    pub removes_target_marker: bool,
    /// Where the log starts, as far as checkpoint and names tell.
    pub log_start_offset: Option<Offset>,
    /// Where the log ends (exclusive); `None` where only a scan would tell.
    pub log_end_offset: Option<Offset>,
}
