//! Logs truncated by Kafka and by krescue: zero differences, checkpoints included.
//!
//! Kafka loads the logs, truncates, and stops as a broker stops; krescue does the same with the files. Both in log dirs that
//! were stopped cleanly and in those of a killed broker, where the log is recovered in the same plan.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use krescue::disk::RealStorage;
use krescue::engine::{
    Confirmed, JobOutcome, JobSpec, PlanSpec, PlanStore, TruncationSpec, Who, apply_here,
    start_plan,
};
use krescue::plan::{
    EvidenceSource, HandOver, LogConfig, PartitionPlan, ReplicaEvidence, StopState,
    TruncationTarget, Verdict,
};
use krescue::terms::{LeaderEpoch, Offset, Timestamp, TopicPartition};

use crate::fidelity::number;
use crate::loading::work_folder;
use crate::prefixes::configs;
use crate::support::batches::batches;
use crate::support::checkpoint::{
    self, CLEANER, HIGH_WATERMARK, LOG_START, Offsets, RECOVERY_POINT,
};
use crate::support::compare::{counts, differences, order};
use crate::support::kafka::run;
use crate::support::random::Random;
use crate::support::source::Source;
use crate::support::tree::{self, Tree};

const CHECKPOINTS: [&str; 4] = [RECOVERY_POINT, LOG_START, HIGH_WATERMARK, CLEANER];
const MARKER: &str = ".kafka_cleanshutdown";
const DIRS: [&str; 2] = ["data1", "data2"];

#[test]
fn truncated_logs_come_out_as_from_kafka_3_9_1() {
    rounds("3.9.1");
}

#[test]
fn truncated_logs_come_out_as_from_kafka_4_0_2() {
    rounds("4.0.2");
}

#[test]
fn truncated_logs_come_out_as_from_kafka_4_4_0() {
    rounds("4.4.0");
}

fn rounds(version: &str) {
    let source = Source::shared(version);
    let folder = work_folder(&format!("truncating-{version}"));
    let clean = folder.join("clean");
    source.copy_to(&clean);
    kafka(&source, &clean, &BTreeMap::new());
    for dir in DIRS {
        fs::write(clean.join(dir).join(MARKER), "").unwrap();
    }
    let [mut cut, mut in_batch, mut same, mut refused] = [0; 4];
    let first = number("KRESCUE_SEED", 1);
    for seed in first..first + number("KRESCUE_ROUNDS", 2) {
        for (from, stop) in [
            (clean.as_path(), StopState::Clean),
            (source.folder.as_path(), StopState::Unclean),
        ] {
            let place = folder.join(format!("{stop:?}-{seed}").to_lowercase());
            let round = Round::run(&source, from, &place, (stop, seed));
            let report = round.judge();
            eprintln!(
                "{version}, {stop:?}, seed {seed}: {} logs truncated, {} of them inside a batch or a gap, {} not reached, {} \
                 refused, {} differ",
                report.cut,
                report.in_batch,
                report.same,
                report.refused,
                report.wrong.len()
            );
            assert!(
                report.wrong.is_empty(),
                "{} wrong with KRESCUE_SEED={seed}; trees in {}\n{}",
                report.wrong.len(),
                place.display(),
                report.wrong.join("\n")
            );
            cut += report.cut;
            in_batch += report.in_batch;
            same += report.same;
            refused += report.refused;
            fs::remove_dir_all(&place).unwrap();
        }
    }
    assert!(cut > 100 && in_batch > 10 && same > 10 && refused > 0);
    fs::remove_dir_all(&folder).unwrap();
}

/// Where a log is to be truncated to, in words that both sides read.
pub(crate) type Asked = BTreeMap<String, String>;

/// What Kafka said of one truncation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Told {
    /// The offset; `None` for an epoch that the log does not know.
    offset: Option<i64>,
    log_start: i64,
    log_end: i64,
}

struct Round<'a> {
    source: &'a Source,
    place: PathBuf,
    stop: StopState,
    asked: Asked,
    told: BTreeMap<String, Told>,
    plans: BTreeMap<String, PartitionPlan>,
}

struct Report {
    cut: usize,
    in_batch: usize,
    same: usize,
    refused: usize,
    wrong: Vec<String>,
}

