//! What the stored plans still ask of logs that lie there as they did then.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::Context;
use crate::cli::look::Look;
use crate::engine::PlanStore;
use crate::format::file_name::{FileKind, PartitionFile};
use crate::plan::{Ask, FileStamp, PartitionPlan, RecoveryPlan, Verdict};

/// How many plans are looked into at most, for logs of which the newest say nothing.
const MAX_PLANS: usize = 16;

/// The logs that ask, by what the newest plan that looked at each of them says.
#[derive(Debug, Default)]
pub(super) struct OpenAsks {
    /// Name of the log's dir, and what is asked; only of logs whose files are as they were.
    pub(super) open: Vec<(String, Ask)>,
    /// Whether a log asked once whose files are others by now.
    changed_since: bool,
}

impl OpenAsks {
    /// Returns what is open; `None` without a plan of these log dirs. `now` has the names and sizes of now.
    pub(super) fn of(context: &Context, look: &Look, now: &RecoveryPlan) -> Option<Self> {
        let dir = context.settings.state_dir.as_ref()?;
        let mut left: BTreeMap<(PathBuf, String), &PartitionPlan> = BTreeMap::new();
        for dir in &now.log_dirs {
            for log in &dir.partitions {
                left.insert((dir.path.clone(), log.dir_name.clone()), log);
            }
        }
        let mut asks: Option<Self> = None;
        let store = PlanStore::new(&dir.value);
        for plan in store.recoveries(&look.log_dirs).take(MAX_PLANS) {
            let asks = asks.get_or_insert_default();
            for dir in plan.log_dirs {
                for log in dir.partitions {
                    asks.take(&mut left, &dir.path, log);
                }
            }
            if left.is_empty() {
                break;
            }
        }
        asks
    }

    /// Takes what a plan says of a log, unless a newer one has spoken of it.
    fn take(
        &mut self,
        left: &mut BTreeMap<(PathBuf, String), &PartitionPlan>,
        dir: &Path,
        log: PartitionPlan,
    ) {
        // A plan of other logs only says nothing of this one.
        if matches!(log.verdict, Verdict::Skipped { .. }) {
            return;
        }
        let Some(now) = left.remove(&(dir.to_owned(), log.dir_name.clone())) else {
            return;
        };
        match &log.verdict {
            Verdict::Ask(ask) if ask.accepted => {}
            Verdict::Ask(ask) if is_same(&log, now) => self.open.push((log.dir_name, ask.clone())),
            Verdict::Ask(_) => self.changed_since = true,
            _ => {}
        }
    }

    /// Returns how many logs ask; `None` where those that asked have changed and nothing newer was planned.
    pub(super) fn count(&self) -> Option<u64> {
        let known = !(self.open.is_empty() && self.changed_since);
        known.then_some(self.open.len() as u64)
    }
}

fn is_log(name: &str) -> bool {
    matches!(
        PartitionFile::parse(name),
        PartitionFile::Segment {
            kind: FileKind::Log,
            ..
        }
    )
}

/// Says whether the `.log` files are those that the plan saw.
fn is_same(then: &PartitionPlan, now: &PartitionPlan) -> bool {
    let logs = |plan: &PartitionPlan| {
        let mut logs: Vec<FileStamp> = plan
            .stamps
            .iter()
            .filter(|stamp| is_log(&stamp.name))
            .cloned()
            .collect();
        logs.sort_by(|a, b| a.name.cmp(&b.name));
        logs
    };
    logs(then) == logs(now)
}
