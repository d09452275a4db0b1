//! Logs that real brokers wrote while they booted, read line by line.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use krescue::observe::server_log::{Boot, BootEnd, BootEvent, Boots, LogReader, TimedEvent};
use regex::Regex;

use crate::support::golden_archive::unpack;

const PACKED: &[u8] = include_bytes!("../golden/server-logs/logs.tar.zst");

pub(crate) fn logs() -> &'static BTreeMap<String, Vec<u8>> {
    static LOGS: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
        let files = unpack(PACKED).into_iter();
        let logs: BTreeMap<_, _> = files.filter(|(path, _)| path != "./").collect();
        assert_eq!(logs.len(), 87);
        logs
    });
    &LOGS
}

/// Reads `bytes` in pieces of `piece` bytes.
fn events(bytes: &[u8], piece: usize) -> Vec<TimedEvent> {
    let mut reader = LogReader::new();
    let mut events = Vec::new();
    for piece in bytes.chunks(piece) {
        reader.feed(piece, |event| events.push(event));
    }
    reader.finish(|event| events.push(event));
    assert!(!reader.is_foreign());
    events
}

fn boot(bytes: &[u8]) -> Boot {
    let mut boots = Boots::default();
    for event in events(bytes, 4096) {
        boots.take(event);
    }
    assert_eq!(boots.all().len(), 1);
    boots.last().unwrap().clone()
}

/// What carries progress or a loss, as the brokers' own lines spell it: each must become an event of its kind.
const SPELLED: [(&str, &str); 13] = [
    ("loading", r"\] INFO Loading logs from log dirs "),
    (
        "unclean",
        r"\] INFO Recovering \d+ logs from .+ since no clean shutdown file was found",
    ),
    (
        "clean",
        r"\] INFO Skipping recovery of \d+ logs from .+ since clean shutdown file was found",
    ),
    ("empty", r"\] INFO No logs found to be loaded in "),
    (
        "segment",
        r"\] INFO \[LogLoader partition=\S+, dir=.+?\] Recovering unflushed segment \d+\. ",
    ),
    (
        "snapshot",
        r"\] INFO \[ProducerStateManager partition=\S+\] Wrote producer snapshot at offset \d+ with",
    ),
    ("loaded", r"\] INFO Completed load of Log\(dir="),
    (
        "failed",
        r"\] INFO Error while loading logs in .+ in \d+ms \(",
    ),
    ("all", r"\] INFO Loaded \d+ logs in \d+ms"),
    (
        "cut",
        r"\] WARN \[LogLoader .+\] Corruption found in segment \d+",
    ),
    ("invalid", r"\] WARN Found invalid messages in log segment "),
    (
        "emptied",
        r"\] WARN \[LogLoader .+\] Found invalid offset during recovery\.",
    ),
    (
        "started",
        r"\] INFO \[KafkaRaftServer nodeId=\d+\] Kafka Server started",
    ),
];

fn kind(event: &BootEvent) -> &'static str {
    match event {
        BootEvent::LoadingLogs => "loading",
        BootEvent::DirUnclean { .. } => "unclean",
        BootEvent::DirClean { .. } => "clean",
        BootEvent::DirEmpty { .. } => "empty",
        BootEvent::SegmentBegun { .. } => "segment",
        BootEvent::SnapshotWritten { .. } => "snapshot",
        BootEvent::LogLoaded { .. } => "loaded",
        BootEvent::LogFailed { .. } => "failed",
        BootEvent::LogsLoaded { .. } => "all",
        BootEvent::Cut { .. } => "cut",
        BootEvent::InvalidMessages { .. } => "invalid",
        BootEvent::EmptyTried { .. } => "emptied",
        BootEvent::Started => "started",
        _ => "",
    }
}

#[test]
fn every_line_that_carries_progress_is_understood() {
    let patterns = SPELLED.map(|(kind, pattern)| (kind, Regex::new(pattern).unwrap()));
    let mut seen = 0;
    for (name, bytes) in logs() {
        let text = String::from_utf8(bytes.clone()).unwrap();
        let mut told: BTreeMap<&str, usize> = BTreeMap::new();
        for event in events(bytes, 4096) {
            *told.entry(kind(&event.event)).or_default() += 1;
        }
        for (kind, pattern) in &patterns {
            let lines = text.lines().filter(|line| pattern.is_match(line)).count();
            let told = told.get(kind).copied().unwrap_or(0);
            assert_eq!(told, lines, "{kind} in {name}");
            seen += lines;
        }
    }
    assert!(seen > 2800, "{seen}");
}

#[test]
fn pieces_of_any_size_say_the_same() {
    let bytes = &logs()["4.4.0-corrupt-boot.log"];
    let whole = events(bytes, usize::MAX);
    assert!(whole.len() > 100);
    for piece in [1, 7, 100, 4095, 65_537] {
        assert_eq!(events(bytes, piece), whole, "pieces of {piece} bytes");
    }
}

