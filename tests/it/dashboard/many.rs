//! Ten thousand logs: a screen stays quick, and a burst of events costs one order, not one each.

use std::time::{Duration, Instant};

use krescue::app::Event;
use krescue::app::facts::{LogDirFacts, PartitionFacts};
use krescue::app::state::WorkKind;
use krescue::engine::{JobEvent, LogState};
use krescue::plan::StopState;

use super::fixtures::{NOW, broker, dirs};
use super::session::Session;

/// What an unoptimised build may take; an optimised one takes a twentieth.
const FRAME: Duration = Duration::from_millis(300);
const BURST: Duration = Duration::from_secs(5);
const LOGS: usize = 10_000;

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
    session.type_keys("2");
    session
}

#[test]
fn a_frame_over_ten_thousand_logs_is_quick() {
    let mut session = many();
    session.screen(200, 50);
    let mut frames: Vec<Duration> = (0..30)
        .map(|frame| {
            let [dir, _] = dirs();
            session.event(Event::Work(JobEvent::Log {
                log_dir: dir,
                dir_name: format!("topic-{}-{}", frame % 97, frame),
                state: LogState::Scanning,
                verdict: None,
            }));
            session.type_keys("j");
            let begin = Instant::now();
            session.buffer(200, 50);
            begin.elapsed()
        })
        .collect();
    frames.sort();
    assert!(frames[28] < FRAME, "{frames:?}");
}

#[test]
fn a_burst_of_events_is_taken_at_once() {
    let mut session = many();
    let [dir, _] = dirs();
    let begin = Instant::now();
    for number in 0..LOGS / 2 {
        for state in [LogState::Scanning, LogState::Planned] {
            session.event(Event::Work(JobEvent::Log {
                log_dir: dir.clone(),
                dir_name: format!("topic-{}-{number}", number % 97),
                state,
                verdict: None,
            }));
        }
    }
    session.screen(120, 32);
    assert!(begin.elapsed() < BURST, "{:?}", begin.elapsed());
}
