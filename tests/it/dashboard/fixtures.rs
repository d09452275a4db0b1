//! Facts and plans of a crashed broker with two log dirs, as the engine would say them.

use std::path::PathBuf;
use std::sync::Arc;

use krescue::app::event::{BytesView, Field};
use krescue::app::facts::{
    BrokerChoice, BrokerFacts, KeptFacts, LogDirFacts, PartitionFacts, Presence, Supervisor,
};
use krescue::app::{Event, PlanRequest};
use krescue::engine::{DirProgress, Phase, Progress};
use krescue::log::{Finding, FindingCode, Severity};
use krescue::plan::{
    Ask, AskReason, CheckpointEntry, Content, EvidenceSource, FileOwner, HandOver, KeptFile,
    LogConfig, LogDirPlan, OnLoss, PartitionPlan, PlanAct, Quarantine, RecoveryPlan,
    ReplicaEvidence, SegmentSummary, Step, StepAction, StopState, Verdict,
};
use krescue::terms::{KafkaVersion, Offset, Position, Timestamp, TopicPartition};

use super::session::Session;

/// 2026-11-30 14:02:31 UTC.
pub(super) const NOW: Timestamp = Timestamp(1_796_047_351_000);
pub(super) const HASH: &str = "7f3a91c2d4e5f60718293a4b5c6d7e8f7f3a91c2d4e5f60718293a4b5c6d7e8f";
const KIB: u64 = 1024;

/// Name, log dir, segments, bytes, bytes that a boot reads.
const LOGS: [(&str, usize, u64, u64, u64); 9] = [
    ("__consumer_offsets-0", 0, 1, 88 * KIB, 88 * KIB),
    ("audit-0", 0, 3, 190 * KIB, 62 * KIB),
    ("notifications-0", 0, 4, 420 * KIB, 102 * KIB),
    ("payments-1", 0, 4, 251 * KIB, 251 * KIB),
    ("clicks-0", 1, 6, 370 * KIB, 60 * KIB),
    ("clicks-10", 1, 6, 371 * KIB, 61 * KIB),
    ("orders-2", 1, 5, 301 * KIB, 45 * KIB),
    ("sessions-0", 1, 2, 40 * KIB, 40 * KIB),
    ("users-0", 1, 1, 12 * KIB, 0),
];

pub(super) fn dirs() -> [PathBuf; 2] {
    ["/var/lib/kafka/data1", "/var/lib/kafka/data2"].map(PathBuf::from)
}

pub(super) fn broker() -> BrokerFacts {
    BrokerFacts {
        node_id: Some(3),
        cluster_id: Some("MkU3OEVBNTcwNTJENDM2Qg".to_owned()),
        version: KafkaVersion::new(4, 1, 1),
        version_source: "jar beside kafka.service".to_owned(),
        config: Some(PathBuf::from("/etc/kafka/server.properties")),
        presence: Presence::Down,
        supervisor: Some(Supervisor {
            name: "kafka.service".to_owned(),
            hold: "systemctl mask --runtime kafka.service".to_owned(),
            release: "systemctl unmask --runtime kafka.service".to_owned(),
        }),
        flags: vec![
            "--config".to_owned(),
            "/etc/kafka/server.properties".to_owned(),
        ],
        metadata: vec![],
        act_refused: None,
        at: NOW,
    }
}

pub(super) fn choices() -> Vec<BrokerChoice> {
    let choice = |label: &str, source: &str, dir: &str| BrokerChoice {
        label: label.to_owned(),
        source: source.to_owned(),
        log_dirs: vec![PathBuf::from(dir)],
    };
    vec![
        choice("broker 1, server1.properties", "process 812", "/data/k1"),
        choice(
            "broker 2, server2.properties",
            "unit kafka2.service",
            "/data/k2",
        ),
    ]
}

pub(super) fn listing(stop: StopState) -> Vec<LogDirFacts> {
    let facts = |index: usize, path: &PathBuf| LogDirFacts {
        path: path.clone(),
        stop: Some(stop),
        why: match stop {
            StopState::Clean => ".kafka_cleanshutdown".to_owned(),
            StopState::Unclean => "no .kafka_cleanshutdown".to_owned(),
        },
        findings: Vec::new(),
        partitions: LOGS
            .iter()
            .filter(|log| log.1 == index)
            .map(|log| PartitionFacts {
                dir_name: log.0.to_owned(),
                segments: log.2,
                bytes: log.3,
                boot_reads: Some(log.4),
                findings: Vec::new(),
            })
            .collect(),
    };
    let dirs = dirs();
    dirs.iter()
        .enumerate()
        .map(|(index, path)| facts(index, path))
        .collect()
}

