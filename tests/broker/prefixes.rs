//! Plans at every step: the whole plan ends where Kafka ends, and so does Kafka's own boot after any part of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use krescue::plan::{LogConfig, OnLoss, RecoveryInputs, Step, StepAction, StopState, Verdict};
use krescue::terms::{Offset, Timestamp, TopicPartition};

use crate::fidelity::number;
use crate::loading::work_folder;
use crate::memory_dir::MemoryDir;
use crate::support::checkpoint::{self, LOG_START, Offsets, RECOVERY_POINT};
use crate::support::compare::{counts, differences, order};
use crate::support::damage::common;
use crate::support::loader::{Loaded, Node, load};
use crate::support::multiply::{Plan, multiply};
use crate::support::source::Source;
use crate::support::tree::{self, Content, Tree};

#[test]
fn a_boot_after_any_part_of_a_plan_ends_where_the_plan_ends_3_9_1() {
    every_prefix("3.9.1");
}

#[test]
fn a_boot_after_any_part_of_a_plan_ends_where_the_plan_ends_4_4_0() {
    every_prefix("4.4.0");
}

fn every_prefix(version: &str) {
    let source = Source::shared(version);
    let folder = work_folder(&format!("prefixes-{version}"));
    let [before, kafka, half] = ["before", "kafka", "half"].map(|side| folder.join(side));
    let plan = Plan {
        seed: number("KRESCUE_SEED", 1),
        copies: 2,
        kinds: &common(),
    };
    let damaged = multiply(&source, &before, plan);
    tree::copy(&before, &kafka);
    source.write_properties(&kafka);
    let outcome = boot(&source, &kafka);
    let configs = configs(&before.join("topics"));

    fs::create_dir_all(half.join("data1")).unwrap();
    tree::copy_file(&before.join("topics"), &half.join("topics"));
    source.write_properties(&half);
    fs::create_dir_all(half.join("data2")).unwrap();
    let (mut points, mut starts) = (Offsets::new(), Offsets::new());
    let mut wrong = Vec::new();
    let mut expected = BTreeMap::new();
    let (mut planned, mut steps_done) = (0, 0);
    let begin = Instant::now();
    for partition in damaged.keys() {
        let inputs = inputs(&source, &before, partition, &configs);
        let mut memory = memory(&before.join(partition));
        let plan = memory.plan(&inputs);
        let (_, dir_name) = partition.split_once('/').unwrap();
        let refused = matches!(outcome[partition], Loaded::Refused(_));
        if refused
            || !matches!(
                plan.verdict,
                Verdict::Nothing | Verdict::Recover | Verdict::Ask(_)
            )
        {
            if refused != matches!(plan.verdict, Verdict::Refused { .. }) {
                wrong.push(format!(
                    "{partition}: Kafka {:?}, the plan says {:?}",
                    outcome[partition], plan.verdict
                ));
            }
            continue;
        }
        planned += 1;
        let end = tree::read(&kafka.join(partition), counts);
        for (done, step) in plan.steps.iter().enumerate() {
            if done > 0 {
                // The copy is another partition of the same topic, so that all fit into one node.
                let tp = inputs.topic_partition.clone();
                let number = tp.partition.cast_unsigned() + 1000 * u32::try_from(done).unwrap();
                let name =
                    dir_name.replacen(&format!("-{}", tp.partition), &format!("-{number}"), 1);
                write(&memory, &half.join("data1").join(&name));
                let key = (tp.topic.clone(), number);
                points.extend(inputs.recovery_point.map(|point| (key.clone(), point.0)));
                starts.extend(inputs.log_start_offset.map(|start| (key, start.0)));
                expected.insert(
                    format!("data1/{name}"),
                    (partition, done, listed(&plan.steps)),
                );
            }
            memory.apply(step);
            steps_done += 1;
        }
        let lines = differences(order(version), &end, &content(&memory));
        if !lines.is_empty() {
            let what = &damaged[partition];
            wrong.push(format!(
                "{partition}, whole plan: {what:?}\n    {}",
                lines.join("\n    ")
            ));
        }
    }
    checkpoint::write(&half.join("data1").join(RECOVERY_POINT), &points);
    checkpoint::write(&half.join("data1").join(LOG_START), &starts);
    eprintln!(
        "{version}: {planned} plans with {steps_done} steps in {:?}",
        begin.elapsed()
    );

    let begin = Instant::now();
    for (path, loaded) in boot(&source, &half) {
        let (partition, done, steps) = &expected[&path];
        let what = format!(
            "{partition} after {done} of the steps {steps}; damage {:?}",
            damaged[*partition]
        );
        match loaded {
            Loaded::Refused(cause) => wrong.push(format!("{what}: refused, {cause}")),
            Loaded::Yes => {
                let [end, found] =
                    [kafka.join(partition), half.join(&path)].map(|path| tree::read(&path, counts));
                let lines = differences(order(version), &end, &found);
                if !lines.is_empty() {
                    wrong.push(format!("{what}:\n    {}", lines.join("\n    ")));
                }
            }
        }
    }
    eprintln!(
        "{version}: {} half-done logs booted in {:?}",
        expected.len(),
        begin.elapsed()
    );
    assert!(
        wrong.is_empty(),
        "{} of {} wrong; trees in {}\n{}",
        wrong.len(),
        planned + expected.len(),
        folder.display(),
        wrong.join("\n")
    );
    assert!(planned > 100 && expected.len() > planned);
    fs::remove_dir_all(&folder).unwrap();
}

