//! A screen over ten thousand logs while a job speaks, and the mirror pane over five thousand positions: how long a frame is
//! computed, and a key until its frame.
//!
//! `cargo bench --bench dashboard`. Prints median, 99th percentile and the worst; nothing is asserted, since a shared machine
//! may be at anything else.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench prints, and fails by panicking"
)]

#[expect(dead_code, reason = "shared with the dashboard's tests")]
#[path = "../tests/it/dashboard/fixtures.rs"]
mod fixtures;
#[expect(dead_code, reason = "shared with the dashboard's tests")]
#[path = "../tests/it/dashboard/session.rs"]
mod session;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use krescue::app::Event;
use krescue::app::facts::{LogDirFacts, PartitionFacts};
use krescue::app::state::{MirrorWorld, WorkKind};
use krescue::engine::{JobEvent, LogState};
use krescue::format::mirror_record::OffsetSync;
use krescue::mirror::{
    ClusterFacts, CommitFact, Content, Facts, GroupFacts, InternalRecord, InternalTopic, LogFacts,
    Thinning, known_flows,
};
use krescue::plan::StopState;
use krescue::terms::Offset;

use fixtures::{NOW, broker, dirs};
use session::Session;

const LOGS: usize = 10_000;
const FRAMES: usize = 2000;
/// Groups that commit on ten partitions each.
const GROUPS: usize = 500;

fn main() {
    println!("{LOGS} logs, {FRAMES} frames each; a job speaks of one log before each frame");
    for size in [(80, 24), (200, 50)] {
        for (what, keys) in [("recovery", "2"), ("overview", "1")] {
            let (frames, keys) = frames(keys, size);
            println!(
                "{what} {}x{}: frame {}; key to frame {}",
                size.0,
                size.1,
                told(frames),
                told(keys)
            );
        }
    }
    mirror();
    let begin = Instant::now();
    let mut session = many();
    burst(&mut session);
    session.buffer(120, 32);
    println!(
        "{LOGS} events in one burst, and a frame: {:?}",
        begin.elapsed()
    );
}

fn many() -> Session {
    let partitions = (0..LOGS / 2)
        .map(|number| PartitionFacts {
            dir_name: format!("topic-{}-{}", number % 97, number),
            segments: 12,
            bytes: 1 << 30,
            boot_reads: Some(1 << 20),
            findings: Vec::new(),
        })
        .collect::<Vec<_>>();
    let listing = dirs().map(|path| LogDirFacts {
        path,
        stop: Some(StopState::Unclean),
        why: "no .kafka_cleanshutdown".to_owned(),
        findings: Vec::new(),
        partitions: partitions.clone(),
    });
    let mut session = Session::new();
    session.event(Event::Opened(Box::new(broker())));
    session.event(Event::Listed(listing.to_vec()));
    session.event(Event::WorkStarted {
        kind: WorkKind::Scan,
        at: NOW,
    });
    session
}

fn speak(session: &mut Session, number: usize, state: LogState) {
    let [log_dir, _] = dirs();
    session.event(Event::Work(JobEvent::Log {
        log_dir,
        dir_name: format!("topic-{}-{number}", number % 97),
        state,
        verdict: None,
    }));
}

fn burst(session: &mut Session) {
    for number in 0..LOGS / 2 {
        for state in [LogState::Scanning, LogState::Planned] {
            speak(session, number, state);
        }
    }
}

/// Returns how long each frame took, and each key with its frame.
fn frames(pane: &str, (width, height): (u16, u16)) -> (Vec<Duration>, Vec<Duration>) {
    let mut session = many();
    session.type_keys(pane);
    keys(&mut session, (width, height), |session, number| {
        speak(session, number, LogState::Scanning);
    })
}

/// Presses a key before each frame, after something has happened.
fn keys(
    session: &mut Session,
    (width, height): (u16, u16),
    mut happens: impl FnMut(&mut Session, usize),
) -> (Vec<Duration>, Vec<Duration>) {
    session.buffer(width, height);
    let (mut frames, mut keys) = (Vec::new(), Vec::new());
    for number in 0..FRAMES {
        happens(session, number);
        let begin = Instant::now();
        session.type_keys("j");
        let drawn = Instant::now();
        session.buffer(width, height);
        frames.push(drawn.elapsed());
        keys.push(begin.elapsed());
        session.take();
    }
    (frames, keys)
}

/// Tells what the mirror pane takes over groups and their partitions.
fn mirror() {
    let facts = mirrored();
    let begin = Instant::now();
    let world = Arc::new(MirrorWorld::new(&facts, &known_flows(&facts, None), None));
    println!(
        "mirror, {} positions: computed in {:?}",
        world.flows[0].positions.len(),
        begin.elapsed()
    );
    for size in [(80, 24), (200, 50)] {
        let mut session = many();
        session.type_keys("6");
        session.event(Event::Mirror(Ok(Arc::clone(&world))));
        session.type_keys(":failover\n");
        let (frames, keys) = keys(&mut session, size, |_, _| {});
        println!(
            "mirror {}x{}: frame {}; key to frame {}",
            size.0,
            size.1,
            told(frames),
            told(keys)
        );
    }
}

/// Returns two clusters, with groups that commit on the first one's topics, all of which are copied.
fn mirrored() -> Facts {
    let (mut source, mut target) = (ClusterFacts::default(), ClusterFacts::default());
    let log = |content| LogFacts {
        host: "bench".to_owned(),
        dir: String::new(),
        leader_epoch: None,
        log_start_offset: Offset(0),
        log_end_offset: Offset(100_000),
        newest_timestamp: Some(NOW),
        content,
    };
    let mut syncs = Content::new(InternalTopic::OffsetSyncs, Thinning::Cursor);
    let mut groups = BTreeMap::new();
    let (topics, partitions) = (GROUPS / 10, 10);
    for topic in 0..topics {
        for partition in 0..partitions {
            let name = format!("topic-{topic}");
            source.put(&name, partition, log(None));
            target.put(&format!("east.{name}"), partition, log(None));
            let (key, value) = OffsetSync {
                topic: &name,
                partition,
                upstream: Offset(99_000),
                downstream: Offset(99_000),
            }
            .encode();
            syncs.push(&InternalRecord {
                offset: Offset(0),
                timestamp: NOW,
                key: &key,
                value: Some(&value),
            });
        }
    }
    for group in 0..GROUPS {
        let commit = |partition: i32| CommitFact {
            offset: Offset(99_000 + i64::from(partition)),
            leader_epoch: None,
            metadata: String::new(),
            timestamp: Some(NOW),
            record_offset: Offset(0),
        };
        let commits = (0..partitions).map(|it| (it, commit(it))).collect();
        let facts = GroupFacts {
            commits: BTreeMap::from([(format!("topic-{}", group % topics), commits)]),
            ..GroupFacts::default()
        };
        groups.insert(format!("group-{group}"), facts);
    }
    source.live_groups = Some(groups);
    target.live_groups = Some(BTreeMap::new());
    source.put("mm2-offset-syncs.west.internal", 0, log(Some(syncs)));
    let checkpoints = Content::new(InternalTopic::Checkpoints, Thinning::Cursor);
    target.put("east.checkpoints.internal", 0, log(Some(checkpoints)));
    Facts {
        clusters: BTreeMap::from([("east".to_owned(), source), ("west".to_owned(), target)]),
        ..Facts::default()
    }
}

fn told(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)];
    let worst = times.last().copied().unwrap();
    format!("{:.1?} / p99 {:.1?} / worst {worst:.1?}", at(50), at(99))
}
