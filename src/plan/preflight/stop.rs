//! What a stop costs, and what a crash now would.

use std::collections::{BTreeMap, BTreeSet};

use super::boot_time::{ASSUMED, boot_time, dir_reads};
use super::facts::{BootFacts, LogDirFacts};
use super::problem::{AtBoot, Problem};
use crate::cluster::MetadataImage;
use crate::format::file_name::DirName;
use crate::log::{FindingCode, Severity};
use crate::terms::KafkaVersion;

/// How long a stop may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grace {
    /// So many seconds; then it is killed.
    Seconds {
        /// How many.
        seconds: u64,
        /// Where that stands.
        source: String,
    },
    /// As long as it takes, as far as that shows; why.
    Unlimited(String),
    /// It lies in a container, whose runtime has its own grace.
    Container,
}

impl Default for Grace {
    fn default() -> Self {
        Self::Unlimited("nothing is known to kill it".to_owned())
    }
}

/// Who stops the broker, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StopFacts {
    /// How long it may take until it is killed.
    pub grace: Grace,
    /// The signal that asks it to stop, if a unit names another than SIGTERM.
    pub signal: Option<(String, String)>,
    /// `controlled.shutdown.enable`, where it is set.
    pub controlled_shutdown: Option<bool>,
    /// Those of `controlled.shutdown.max.retries` and `retry.backoff.ms` that are set.
    pub retry_keys: Vec<&'static str>,
    /// `min.insync.replicas` of the static configuration.
    pub min_isr: Option<i32>,
    /// Bytes of the host that wait to be written (`Dirty` of `/proc/meminfo`).
    pub dirty_bytes: Option<u64>,
    /// Whether the broker runs: then a crash now is what a boot would read.
    pub runs: bool,
}

/// What a log costs at a stop, in ms: closing, a snapshot, checkpoints; measured with thousands of small logs.
fn per_log_ms(version: KafkaVersion) -> u64 {
    if version >= KafkaVersion::new(4, 0, 0) {
        8
    } else {
        15
    }
}

/// What a stop costs beside logs: handing over the leaders, closing the network, in seconds.
const FIXED_S: u64 = 5;
/// Bytes a second at which dirty pages are written, assumed.
const FLUSH_RATE: u64 = 100_000_000;
/// How long the controller is waited for.
const HAND_OVER_LIMIT_S: u64 = 300;

/// Returns how many seconds a clean stop takes.
pub fn stop_seconds(facts: &BootFacts, stop: &StopFacts) -> u64 {
    let logs: u64 = facts.dirs.iter().map(|dir| dir.logs().count() as u64).sum();
    let flush = stop.dirty_bytes.unwrap_or(0) / FLUSH_RATE;
    FIXED_S + logs * per_log_ms(facts.version) / 1000 + flush
}

/// Returns everything that speaks against a stop, and what it costs.
pub fn check_stop(facts: &BootFacts, stop: &StopFacts) -> Vec<Problem> {
    let mut problems = grace(facts, stop);
    problems.extend(controlled(facts, stop));
    problems.extend(min_isr(facts, stop));
    problems.extend(crash(facts, stop));
    problems.extend(times(facts));
    for problem in &mut problems {
        problem.rule = "stop";
    }
    problems.sort_by_key(|problem| std::cmp::Reverse(problem.finding.severity));
    problems
}

fn told(code: FindingCode, severity: Severity, text: String) -> Problem {
    Problem::new(code, AtBoot::Nothing, text).severity(severity)
}

