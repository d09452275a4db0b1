//! Plans at every step: the whole plan ends where Kafka ends, and so does Kafka's own boot after any part of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use krescue::plan::{LogConfig, OnLoss, RecoveryInputs, Step, StepAction, StopState, Verdict};
use krescue::terms::{Offset, Timestamp, TopicPartition};

use crate::fidelity::number;
use crate::loading::work_folder;
use crate::memory_dir::MemoryDir;
use crate::support::checkpoint::{self, LOG_START, Offsets, RECOVERY_POINT};
use crate::support::compare::{counts, differences, order};
use crate::support::damage::{common, extended};
use crate::support::loader::{Loaded, Node, load};
use crate::support::multiply::{Damaged, Plan, multiply};
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
    let trees = Trees::make(&source, &folder);
    let mut half = HalfDone::make(&source, folder.join("half"));
    let (mut planned, mut wrong) = (0, Vec::new());
    let begin = Instant::now();
    for partition in trees.damaged.keys() {
        let mut memory = memory(&trees.before.join(partition));
        let inputs = trees.inputs(&source, partition);
        let plan = memory.plan(&inputs);
        let refused = matches!(trees.outcome[partition], Loaded::Refused(_));
        match plan.verdict {
            Verdict::Refused { .. } if refused => continue,
            Verdict::Nothing | Verdict::Recover | Verdict::Ask(_) if !refused => planned += 1,
            verdict => {
                let kafka = &trees.outcome[partition];
                wrong.push(format!(
                    "{partition}: Kafka {kafka:?}, the plan says {verdict:?}"
                ));
                continue;
            }
        }
        for (done, step) in plan.steps.iter().enumerate() {
            if done > 0 {
                let _ = half.add(&memory, &inputs, partition, (done, &plan.steps));
            }
            memory.apply(step);
        }
        wrong.extend(trees.compare(version, partition, &content(&memory), "the whole plan"));
    }
    half.write_checkpoints();
    eprintln!(
        "{version}: {planned} plans made and done in {:?}",
        begin.elapsed()
    );

    let begin = Instant::now();
    for (path, loaded) in boot(&source, &half.folder) {
        let (partition, what) = &half.expected[&path];
        match loaded {
            Loaded::Refused(cause) => wrong.push(format!("{partition}, {what}: refused, {cause}")),
            Loaded::Yes => {
                let found = tree::read(&half.folder.join(&path), counts);
                wrong.extend(trees.compare_booted(version, partition, &found, what));
            }
        }
    }
    let halves = half.expected.len();
    eprintln!(
        "{version}: {halves} half-done logs booted in {:?}",
        begin.elapsed()
    );
    assert!(
        wrong.is_empty(),
        "{} of {} wrong; trees in {}\n{}",
        wrong.len(),
        planned + halves,
        folder.display(),
        wrong.join("\n")
    );
    assert!(planned > 100 && halves > planned);
    fs::remove_dir_all(&folder).unwrap();
}

/// Damaged logs as they were, and as Kafka left them.
pub(crate) struct Trees {
    pub(crate) before: PathBuf,
    kafka: PathBuf,
    /// What another boot makes of what Kafka left: it may write other leader epochs, and producers in another order.
    again: PathBuf,
    pub(crate) damaged: Damaged,
    pub(crate) outcome: BTreeMap<String, Loaded>,
    pub(crate) configs: BTreeMap<String, LogConfig>,
}

impl Trees {
    pub(crate) fn make(source: &Source, folder: &Path) -> Self {
        let [before, kafka, again] = ["before", "kafka", "again"].map(|side| folder.join(side));
        let plan = Plan {
            seed: number("KRESCUE_SEED", 1),
            copies: 2,
            kinds: &[common(), extended()].concat(),
        };
        let damaged = multiply(source, &before, plan);
        tree::copy(&before, &kafka);
        source.write_properties(&kafka);
        let outcome = boot(source, &kafka);
        tree::copy(&kafka, &again);
        source.write_properties(&again);
        boot(source, &again);
        let configs = configs(&before.join("topics"));
        Self {
            before,
            kafka,
            again,
            damaged,
            outcome,
            configs,
        }
    }

    pub(crate) fn inputs(&self, source: &Source, partition: &str) -> RecoveryInputs {
        let (dir, name) = partition.split_once('/').unwrap();
        let plain = name.split('.').next().unwrap();
        let (topic, number) = plain.rsplit_once('-').unwrap();
        let key = (topic.to_owned(), number.parse().unwrap());
        let offset = |file: &str| {
            let offsets = checkpoint::read(&self.before.join(dir).join(file));
            offsets.get(&key).copied().map(Offset)
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
            config: self.configs.get(topic).copied().unwrap_or_default(),
            on_loss: OnLoss::LikeKafka,
            checkpoint_io_error: false,
            hand_over: krescue::plan::HandOver::Verify,
            truncation: None,
            replicas: None,
            quarantine: Some("quarantine".into()),
        }
    }

