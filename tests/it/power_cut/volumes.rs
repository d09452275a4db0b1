//! Power cuts where each log dir lies on a volume of its own: what one has synced says nothing of the other.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use krescue::engine::{JobOutcome, PlanSpec, PlanStore, plan_undo};
use krescue::plan::{HandOver, OnLoss};
use krescue::terms::{KafkaVersion, Timestamp};

use super::{boot_in, same};
use crate::support::apply::{apply, copy_tree, stored};
use crate::support::fixture::{SEGMENT, Tree};
use crate::support::memory_t4::inputs;
use crate::support::power_cut::{Files, RecordingStorage};
use crate::support::volumes::on_another_volume;

/// `d1` on one file system and `d2`, behind a link, on another; `t-0` and `u-0` are cut.
fn two_volumes(root: &Path, other: &Path) {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[57_650] ^= 1);
    copy_tree(&tree.path("d1"), &root.join("d1"));
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 9));
    std::fs::remove_file(tree.t0(2000, "index")).unwrap();
    std::fs::rename(tree.path("d1/t-0"), tree.path("d1/u-0")).unwrap();
    tree.write("d1/recovery-point-offset-checkpoint", "0\n1\nu 0 0\n");
    copy_tree(&tree.path("d1"), &other.join("d2"));
    std::os::unix::fs::symlink(other.join("d2"), root.join("d2")).unwrap();
}

fn fingerprint(files: &Files, dir: &str) -> u32 {
    let of_it = files.iter().filter(|(path, _)| path.starts_with(dir));
    of_it.fold(0, |sum, (path, bytes)| {
        let sum = crc32c::crc32c_append(sum, path.to_str().unwrap().as_bytes());
        crc32c::crc32c_append(sum, bytes)
    })
}

#[test]
fn a_power_cut_over_two_volumes_ends_as_planned_or_as_before_on_each() {
    let root = tempfile::tempdir().unwrap();
    let Some(other) = on_another_volume() else {
        return;
    };
    let device = |path: &Path| std::fs::metadata(path).unwrap().dev();
    assert_ne!(device(root.path()), device(other.path()));
    two_volumes(root.path(), other.path());
    let state = tempfile::tempdir().unwrap();
    let now = Timestamp(1_700_000_100_000);
    let dirs = ["d1", "d2"].map(|dir| root.path().join(dir));
    let mut spec = PlanSpec::new(dirs.to_vec(), KafkaVersion::NEWEST_KNOWN, now);
    spec.hand_over = HandOver::Clean;
    spec.decisions.others = OnLoss::LikeKafka;
    spec.quarantine = Some(root.path().join("quarantine"));
    let plan = stored(state.path(), spec);
    let storage = RecordingStorage::with_volume(root.path(), "d2");
    assert_eq!(apply(&storage, state.path(), &plan), JobOutcome::Done);
    let recording = storage.into_recording();
    let made = plan_undo(state.path(), &plan.hash, now).unwrap();
    let undo = PlanStore::new(state.path()).save(made).unwrap();
    let undoing = RecordingStorage::with_volume(root.path(), "d2");
    assert_eq!(apply(&undoing, state.path(), &undo), JobOutcome::Done);

    let logs = [("d1", "t-0", "t"), ("d2", "u-0", "u")];
    let (before, end) = (recording.before(), recording.end());
    let booted = |files: &Files, at: usize| {
        let (dir, name, topic) = logs[at];
        let mut inputs = inputs(0);
        topic.clone_into(&mut inputs.topic_partition.topic);
        inputs.high_watermark = None;
        boot_in(dir, files, name, &inputs)
    };
    let boots = |files: &Files| [booted(files, 0), booted(files, 1)];
    // Without the marker, and with the recovery points of before.
    let (mut unmarked, mut unpointed) = (end.clone(), end.clone());
    for dir in ["d1", "d2"].map(Path::new) {
        let points = dir.join("recovery-point-offset-checkpoint");
        for files in [&mut unmarked, &mut unpointed] {
            files.remove(&dir.join(".kafka_cleanshutdown"));
        }
        unpointed.insert(points.clone(), before[&points].clone());
    }
    let right = [&before, &end, &unmarked, &unpointed].map(boots);
    let (mut cuts, mut failures) = (0, Vec::new());
    let mut known = BTreeSet::new();
    for recording in [recording, undoing.into_recording()] {
        recording.cuts(7, |cut, files| {
            cuts += 1;
            for (at, (dir, name, _)) in logs.iter().enumerate() {
                // Most cuts leave one of the two as another cut left it.
                if !known.insert((at, fingerprint(&files, dir))) {
                    continue;
                }
                let found = &booted(&files, at);
                if !right.iter().any(|right| same(found, &right[at])) {
                    failures.push(format!("{dir}/{name}, {cut}: {:?}", found.as_ref().err()));
                }
                let marker = Path::new(dir).join(".kafka_cleanshutdown");
                let log = |files: &Files| -> Files {
                    let prefix = Path::new(dir).join(name);
                    let of_it = files.iter().filter(|(path, _)| path.starts_with(&prefix));
                    // What is written beside, Kafka does not see.
                    of_it
                        .filter(|(path, _)| !path.to_str().unwrap().ends_with(".krescue.tmp"))
                        .map(|(path, bytes)| (path.clone(), bytes.clone()))
                        .collect()
                };
                if files.contains_key(&marker) && log(&files) != log(&end) {
                    failures.push(format!(
                        "{dir}, {cut}: a marker beside a log not at its end"
                    ));
                }
            }
        });
    }
    assert!(failures.is_empty(), "{cuts}\n{}", failures.join("\n"));
    assert!(cuts > 200, "{cuts}");
}