fn grace(facts: &BootFacts, stop: &StopFacts) -> Vec<Problem> {
    let seconds = stop_seconds(facts, stop);
    let logs: u64 = facts.dirs.iter().map(|dir| dir.logs().count() as u64).sum();
    let mut problems = Vec::new();
    let wanted = (seconds * 3).max(HAND_OVER_LIMIT_S);
    let what = format!("a stop takes about {seconds} s ({logs} logs, handing over the leaders)");
    match &stop.grace {
        Grace::Seconds {
            seconds: grace,
            source,
        } if *grace < seconds * 2 => {
            let text = format!(
                "{what} and it is killed after {grace} s ({source}): the next boot then reads everything above the recovery \
                 points"
            );
            let severity = if *grace < seconds {
                Severity::Fatal
            } else {
                Severity::Warning
            };
            problems.push(
                told(FindingCode::StopTooSlow, severity, text).next(format!(
                    "TimeoutStopSec={wanted} in the unit; docker stop -t {wanted}; terminationGracePeriodSeconds: {wanted}"
                )),
            );
        }
        Grace::Seconds {
            seconds: grace,
            source,
        } => {
            let text = format!("{what}; it may take {grace} s ({source})");
            problems.push(told(FindingCode::StopTooSlow, Severity::Routine, text));
        }
        Grace::Container => {
            let text = format!(
                "{what}, and the container's grace is not to be seen from here: docker waits 10 s, Kubernetes 30 s unless told"
            );
            problems.push(
                told(FindingCode::StopTooSlow, Severity::Warning, text).next(format!(
                    "docker stop -t {wanted}; terminationGracePeriodSeconds: {wanted}"
                )),
            );
        }
        Grace::Unlimited(why) => {
            let text = format!("{what}; {why}");
            problems.push(told(FindingCode::StopTooSlow, Severity::Routine, text));
        }
    }
    if let Some((signal, source)) = &stop.signal {
        let is_clean =
            ["SIGTERM", "TERM", "SIGINT", "INT", "SIGHUP", "HUP"].contains(&signal.as_str());
        if !is_clean {
            let text = format!(
                "{signal} ({source}) stops no broker in order: it dies at once, or does not notice"
            );
            problems.push(
                told(FindingCode::StopTooSlow, Severity::Fatal, text).next("KillSignal=SIGTERM"),
            );
        }
    }
    problems
}

fn controlled(facts: &BootFacts, stop: &StopFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    if stop.controlled_shutdown == Some(false) {
        let text = "controlled.shutdown.enable=false: the leaders are not handed over, their partitions are without one until \
                    the session runs out"
            .to_owned();
        problems.push(
            told(FindingCode::ControlledShutdown, Severity::Warning, text)
                .next("set it to true; it is read at the start"),
        );
    }
    if facts.config.is_kraft() && !stop.retry_keys.is_empty() {
        let text = format!(
            "{} not read by a KRaft broker ({}): it asks the controller and waits for it up to {HAND_OVER_LIMIT_S} s",
            match stop.retry_keys.as_slice() {
                [one] => format!("{one} is"),
                keys => format!("{} are", keys.join(" and ")),
            },
            facts.version
        );
        problems.push(told(
            FindingCode::ControlledShutdown,
            Severity::Routine,
            text,
        ));
    }
    problems
}

/// Returns how many replicas in sync a topic's writes need.
fn min_isr_of(image: &MetadataImage, topic: &str, stop: &StopFacts) -> i32 {
    const KEY: &str = "min.insync.replicas";
    let dynamic = || image.broker_config(None, KEY);
    let text = image.topic_config(topic, KEY).or_else(dynamic);
    let set = text.and_then(|text| text.trim().parse().ok());
    set.or(stop.min_isr).unwrap_or(1)
}