    /// Says whether Kafka left `file` in the partition's dir.
    pub(crate) fn has(&self, partition: &str, file: &str) -> bool {
        self.kafka.join(partition).join(file).exists()
    }

    /// Compares `found` with what Kafka made of the partition; returns what is wrong after `what`.
    pub(crate) fn compare(
        &self,
        version: &str,
        partition: &str,
        found: &Tree,
        what: &str,
    ) -> Option<String> {
        let kafka = tree::read(&self.kafka.join(partition), counts);
        let lines = differences(order(version), &kafka, found);
        let damage = &self.damaged[partition];
        (!lines.is_empty()).then(|| {
            format!(
                "{partition}, {what}; damage {damage:?}\n    {}",
                lines.join("\n    ")
            )
        })
    }

    /// Does the same for what a boot left of a half-done log: what a second boot of Kafka's makes of its own end is right too.
    pub(crate) fn compare_booted(
        &self,
        version: &str,
        partition: &str,
        found: &Tree,
        what: &str,
    ) -> Option<String> {
        let again = tree::read(&self.again.join(partition), counts);
        let wrong = self.compare(version, partition, found, what)?;
        (!differences(order(version), &again, found).is_empty()).then_some(wrong)
    }
}

/// A node of logs in each of which a plan broke off somewhere.
pub(crate) struct HalfDone {
    pub(crate) folder: PathBuf,
    points: Offsets,
    starts: Offsets,
    /// By path: the partition of which this is a half, and which half.
    pub(crate) expected: BTreeMap<String, (String, String)>,
}

impl HalfDone {
    pub(crate) fn make(source: &Source, folder: PathBuf) -> Self {
        for dir in ["data1", "data2"] {
            fs::create_dir_all(folder.join(dir)).unwrap();
        }
        tree::copy_file(&source.folder.join("topics"), &folder.join("topics"));
        source.write_properties(&folder);
        Self {
            folder,
            points: Offsets::new(),
            starts: Offsets::new(),
            expected: BTreeMap::new(),
        }
    }

    /// Adds the log in `memory`, in which the first of `steps` are done, as another partition of the same topic; returns its
    /// path.
    pub(crate) fn add(
        &mut self,
        memory: &MemoryDir,
        inputs: &RecoveryInputs,
        partition: &str,
        steps: (usize, &[Step]),
    ) -> String {
        let tp = &inputs.topic_partition;
        let (done, steps) = steps;
        let number = tp.partition.cast_unsigned() + 1000 * u32::try_from(done).unwrap();
        let name = memory
            .name
            .replacen(&format!("-{}", tp.partition), &format!("-{number}"), 1);
        let path = format!("data1/{name}");
        fs::create_dir(self.folder.join(&path)).unwrap();
        for (name, content) in content(memory) {
            content.write(&self.folder.join(&path).join(name));
        }
        let key = (tp.topic.clone(), number);
        self.points
            .extend(inputs.recovery_point.map(|point| (key.clone(), point.0)));
        self.starts
            .extend(inputs.log_start_offset.map(|start| (key, start.0)));
        let what = format!("{done} of the steps {}", listed(steps));
        let known = (partition.to_owned(), what);
        self.expected.insert(path.clone(), known);
        path
    }

    pub(crate) fn write_checkpoints(&self) {
        let dir = self.folder.join("data1");
        checkpoint::write(&dir.join(RECOVERY_POINT), &self.points);
        checkpoint::write(&dir.join(LOG_START), &self.starts);
    }
}

/// Loads all logs of the node in `folder` with Kafka's own classes; returns the outcomes by path below it.
pub(crate) fn boot(source: &Source, folder: &Path) -> BTreeMap<String, Loaded> {
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

pub(crate) fn configs(file: &Path) -> BTreeMap<String, LogConfig> {
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
                        config.segment_bytes = value.parse().unwrap();
                    }
                    "cleanup.policy" => config.compact = value.contains("compact"),
                    "preallocate" => config.preallocate = value.parse().unwrap(),
                    _ => {}
                }
            }
            (topic, config)
        })
        .collect()
}

pub(crate) fn memory(path: &Path) -> MemoryDir {
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

fn listed(steps: &[Step]) -> String {
    let verb = |step: &Step| match &step.action {
        StepAction::Remove { .. } | StepAction::RemoveDir => "-",
        StepAction::SetLen { .. } => "cut ",
        StepAction::Write { .. } | StepAction::CopyPart { .. } | StepAction::Allocate { .. } => "+",
        StepAction::Rename { .. } => "rename ",
        StepAction::SetOwner { .. } => "give away ",
        StepAction::CopyOut { .. } => "copy ",
        StepAction::MoveDir { .. } => "move ",
        StepAction::Restore { .. } | StepAction::Append { .. } => "put back ",
    };
    let words: Vec<_> = steps
        .iter()
        .map(|step| format!("{}{}", verb(step), step.file.trim_start_matches('0')))
        .collect();
    words.join(", ")
}