impl<'a> Round<'a> {
    fn run(source: &'a Source, from: &Path, place: &Path, (stop, seed): (StopState, u64)) -> Self {
        let sides = ["before", "kafka", "ours"].map(|side| place.join(side));
        for side in &sides {
            copy_node(source, from, side);
            // What a compaction leaves that was killed before it was ready: a boot drops it.
            for partition in DIRS.map(|dir| side.join(dir).join("compacted-0")) {
                if partition.is_dir() {
                    fs::write(partition.join("00000000000000000000.log.cleaned"), [0; 100])
                        .unwrap();
                }
            }
        }
        let [before, by_kafka, ours] = &sides;
        let asked = targets(before, &mut Random::new(seed));
        let told = kafka(source, by_kafka, &asked);
        let plans = krescue(source, ours, &asked);
        Self {
            source,
            place: place.to_owned(),
            stop,
            asked,
            told,
            plans,
        }
    }

    fn judge(&self) -> Report {
        let mut wrong = Vec::new();
        let [mut cut, mut same, mut refused, mut in_batch] = [0; 4];
        for (path, asked) in &self.asked {
            let (told, plan) = (self.told[path], &self.plans[path]);
            let mut say =
                |text: String| wrong.push(format!("{path} to {asked}: {text}; Kafka: {told:?}"));
            let untouched = self.tree("before", path) == self.tree("ours", path);
            match (&plan.verdict, told.offset) {
                (Verdict::Truncate(truncation), Some(offset))
                    if (told.log_start..told.log_end).contains(&offset) =>
                {
                    cut += 1;
                    in_batch += usize::from(plan.log_end_offset != Some(Offset(offset)));
                    if truncation.offset != Offset(offset)
                        || truncation.end_before != Offset(told.log_end)
                    {
                        say(format!("{truncation:?}"));
                    }
                    let lines = differences(
                        order(&self.source.kafka.version),
                        &self.tree("kafka", path),
                        &self.tree("ours", path),
                    );
                    if !lines.is_empty() {
                        say(format!("\n    {}", lines.join("\n    ")));
                    }
                }
                (Verdict::Nothing, Some(offset)) if offset >= told.log_end && untouched => {
                    same += 1;
                }
                (Verdict::Refused { .. }, Some(offset)) if offset < told.log_start && untouched => {
                    refused += 1;
                }
                (Verdict::Refused { .. }, None) if untouched => refused += 1,
                // The killed broker was about to put a compacted segment in place.
                (Verdict::Refused { cause }, _) if cause.contains(".swap: ") && untouched => {
                    refused += 1;
                }
                (verdict, _) => say(format!("untouched {untouched}, {verdict:?}")),
            }
        }
        wrong.extend(self.checkpoints());
        wrong.extend(self.boots());
        Report {
            cut,
            in_batch,
            same,
            refused,
            wrong,
        }
    }

    fn tree(&self, side: &str, path: &str) -> Tree {
        tree::read(&self.place.join(side).join(path), counts)
    }

    /// Compares the checkpoints: the entries of truncated logs with Kafka's, all others with what they were.
    fn checkpoints(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (dir, name) in DIRS
            .iter()
            .flat_map(|dir| CHECKPOINTS.map(|name| (dir, name)))
        {
            let read = |side: &str| checkpoint::read(&self.place.join(side).join(dir).join(name));
            let [before, by_kafka, ours] = ["before", "kafka", "ours"].map(read);
            let mut expected = before;
            for (path, plan) in &self.plans {
                let (in_dir, partition) = path.split_once('/').unwrap();
                if in_dir != *dir || !matches!(plan.verdict, Verdict::Truncate(_)) {
                    continue;
                }
                let (topic, number) = partition.rsplit_once('-').unwrap();
                let key = (topic.to_owned(), number.parse().unwrap());
                match by_kafka.get(&key) {
                    Some(offset) => expected.insert(key, *offset),
                    None => expected.remove(&key),
                };
            }
            wrong.extend((expected != ours).then(|| {
                let differing = |a: &Offsets, b: &Offsets| {
                    let lines = a.iter().filter(|(key, offset)| b.get(key) != Some(offset));
                    lines
                        .map(|(key, offset)| format!("{key:?} {offset}"))
                        .collect::<Vec<_>>()
                };
                format!(
                    "{dir}/{name}: expected {:?}, found {:?}",
                    differing(&expected, &ours),
                    differing(&ours, &expected)
                )
            }));
        }
        for dir in DIRS {
            let marker = self.place.join("ours").join(dir).join(MARKER).exists();
            if marker != (self.stop == StopState::Clean) {
                wrong.push(format!("{dir}: marker {marker}"));
            }
        }
        wrong
    }

