//! The golden cases again, on a file system: what engine and disk make of a plan is what the plan says.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use krescue::engine::{JobOutcome, PlanSpec};
use krescue::format::offset_checkpoint::OffsetCheckpoint;
use krescue::plan::{HandOver, OnLoss, RecoveryInputs};

use crate::golden::{PACKED, VERSIONS, applied, case, names};
use crate::support::apply::{apply, stored};
use crate::support::golden_archive::{Files, unpack};
use crate::support::memory_dir::MemoryDir;
use crate::support::storage::StoppingStorage;
use crate::support::volumes::fast_tempdir;

/// Writes a case's log dir.
pub(crate) fn write(dir: &MemoryDir, files: &Files, name: &str, log_dir: &Path) {
    let partition = log_dir.join(&dir.name);
    std::fs::create_dir_all(&partition).unwrap();
    for (file, bytes) in &dir.files {
        match bytes {
            Some(bytes) => std::fs::write(partition.join(file), bytes).unwrap(),
            None => std::fs::create_dir(partition.join(file)).unwrap(),
        }
    }
    std::fs::write(log_dir.join("meta.properties"), "version=1\n").unwrap();
    for checkpoint in [
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
    ] {
        let bytes = &files[&format!("{name}/before/{checkpoint}")];
        // The entry of another name would not be found.
        let bytes = OffsetCheckpoint::parse(bytes).map_or_else(
            |_| bytes.clone(),
            |mut parsed| {
                for (partition, _) in &mut parsed.entries {
                    topic_of(&dir.name).clone_into(&mut partition.topic);
                }
                parsed.encode()
            },
        );
        std::fs::write(log_dir.join(checkpoint), bytes).unwrap();
    }
}

pub(crate) fn topic_of(dir_name: &str) -> &str {
    dir_name.rsplit_once('-').unwrap().0
}

fn read(partition: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    std::fs::read_dir(partition)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = entry.path();
            (name, path.is_file().then(|| std::fs::read(path).unwrap()))
        })
        .collect()
}

pub(crate) fn spec(log_dir: &Path, inputs: &RecoveryInputs) -> PlanSpec {
    let mut spec = PlanSpec::new(vec![log_dir.to_owned()], inputs.version, inputs.now);
    spec.hand_over = HandOver::None;
    spec.decisions.others = OnLoss::LikeKafka;
    let config = inputs.config;
    spec.topic_configs = Arc::new(move |_| config);
    spec
}

#[test]
fn the_files_end_as_the_plan_says() {
    let files = unpack(PACKED);
    let mut failures = Vec::new();
    for name in names(&files) {
        for version in VERSIONS {
            let case = case(&files, &name, version);
            let plan = case.dir.plan(&case.inputs);
            let want = applied(&case.dir, &plan);
            let work = fast_tempdir();
            let (state, log_dir) = (work.path().join("state"), work.path().join("d1"));
            write(&case.dir, &files, &name, &log_dir);
            let on_disk = stored(&state, spec(&log_dir, &case.inputs));
            let outcome = apply(&StoppingStorage::never(), &state, &on_disk);
            let left = !plan.verdict.reaches_end();
            if (outcome == JobOutcome::Done) == left {
                failures.push(format!("{name} {version}: {outcome:?}, {:?}", plan.verdict));
            }
            if read(&log_dir.join(&case.dir.name)) != want.files {
                failures.push(format!("{name} {version}: other bytes, {:?}", plan.verdict));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
