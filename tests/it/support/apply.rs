//! Plans and applies in this process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use krescue::disk::Storage;
use krescue::engine::{
    Confirmed, JobOutcome, JobSpec, PlanSpec, PlanStore, StoredPlan, Who, apply_here, start_plan,
};
use krescue::plan::{EvidenceSource, ReplicaEvidence};
use krescue::terms::Timestamp;

/// Makes and stores the plan of `spec`.
pub(crate) fn stored(state: &Path, mut spec: PlanSpec) -> StoredPlan {
    spec.state_dir = Some(state.to_owned());
    let made = start_plan(spec).unwrap().join().unwrap();
    PlanStore::new(state).save(made).unwrap()
}

/// Applies a stored plan.
pub(crate) fn apply(storage: &dyn Storage, state: &Path, plan: &StoredPlan) -> JobOutcome {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let outcome = apply_here(storage, state, plan, &job_spec(plan), |_| ());
        // The child of another test has this process' files open, an earlier apply's lock among them, until it runs its own
        // program.
        match &outcome {
            JobOutcome::Refused { cause }
                if cause.contains(".lock open for writing") && Instant::now() < end => {}
            _ => return outcome,
        }
    }
}

/// Returns what an apply of a plan is started with.
pub(crate) fn job_spec(plan: &StoredPlan) -> JobSpec {
    let at = Timestamp(1_796_033_700_000);
    JobSpec {
        threads: Some(2),
        ..JobSpec::of(plan, at, Who::named("a test"), Confirmed::YesToAll)
    }
}

/// Returns every file below `dir` with its bytes, but the lock.
pub(crate) fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut paths = vec![dir.to_owned()];
    while let Some(path) = paths.pop() {
        for entry in std::fs::read_dir(&path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                paths.push(path);
            } else if !path.ends_with(".lock") {
                let name = path.strip_prefix(dir).unwrap().to_owned();
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Copies a log dir, times included.
pub(crate) fn copy_tree(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp")
        .args(["-a", "--sparse=always"])
        .arg(from)
        .arg(to)
        .status()
        .unwrap();
    assert!(status.success());
}

/// Returns the evidence of this host that broker 1 alone is in sync.
pub(crate) fn alone(as_of: Timestamp) -> ReplicaEvidence {
    ReplicaEvidence {
        broker: Some(1),
        isr: vec![1],
        leader: Some(1),
        as_of,
        source: EvidenceSource::Disk,
        ends: Vec::new(),
    }
}
