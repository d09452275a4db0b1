//! Power cuts during truncations.

use krescue::engine::{JobOutcome, TruncationSpec};
use krescue::format::file_name::PartitionFile;
use krescue::plan::{HandOver, TruncationTarget};
use krescue::terms::{Offset, TopicPartition};
use std::sync::Arc;

use super::{Booted, MARKER, boot};
use crate::golden::{PACKED, VERSIONS, applied, case, names};
use crate::golden_on_disk::{spec, topic_of, write};
use crate::support::apply::{alone, apply, stored};
use crate::support::golden_archive::unpack;
use crate::support::power_cut::RecordingStorage;
use crate::support::random::Random;
use crate::support::volumes::fast_tempdir;

/// Truncations to offsets by chance: the log is cut at most to the target, and never has a hole.
#[test]
fn a_power_cut_over_a_truncation_leaves_a_whole_log_down_to_the_target_at_most() {
    let files = unpack(PACKED);
    let mut random = Random::new(7);
    let (mut booted, mut failures) = (0, Vec::new());
    for name in names(&files).into_iter().step_by(6) {
        let mut case = case(&files, &name, VERSIONS[1]);
        let whole = case.dir.plan(&case.inputs);
        let Some(end) = whole.log_end_offset.filter(|_| whole.verdict.is_applied()) else {
            continue;
        };
        // What is truncated is a log that was recovered.
        case.dir = applied(&case.dir, &whole);
        let Ok(end) = usize::try_from(end.0) else {
            continue;
        };
        let target = Offset(i64::try_from(random.below(end + 1)).unwrap());
        let marked = random.below(2) == 0;
        let root = fast_tempdir();
        write(&case.dir, &files, &name, &root.path().join("d1"));
        if marked {
            std::fs::write(root.path().join(MARKER), "").unwrap();
        }
        let state = fast_tempdir();
        let partition = TopicPartition::new(topic_of(&case.dir.name), 0);
        let mut spec = spec(&root.path().join("d1"), &case.inputs);
        let mut truncation = TruncationSpec::default();
        truncation
            .targets
            .insert(partition, TruncationTarget::Offset(target));
        let alone = alone(case.inputs.now);
        spec.replicas = Arc::new(move |_| Some(alone.clone()));
        spec.truncation = Some(truncation);
        spec.quarantine = Some(root.path().join("quarantine"));
        spec.hand_over = HandOver::Clean;
        let plan = stored(state.path(), spec);
        let log_plan = &plan.plan.log_dirs[0].partitions[0];
        if !log_plan.verdict.is_applied() {
            continue;
        }
        let storage = RecordingStorage::new(root.path());
        let outcome = apply(&storage, state.path(), &plan);
        let what = format!("{name} to {target}, marked {marked}");
        assert_eq!(outcome, JobOutcome::Done, "{what}");
        let recording = storage.into_recording();
        let (before, after) = (recording.before(), recording.end());
        let first = logs(&boot(&before, &case.dir.name, &case.inputs));
        let last = logs(&boot(&after, &case.dir.name, &case.inputs));
        recording.cuts(3, |cut, left| {
            booted += 1;
            let found = boot(&left, &case.dir.name, &case.inputs);
            if let Some(wrong) = not_between(&first, &logs(&found), &last) {
                failures.push(format!("{what}, {cut}: {wrong}, {:?}", found.err()));
            }
        });
    }
    println!("{booted} trees booted");
    assert!(
        failures.is_empty(),
        "{} of {booted}\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(booted > 500);
}

/// Returns the logs of a booted dir, in order.
fn logs(booted: &Booted) -> Vec<(String, Vec<u8>)> {
    let files = booted.iter().flatten();
    files
        .filter(|(name, _)| PartitionFile::parse(name).is_log())
        .map(|(name, bytes)| (name.clone(), bytes.clone().unwrap()))
        .collect()
}

/// Says why a log is not what the first one is when it is cut somewhere, at the end of the last one or behind.
fn not_between(
    first: &[(String, Vec<u8>)],
    found: &[(String, Vec<u8>)],
    last: &[(String, Vec<u8>)],
) -> Option<String> {
    // An empty segment holds nothing: one at the very end may be there or not.
    let bytes = |logs: &[(String, Vec<u8>)]| -> Vec<u8> {
        logs.iter().flat_map(|(_, bytes)| bytes.clone()).collect()
    };
    let (first, found, last) = (bytes(first), bytes(found), bytes(last));
    if !first.starts_with(&found) {
        return Some("a hole, or other bytes".to_owned());
    }
    (!found.starts_with(&last)).then(|| format!("{} bytes, not {}", found.len(), last.len()))
}