fn min_isr(facts: &BootFacts, stop: &StopFacts) -> Vec<Problem> {
    let (Some(image), Some(node)) = (facts.image.as_ref(), facts.config.node_id) else {
        let text =
            "who else has the partitions is not known: there is no readable metadata log here"
                .to_owned();
        return vec![
            told(FindingCode::BelowMinIsr, Severity::Warning, text)
                .next("ask the cluster: kafka-topics.sh --describe --under-min-isr-partitions"),
        ];
    };
    let mut problems = Vec::new();
    let age = format!("metadata of {}", image.timestamp.rfc3339());
    for (topic, of_topic) in image.topics() {
        let min = min_isr_of(image, topic, stop);
        let (mut gone, mut below) = (Vec::new(), Vec::new());
        for (number, partition) in &of_topic.partitions {
            if !partition.isr.contains(&node) {
                continue;
            }
            let left = i32::try_from(partition.isr.len()).unwrap_or(i32::MAX) - 1;
            if left == 0 {
                gone.push(*number);
            } else if left < min {
                below.push(*number);
            }
        }
        if !gone.is_empty() {
            let text = format!(
                "{topic}: {} would have no replica in sync and be offline until this broker is back ({age})",
                numbers(&gone)
            );
            problems.push(
                told(FindingCode::BelowMinIsr, Severity::Loss, text).next(
                    "wait until others are in sync (kafka-topics.sh --describe --under-replicated-partitions), or accept it: \
                     a topic with one replica is always offline then",
                ),
            );
        }
        if !below.is_empty() {
            let text = format!(
                "{topic}: {} would have fewer replicas in sync than min.insync.replicas {min}: writes with acks=all are refused \
                 ({age})",
                numbers(&below)
            );
            problems.push(
                told(FindingCode::BelowMinIsr, Severity::Warning, text)
                    .next("wait until the other replicas are in sync"),
            );
        }
    }
    problems
}

fn numbers(partitions: &[i32]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<String> = partitions
        .iter()
        .take(SHOWN)
        .map(ToString::to_string)
        .collect();
    let word = if partitions.len() == 1 {
        "partition"
    } else {
        "partitions"
    };
    match partitions.len() {
        0..=SHOWN => format!("{word} {}", shown.join(", ")),
        more => format!("{word} {} and {} more", shown.join(", "), more - SHOWN),
    }
}

/// What a crash now would cost: the bytes that a boot would read again.
fn crash(facts: &BootFacts, stop: &StopFacts) -> Option<Problem> {
    if !stop.runs {
        return None;
    }
    let reads = dir_reads(facts, |_| true);
    let bytes: u64 = reads
        .iter()
        .flat_map(|dir| &dir.logs)
        .map(|(_, bytes)| bytes)
        .sum();
    let time = boot_time(&reads, 1, ASSUMED);
    let mut by_topic: BTreeMap<String, u64> = BTreeMap::new();
    for (name, bytes) in reads.iter().flat_map(|dir| &dir.logs) {
        let topic = DirName::parse(name)
            .partition()
            .map_or_else(|| name.clone(), |partition| partition.topic.clone());
        *by_topic.entry(topic).or_default() += bytes;
    }
    let mut topics: Vec<(String, u64)> = by_topic.into_iter().collect();
    topics.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let largest: Vec<String> = topics
        .iter()
        .take(5)
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(topic, bytes)| format!("{topic} {bytes}"))
        .collect();
    let text = format!(
        "a crash now makes the next boot read {bytes} bytes again, about {} with one recovery thread a dir; most of it: {}",
        span(time.seconds),
        largest.join(", ")
    );
    Some(told(FindingCode::CrashCost, Severity::Routine, text))
}

/// How long a boot after a crash takes with more recovery threads.
fn times(facts: &BootFacts) -> Option<Problem> {
    let reads = dir_reads(facts, |_| true);
    let (_, (largest, bytes)) = reads
        .iter()
        .flat_map(|dir| dir.logs.iter().map(move |log| (dir, log)))
        .max_by_key(|(_, (_, bytes))| *bytes)?;
    let told_times: Vec<String> = [1, 2, 4, 8]
        .map(|threads| {
            let time = boot_time(&reads, threads, ASSUMED);
            format!("{threads}: {}", span(time.seconds))
        })
        .to_vec();
    let slowest: BTreeSet<String> = [1, 8]
        .iter()
        .filter_map(|threads| boot_time(&reads, *threads, ASSUMED).slowest)
        .map(|dir| dir.display().to_string())
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let floor = *bytes as f64 / ASSUMED.thread;
    let text = format!(
        "a boot after a crash takes, by num.recovery.threads.per.data.dir, {}; slowest dir {}; not below {} for {largest} \
         ({bytes} bytes); assumed: {} MB/s a disk, {} MB/s a thread",
        told_times.join(", "),
        slowest.into_iter().collect::<Vec<_>>().join(", "),
        span(floor),
        ASSUMED.disk / 1e6,
        ASSUMED.thread / 1e6,
    );
    Some(told(FindingCode::BootTime, Severity::Routine, text))
}

