//! Damaged logs, recovered by Kafka and by krescue: zero differences.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::loading::work_folder;
use crate::support::compare::{differences, order};
use crate::support::damage::{Kind, common, extended, legacy, spoil, tally};
use crate::support::krescue::{Answer, Target};
use crate::support::loader::{Loaded, Node, load};
use crate::support::multiply::{Damaged, Plan, multiply};
use crate::support::random::Random;
use crate::support::source::Source;
use crate::support::tree::{self, Content, Tree};

#[test]
fn damaged_logs_come_out_as_from_kafka_3_9_1() {
    rounds(
        "damaged_logs_come_out_as_from_kafka_3_9_1",
        "3.9.1",
        &common(),
    );
}

#[test]
fn damaged_logs_come_out_as_from_kafka_4_0_2() {
    rounds(
        "damaged_logs_come_out_as_from_kafka_4_0_2",
        "4.0.2",
        &common(),
    );
}

#[test]
fn damaged_logs_come_out_as_from_kafka_4_4_0() {
    rounds(
        "damaged_logs_come_out_as_from_kafka_4_4_0",
        "4.4.0",
        &common(),
    );
}

#[test]
fn forged_logs_come_out_as_from_kafka_3_9_1() {
    rounds("forged_logs_come_out_as_from_kafka_3_9_1", "3.9.1", &all());
}

#[test]
fn forged_logs_come_out_as_from_kafka_4_0_2() {
    rounds("forged_logs_come_out_as_from_kafka_4_0_2", "4.0.2", &all());
}

#[test]
fn forged_logs_come_out_as_from_kafka_4_4_0() {
    rounds("forged_logs_come_out_as_from_kafka_4_4_0", "4.4.0", &all());
}

/// Log dirs whose own checkpoints are damaged: every log in them is loaded, or refused, by what is left of those.
#[test]
fn logs_beside_damaged_checkpoints_come_out_as_from_kafka_3_9_1() {
    spoiled(
        "logs_beside_damaged_checkpoints_come_out_as_from_kafka_3_9_1",
        "3.9.1",
    );
}

#[test]
fn logs_beside_damaged_checkpoints_come_out_as_from_kafka_4_4_0() {
    spoiled(
        "logs_beside_damaged_checkpoints_come_out_as_from_kafka_4_4_0",
        "4.4.0",
    );
}

/// For a look at a release between those above: `KRESCUE_KAFKA=4.2.1`.
#[test]
#[ignore = "names its release in KRESCUE_KAFKA"]
fn logs_come_out_as_from_a_kafka_named_by_hand() {
    let version = std::env::var("KRESCUE_KAFKA").expect("KRESCUE_KAFKA names no release of Kafka");
    rounds(
        "logs_come_out_as_from_a_kafka_named_by_hand",
        &version,
        &all(),
    );
}

fn all() -> Vec<Kind> {
    [common(), extended(), extended()].concat()
}

/// Copies of each partition: with the one as it is, more than 200 logs.
const COPIES: u32 = 4;
/// Damaged logs that a round must have at least.
const DAMAGED: usize = 150;

/// Returns the number that the variable `name` holds.
pub(crate) fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number"))
    })
}

/// Rounds that between them damage each checkpoint in each way.
const SPOILED: usize = 7;

fn spoiled(test: &str, version: &str) {
    let source = Source::shared(version);
    let seed = number("KRESCUE_SEED", 1);
    for round in 0..SPOILED {
        let folder = work_folder(&format!("{test}-{round}"));
        let plan = Plan {
            seed: seed + round as u64,
            copies: 1,
            kinds: &[common(), legacy()].concat(),
        };
        let ran = Round::run(&source, &folder, plan, Some(round));
        let report = ran.judge();
        eprintln!("{version}, round {round}: {}", report.summary);
        assert!(
            report.wrong.is_empty(),
            "round {round}, {} of {} logs differ from Kafka {version}'s; the trees are in {}\n\n{}",
            report.wrong.len(),
            ran.damaged.len(),
            folder.display(),
            report.wrong.join("\n")
        );
        if std::env::var_os("KRESCUE_KEEP").is_none() {
            fs::remove_dir_all(&folder).unwrap();
        }
    }
}

