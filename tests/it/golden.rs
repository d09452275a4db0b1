//! Damaged logs, and what brokers of 3.9.1 and 4.4.0 made of them: `tests/golden/recovery`.

use std::collections::BTreeMap;

use krescue::format::offset_checkpoint::OffsetCheckpoint;
use krescue::format::producer_snapshot;
use krescue::plan::{LogConfig, OnLoss, PartitionPlan, RecoveryInputs, StopState, Verdict};
use krescue::terms::{KafkaVersion, Offset, Timestamp, TopicPartition};

use crate::support::golden_archive::{Files, below, unpack};
use crate::support::memory_dir::MemoryDir;

pub(crate) const PACKED: &[u8] = include_bytes!("../golden/recovery/cases.tar.zst");
pub(crate) const VERSIONS: [KafkaVersion; 2] =
    [KafkaVersion::new(3, 9, 1), KafkaVersion::new(4, 4, 0)];
const CLOCK: Timestamp = Timestamp(1_796_029_200_000);

pub(crate) struct Case {
    pub(crate) dir: MemoryDir,
    pub(crate) inputs: RecoveryInputs,
    /// `None` where Kafka does not load the log.
    after: Option<BTreeMap<String, Vec<u8>>>,
}

fn partition_dir(files: &Files, prefix: &str) -> (String, BTreeMap<String, Option<Vec<u8>>>) {
    let mut name = String::new();
    let mut dir = BTreeMap::new();
    for (path, bytes) in below(files, prefix) {
        if let Some((top, file)) = path.split_once('/') {
            top.clone_into(&mut name);
            match file.split_once('/') {
                Some((inner, _)) => dir.insert(inner.to_owned(), None),
                None if file.is_empty() => continue,
                None => dir.insert(file.to_owned(), Some(bytes)),
            };
        }
    }
    (name, dir)
}

fn checkpoint(files: &Files, path: &str) -> (Option<Offset>, bool) {
    let parsed = OffsetCheckpoint::parse(&files[path]);
    let malformed = parsed.is_err();
    (
        parsed
            .ok()
            .and_then(|checkpoint| checkpoint.entries.first().map(|(_, offset)| *offset)),
        malformed,
    )
}

pub(crate) fn case(files: &Files, name: &str, version: KafkaVersion) -> Case {
    let (dir_name, dir) = partition_dir(files, &format!("{name}/before/"));
    let (recovery_point, malformed) = checkpoint(
        files,
        &format!("{name}/before/recovery-point-offset-checkpoint"),
    );
    let (log_start_offset, _) =
        checkpoint(files, &format!("{name}/before/log-start-offset-checkpoint"));
    let (_, after) = partition_dir(files, &format!("{name}/after-{version}/"));
    Case {
        dir: MemoryDir {
            name: dir_name,
            files: dir,
        },
        inputs: RecoveryInputs {
            topic_partition: TopicPartition::new(name, 0),
            version,
            now: CLOCK,
            producer_id_expiration_ms: 86_400_000,
            stop: StopState::Unclean,
            recovery_point,
            log_start_offset,
            high_watermark: None,
            config: LogConfig {
                segment_index_bytes: 16384,
                ..LogConfig::default()
            },
            on_loss: OnLoss::LikeKafka,
            checkpoint_io_error: malformed,
            hand_over: krescue::plan::HandOver::None,
            truncation: None,
            replicas: None,
            quarantine: Some("quarantine".into()),
        },
        after: (!after.is_empty()).then(|| {
            after
                .into_iter()
                .filter_map(|(name, bytes)| bytes.map(|bytes| (name, bytes)))
                .collect()
        }),
    }
}

pub(crate) fn names(files: &Files) -> Vec<String> {
    let mut names: Vec<String> = files
        .keys()
        .filter_map(|path| path.split('/').next())
        .map(str::to_owned)
        .collect();
    names.dedup();
    names
}