/// Loads all logs of the node in `folder` with Kafka's own classes; returns the outcomes by path below it.
fn boot(source: &Source, folder: &Path) -> BTreeMap<String, Loaded> {
    let node = Node {
        properties: &folder.join("server.properties"),
        topics: &folder.join("topics"),
        now: source.now,
        log_dirs: Vec::new(),
    };
    load(&source.kafka, &node)
        .into_iter()
        .map(|(path, loaded)| {
            (
                path.strip_prefix(folder)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned(),
                loaded,
            )
        })
        .collect()
}

fn inputs(
    source: &Source,
    before: &Path,
    partition: &str,
    configs: &BTreeMap<String, LogConfig>,
) -> RecoveryInputs {
    let (dir, name) = partition.split_once('/').unwrap();
    let plain = name.split('.').next().unwrap();
    let (topic, number) = plain.rsplit_once('-').unwrap();
    let key = (topic.to_owned(), number.parse().unwrap());
    let offset = |file: &str| {
        checkpoint::read(&before.join(dir).join(file))
            .get(&key)
            .copied()
            .map(Offset)
    };
    RecoveryInputs {
        topic_partition: TopicPartition::new(topic, number.parse().unwrap()),
        version: source.kafka.version.parse().unwrap(),
        now: Timestamp(source.now),
        producer_id_expiration_ms: 86_400_000,
        stop: StopState::Unclean,
        recovery_point: offset(RECOVERY_POINT),
        log_start_offset: offset(LOG_START),
        high_watermark: None,
        config: configs.get(topic).copied().unwrap_or_default(),
        on_loss: OnLoss::LikeKafka,
        checkpoint_io_error: false,
    }
}

fn configs(file: &Path) -> BTreeMap<String, LogConfig> {
    let text = fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| {
            let mut words = line.split_whitespace();
            let topic = words.next().unwrap().to_owned();
            let mut config = LogConfig::default();
            for (key, value) in words.filter_map(|word| word.split_once('=')) {
                match key {
                    "index.interval.bytes" => config.index_interval_bytes = value.parse().unwrap(),
                    "segment.index.bytes" => config.segment_index_bytes = value.parse().unwrap(),
                    "segment.bytes" | "internal.segment.bytes" => {
                        config.segment_bytes = value.parse().unwrap()
                    }
                    "preallocate" => config.preallocate = value.parse().unwrap(),
                    _ => {}
                }
            }
            (topic, config)
        })
        .collect()
}

fn memory(path: &Path) -> MemoryDir {
    let files = tree::read(path, |_| true)
        .into_iter()
        .map(|(name, content)| (name, Some(content.whole())))
        .collect();
    MemoryDir {
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        files,
    }
}

fn content(memory: &MemoryDir) -> Tree {
    let file = |(name, bytes): (&String, &Option<Vec<u8>>)| {
        Some((name.clone(), Content::of(bytes.as_deref()?)))
    };
    memory
        .files
        .iter()
        .filter_map(file)
        .filter(|(name, _)| counts(name))
        .collect()
}

fn write(memory: &MemoryDir, path: &Path) {
    fs::create_dir(path).unwrap();
    for (name, content) in content(memory) {
        content.write(&path.join(name));
    }
}

fn listed(steps: &[Step]) -> String {
    let verb = |step: &Step| match &step.action {
        StepAction::Remove { .. } => "-",
        StepAction::SetLen { .. } => "cut ",
        StepAction::Write { .. } => "+",
        StepAction::Rename { .. } => "rename ",
    };
    let words: Vec<_> = steps
        .iter()
        .map(|step| format!("{}{}", verb(step), step.file.trim_start_matches('0')))
        .collect();
    words.join(", ")
}