fn rounds(test: &str, version: &str, kinds: &[Kind]) {
    let source = Source::shared(version);
    let first = number("KRESCUE_SEED", 1);
    for seed in first..first + number("KRESCUE_ROUNDS", 1) {
        let folder = work_folder(&format!("{test}-{seed}"));
        let plan = Plan {
            seed,
            copies: COPIES,
            kinds,
        };
        let round = Round::run(&source, &folder, plan, None);
        let report = round.judge();
        eprintln!("{version}, seed {seed}: {}", report.summary);
        assert!(
            report.hurt >= DAMAGED,
            "only {} logs are damaged",
            report.hurt
        );
        let missing: Vec<&str> = kinds
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| !report.tally.contains_key(*name))
            .collect();
        // Some fit few logs, and chance may leave them out.
        assert!(
            missing.len() * 5 <= kinds.len(),
            "damage that does not occur: {missing:?}"
        );
        let repeat = format!(
            "KRESCUE_SOURCE={} KRESCUE_SEED={seed} cargo test --features real-kafka --test broker {test} -- --nocapture",
            source.folder.parent().unwrap_or(&source.folder).display()
        );
        assert!(
            report.wrong.is_empty(),
            "{} of {} logs differ from Kafka {version}'s; the trees are in {}; this repeats it:\n  {repeat}\n\n{}",
            report.wrong.len(),
            round.damaged.len(),
            folder.display(),
            report.wrong.join("\n")
        );
        if std::env::var_os("KRESCUE_KEEP").is_none() {
            fs::remove_dir_all(&folder).unwrap();
        }
    }
}

/// The same logs three times: as they were, after Kafka, after krescue.
struct Round<'a> {
    version: &'a str,
    folder: &'a Path,
    damaged: Damaged,
    kafka: BTreeMap<String, Loaded>,
    krescue: Answer,
}

struct Report {
    summary: String,
    /// How many logs are damaged.
    hurt: usize,
    /// How often each kind of damage was done.
    tally: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

impl<'a> Round<'a> {
    /// `spoiled` is the number of a round in which the checkpoints beside the logs are damaged too.
    fn run(source: &'a Source, folder: &'a Path, plan: Plan<'_>, spoiled: Option<usize>) -> Self {
        let [before, kafka, krescue] = ["before", "kafka", "krescue"].map(|side| folder.join(side));
        let damaged = multiply(source, &before, plan);
        if let Some(round) = spoiled {
            let mut random = Random::new(plan.seed);
            eprintln!("  {}", spoil(&before, round, &mut random).join(", "));
        }
        for side in [&kafka, &krescue] {
            tree::copy(&before, side);
            source.write_properties(side);
        }
        let topic_config = source.folder.join("topic-config");
        if topic_config.exists() {
            fs::copy(topic_config, krescue.join("topic-config")).unwrap();
        }
        let begin = Instant::now();
        let node = Node {
            properties: &kafka.join("server.properties"),
            topics: &kafka.join("topics"),
            now: source.now,
            log_dirs: Vec::new(),
        };
        let loaded = load(&source.kafka, &node)
            .into_iter()
            .map(|(path, loaded)| {
                (
                    path.strip_prefix(&kafka)
                        .unwrap()
                        .to_string_lossy()
                        .into_owned(),
                    loaded,
                )
            })
            .collect();
        let kafka_took = begin.elapsed();
        let begin = Instant::now();
        let target = Target {
            folder: &krescue,
            version: &source.kafka.version,
            now: source.now,
        };
        let answer = target.recover("none");
        eprintln!(
            "{}: Kafka's classes took {kafka_took:?}, krescue {:?}",
            source.kafka.version,
            begin.elapsed()
        );
        Self {
            version: &source.kafka.version,
            folder,
            damaged,
            kafka: loaded,
            krescue: answer,
        }
    }