/// Says how two dirs differ, by the rules of what counts as equal to Kafka.
fn difference(
    version: KafkaVersion,
    ours: &MemoryDir,
    kafka: &BTreeMap<String, Vec<u8>>,
) -> Vec<String> {
    let ours: BTreeMap<&str, &[u8]> = ours
        .files
        .iter()
        .filter_map(|(name, bytes)| bytes.as_deref().map(|bytes| (name.as_str(), bytes)))
        .collect();
    let last_base = kafka
        .keys()
        .filter_map(|name| name.strip_suffix(".log"))
        .next_back()
        .unwrap_or_default();
    let is_active_index = |name: &str| {
        name.strip_prefix(last_base)
            .is_some_and(|suffix| suffix == ".index" || suffix == ".timeindex")
    };
    let empty_active = kafka
        .get(&format!("{last_base}.log"))
        .is_some_and(Vec::is_empty);
    let mut differences = Vec::new();
    let all: std::collections::BTreeSet<&str> = kafka
        .keys()
        .map(String::as_str)
        .chain(ours.keys().copied())
        .collect();
    for name in all {
        let (ours, kafka) = (ours.get(name).copied(), kafka.get(name).map(Vec::as_slice));
        let same = match (ours, kafka) {
            (Some(_) | None, Some(_) | None) if is_active_index(name) && empty_active => true,
            (Some(ours), Some(kafka)) if is_active_index(name) => {
                kafka.starts_with(ours) && kafka[ours.len()..].iter().all(|byte| *byte == 0)
            }
            (Some(ours), Some(kafka)) if name.ends_with(".snapshot") && version.major == 3 => {
                let sorted = |bytes| {
                    let mut entries = producer_snapshot::decode(bytes).unwrap();
                    entries.sort_by_key(|entry| entry.producer_id);
                    entries
                };
                sorted(ours) == sorted(kafka)
            }
            (ours, kafka) => ours == kafka,
        };
        if !same {
            differences.push(format!(
                "{name}: ours {:?} bytes, Kafka's {:?}",
                ours.map(<[u8]>::len),
                kafka.map(<[u8]>::len)
            ));
        }
    }
    differences
}

pub(crate) fn applied(dir: &MemoryDir, plan: &PartitionPlan) -> MemoryDir {
    let mut after = dir.clone();
    if plan.verdict.is_applied() {
        plan.steps.iter().for_each(|step| after.apply(step));
    }
    after
}

#[test]
fn every_golden_case_ends_as_kafka_leaves_it() {
    let files = unpack(PACKED);
    let mut failures = Vec::new();
    for name in names(&files) {
        for version in VERSIONS {
            let case = case(&files, &name, version);
            let plan = case.dir.plan(&case.inputs);
            let after = applied(&case.dir, &plan);
            match &case.after {
                // 4.x empties the segment on an I/O error; that is never copied.
                Some(_) if name == "directory-for-snapshot" => {
                    if !matches!(plan.verdict, Verdict::Refused { .. }) || after != case.dir {
                        failures.push(format!("{name} {version}: not refused: {:?}", plan.verdict));
                    }
                }
                Some(kafka) => failures.extend(
                    difference(version, &after, kafka)
                        .into_iter()
                        .map(|text| format!("{name} {version}: {text} ({:?})", plan.verdict)),
                ),
                None if matches!(plan.verdict, Verdict::Refused { .. }) => {
                    assert_eq!(after, case.dir);
                }
                None => failures.push(format!(
                    "{name} {version}: Kafka refuses it, ours: {:?}",
                    plan.verdict
                )),
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} differences:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn a_second_plan_over_the_recovered_log_has_no_step() {
    let files = unpack(PACKED);
    for name in names(&files) {
        let case = case(&files, &name, VERSIONS[1]);
        let plan = case.dir.plan(&case.inputs);
        if !plan.verdict.is_applied()
            || name == "epochs-future-entry"
            || name.starts_with("log-start-beyond")
        {
            continue;
        }
        let after = applied(&case.dir, &plan);
        let mut inputs = case.inputs.clone();
        inputs.recovery_point = plan.log_end_offset;
        let again = after.plan(&inputs);
        assert_eq!(again.steps, [], "{name}: {:?}", again.verdict);
    }
}

/// Kafka's boot is played by the machine itself here; `tests/broker` lets real brokers do it.
#[test]
fn a_boot_after_any_step_reaches_the_planned_end() {
    let files = unpack(PACKED);
    let mut failures = Vec::new();
    for name in names(&files) {
        let case = case(&files, &name, VERSIONS[1]);
        let plan = case.dir.plan(&case.inputs);
        if !plan.verdict.is_applied() {
            continue;
        }
        let end = applied(&case.dir, &plan);
        let mut half = case.dir.clone();
        for (done, step) in plan.steps.iter().enumerate() {
            let rest = half.plan(&case.inputs);
            let booted = applied(&half, &rest);
            if booted != end {
                failures.push(format!(
                    "{name}: after {done} steps, before {} ({})",
                    step.file, step.reason
                ));
            }
            half.apply(step);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
