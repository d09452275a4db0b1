//! Retention over generated logs: what Kafka's own logs delete in one pass, and by which rule, is what `segments` says
//! before it. Zero differences in base offsets, reasons, sources of time and log starts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::fidelity::number;
use crate::loading::work_folder;
use crate::support::batches::seal;
use crate::support::kafka::{Kafka, run};
use crate::support::krescue::Target;
use crate::support::random::Random;

/// Logs of one round.
const LOGS: usize = 120;
/// The clock of both sides.
const NOW: i64 = 1_796_029_200_000;
const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

#[test]
fn retention_deletes_what_segments_says_for_3_9_1() {
    rounds("3.9.1");
}

#[test]
fn retention_deletes_what_segments_says_for_4_0_2() {
    rounds("4.0.2");
}

#[test]
fn retention_deletes_what_segments_says_for_4_4_0() {
    rounds("4.4.0");
}

#[test]
fn a_cleanup_leaves_to_kafka_the_active_segments_alone_3_9_1() {
    cleaned("3.9.1");
}

#[test]
fn a_cleanup_leaves_to_kafka_the_active_segments_alone_4_0_2() {
    cleaned("4.0.2");
}

#[test]
fn a_cleanup_leaves_to_kafka_the_active_segments_alone_4_4_0() {
    cleaned("4.4.0");
}

