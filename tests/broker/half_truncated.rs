//! Truncations that break off anywhere: Kafka's own boot finds the log as it was, or as it was to become.

use std::collections::BTreeMap;
use std::fs;

use krescue::format::file_name::PartitionFile;
use krescue::plan::{
    EvidenceSource, OnLoss, RecoveryInputs, ReplicaEvidence, StopState, TruncationTarget, Verdict,
};
use krescue::terms::{LeaderEpoch, Offset, Timestamp, TopicPartition};

use crate::fidelity::number;
use crate::loading::work_folder;
use crate::prefixes::{HalfDone, boot, configs, memory};
use crate::support::checkpoint::{self, HIGH_WATERMARK, LOG_START, RECOVERY_POINT};
use crate::support::compare::{counts, differences, order};
use crate::support::loader::Loaded;
use crate::support::random::Random;
use crate::support::source::Source;
use crate::support::tree::{self, Tree};
use crate::truncating::{Asked, kafka, targets};

#[test]
fn a_boot_after_any_part_of_a_truncation_finds_the_old_end_or_the_new_3_9_1() {
    every_prefix("3.9.1");
}

#[test]
fn a_boot_after_any_part_of_a_truncation_finds_the_old_end_or_the_new_4_4_0() {
    every_prefix("4.4.0");
}

fn every_prefix(version: &str) {
    let source = Source::shared(version);
    let folder = work_folder(&format!("half-truncated-{version}"));
    let clean = folder.join("clean");
    source.copy_to(&clean);
    kafka(&source, &clean, &Asked::new());
    let asked = targets(&clean, &mut Random::new(number("KRESCUE_SEED", 1)));
    for (from, stop) in [
        (&clean, StopState::Clean),
        (&source.folder, StopState::Unclean),
    ] {
        let place = folder.join(format!("half-{stop:?}").to_lowercase());
        let mut half = HalfDone::make(&source, place);
        let mut halves: Vec<Halves> = Vec::new();
        for (path, target) in &asked {
            let mut memory = memory(&from.join(path));
            let inputs = inputs(&source, from, (path, target, stop));
            let plan = memory.plan(&inputs);
            let Verdict::Truncate(truncation) = &plan.verdict else {
                continue;
            };
            // What a boot finds from the moment on when the recovery point is lowered.
            let lowered = RecoveryInputs {
                recovery_point: inputs.recovery_point.map(|at| at.min(truncation.offset)),
                ..inputs
            };
            let is_log = |file: &str| PartitionFile::parse(file).is_log();
            let first_cut = plan.steps.iter().position(|step| is_log(&step.file));
            let paths = (0..=plan.steps.len()).map(|done| {
                if let Some(step) = done.checked_sub(1).map(|last| &plan.steps[last]) {
                    memory.apply(step);
                }
                half.add(&memory, &lowered, path, (done, &plan.steps))
            });
            halves.push(Halves {
                before: tree::read(&from.join(path), counts),
                paths: paths.collect(),
                first_cut: first_cut.unwrap_or(plan.steps.len()),
                // Where no batch is cut, as the target lies in a gap behind one segment, nothing can be torn.
                is_whole: truncation.lost_segments == 0
                    || plan
                        .steps
                        .iter()
                        .any(|step| step.file == format!("{:020}.log", truncation.active_base.0)),
            });
        }
        half.write_checkpoints();
        let outcome = boot(&source, &half.folder);
        let mut wrong = Vec::new();
        let [mut old, mut new, mut between] = [0; 3];
        for log in &halves {
            let read = |path: &String| tree::read(&half.folder.join(path), counts);
            let (first, last) = (read(&log.paths[0]), read(log.paths.last().unwrap()));
            for (done, path) in log.paths.iter().enumerate() {
                let (of, what) = &half.expected[path];
                if outcome[path] != Loaded::Yes {
                    wrong.push(format!("{of}, {what}: {:?}", outcome[path]));
                }
                let expected = if done <= log.first_cut {
                    old += 1;
                    &first
                } else if log.is_whole {
                    new += 1;
                    &last
                } else {
                    between += 1;
                    continue;
                };
                let found = read(path);
                let lines = differences(order(version), expected, &found);
                if lines.iter().all(|line| line.starts_with(EPOCHS))
                    && !lines.is_empty()
                    && lacks_unknown_epochs(&log.before, expected, &found)
                {
                    between += 1;
                    new -= u64::from(done > log.first_cut);
                } else if !lines.is_empty() {
                    wrong.push(format!("{of}, {what}\n    {}", lines.join("\n    ")));
                }
            }
        }
        eprintln!(
            "{version}, {stop:?}: {} truncations, {old} boots find the old end, {new} the new, {between} one between, {} wrong",
            halves.len(),
            wrong.len()
        );
        assert!(
            wrong.is_empty(),
            "trees in {}\n{}",
            half.folder.display(),
            wrong.join("\n")
        );
        assert!(halves.len() > 20 && new > old && between < new / 5);
    }
    fs::remove_dir_all(&folder).unwrap();
}