pub(super) fn torn() -> Finding {
    Finding::new(
        FindingCode::TornTail,
        Severity::Warning,
        "The last batch declares 1,151 bytes, but the file has 1,128 left: Kafka cuts it off.",
    )
    .file("00000000000000003100.log")
    .at(Position(103_341))
    .offset(Offset(4_010))
    .loses(1_128, None)
}

pub(super) fn crc() -> Finding {
    Finding::new(
        FindingCode::CrcMismatch,
        Severity::Loss,
        "The checksum of this batch does not fit its bytes: Kafka cuts here and deletes segment 1,530.",
    )
    .file("00000000000000001020.log")
    .at(Position(31_744))
    .offset(Offset(1_201))
    .loses(96 * KIB, Some(642))
    .next("See whether another replica is in sync before you take Kafka's way.")
}

/// Two other brokers have it.
pub(super) fn evidence() -> ReplicaEvidence {
    ReplicaEvidence {
        broker: Some(1),
        isr: vec![2, 3],
        leader: Some(2),
        as_of: Timestamp(NOW.0 - 90_000),
        source: EvidenceSource::Cluster,
        ends: Vec::new(),
    }
}

fn open_ask() -> Ask {
    let replicas = ReplicaEvidence {
        isr: vec![1, 2, 3],
        source: EvidenceSource::Disk,
        ..evidence()
    };
    Ask {
        reason: AskReason::LaterSegments,
        lost_bytes: 96 * KIB,
        lost_records: Some(642),
        lost_segments: 1,
        accepted: false,
        decided: OnLoss::Ask,
        no_set_aside: replicas.forbids_set_aside(NOW),
        replicas: Some(Box::new(replicas)),
    }
}

fn step(file: &str, action: StepAction, quarantine: Quarantine, reason: &str) -> Step {
    Step {
        file: file.to_owned(),
        action,
        quarantine,
        after_sync: true,
        reason: reason.to_owned(),
    }
}

fn segments(name: &str, count: u64, bytes: u64) -> Vec<SegmentSummary> {
    (0..count)
        .map(|index| {
            let last = index + 1 == count;
            let len = bytes / count;
            SegmentSummary {
                base_offset: Offset(i64::try_from(index).unwrap() * 1000 + 100),
                next_offset: last.then(|| Offset(i64::try_from(index).unwrap() * 1000 + 1010)),
                bytes: len,
                valid_bytes: last.then(|| {
                    if name == "notifications-0" {
                        len - 1_128
                    } else {
                        len
                    }
                }),
                batches: if last { 91 } else { 0 },
                records: if last { 910 } else { 0 },
                largest_timestamp: last.then_some(Timestamp(1_796_040_000_000)),
                scanned: last,
            }
        })
        .collect()
}

fn rebuild(base: &str) -> Vec<Step> {
    let write = |file: String, len: usize| {
        let action = StepAction::Write {
            content: Content::new(vec![0; len]),
            replaces: Some(10 << 20),
        };
        step(
            &file,
            action,
            Quarantine::Regenerable,
            "rebuilt from the log",
        )
    };
    vec![
        write(format!("{base}.index"), 192),
        write(format!("{base}.timeindex"), 300),
    ]
}