/// Lets krescue delete what is past retention, then loads the logs with Kafka's own log manager and runs a pass: nothing but
/// active segments goes then, and each log starts where it would have without krescue.
fn cleaned(version: &str) {
    let kafka = Kafka::resolve(version);
    let folder = work_folder(&format!("retaining-cleaned-{version}"));
    let written = fs::metadata(&folder).unwrap().modified().unwrap();
    let now = written.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let now = i64::try_from(now.as_millis()).unwrap();
    let [kafkas, ours] = ["kafkas", "ours"].map(|side| folder.join(side));
    for side in [&kafkas, &ours] {
        fs::create_dir_all(side).unwrap();
        generate(
            side,
            &kafka,
            now,
            &mut Random::new(number("KRESCUE_SEED", 1)),
        );
    }
    let expected = by_kafka(&kafkas, &kafka, now);
    let output = Command::new(env!("CARGO_BIN_EXE_krescue"))
        .env_remove("XDG_STATE_HOME")
        .args([
            "--log-dirs",
            &format!("{0}/data1,{0}/data2", ours.display()),
        ])
        .args(["--kafka-version", version, "--topic-config"])
        .arg(ours.join("topic-config"))
        .arg("--state-dir")
        .arg(folder.join("state"))
        .args([
            "cleanup",
            "--past-retention",
            "--json",
            "--apply",
            "--yes-to-all",
        ])
        .args(["--quarantine", "none"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let planned: BTreeMap<String, i64> = said
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|line| line["kind"] == "partition" && line["verdict"] == "delete")
        .map(|line| {
            let name = format!("{}-{}", line["topic"].as_str().unwrap(), line["partition"]);
            (name, line["log_start_offset"].as_i64().unwrap())
        })
        .collect();
    assert!(planned.len() > LOGS / 6, "{}", planned.len());
    for (name, start) in &planned {
        let dir = if ours.join("data1").join(name).is_dir() {
            "data1"
        } else {
            "data2"
        };
        let mut bases: Vec<i64> = fs::read_dir(ours.join(dir).join(name))
            .unwrap()
            .filter_map(|entry| {
                let name = entry.unwrap().file_name().into_string().unwrap();
                name.strip_suffix(".log")?.parse().ok()
            })
            .collect();
        bases.sort_unstable();
        // A log may start inside its first segment.
        assert!(bases.first().is_some_and(|base| base <= start), "{name}");
    }
    let left = by_kafka(&ours, &kafka, now);
    let mut wrong = Vec::new();
    for (name, expected) in &expected {
        let left = &left[name];
        let all_went = expected.deleted.last();
        let only_active =
            left.deleted.is_empty() || left.deleted.last() == all_went && left.deleted.len() == 1;
        if left.log_start != expected.log_start || !only_active {
            wrong.push(format!(
                "{name}: without krescue {expected:?}, behind it {left:?}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong in {}\n{}",
        wrong.len(),
        folder.display(),
        wrong.join("\n")
    );
    eprintln!(
        "{version}: {} logs cleaned of {}",
        planned.len(),
        expected.len()
    );
    fs::remove_dir_all(&folder).unwrap();
}

/// What became of one log: `base reason source` of each segment that goes, and the log start behind the pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Outcome {
    deleted: Vec<String>,
    log_start: i64,
}

fn rounds(version: &str) {
    let kafka = Kafka::resolve(version);
    let [mut logs, mut deleted] = [0; 2];
    let first = number("KRESCUE_SEED", 1);
    for seed in first..first + number("KRESCUE_ROUNDS", 1) {
        let folder = work_folder(&format!("retaining-{version}-{seed}"));
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        generate(&folder, &kafka, NOW, &mut Random::new(seed));
        let ours = by_krescue(&folder, version);
        let told = by_kafka(&folder, &kafka, NOW);
        let wrong: Vec<String> = told
            .iter()
            .filter(|(name, outcome)| ours.get(*name) != Some(outcome))
            .map(|(name, outcome)| {
                format!("{name}: Kafka {outcome:?}, krescue {:?}", ours.get(name))
            })
            .collect();
        assert!(
            wrong.is_empty(),
            "{version}: {} of {} logs differ with KRESCUE_SEED={seed}; see {}\n{}",
            wrong.len(),
            told.len(),
            folder.display(),
            wrong.join("\n")
        );
        assert_eq!(told.len(), LOGS);
        logs += told.len();
        for line in told.values().flat_map(|outcome| &outcome.deleted) {
            deleted += 1;
            let (_, reason) = line.split_once(' ').unwrap();
            *reasons.entry(reason.to_owned()).or_default() += 1;
        }
        eprintln!(
            "{version}, seed {seed}: {} logs, deleted {reasons:?}",
            told.len()
        );
        assert!(reasons.len() >= 4, "{reasons:?}");
        fs::remove_dir_all(&folder).unwrap();
    }
    assert!(logs >= 60 && deleted > 60, "{logs} {deleted}");
}

/// Writes a node of generated logs into `folder`.
fn generate(folder: &Path, kafka: &Kafka, now: i64, random: &mut Random) {
    let (mut topics, mut starts, mut marks, mut cleaned) = Default::default();
    for dir in ["data1", "data2"] {
        fs::create_dir_all(folder.join(dir)).unwrap();
    }
    // One dir as after a clean stop, one as after a kill: there every segment's headers are read again.
    fs::write(folder.join("data1/.kafka_cleanshutdown"), "").unwrap();
    for number in 0..LOGS {
        let dir = if number % 3 == 0 { "data2" } else { "data1" };
        let log = Log::generate(&folder.join(dir), &format!("t{number}"), now, random);
        log.describe(kafka, random, &mut topics);
        for (lines, offset) in [(&mut starts, log.start), (&mut marks, Some(log.mark))] {
            let lines: &mut BTreeMap<&str, Vec<String>> = lines;
            if let Some(offset) = offset {
                lines
                    .entry(dir)
                    .or_default()
                    .push(format!("t{number} 0 {offset}"));
            }
        }
        let cleaned: &mut BTreeMap<&str, Vec<String>> = &mut cleaned;
        let at = format!("t{number} 0 {}", log.bases[log.bases.len() - 1]);
        cleaned.entry(dir).or_default().push(at);
    }
    for (name, by_dir) in [
        ("log-start-offset-checkpoint", starts),
        ("replication-offset-checkpoint", marks),
        ("cleaner-offset-checkpoint", cleaned),
    ] {
        for (dir, lines) in by_dir {
            let text = format!("0\n{}\n{}\n", lines.len(), lines.join("\n"));
            fs::write(folder.join(dir).join(name), text).unwrap();
        }
    }
    fs::write(folder.join("topics"), topics).unwrap();
    let words = fs::read_to_string(folder.join("topics")).unwrap();
    let named: Vec<String> = words
        .lines()
        .map(|line| {
            let (topic, list) = line.split_once(' ').unwrap();
            format!("{topic} {}\n", list.replace(' ', ","))
        })
        .collect();
    fs::write(folder.join("topic-config"), named.concat()).unwrap();
    let properties = format!(
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:9\n\
         listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:9\ncontroller.listener.names=CONTROLLER\n\
         log.dirs={0}/data1,{0}/data2\n",
        folder.display()
    );
    fs::write(folder.join("server.properties"), properties).unwrap();
}

/// A generated log.
struct Log {
    topic: String,
    bases: Vec<i64>,
    bytes: usize,
    oldest: usize,
    start: Option<i64>,
    mark: i64,
}

impl Log {
    fn generate(log_dir: &Path, topic: &str, now: i64, random: &mut Random) -> Self {
        let dir = log_dir.join(format!("{topic}-0"));
        fs::create_dir_all(&dir).unwrap();
        let id = "version: 0\ntopic_id: WJP-YmuvQ7ieid7KZyv-lA";
        fs::write(dir.join("partition.metadata"), id).unwrap();
        fs::write(dir.join("leader-epoch-checkpoint"), "0\n1\n0 0\n").unwrap();
        let count = random.between(1, 7);
        let mut offset = 0;
        let (mut bases, mut bytes, mut oldest) = (Vec::new(), 0, 0);
        for number in 0..count {
            let is_empty = number + 1 == count && random.one_in(4);
            let batches = if is_empty { 0 } else { random.between(1, 4) };
            let segment = Segment::generate(offset, batches, now, random);
            segment.write(&dir, now, random);
            bases.push(offset);
            offset = segment.end;
            bytes += segment.log.len();
            if number == 0 {
                oldest = segment.log.len();
            }
        }
        let inside = |random: &mut Random| {
            let end = usize::try_from(offset).unwrap();
            i64::try_from(random.between(0, end)).unwrap()
        };
        Self {
            topic: topic.to_owned(),
            bases,
            bytes,
            oldest,
            start: random.one_in(4).then(|| inside(random)),
            // A stopped high watermark.
            mark: if random.one_in(3) {
                inside(random)
            } else {
                offset
            },
        }
    }

    /// Adds the topic's settings, in the words of the loader's file.
    fn describe(&self, kafka: &Kafka, random: &mut Random, topics: &mut String) {
        let with_empty = [
            "delete",
            "delete",
            "delete",
            "compact",
            "compact,delete",
            "",
        ];
        // An empty policy is taken from 4.2 on.
        let known = if kafka.version.starts_with("4.4") {
            6
        } else {
            5
        };
        let policy = *random.pick(&with_empty[..known]);
        let ms = *random.pick(&[-1, 0, HOUR, 3 * HOUR, DAY, 7 * DAY, i64::MAX]);
        let sum = i64::try_from(self.bytes).unwrap();
        let oldest = i64::try_from(self.oldest).unwrap();
        let half = i64::try_from(random.between(0, self.bytes)).unwrap();
        let bytes = *random.pick(&[
            -1,
            -1,
            -7,
            0,
            sum,
            sum + 1,
            sum - oldest,
            sum - oldest + 1,
            half,
        ]);
        let _ = writeln!(
            topics,
            "{} cleanup.policy={policy} retention.ms={ms} retention.bytes={bytes}",
            self.topic
        );
    }
}

struct Segment {
    base: i64,
    end: i64,
    log: Vec<u8>,
    largest: i64,
}

impl Segment {
    fn generate(base: i64, batches: usize, now: i64, random: &mut Random) -> Self {
        let (mut log, mut end, mut largest) = (Vec::new(), base, -1);
        let hours = i64::try_from(random.between(0, 240)).unwrap();
        let age = [hours * HOUR, DAY, 7 * DAY, 0, -DAY, -1];
        // Half an hour from every limit: between two looks at the clock no verdict changes.
        let around = now - *random.pick(&age) - HOUR / 2;
        for _ in 0..batches {
            let timestamp = match random.below(12) {
                0 | 1 => -1,
                // Seconds instead of milliseconds.
                2 => now / 1000,
                _ => around - i64::try_from(random.below(2)).unwrap(),
            };
            let records = i32::try_from(random.between(1, 9)).unwrap();
            log.extend(batch(end, records, timestamp, random.between(1, 300)));
            end += i64::from(records);
            largest = largest.max(timestamp);
        }
        Self {
            base,
            end,
            log,
            largest,
        }
    }

    /// Writes the segment with indexes as a clean stop leaves them, or not at all.
    fn write(&self, dir: &Path, now: i64, random: &mut Random) {
        let name = |suffix: &str| dir.join(format!("{:020}.{suffix}", self.base));
        fs::write(name("log"), &self.log).unwrap();
        let (with_index, with_time) = match random.below(8) {
            0 => (true, false),
            1 => (false, false),
            _ => (true, true),
        };
        if with_index {
            fs::write(name("index"), "").unwrap();
        }
        if with_time {
            let mut entries = Vec::new();
            if self.largest >= 0 {
                let last = i32::try_from(self.end - self.base - 1).unwrap();
                entries.extend(self.largest.to_be_bytes());
                entries.extend(last.to_be_bytes());
            }
            fs::write(name("timeindex"), entries).unwrap();
        }
        let hours = u64::try_from(random.between(0, 300)).unwrap();
        let at = u64::try_from(now).unwrap() - hours * 3_600_000 - 1_800_000;
        let log = fs::File::options().write(true).open(name("log")).unwrap();
        log.set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(at))
            .unwrap();
    }
}

/// Returns a batch of magic 2 of records with values of `value` bytes; all have the same timestamp.
fn batch(base: i64, records: i32, timestamp: i64, value: usize) -> Vec<u8> {
    let mut body = Vec::new();
    for record in 0..records {
        let mut fields = vec![0];
        varint(&mut fields, 0);
        varint(&mut fields, i64::from(record));
        varint(&mut fields, -1);
        varint(&mut fields, i64::try_from(value).unwrap());
        fields.extend(std::iter::repeat_n(7, value));
        varint(&mut fields, 0);
        varint(&mut body, i64::try_from(fields.len()).unwrap());
        body.extend(fields);
    }
    let mut batch = base.to_be_bytes().to_vec();
    batch.extend((49 + i32::try_from(body.len()).unwrap()).to_be_bytes());
    batch.extend(0_i32.to_be_bytes());
    batch.extend([2, 0, 0, 0, 0, 0, 0]);
    batch.extend((records - 1).to_be_bytes());
    batch.extend(timestamp.to_be_bytes());
    batch.extend(timestamp.to_be_bytes());
    batch.extend((-1_i64).to_be_bytes());
    batch.extend((-1_i16).to_be_bytes());
    batch.extend((-1_i32).to_be_bytes());
    batch.extend(records.to_be_bytes());
    batch.extend(body);
    seal(&mut batch);
    batch
}

fn varint(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest > 0x7f {
        out.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
        rest >>= 7;
    }
    out.push(u8::try_from(rest).unwrap());
}

/// Returns what `segments` says, by partition.
fn by_krescue(folder: &Path, version: &str) -> BTreeMap<String, Outcome> {
    let target = Target {
        folder,
        version,
        now: NOW,
    };
    let answer = target.run(&["segments", "--json"]);
    assert!(matches!(answer.exit, 0 | 3), "{}", answer.tail());
    let mut outcomes: BTreeMap<String, Outcome> = BTreeMap::new();
    for line in &answer.lines {
        let name = || format!("{}-{}", line["topic"].as_str().unwrap(), line["partition"]);
        match line["kind"].as_str() {
            Some("retention") => {
                outcomes.entry(name()).or_default().log_start =
                    line["log_start_offset_after"].as_i64().unwrap();
            }
            Some("segment") if line["verdict"] == "delete" => {
                let source = match (&line["reason"], &line["timestamp_source"]) {
                    (reason, source) if *reason == "time" && *source == "file_time" => " file",
                    (reason, _) if *reason == "time" => " record",
                    _ => "",
                };
                let reason = line["reason"].as_str().unwrap();
                let text = format!("{} {reason}{source}", line["base_offset"]);
                outcomes.entry(name()).or_default().deleted.push(text);
            }
            _ => {}
        }
    }
    outcomes
}

/// Lets Kafka's own logs run one pass, and returns what they logged, by partition.
fn by_kafka(folder: &Path, kafka: &Kafka, now: i64) -> BTreeMap<String, Outcome> {
    let mut command = kafka.java("512m", "RetainLogs");
    command
        .arg(folder.join("server.properties"))
        .arg(folder.join("topics"))
        .arg(now.to_string());
    let output = run(&mut command, "a pass of retention by Kafka's own logs");
    let output = String::from_utf8(output.stdout).unwrap();
    fs::write(folder.join("kafka.log"), &output).unwrap();
    assert!(output.ends_with("DONE\n"), "{output}");
    let mut outcomes: BTreeMap<String, Outcome> = BTreeMap::new();
    let mut now: Option<String> = None;
    for line in output.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        match words[..] {
            ["REFUSED", path, cause] => panic!("{path}: {cause}"),
            ["PASS", name] => now = Some(name.to_owned()),
            ["PASSED", name, start, _] => {
                outcomes.entry(name.to_owned()).or_default().log_start = start.parse().unwrap();
                now = None;
            }
            _ => {
                let deleted = deleted(line);
                if let (Some(name), false) = (&now, deleted.is_empty()) {
                    outcomes
                        .entry(name.clone())
                        .or_default()
                        .deleted
                        .extend(deleted);
                }
            }
        }
    }
    outcomes
}

/// Returns the segments that a line of Kafka's says are deleted, with the reason.
fn deleted(line: &str) -> Vec<String> {
    let reason = match () {
        () if line.contains("due to log retention size") => "size",
        () if line.contains("based on the largest record timestamp") => "time record",
        () if line.contains("based on the last modified time") => "time file",
        () if line.contains("due to log start offset") => "log_start",
        () => return Vec::new(),
    };
    line.split("baseOffset=")
        .skip(1)
        .map(|rest| {
            let base: String = rest.chars().take_while(char::is_ascii_digit).collect();
            format!("{base} {reason}")
        })
        .collect()
}
