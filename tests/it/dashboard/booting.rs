//! A broker that boots, as the dashboard shows it: rows of its own log dirs, its threads, what it loses, how it ends.

use krescue::app::facts::{BrokerFacts, Presence};
use krescue::app::recording::{Fact, Recorded};
use krescue::app::situation::{Situation, Urgency};
use krescue::app::{Effect, Event};
use krescue::observe::server_log::{BootEnd, BootEvent, BootPhase, BootTrouble, LineTime};
use krescue::observe::{
    Attempt, BootProgress, BootReport, BootSource, DirReport, History, SourceReport, Span,
    Supervision, UnitLimits, WorkReport,
};
use krescue::plan::StopState;
use krescue::terms::{Offset, Timestamp};

use super::fixtures::{NOW, broker, dirs, listing};
use super::screens::{keep, keep_at};
use super::session::Session;

const KIB: u64 = 1024;

fn running() -> BrokerFacts {
    BrokerFacts {
        presence: Presence::Running { pid: Some(812) },
        ..broker()
    }
}

fn span(seconds: i64) -> Span {
    Span {
        least_ms: seconds * 800,
        likely_ms: seconds * 1000,
        most_ms: seconds * 1500,
    }
}

fn dir(index: usize, logs: (u64, u64), bytes: (u64, u64), seconds: i64) -> DirReport {
    DirReport {
        path: dirs()[index].display().to_string(),
        unclean: Some(true),
        offline: false,
        logs_done: logs.0,
        logs_total: Some(logs.1),
        logs_by: Some(BootSource::Log),
        failed: 0,
        progress: Some(BootProgress {
            bytes_done: bytes.0 * KIB,
            bytes_total: bytes.1 * KIB,
            bytes_per_s: Some(12 * KIB),
            left: Some(span(seconds)),
        }),
    }
}

fn source(source: BootSource, ago: i64) -> SourceReport {
    SourceReport {
        source,
        at: Some(Timestamp(NOW.0 - ago)),
        trouble: None,
        turned: 0,
    }
}

/// The middle of the load: three logs are done, three threads work.
fn middle() -> BootReport {
    let work = |dir: usize,
                thread: usize,
                name: &str,
                base: i64,
                segments: (u64, u64),
                kib: (u64, u64)| WorkReport {
        dir,
        thread,
        name: name.to_owned(),
        base_offset: Offset(base),
        segments_done: segments.0,
        segments: Some(segments.1),
        bytes_done: kib.0 * KIB,
        bytes_total: Some(kib.1 * KIB),
    };
    BootReport {
        at: NOW,
        phase: BootPhase::Loading,
        dirs: vec![
            dir(0, (2, 4), (320, 503), 18),
            dir(1, (1, 5), (70, 206), 36),
        ],
        works: vec![
            work(0, 0, "payments-1", 1020, (2, 4), (150, 251)),
            work(1, 0, "clicks-0", 3100, (0, 1), (20, 60)),
            work(1, 1, "orders-2", 4400, (0, 1), (10, 45)),
        ],
        finished: vec![
            (0, "__consumer_offsets-0".to_owned()),
            (0, "audit-0".to_owned()),
            (1, "sessions-0".to_owned()),
        ],
        segments_done: 6,
        progress: Some(BootProgress {
            bytes_done: 390 * KIB,
            bytes_total: 709 * KIB,
            bytes_per_s: Some(24 * KIB),
            left: Some(span(36)),
        }),
        began: Some(Timestamp(NOW.0 - 40_000)),
        history: None,
        troubles: Vec::new(),
        refused: 2,
        catch_up: None,
        first_pass: None,
        bytes_by: Some(BootSource::Threads),
        kernel_kill: None,
        sources: vec![
            source(BootSource::Threads, 0),
            source(BootSource::Log, 3_000),
        ],
        end: None,
    }
}

fn trouble(event: BootEvent) -> BootTrouble {
    BootTrouble {
        time: LineTime(NOW.0),
        event,
        cause: None,
        cut_bytes: None,
    }
}

fn cut(log: &str) -> BootTrouble {
    trouble(BootEvent::Cut {
        log: log.to_owned(),
        dir: dirs()[0].display().to_string(),
        base_offset: Offset(1020),
        offset: Offset(1201),
    })
}

fn emptied() -> BootTrouble {
    trouble(BootEvent::Emptied {
        log: "orders-2".to_owned(),
        dir: dirs()[1].display().to_string(),
        base_offset: Offset(4400),
    })
}

fn booting() -> Session {
    let mut session = Session::new();
    session.event(Event::Opened(Box::new(running())));
    session.event(Event::Listed(listing(StopState::Unclean)));
    session.event(Event::Boot(Box::new(middle())));
    session.take();
    session
}

fn with(report: BootReport) -> Session {
    let mut session = booting();
    session.event(Event::Boot(Box::new(BootReport {
        finished: Vec::new(),
        ..report
    })));
    session.later(9_000);
    session
}

#[test]
fn recovery_of_a_booting_broker() {
    let mut session = booting();
    session.type_keys("2");
    keep("recovery-boot", &mut session);
    keep_at("recovery-boot", &mut session, (60, 16));
}

#[test]
fn overview_of_a_booting_broker() {
    keep("overview-boot", &mut booting());
}