    /// Boots what Kafka left and what krescue left: the same log, from the same start to the same end, where the plan says.
    fn boots(&self) -> Vec<String> {
        let beyond = |(path, _): (&String, &PartitionPlan)| (path.clone(), i64::MAX.to_string());
        let truncated = self
            .plans
            .iter()
            .filter(|(_, plan)| matches!(plan.verdict, Verdict::Truncate(_)));
        let asked: Asked = truncated.map(beyond).collect();
        if self.stop == StopState::Clean {
            for dir in DIRS {
                fs::write(self.place.join("kafka").join(dir).join(MARKER), "").unwrap();
            }
        }
        let [by_kafka, ours] =
            ["kafka", "ours"].map(|side| kafka(self.source, &self.place.join(side), &asked));
        let mut wrong = Vec::new();
        for path in asked.keys() {
            let end = self.plans[path].log_end_offset.unwrap().0;
            if by_kafka[path] != ours[path] || ours[path].log_end != end {
                wrong.push(format!(
                    "{path}: a boot finds {:?}, after Kafka's truncation {:?}; planned end {end}",
                    ours[path], by_kafka[path]
                ));
            }
            let lines = differences(
                order(&self.source.kafka.version),
                &self.tree("kafka", path),
                &self.tree("ours", path),
            );
            if !lines.is_empty() {
                wrong.push(format!("{path}, booted:\n    {}", lines.join("\n    ")));
            }
        }
        wrong
    }
}

/// Copies the log dirs of `from` and the source's settings.
fn copy_node(source: &Source, from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for dir in DIRS {
        tree::copy(&from.join(dir), &to.join(dir));
    }
    for file in ["topics", "now"] {
        tree::copy_file(&source.folder.join(file), &to.join(file));
    }
    source.write_properties(to);
}

/// Chooses a target for each log of the node in `folder`.
pub(crate) fn targets(folder: &Path, random: &mut Random) -> Asked {
    let mut asked = Asked::new();
    for dir in DIRS {
        let starts = checkpoint::read(&folder.join(dir).join(LOG_START));
        for entry in fs::read_dir(folder.join(dir)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let path = format!("{dir}/{name}");
            if name == "__cluster_metadata-0" || !folder.join(&path).is_dir() {
                continue;
            }
            let (topic, number) = name.rsplit_once('-').unwrap();
            let start = starts.get(&(topic.to_owned(), number.parse().unwrap()));
            let mut target = target(&folder.join(&path), start.copied(), random);
            // Below its log's start, which is never 0: each round has one that is refused.
            if let ("deleted-prefix-0", Some(start)) = (name.as_str(), start) {
                target = (start - 1).to_string();
            }
            // To few producers of many: Kafka hands them out in the order of a table that was made for many.
            if name == "many-producers-0" {
                target = random.between(25, 45).to_string();
            }
            asked.insert(path, target);
        }
    }
    asked
}

fn target(partition: &Path, start: Option<i64>, random: &mut Random) -> String {
    let tree = tree::read(partition, |name| {
        name.rsplit_once('.')
            .is_some_and(|(_, suffix)| suffix == "log")
    });
    let segments: Vec<(i64, Vec<_>)> = tree
        .iter()
        .map(|(name, content)| {
            let base = name.trim_end_matches(".log").parse().unwrap();
            (base, batches(&content.whole()))
        })
        .collect();
    let all: Vec<_> = segments.iter().flat_map(|(_, batches)| batches).collect();
    let end = all
        .last()
        .map_or(segments[0].0, |batch| batch.last_offset + 1);
    let start = start.unwrap_or(0).max(segments[0].0);
    let epochs = fs::read_to_string(partition.join("leader-epoch-checkpoint")).unwrap();
    let epochs: Vec<i32> = epochs
        .lines()
        .skip(2)
        .map(|line| line.split(' ').next().unwrap().parse().unwrap())
        .collect();
    let transactional: Vec<_> = all.windows(2).filter(|pair| pair[1].control).collect();
    match random.below(12) {
        0 | 1 if !all.is_empty() => {
            let batch = random.pick(&all);
            let last = usize::try_from(batch.last_offset - batch.base_offset).unwrap();
            (batch.base_offset + i64::try_from(random.between(0, last)).unwrap()).to_string()
        }
        2 => random.pick(&segments).0.to_string(),
        3 => end.to_string(),
        4 => (end + 7).to_string(),
        5 => (start - 1).max(0).to_string(),
        6 => "0".to_owned(),
        7 => "hw".to_owned(),
        8 => "lso".to_owned(),
        9 if !epochs.is_empty() => {
            format!(
                "epoch:{}",
                random.pick(&epochs) + i32::from(random.one_in(3))
            )
        }
        // Between data and the marker that ends its transaction.
        10 if !transactional.is_empty() => random.pick(&transactional)[1].base_offset.to_string(),
        _ => {
            let span = usize::try_from((end - start).max(0)).unwrap();
            (start + i64::try_from(random.between(0, span)).unwrap()).to_string()
        }
    }
}

