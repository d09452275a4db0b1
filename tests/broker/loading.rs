//! The measure itself: Kafka's own classes, called by the tests, do what a broker's boot does.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use krescue::format::archive::{Node as ArchiveNode, entries};

use crate::support::broker::PATIENCE;
use crate::support::compare::{SnapshotOrder, counts, differences};
use crate::support::kafka::{Kafka, target};
use crate::support::loader::{Loaded, Node, load};
use crate::support::process::Process;
use crate::support::source::{Source, now_ms};
use crate::support::tree::{self, Tree};

/// The clock of the golden cases.
const GOLDEN_NOW: i64 = 1_796_029_200_000;

#[test]
fn loader_reproduces_the_golden_cases_3_9_1() {
    golden("3.9.1");
}

#[test]
fn loader_reproduces_the_golden_cases_4_4_0() {
    golden("4.4.0");
}

#[test]
fn loader_equals_a_boot_3_9_1() {
    boot("3.9.1");
}

#[test]
fn loader_equals_a_boot_4_4_0() {
    boot("4.4.0");
}

/// Returns a new empty folder for `name`.
pub(crate) fn work_folder(name: &str) -> PathBuf {
    let folder = target().join("kafka/work").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn golden(version: &str) {
    let kafka = Kafka::resolve(version);
    let folder = work_folder(&format!("golden-{version}"));
    let packed = include_bytes!("../golden/recovery/cases.tar.zst");
    let mut archive = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(packed.as_slice())
        .unwrap()
        .read_to_end(&mut archive)
        .unwrap();
    let mut cases: BTreeMap<String, Tree> = BTreeMap::new();
    for entry in entries(&archive).map(Result::unwrap) {
        let path = entry.path.trim_start_matches("./");
        let Some((case, rest)) = path.split_once('/') else {
            continue;
        };
        let (side, rest) = rest.split_once('/').unwrap_or((rest, ""));
        if side == "before" {
            let target = folder.join(case).join(rest);
            match entry.node {
                ArchiveNode::Directory => fs::create_dir_all(target).unwrap(),
                ArchiveNode::File { parts, .. } => {
                    fs::write(target, parts.first().map_or(&[][..], |part| part.1)).unwrap();
                }
            }
        } else if side == format!("after-{version}") {
            let tree = cases.entry(case.to_owned()).or_default();
            if let (ArchiveNode::File { length, parts }, true) = (entry.node, rest.contains('/')) {
                let mut content = tree::Content::of(parts.first().map_or(&[][..], |part| part.1));
                content.length = length;
                tree.insert(rest.to_owned(), content);
            }
        }
    }
    let properties = folder.join("server.properties");
    let text = "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:19093\n\
                listeners=PLAINTEXT://127.0.0.1:19092,CONTROLLER://127.0.0.1:19093\ncontroller.listener.names=CONTROLLER\n\
                listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\nlog.index.size.max.bytes=16384\n";
    fs::write(&properties, text).unwrap();
    fs::write(folder.join("topics"), "").unwrap();
    let log_dirs: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    assert_eq!(log_dirs.len(), 52);
    let outcome = load(
        &kafka,
        &Node {
            properties: &properties,
            topics: &folder.join("topics"),
            now: GOLDEN_NOW,
            log_dirs,
        },
    );
    let mut wrong = Vec::new();
    for (path, loaded) in &outcome {
        let case = path
            .parent()
            .and_then(Path::file_name)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        match (loaded, cases.get(&case)) {
            (Loaded::Yes, Some(kafka)) => {
                let found = tree::read(&folder.join(&case), |path| {
                    path.contains('/') && counts(path)
                });
                wrong.extend(
                    differences(SnapshotOrder::Counts, kafka, &found)
                        .iter()
                        .map(|line| format!("{case}: {line}")),
                );
            }
            (Loaded::Refused(_), None) => {}
            (loaded, _) => wrong.push(format!("{case}: {loaded:?}")),
        }
    }
    assert_eq!(outcome.len(), 52);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn boot(version: &str) {
    let source = Source::shared(version);
    let folder = work_folder(&format!("boot-{version}"));
    let [booted, loaded, later] = ["booted", "loaded", "later"].map(|name| folder.join(name));
    for side in [&booted, &loaded, &later] {
        source.copy_to(side);
    }
    let mut command = source.kafka.attached("512m", "BootAndHalt");
    command.arg(booted.join("server.properties"));
    // A boot forgets the producers that have expired by the system's clock.
    let before = now_ms();
    let begin = Instant::now();
    let mut broker = Process::spawn(&mut command, &folder.join("server.log"));
    broker.wait(PATIENCE);
    let after = now_ms();
    assert!(broker.output().contains(" logs in "), "{}", broker.output());
    eprintln!(
        "{version}: a broker had its logs loaded after {:?}",
        begin.elapsed()
    );
    let load_at = |side: &Path, now: i64| {
        load(
            &source.kafka,
            &Node {
                properties: &side.join("server.properties"),
                topics: &side.join("topics"),
                now,
                log_dirs: Vec::new(),
            },
        )
    };
    let begin = Instant::now();
    let outcome = load_at(&loaded, before);
    load_at(&later, after);
    eprintln!(
        "{version}: the loader loaded {} logs twice in {:?}",
        outcome.len(),
        begin.elapsed()
    );
    let mut compared = 0;
    for (path, result) in &outcome {
        assert_eq!(*result, Loaded::Yes, "{}", path.display());
        let relative = path.strip_prefix(&loaded).unwrap();
        let [left, right, later] =
            [&booted, &loaded, &later].map(|side| tree::read(&side.join(relative), counts));
        let mut wrong = differences(SnapshotOrder::Counts, &left, &right);
        // A producer may have expired while the broker booted.
        if differences(SnapshotOrder::Counts, &left, &later).is_empty() {
            wrong.clear();
        }
        assert!(
            wrong.is_empty(),
            "{}:\n{}",
            relative.display(),
            wrong.join("\n")
        );
        compared += 1;
    }
    eprintln!("{version}: {compared} logs are equal after a boot and after the loader");
    assert!(compared >= 40);
}