fn partition(log: &(&str, usize, u64, u64, u64)) -> PartitionPlan {
    let (name, _, count, bytes, reads) = *log;
    let mut plan = PartitionPlan {
        dir_name: name.to_owned(),
        topic_partition: name
            .rsplit_once('-')
            .map(|(topic, partition)| TopicPartition::new(topic, partition.parse().unwrap())),
        verdict: Verdict::Recover,
        findings: vec![],
        steps: rebuild("00000000000000003100"),
        segments: segments(name, count, bytes),
        log_start_offset: Some(Offset(100)),
        log_end_offset: Some(Offset(4_010)),
        recovery_point: Some(Offset(3_100)),
        high_watermark: Some(Offset(4_000)),
        config: LogConfig::default(),
        scan_bytes: reads,
        stamps: vec![],
    };
    match name {
        "notifications-0" => {
            plan.findings = vec![torn()];
            plan.steps.insert(
                0,
                step(
                    "00000000000000003100.log",
                    StepAction::SetLen {
                        from: 104_469,
                        to: 103_341,
                    },
                    Quarantine::Keep,
                    "torn tail",
                ),
            );
        }
        "payments-1" => {
            plan.findings = vec![
                crc(),
                Finding::new(
                    FindingCode::SegmentDropped,
                    Severity::Loss,
                    "Kafka deletes this whole segment.",
                )
                .file("00000000000000001530.log")
                .offset(Offset(1_530))
                .loses(64 * KIB, Some(430)),
            ];
            plan.verdict = Verdict::Ask(open_ask());
            plan.steps = vec![
                step(
                    "00000000000000001530.log",
                    StepAction::Remove { len: 64 * KIB },
                    Quarantine::Keep,
                    "behind the cut",
                ),
                step(
                    "00000000000000001020.log",
                    StepAction::SetLen {
                        from: 64_000,
                        to: 31_744,
                    },
                    Quarantine::Keep,
                    "checksum mismatch",
                ),
            ];
            plan.log_end_offset = Some(Offset(1_201));
        }
        "orders-2" => {
            plan.verdict = Verdict::Unreadable {
                cause: "00000000000000000100.log at byte 4096: read: Input/output error".to_owned(),
            };
            plan.steps = vec![];
        }
        "clicks-10" => {
            plan.verdict = Verdict::Refused {
                cause: "offset 2147483653 does not fit segment 0".to_owned(),
            };
            plan.steps = vec![];
        }
        "users-0" => {
            plan.verdict = Verdict::Nothing;
            plan.steps = vec![];
        }
        _ => {
            plan.findings = vec![
                Finding::new(
                    FindingCode::IndexRebuilt,
                    Severity::Routine,
                    "The index lacks 3 entries: Kafka rebuilds it.",
                )
                .file("00000000000000003100.index"),
            ];
        }
    }
    plan
}

/// The plan of the crash: a torn tail, an ASK, one log of each kind that stays.
pub(super) fn plan() -> RecoveryPlan {
    plan_of(&|log| Some(partition(log)))
}

/// A plan without an ASK or anything else that stays; it hands over cleanly.
pub(super) fn plan_of_cuts() -> RecoveryPlan {
    plan_of(&|log| {
        let plan = partition(log);
        matches!(plan.verdict, Verdict::Recover | Verdict::Nothing).then_some(plan)
    })
}

/// A plan that rebuilds indexes only.
pub(super) fn plan_of_indexes() -> RecoveryPlan {
    plan_of(&|log| (log.0 == "audit-0").then(|| partition(log)))
}

/// The plan that takes Kafka's way with the ASK.
pub(super) fn plan_like_kafka() -> RecoveryPlan {
    plan_of(&|log| {
        let mut plan = (log.0 == "payments-1").then(|| partition(log))?;
        if let Verdict::Ask(ask) = &mut plan.verdict {
            ask.accepted = true;
        }
        Some(plan)
    })
}

/// What is left after a recovery with a clean hand-over.
pub(super) fn plan_of_nothing() -> RecoveryPlan {
    let mut plan = plan_of(&|log| {
        let mut plan = partition(log);
        plan.verdict = Verdict::Nothing;
        plan.steps.clear();
        plan.findings.clear();
        plan.scan_bytes = 0;
        Some(plan)
    });
    for dir in &mut plan.log_dirs {
        dir.stop = StopState::Clean;
        dir.recovery_points = None;
    }
    plan
}

type Logs<'a> = &'a dyn Fn(&(&str, usize, u64, u64, u64)) -> Option<PartitionPlan>;

fn plan_of(logs: Logs<'_>) -> RecoveryPlan {
    let dir = |index: usize, path: &PathBuf| {
        let partitions: Vec<PartitionPlan> = LOGS
            .iter()
            .filter(|log| log.1 == index)
            .filter_map(logs)
            .collect();
        LogDirPlan {
            path: path.clone(),
            stop: StopState::Unclean,
            hand_over: HandOver::Verify,
            recovery_points: Some(vec![CheckpointEntry {
                topic_partition: TopicPartition::new("audit", 0),
                offset: Offset(4_010),
            }]),
            lowered: None,
            log_starts: None,
            arrival: None,
            departure: None,
            removes_marker: false,
            findings: vec![],
            partitions,
            stamps: vec![],
            mends: Vec::new(),
            undo: None,
        }
    };
    RecoveryPlan {
        undoes: None,
        beside_broker: false,
        schema: 1,
        act: PlanAct::Recover,
        kafka_version: KafkaVersion::new(4, 1, 1),
        version_source: "jar beside kafka.service".to_owned(),
        now: NOW,
        hand_over: HandOver::Verify,
        quarantine: Some(PathBuf::from("/var/lib/krescue/quarantine")),
        log_dirs: dirs()
            .iter()
            .enumerate()
            .map(|(index, path)| dir(index, path))
            .collect(),
    }
}