/// Lets Kafka load the node in `folder`, truncate and stop.
pub(crate) fn kafka(source: &Source, folder: &Path, asked: &Asked) -> BTreeMap<String, Told> {
    let mut lines = String::new();
    for (path, target) in asked {
        let _ = writeln!(lines, "{}\t{target}", folder.join(path).display());
    }
    let targets = folder.join("targets");
    fs::write(&targets, lines).unwrap();
    let mut command = source.kafka.java("768m", "TruncateLogs");
    command
        .arg(folder.join("server.properties"))
        .arg(folder.join("topics"))
        .arg(source.now.to_string())
        .arg(targets);
    let output = run(
        &mut command,
        "truncating the logs with Kafka's own LogManager",
    );
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(output.ends_with("DONE\n"), "{output}");
    let relative = |path: &str| {
        let path = Path::new(path).strip_prefix(folder).unwrap();
        path.to_string_lossy().into_owned()
    };
    output
        .lines()
        .filter_map(|line| {
            let words: Vec<_> = line.split('\t').collect();
            let number = |at: usize| words[at].parse().unwrap();
            match words[..] {
                ["TRUNCATED", path, ..] => Some((
                    relative(path),
                    Told {
                        offset: Some(number(3)),
                        log_start: number(4),
                        log_end: number(5),
                    },
                )),
                ["UNKNOWN", path, _] => Some((
                    relative(path),
                    Told {
                        offset: None,
                        log_start: 0,
                        log_end: 0,
                    },
                )),
                ["REFUSED", path, cause] => panic!("{path}: {cause}"),
                _ => None,
            }
        })
        .collect()
}

/// Lets krescue truncate the same logs, and hands the dirs over as they were.
fn krescue(source: &Source, folder: &Path, asked: &Asked) -> BTreeMap<String, PartitionPlan> {
    let mut truncation = TruncationSpec::default();
    for (path, target) in asked {
        let (_, name) = path.split_once('/').unwrap();
        let (topic, number) = name.rsplit_once('-').unwrap();
        let partition = TopicPartition::new(topic, number.parse().unwrap());
        let target = match target.as_str() {
            "hw" => TruncationTarget::HighWatermark,
            "lso" => TruncationTarget::LastStable,
            text => match text.strip_prefix("epoch:") {
                Some(epoch) => TruncationTarget::Epoch(LeaderEpoch(epoch.parse().unwrap())),
                None => TruncationTarget::Offset(Offset(text.parse().unwrap())),
            },
        };
        truncation.targets.insert(partition, target);
    }
    let alone = ReplicaEvidence {
        broker: Some(1),
        isr: vec![1],
        leader: Some(1),
        as_of: Timestamp(source.now),
        source: EvidenceSource::Disk,
        ends: Vec::new(),
    };
    let topics: BTreeMap<String, LogConfig> = configs(&folder.join("topics"));
    let version = source.kafka.version.parse().unwrap();
    let mut spec = PlanSpec::new(
        DIRS.map(|dir| folder.join(dir)).to_vec(),
        version,
        Timestamp(source.now),
    );
    spec.replicas = std::sync::Arc::new(move |_| Some(alone.clone()));
    spec.truncation = Some(truncation);
    spec.hand_over = HandOver::Clean;
    spec.topic_configs =
        std::sync::Arc::new(move |topic| topics.get(topic).copied().unwrap_or_default());
    let state = folder.with_extension("state");
    spec.quarantine = Some(folder.with_extension("quarantine"));
    let made = start_plan(spec).unwrap().join().unwrap();
    let stored = PlanStore::new(&state).save(made).unwrap();
    let mut job = JobSpec::of(
        &stored,
        Timestamp(source.now),
        Who::named("a test"),
        Confirmed::YesToAll,
    );
    job.threads = Some(2);
    let outcome = apply_here(&RealStorage, &state, &stored, &job, |_| ());
    assert!(
        matches!(outcome, JobOutcome::Done | JobOutcome::DoneButLeft { .. }),
        "{outcome:?}"
    );
    let plans = stored.plan.log_dirs.into_iter().flat_map(|dir| {
        let name = dir.path.file_name().unwrap().to_string_lossy().into_owned();
        let logs = dir.partitions.into_iter();
        logs.map(move |log| (format!("{name}/{}", log.dir_name), log))
    });
    plans.collect()
}