    fn judge(&self) -> Report {
        let order = order(self.version);
        let findings = self.krescue.findings();
        let (mut refused, mut equal) = (BTreeMap::<&str, usize>::new(), 0);
        let mut wrong = Vec::new();
        for (partition, done) in &self.damaged {
            let [before, kafka, krescue] =
                ["before", "kafka", "krescue"].map(|side| self.read(side, partition));
            let loaded = self
                .kafka
                .get(partition)
                .unwrap_or_else(|| panic!("Kafka says nothing of {partition}"));
            let said: &[(String, String)] = findings.get(partition).map_or(&[], Vec::as_slice);
            let mut lines = match loaded {
                Loaded::Refused(cause) => {
                    *refused
                        .entry(cause.split(':').next().unwrap_or(cause))
                        .or_default() += 1;
                    untouched(&before, &krescue)
                }
                Loaded::Yes => differences(order, &kafka, &krescue),
            };
            if *loaded == Loaded::Yes && !partition.ends_with("-delete") {
                lines.extend(untrimmed(&krescue));
            }
            if lines.is_empty() {
                equal += 1;
                continue;
            }
            let mut text = format!("{partition}: Kafka {loaded:?}, krescue says {said:?}");
            for line in done.iter().map(|what| format!("did {what}")).chain(lines) {
                let _ = write!(text, "\n    {line}");
            }
            wrong.push(text);
        }
        wrong.extend(self.beside());
        let hurt = self
            .damaged
            .values()
            .filter(|done| !done.is_empty())
            .count();
        let mut summary = format!(
            "{} logs, {hurt} of them damaged, {} refused by Kafka, {equal} as they must be, {} not",
            self.damaged.len(),
            refused.values().sum::<usize>(),
            wrong.len()
        );
        let tally = tally(self.damaged.values().flatten());
        let _ = write!(summary, "\n  refused: {refused:?}\n  damage: {tally:?}");
        Report {
            summary,
            hurt,
            tally,
            wrong,
        }
    }

    fn read(&self, side: &str, partition: &str) -> Tree {
        let path = self.folder.join(side).join(partition);
        if path.is_dir() {
            tree::read(&path, |_| true)
        } else {
            Tree::new()
        }
    }

    /// Without a hand-over nothing beside the partition dirs changes, and the metadata log does not either.
    fn beside(&self) -> Vec<String> {
        let wanted = |path: &str| {
            let (dir, rest) = path.split_once('/').unwrap_or((path, ""));
            dir.starts_with("data")
                && rest != ".lock"
                && (!rest.contains('/') || rest.starts_with("__cluster_metadata-0/"))
        };
        let [before, after] =
            ["before", "krescue"].map(|side| tree::read(&self.folder.join(side), wanted));
        untouched(&before, &after)
    }
}

/// Returns a line for each file that is not as it was.
fn untouched(before: &Tree, after: &Tree) -> Vec<String> {
    let names = before
        .keys()
        .chain(after.keys().filter(|name| !before.contains_key(*name)));
    names
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| {
            let length = |tree: &Tree| tree.get(name).map(|content| content.length);
            format!(
                "{name}: must be untouched, was {:?} bytes, is {:?}",
                length(before),
                length(after)
            )
        })
        .collect()
}

/// Returns a line for each index of the active segment that is longer than its entries.
fn untrimmed(tree: &Tree) -> Vec<String> {
    let Some(base) = tree
        .keys()
        .filter_map(|name| name.strip_suffix(".log"))
        .max()
    else {
        return Vec::new();
    };
    [("index", 8), ("timeindex", 12)]
        .iter()
        .filter_map(|(suffix, entry)| {
            let name = format!("{base}.{suffix}");
            let content = tree.get(&name)?;
            let mut used = (content.bytes.len() as u64).next_multiple_of(*entry);
            if *suffix == "timeindex" && begins_at_time_zero(tree.get(&format!("{base}.log"))) {
                used = used.max(*entry);
            }
            (content.length > used)
                .then(|| format!("{name}: {} bytes for {used} in use", content.length))
        })
        .collect()
}

/// Says whether a log's first batch has zero as its largest timestamp: its time index entry is then twelve zero bytes.
fn begins_at_time_zero(log: Option<&Content>) -> bool {
    log.is_some_and(|log| log.bytes.get(35..43) == Some(&[0; 8]))
}