#[test]
fn recovery_of_a_boot_that_loses_records() {
    let mut session = with(BootReport {
        troubles: vec![cut("payments-1"), emptied()],
        ..middle()
    });
    session.type_keys("2");
    keep("recovery-boot-loss", &mut session);
    let situation = Situation::of(&session.state);
    assert_eq!(situation.urgency, Urgency::Danger);
    assert!(
        situation
            .text
            .starts_with("1 LOSS so far; boots after an unclean stop: 55 %"),
        "{situation:?}"
    );
}

#[test]
fn recovery_of_a_boot_that_died() {
    let end = BootEnd::Died {
        cause: "Shutdown broker because all log dirs in /var/lib/kafka/data1 have failed"
            .to_owned(),
    };
    let mut session = with(BootReport {
        phase: BootPhase::Ended,
        end: Some(end),
        ..middle()
    });
    session.event(Event::Opened(Box::new(broker())));
    session.type_keys("2");
    keep("recovery-boot-died", &mut session);
    let situation = Situation::of(&session.state);
    assert!(situation.text.contains("all log dirs"), "{situation:?}");
    assert_eq!(situation.urgency, Urgency::Danger);
}

/// Two boots before were killed at 60 s by a unit that waits no longer.
fn killed_twice() -> History {
    let attempt = |began: i64| Attempt {
        began: Some(LineTime(NOW.0 - began)),
        lasted_ms: Some(60_000),
        logs: (5, 9),
        end: BootEnd::Killed,
    };
    History {
        failed: vec![attempt(200_000), attempt(120_000)],
        supervision: Supervision {
            unit: Some(UnitLimits {
                name: "kafka.service".to_owned(),
                kind: Some("notify".to_owned()),
                start_ms: Some(60_000),
                burst: Some(5),
                burst_ms: Some(600_000),
                ..UnitLimits::default()
            }),
            ..Supervision::default()
        },
    }
}

#[test]
fn a_crash_loop_comes_before_all_else() {
    let mut session = with(BootReport {
        history: Some(killed_twice()),
        ..middle()
    });
    keep("overview-crash-loop", &mut session);
    let situation = Situation::of(&session.state);
    assert_eq!(situation.urgency, Urgency::Danger);
    assert!(
        situation.text.starts_with("CRASH LOOP: third boot"),
        "{situation:?}"
    );
}

#[test]
fn one_boot_that_will_be_killed_is_told_in_time() {
    let mut history = killed_twice();
    history.failed.clear();
    let session = with(BootReport {
        history: Some(history),
        ..middle()
    });
    let situation = Situation::of(&session.state);
    assert!(
        situation
            .text
            .starts_with("WILL BE KILLED at 14:02:51 (TimeoutStartSec=1 min of kafka.service)"),
        "{situation:?}"
    );
}

#[test]
fn a_recording_that_begins_in_the_middle_says_the_same() {
    let lost = BootReport {
        troubles: vec![emptied()],
        history: Some(killed_twice()),
        ..middle()
    };
    let mut watched = with(lost);
    watched.take();
    watched.type_keys(":record /r/x.jsonl\n");
    let effects = watched.take_acts();
    let [
        Effect::Record {
            file: Some(_),
            known,
        },
    ] = effects.as_slice()
    else {
        panic!("{effects:?}")
    };
    let mut again = Session::new();
    for fact in known.clone() {
        let line = serde_json::to_string(&fact).unwrap();
        let fact: Fact = serde_json::from_str(&line).unwrap();
        let at = watched.state.now;
        again.event(Recorded { at, fact }.into_event());
    }
    again.event(Event::Tick(watched.state.now));
    again.later(9_000);
    watched.later(9_000);
    watched.type_keys("2");
    again.type_keys("2");
    assert_eq!(again.screen(120, 32), watched.screen(120, 32));
}

#[test]
fn a_boot_s_end_lists_the_log_dirs_anew() {
    let mut session = with(BootReport {
        phase: BootPhase::Ended,
        end: Some(BootEnd::Up),
        ..middle()
    });
    assert!(session.take_acts().contains(&Effect::List));
    assert_eq!(Situation::of(&session.state).urgency, Urgency::Fine);
}

#[test]
fn a_look_moves_no_row_under_the_cursor() {
    let mut session = booting();
    session.type_keys("2jj");
    session.screen(120, 32);
    let name = |session: &Session| session.state.selected_log().unwrap().dir_name.clone();
    let before = name(&session);
    let mut next = middle();
    next.finished = vec![(0, "payments-1".to_owned()), (1, "clicks-0".to_owned())];
    next.works.clear();
    session.event(Event::Boot(Box::new(next)));
    session.screen(120, 32);
    assert_eq!(name(&session), before);
}

#[test]
fn a_boot_fits_every_size() {
    for keys in ["", "2", "2:payments-1\n"] {
        let mut session = with(BootReport {
            troubles: vec![cut("payments-1"), emptied()],
            ..middle()
        });
        session.type_keys(keys);
        for width in [0, 1, 2, 39, 40, 59, 80, 104, 120, 200, 500] {
            for height in [0, 1, 9, 10, 16, 24, 32, 50, 120] {
                session.screen(width, height);
            }
        }
    }
}