#[test]
fn boots_that_come_up_say_what_is_lost() {
    // Losses: two segments deleted behind cuts and one checksum mismatch in the damaged set; the others by their names.
    let losses = BTreeMap::from([
        ("corrupt-boot", 3),
        ("crc-cut", 2),
        ("dead-cleaner", 1),
        ("all-stray", 6),
        ("stray-topic-id", 1),
    ]);
    let some = [
        "no-inodes",
        "offline-read-only",
        "offline-recovery-point",
        "partition-dir-of-another-user",
        "half-dead-high-watermark-checkpoint",
    ];
    for (name, bytes) in logs() {
        let (version, what) = name.trim_end_matches(".log").split_once('-').unwrap();
        // This file ends before the boot does.
        let goes_on = name == "3.9.1-stray-topic-id.log";
        if what.starts_with("fatal")
            || what.starts_with("sigterm")
            || what == "controller-unreachable"
        {
            continue;
        }
        let boot = boot(bytes);
        if goes_on {
            assert_eq!(boot.end, None);
        } else {
            assert_eq!(boot.end, Some(BootEnd::Up), "{name}");
            assert_eq!(boot.version.as_deref(), Some(version));
        }
        let lost = boot.losses().count();
        if some.contains(&what) {
            assert!(lost > 0, "{name}");
        } else {
            let expected = losses.get(what).copied().unwrap_or(0);
            assert_eq!(
                lost,
                expected,
                "{name}: {:?}",
                boot.losses().collect::<Vec<_>>()
            );
        }
        let (done, all) = boot.logs();
        assert_eq!(done, all, "{name}");
        assert!(boot.working.is_empty(), "{name}");
    }
}

#[test]
fn boots_that_die_name_the_cause() {
    for (what, cause) in [
        (
            "cluster-id",
            "Invalid cluster.id in: /var/lib/kafka/data2/meta.properties",
        ),
        (
            "disk-full",
            "InternalError: a fault occurred in a recent unsafe memory access",
        ),
        ("duplicate-directory-id", "Duplicate directory ID"),
        ("duplicate-partition", "Duplicate log directories for t1-0"),
        (
            "leader-epoch-number",
            "NumberFormatException: For input string: \"x\"",
        ),
        (
            "lock-held",
            "Failed to acquire lock on file .lock in /var/lib/kafka/data2",
        ),
        (
            "lost-and-found",
            "'lost+found' is not in the form of topic-partition",
        ),
        (
            "meta-missing",
            "No `meta.properties` found in /var/lib/kafka/data2",
        ),
        ("meta-version", "Unknown meta.properties version number 2"),
        (
            "node-id",
            "Stored node id 7 doesn't match previous node id 1",
        ),
        (
            "offset-overflow",
            "Split operation is only permitted for segments with overflow",
        ),
        ("oom", "OutOfMemoryError"),
        ("partition-metadata-empty", "because \"this.text\" is null"),
        ("port-in-use", "Address already in use"),
        (
            "quorum-state",
            "Error while reading the Quorum status from the file",
        ),
    ] {
        for version in ["3.9.1", "4.4.0"] {
            let name = format!("{version}-fatal-{what}.log");
            let Some(BootEnd::Died { cause: told }) = boot(&logs()[&name]).end else {
                panic!("{name} did not die");
            };
            assert!(told.contains(cause), "{name}: {told}");
        }
    }
    for version in ["3.9.1", "4.4.0"] {
        let boot = boot(&logs()[&format!("{version}-controller-unreachable.log")]);
        let cause = "Shutting down because we were unable to register with the controller quorum.";
        assert_eq!(
            boot.end,
            Some(BootEnd::Died {
                cause: cause.to_owned()
            })
        );
    }
}

#[test]
fn a_signal_during_recovery_ends_the_boot() {
    for version in ["3.9.1", "4.4.0"] {
        let boot = boot(&logs()[&format!("{version}-sigterm-during-recovery.log")]);
        let signal = "SIGTERM".to_owned();
        assert_eq!(boot.end, Some(BootEnd::Stopped { signal }));
        assert_eq!(boot.logs(), (0, 4));
        assert_eq!(
            boot.working.len(),
            1,
            "one thread was in the middle of a log"
        );
    }
}

#[test]
fn boots_that_break_off_are_counted() {
    let once = &logs()["4.4.0-crash-boot-1-thread.log"];
    let half = &once[..once.len() / 2];
    let mut boots = Boots::default();
    let mut reader = LogReader::new();
    for bytes in [half, half, once] {
        // A killed process leaves no end of its last line.
        reader.feed(bytes, |event| boots.take(event));
        reader.feed(b"\n", |event| boots.take(event));
    }
    let ends: Vec<_> = boots.all().iter().map(|boot| boot.end.clone()).collect();
    assert_eq!(
        ends,
        [
            Some(BootEnd::Killed),
            Some(BootEnd::Killed),
            Some(BootEnd::Up)
        ]
    );
}

#[test]
fn other_programs_noise_and_endless_lines_are_no_boot() {
    let mut reader = LogReader::new();
    let mut told = 0;
    let noise: Vec<u8> = (0..3_000_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    reader.feed(&noise, |_| told += 1);
    reader.feed(&vec![b'x'; 100 << 20], |_| told += 1);
    reader.feed(
        b"\nApr  1 00:00:00 host sshd[1]: Accepted publickey\n",
        |_| told += 1,
    );
    reader.finish(|_| told += 1);
    assert_eq!(told, 0);
    assert!(reader.is_foreign());
    assert!(reader.cut_lines() >= 1);
}