pub(super) fn planned(plan: RecoveryPlan) -> Event {
    Event::Planned {
        plan: Arc::new(plan),
        hash: HASH.to_owned(),
        request: PlanRequest::default(),
        unstored: None,
        at: NOW,
    }
}

pub(super) fn progress(phase: Phase, done: [u64; 2], steps: (u64, u64)) -> Progress {
    let total = [503 * KIB, 206 * KIB];
    Progress {
        phase,
        steps_done: steps.0,
        steps_total: steps.1,
        dirs: dirs()
            .into_iter()
            .enumerate()
            .map(|(index, log_dir)| DirProgress {
                log_dir,
                bytes_done: done[index],
                bytes_total: total[index],
                logs_done: done[index] * 4 / total[index],
                logs_total: [4, 5][index],
            })
            .collect(),
    }
}

pub(super) fn bytes() -> BytesView {
    let mut bytes: Vec<u8> = (0..96_u8).collect();
    bytes[16..28].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0x04, 0xb1, 0, 0, 0x04, 0x73]);
    let field = |name, value: &str, wrong: Option<&str>| Field {
        name,
        value: value.to_owned(),
        wrong: wrong.map(str::to_owned),
    };
    BytesView {
        file: dirs()[0].join("payments-1/00000000000000001020.log"),
        position: Position(31_744),
        from: Position(31_728),
        bytes,
        file_len: 64_000,
        fields: vec![
            field("baseOffset", "1201", None),
            field("batchLength", "1139", None),
            field("partitionLeaderEpoch", "3", None),
            field("magic", "2", None),
            field("crc", "bb18692b", Some("≠ 1f0c22aa")),
            field("attributes", "0: none, CreateTime", None),
            field("lastOffsetDelta", "9", None),
            field("producerId", "4000", None),
        ],
        error: None,
    }
}

/// A session whose broker is open and whose dirs are listed.
pub(super) fn listed() -> Session {
    let mut session = Session::new();
    session.event(Event::Opened(Box::new(broker())));
    session.event(Event::Listed(listing(StopState::Unclean)));
    session
}

/// A session with a plan.
pub(super) fn with_plan(plan: RecoveryPlan) -> Session {
    let mut session = listed();
    session.event(planned(plan));
    session.take();
    session
}

/// Two plans that were carried out: one can be taken back.
pub(super) fn kept() -> Vec<KeptFacts> {
    let fact = |plan: &str, hours: i64, partitions: &[&str], why_not: Option<&str>| KeptFacts {
        plan: plan.repeat(8),
        at: Timestamp(NOW.0 - hours * 3_600_000),
        who: "alice (sudo)".to_owned(),
        partitions: partitions.iter().map(|name| (*name).to_owned()).collect(),
        bytes: 96 * KIB,
        why_not: why_not.map(str::to_owned),
    };
    vec![
        fact("7f3a91c2", 1, &["payments-1", "notifications-0"], None),
        fact(
            "0badcafe",
            30,
            &["orders-2"],
            Some("orders-2/00000000000000000100.log was written to since it was carried out"),
        ),
    ]
}

/// The plan that takes the last one back.
pub(super) fn plan_of_undo() -> RecoveryPlan {
    let mut plan = plan_of(&|log| {
        let mut plan = (log.0 == "notifications-0").then(|| partition(log))?;
        plan.verdict = Verdict::TakeBack;
        let kept = KeptFile {
            path: Some(PathBuf::from("/var/lib/krescue/quarantine/cut")),
            len: 1128,
            sha256: None,
            mtime_ns: 0,
            owner: FileOwner {
                uid: 0,
                gid: 0,
                mode: 0o644,
                attributes: Vec::new(),
            },
        };
        let action = StepAction::Append {
            from: 103_341,
            to: 104_469,
            kept: Box::new(kept),
        };
        let why = "as it was before 7f3a91c2";
        let log = "00000000000000003100.log";
        plan.steps = vec![step(log, action, Quarantine::Regenerable, why)];
        Some(plan)
    });
    plan.undoes = Some("7f3a91c2".repeat(8));
    plan.hand_over = HandOver::None;
    plan
}