const EPOCHS: &str = "leader-epoch-checkpoint";

/// Says whether `found` lacks nothing but leader epochs that the log did not know before: a boot learns them from batches
/// only where it knows no later one, so not before the step that writes the epochs.
fn lacks_unknown_epochs(before: &Tree, expected: &Tree, found: &Tree) -> bool {
    let entries = |tree: &Tree| -> Vec<String> {
        let text = String::from_utf8_lossy(&tree[EPOCHS].bytes).into_owned();
        text.lines().skip(2).map(str::to_owned).collect()
    };
    let (known, all, left) = (entries(before), entries(expected), entries(found));
    let dropped = all.strip_prefix(left.as_slice());
    dropped.is_some_and(|dropped| dropped.iter().all(|entry| !known.contains(entry)))
}

/// A log at each step of its truncation.
struct Halves {
    /// As it was before the first step.
    before: Tree,
    paths: Vec<String>,
    /// The number of the first step that changes a `.log`.
    first_cut: usize,
    /// Whether no boot finds an end between the old and the new.
    is_whole: bool,
}

fn inputs(
    source: &Source,
    from: &std::path::Path,
    (path, target, stop): (&str, &str, StopState),
) -> RecoveryInputs {
    let (dir, name) = path.split_once('/').unwrap();
    let (topic, number) = name.rsplit_once('-').unwrap();
    let key = (topic.to_owned(), number.parse().unwrap());
    let offset = |file: &str| {
        let offsets = checkpoint::read(&from.join(dir).join(file));
        offsets.get(&key).copied().map(Offset)
    };
    let target = match target {
        "hw" => TruncationTarget::HighWatermark,
        "lso" => TruncationTarget::LastStable,
        text => match text.strip_prefix("epoch:") {
            Some(epoch) => TruncationTarget::Epoch(LeaderEpoch(epoch.parse().unwrap())),
            None => TruncationTarget::Offset(Offset(text.parse().unwrap())),
        },
    };
    let configs: BTreeMap<_, _> = configs(&source.folder.join("topics"));
    RecoveryInputs {
        topic_partition: TopicPartition::new(topic, number.parse().unwrap()),
        version: source.kafka.version.parse().unwrap(),
        now: Timestamp(source.now),
        producer_id_expiration_ms: 86_400_000,
        stop,
        recovery_point: offset(RECOVERY_POINT),
        log_start_offset: offset(LOG_START),
        high_watermark: offset(HIGH_WATERMARK),
        config: configs.get(topic).copied().unwrap_or_default(),
        on_loss: OnLoss::Ask,
        checkpoint_io_error: false,
        hand_over: krescue::plan::HandOver::Verify,
        truncation: Some(target),
        replicas: Some(ReplicaEvidence {
            broker: Some(1),
            isr: vec![1],
            leader: Some(1),
            as_of: Timestamp(source.now),
            source: EvidenceSource::Disk,
            ends: Vec::new(),
        }),
        quarantine: Some("quarantine".into()),
    }
}