fn span(seconds: f64) -> String {
    if seconds < 90.0 {
        format!("{seconds:.0} s")
    } else if seconds < 5400.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.1} h", seconds / 3600.0)
    }
}

/// Returns the bytes that a boot reads again after a crash now; for a dir that is clean nothing, unless the broker runs.
pub fn crash_cost(facts: &BootFacts, runs: bool) -> u64 {
    let reads = dir_reads(facts, |dir: &LogDirFacts| runs || !dir.is_clean());
    reads
        .iter()
        .flat_map(|dir| &dir.logs)
        .map(|(_, bytes)| bytes)
        .sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::testing::{facts, log, log_dir};
    use super::*;
    use crate::cluster::image_of;

    /// Two dirs, the first with the larger logs: of each a boot after a crash reads the last two segments.
    fn two_dirs() -> BootFacts {
        let logs = |names: [&str; 2], bytes: u64| {
            let logs = names.map(|name| log(name, 1500, &[bytes; 3]));
            logs.to_vec()
        };
        facts(vec![
            log_dir("/a", false, logs(["t-0", "t-1"], 700_000_000)),
            log_dir("/b", true, logs(["u-0", "u-1"], 100_000_000)),
        ])
    }

    fn of(problems: &[Problem], code: FindingCode) -> Vec<(Severity, String)> {
        let problems = problems
            .iter()
            .filter(|problem| problem.finding.code == code);
        problems
            .map(|problem| (problem.finding.severity, problem.finding.text.clone()))
            .collect()
    }

    fn with_grace(seconds: u64) -> StopFacts {
        StopFacts {
            grace: Grace::Seconds {
                seconds,
                source: "TimeoutStopSec= of kafka.service".to_owned(),
            },
            ..StopFacts::default()
        }
    }

    #[test]
    fn a_grace_is_compared_with_what_a_stop_takes() {
        let facts = two_dirs();
        // Four logs cost nothing beside handing over the leaders.
        assert_eq!(stop_seconds(&facts, &StopFacts::default()), 5);
        let severity = |seconds| {
            let problems = check_stop(&facts, &with_grace(seconds));
            of(&problems, FindingCode::StopTooSlow)[0].0
        };
        assert_eq!(severity(4), Severity::Fatal);
        assert_eq!(severity(5), Severity::Warning);
        assert_eq!(severity(9), Severity::Warning);
        assert_eq!(severity(10), Severity::Routine);
        let mut stop = with_grace(10);
        stop.dirty_bytes = Some(1_000_000_000);
        assert_eq!(
            stop_seconds(&facts, &stop),
            15,
            "dirty pages are written first"
        );
        let problems = check_stop(&facts, &stop);
        assert_eq!(
            of(&problems, FindingCode::StopTooSlow)[0].0,
            Severity::Fatal
        );
        stop.grace = Grace::Container;
        let problems = check_stop(&facts, &stop);
        let told = &of(&problems, FindingCode::StopTooSlow)[0];
        assert_eq!(told.0, Severity::Warning);
        assert!(
            told.1.contains("docker waits 10 s, Kubernetes 30 s"),
            "{}",
            told.1
        );
    }

    #[test]
    fn many_logs_take_longer_on_3_x() {
        let logs = (0..2000).map(|number| log(&format!("t-{number}"), 0, &[1]));
        let mut facts = facts(vec![log_dir("/a", false, logs.collect())]);
        assert_eq!(stop_seconds(&facts, &StopFacts::default()), 5 + 16);
        facts.version = KafkaVersion::new(3, 9, 1);
        assert_eq!(stop_seconds(&facts, &StopFacts::default()), 5 + 30);
    }

    #[test]
    fn a_signal_that_stops_nothing_and_keys_that_nobody_reads_are_told() {
        let mut stop = StopFacts {
            signal: Some(("SIGQUIT".to_owned(), "KillSignal= of x".to_owned())),
            controlled_shutdown: Some(false),
            retry_keys: vec!["controlled.shutdown.max.retries"],
            ..StopFacts::default()
        };
        let mut facts = two_dirs();
        let problems = check_stop(&facts, &stop);
        let told = of(&problems, FindingCode::StopTooSlow);
        assert!(
            told.iter()
                .any(|of| of.0 == Severity::Fatal && of.1.contains("SIGQUIT"))
        );
        // ZooKeeper's brokers read the key.
        assert_eq!(of(&problems, FindingCode::ControlledShutdown).len(), 1);
        facts.config.metadata = super::super::facts::MetadataKept::Quorum;
        let problems = check_stop(&facts, &stop);
        let told = of(&problems, FindingCode::ControlledShutdown);
        assert_eq!(told.len(), 2);
        assert!(
            told[1]
                .1
                .contains("max.retries is not read by a KRaft broker (4.4.0)"),
            "{told:?}"
        );
        stop.signal = Some(("SIGTERM".to_owned(), "KillSignal= of x".to_owned()));
        let problems = check_stop(&facts, &stop);
        let fatal = problems
            .iter()
            .filter(|of| of.finding.severity == Severity::Fatal);
        assert_eq!(fatal.count(), 0);
    }

    #[test]
    fn partitions_without_enough_others_in_sync_are_named() {
        let mut facts = two_dirs();
        facts.config.node_id = Some(1);
        let unknown = check_stop(&facts, &StopFacts::default());
        assert_eq!(
            of(&unknown, FindingCode::BelowMinIsr)[0].0,
            Severity::Warning
        );
        let isr = [
            ("alone", vec![1]),
            ("two", vec![1, 2]),
            ("three", vec![1, 2, 3]),
            ("elsewhere", vec![2]),
        ];
        facts.image = Some(Arc::new(image_of(&isr)));
        let stop = StopFacts {
            min_isr: Some(2),
            ..StopFacts::default()
        };
        let problems = check_stop(&facts, &stop);
        let told = of(&problems, FindingCode::BelowMinIsr);
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!(told[0].0, Severity::Loss);
        assert!(
            told[0]
                .1
                .starts_with("alone: partition 0 would have no replica in sync"),
            "{told:?}"
        );
        assert_eq!(told[1].0, Severity::Warning);
        assert!(
            told[1].1.starts_with("two: partition 0 would have fewer"),
            "{told:?}"
        );
    }

    #[test]
    fn a_crash_costs_what_lies_above_the_recovery_points() {
        let facts = two_dirs();
        assert_eq!(
            crash_cost(&facts, false),
            2_800_000_000,
            "the second dir is clean"
        );
        assert_eq!(
            crash_cost(&facts, true),
            3_200_000_000,
            "a broker that runs has no marker"
        );
        let stop = StopFacts {
            runs: true,
            ..StopFacts::default()
        };
        let problems = check_stop(&facts, &stop);
        let cost = &of(&problems, FindingCode::CrashCost)[0].1;
        assert!(cost.contains("read 3200000000 bytes again"), "{cost}");
        assert!(cost.ends_with("t 2800000000, u 400000000"), "{cost}");
        let times = &of(&problems, FindingCode::BootTime)[0].1;
        // 2.8 GB at 400 MB/s: the disk is the limit for any number of threads.
        assert!(
            times.contains("1: 7 s, 2: 7 s, 4: 7 s, 8: 7 s; slowest dir /a"),
            "{times}"
        );
        let down = check_stop(&facts, &StopFacts::default());
        assert_eq!(of(&down, FindingCode::CrashCost), []);
    }
}
