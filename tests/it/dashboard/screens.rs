//! Whole screens, kept under `tests/snapshots`; read them as the operator does.

use crossterm::event::KeyCode;
use krescue::app::Event;
use krescue::app::facts::BrokerFacts;
use krescue::app::state::WorkKind;
use krescue::engine::{JobEvent, JobOutcome, LogState, Phase};
use krescue::plan::{StopState, Verdict};
use krescue::terms::Timestamp;
use krescue::tui::Charset;
use ratatui::style::{Color, Style};

use super::fixtures::*;
use super::session::{SIZES, Session, look, setup};

/// Compares the screen with the one kept, at each size.
pub(super) fn keep(name: &str, session: &mut Session) {
    for (width, height) in SIZES {
        keep_at(name, session, (width, height));
    }
}

pub(super) fn keep_at(name: &str, session: &mut Session, (width, height): (u16, u16)) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        insta::assert_snapshot!(
            format!("{name}-{width}x{height}"),
            session.screen(width, height)
        );
    });
}

fn job() -> WorkKind {
    WorkKind::Apply {
        job: "20261130T140231-7f3a91c2".to_owned(),
        plan: HASH.to_owned(),
    }
}

#[test]
fn overview_of_listed_dirs() {
    keep("overview-listed", &mut listed());
}

#[test]
fn overview_with_what_the_disk_says_of_the_cluster() {
    let mut session = listed();
    let metadata = [
        "as of offset 81,234 (2026-11-30T13:46:10Z) · metadata.version 26, group.version 1",
        "quorum: leader 2 in epoch 14 · voters 1, 2, 3 (controller.quorum.voters)",
        "formatted with metadata.version 26, group.version 1 (bootstrap.checkpoint)",
    ];
    session.event(Event::Opened(Box::new(BrokerFacts {
        metadata: metadata.map(str::to_owned).to_vec(),
        ..broker()
    })));
    session.event(Event::Listed(listing(StopState::Unclean)));
    keep("overview-metadata", &mut session);
    assert!(
        session
            .screen(200, 50)
            .contains("quorum: leader 2 in epoch 14")
    );
}

#[test]
fn overview_with_a_plan() {
    keep("overview-plan", &mut with_plan(plan()));
}

#[test]
fn overview_of_a_clean_broker() {
    let mut session = listed();
    session.event(Event::Listed(listing(StopState::Clean)));
    session.event(planned(plan_of_nothing()));
    keep("overview-clean", &mut session);
}

#[test]
fn recovery_of_listed_dirs() {
    let mut session = listed();
    session.type_keys("2");
    keep("recovery-listed", &mut session);
}

#[test]
fn recovery_while_a_scan_runs() {
    let mut session = listed();
    session.event(Event::WorkStarted {
        kind: WorkKind::Scan,
        at: NOW,
    });
    session.type_keys("2");
    for (second, done) in [[0, 0], [60_000, 40_000], [122_880, 81_920]]
        .into_iter()
        .enumerate()
    {
        let at = Timestamp(NOW.0 + i64::try_from(second).unwrap() * 1000);
        let progress = progress(Phase::Scanning, done, (0, 0));
        session.event(Event::Progress { progress, at });
        session.event(Event::Tick(at));
    }
    let [first, second] = dirs();
    let log = |log_dir: &std::path::PathBuf, name: &str, state, verdict| {
        Event::Work(JobEvent::Log {
            log_dir: log_dir.clone(),
            dir_name: name.to_owned(),
            state,
            verdict,
        })
    };
    session.event(log(&first, "payments-1", LogState::Scanning, None));
    session.event(log(&second, "clicks-0", LogState::Scanning, None));
    session.event(log(
        &first,
        "audit-0",
        LogState::Planned,
        Some(Verdict::Recover),
    ));
    for base in [100, 1_100] {
        session.event(Event::Work(JobEvent::Segment {
            log_dir: first.clone(),
            dir_name: "payments-1".to_owned(),
            base_offset: krescue::terms::Offset(base),
            bytes: 64_000,
        }));
    }
    session.event(Event::Work(JobEvent::Finding {
        log_dir: first.clone(),
        dir_name: Some("payments-1".to_owned()),
        finding: crc(),
    }));
    keep("recovery-scanning", &mut session);
}

#[test]
fn recovery_with_a_plan_and_an_ask() {
    let mut session = with_plan(plan());
    session.type_keys("2");
    keep("recovery-ask", &mut session);
}

#[test]
fn recovery_while_a_job_runs() {
    let mut session = with_plan(plan_of_cuts());
    session.event(Event::WorkStarted {
        kind: job(),
        at: NOW,
    });
    session.type_keys("2");
    let [first, second] = dirs();
    for (log_dir, name, state) in [
        (&first, "notifications-0", LogState::Done),
        (&first, "audit-0", LogState::Done),
        (&second, "clicks-0", LogState::Applying),
    ] {
        session.event(Event::Work(JobEvent::Log {
            log_dir: log_dir.clone(),
            dir_name: name.to_owned(),
            state,
            verdict: None,
        }));
    }
    session.event(Event::Progress {
        progress: progress(Phase::Applying, [503 * 1024, 206 * 1024], (6, 11)),
        at: NOW,
    });
    keep("recovery-job", &mut session);
}

#[test]
fn recovery_that_is_done() {
    let mut session = with_plan(plan_of_cuts());
    session.event(Event::WorkStarted {
        kind: job(),
        at: NOW,
    });
    session.event(Event::Work(JobEvent::Ended {
        outcome: JobOutcome::Done,
    }));
    session.event(Event::Listed(listing(StopState::Clean)));
    session.event(Event::Planned {
        plan: std::sync::Arc::new(plan_of_nothing()),
        hash: "0c11aa".repeat(10),
        request: krescue::app::PlanRequest::default(),
        unstored: None,
        at: Timestamp(NOW.0 + 1),
    });
    keep("overview-done", &mut session);
    session.type_keys("2");
    keep("recovery-done", &mut session);
}

#[test]
fn a_job_that_failed_is_told_of() {
    let mut session = with_plan(plan_of_cuts());
    session.event(Event::WorkStarted {
        kind: job(),
        at: NOW,
    });
    session.event(Event::Work(JobEvent::Ended {
        outcome: JobOutcome::Failed {
            cause: "cannot write /var/lib/kafka/data1/audit-0/00000000000000003100.index: no space left on device".to_owned(),
        },
    }));
    keep_at("overview-failed", &mut session, (120, 32));
}

#[test]
fn an_open_log() {
    let mut session = with_plan(plan());
    session.type_keys(":payments-1\n");
    let log = session.state.view.detail.as_ref().unwrap().log;
    session.event(Event::Bytes { log, view: bytes() });
    keep("detail-ask", &mut session);
}

#[test]
fn an_open_log_that_is_cut() {
    let mut session = with_plan(plan());
    session.type_keys(":notifications-0\n");
    keep("detail-torn", &mut session);
}

#[test]
fn the_plan() {
    let mut session = with_plan(plan());
    session.type_keys(":plan\n");
    keep("plan", &mut session);
}

#[test]
fn the_plan_of_a_looking_session_is_not_carried_out() {
    let mut session = with_plan(plan_of_cuts());
    session.type_keys(":plan\na");
    keep_at("plan-looking", &mut session, (80, 24));
}

fn asked(plan: krescue::plan::RecoveryPlan) -> Session {
    let mut session = with_plan(plan);
    session.type_keys(":arm\n:plan\na");
    session.later(10_000);
    session
}

#[test]
fn the_question_of_class_a() {
    keep("confirm-a", &mut asked(plan_of_indexes()));
}

#[test]
fn the_question_of_class_b() {
    let mut session = asked(plan_of_cuts());
    session.type_keys("nine\n");
    keep("confirm-b", &mut session);
}

#[test]
fn the_question_of_class_c() {
    let mut session = asked(plan_like_kafka());
    session.type_keys("kafka-07 96");
    keep("confirm-c", &mut session);
}

#[test]
fn the_acts() {
    let mut session = with_plan(plan());
    session.type_keys("2x");
    keep("acts", &mut session);
}

#[test]
fn the_plans_that_can_be_taken_back() {
    let mut session = with_plan(plan());
    session.type_keys("2:undo\n");
    session.event(Event::Kept(kept()));
    session.press(KeyCode::Down);
    session.press(KeyCode::Enter);
    keep("kept", &mut session);
}

#[test]
fn the_plan_that_takes_one_back() {
    let mut session = asked(plan_of_undo());
    session.press(KeyCode::Esc);
    keep("plan-undo", &mut session);
}

#[test]
fn the_help() {
    let mut session = with_plan(plan());
    session.type_keys("2?");
    keep("help", &mut session);
    session.type_keys("sort");
    keep_at("help-searched", &mut session, (80, 24));
}

#[test]
fn the_command_line() {
    let mut session = with_plan(plan());
    session.type_keys("2:re");
    session.press(KeyCode::Tab);
    keep("command", &mut session);
    session.type_keys("x\n");
    keep_at("command-wrong", &mut session, (80, 24));
}

#[test]
fn the_filter() {
    let mut session = with_plan(plan());
    session.type_keys("/click");
    keep_at("filter-typed", &mut session, (80, 24));
    session.type_keys("\n ");
    keep("filter", &mut session);
}

#[test]
fn the_question_before_the_end() {
    let mut session = with_plan(plan_of_cuts());
    session.event(Event::WorkStarted {
        kind: job(),
        at: NOW,
    });
    session.type_keys("q");
    keep_at("quit-job", &mut session, (80, 24));
    let mut session = listed();
    session.event(Event::WorkStarted {
        kind: WorkKind::Scan,
        at: NOW,
    });
    session.type_keys("q");
    keep_at("quit-scan", &mut session, (80, 24));
}

#[test]
fn the_chooser() {
    let mut session = Session::new();
    session.event(Event::Found(choices()));
    keep("chooser", &mut session);
}

#[test]
fn the_command_lines() {
    let mut session = with_plan(plan());
    session.type_keys(":payments-1\ny");
    keep("lines", &mut session);
}

#[test]
fn an_armed_session_has_another_frame() {
    let mut session = with_plan(plan());
    session.type_keys("2:arm\n");
    session.later(9_000);
    keep_at("armed", &mut session, (80, 24));
    let buffer = session.buffer(80, 24);
    for y in [0, 2, 23] {
        let cell = buffer.cell((40, y)).unwrap();
        assert_eq!((cell.fg, cell.bg), (Color::White, Color::Red), "line {y}");
    }
}

#[test]
fn a_frozen_screen_says_so() {
    let mut session = with_plan(plan());
    session.type_keys("2p");
    session.later(60_000);
    keep_at("frozen", &mut session, (80, 24));
}

#[test]
fn a_live_broker() {
    let mut session = Session::new();
    let mut broker = broker();
    broker.presence = krescue::app::facts::Presence::Running { pid: Some(812) };
    broker.supervisor = None;
    session.event(Event::Opened(Box::new(broker)));
    session.event(Event::Listed(listing(StopState::Unclean)));
    keep_at("overview-live", &mut session, (80, 24));
    session.type_keys("x");
    keep_at("acts-live", &mut session, (80, 24));
}

#[test]
fn the_log_pane() {
    let mut session = with_plan(plan());
    session.type_keys("7");
    keep("log-pane", &mut session);
}

#[test]
fn screens_in_ascii_say_the_same() {
    let mut session = Session::with(setup(), look(Charset::Ascii, false));
    session.event(Event::Opened(Box::new(broker())));
    session.event(Event::Listed(listing(StopState::Unclean)));
    session.event(planned(plan()));
    session.type_keys("2");
    keep_at("recovery-ascii", &mut session, (80, 24));
    assert!(session.screen(200, 50).is_ascii());
    session.type_keys(":plan\n");
    assert!(session.screen(120, 32).is_ascii());
}

#[test]
fn no_colour_means_no_colour() {
    let mut session = Session::with(setup(), look(Charset::Unicode, false));
    session.event(Event::Opened(Box::new(broker())));
    session.event(Event::Listed(listing(StopState::Unclean)));
    session.event(planned(plan()));
    session.type_keys(":arm\n2");
    for keys in ["", ":plan\n", "a"] {
        session.type_keys(keys);
        let buffer = session.buffer(120, 32);
        let plain = Style::new().fg(Color::Reset).bg(Color::Reset);
        for cell in buffer.content {
            assert_eq!((Some(cell.fg), Some(cell.bg)), (plain.fg, plain.bg));
        }
    }
}

#[test]
fn a_small_screen_says_what_must_not_be_done() {
    let mut session = with_plan(plan());
    keep_at("too-small", &mut session, (39, 9));
    keep_at("narrow", &mut session, (40, 10));
    session.type_keys("2");
    keep_at("recovery-narrow", &mut session, (60, 16));
}

#[test]
fn every_screen_fits_every_size() {
    let openers = [
        "",
        "2",
        "7",
        "2x",
        "2?",
        "2:re",
        "/a",
        ":plan\n",
        ":arm\n:plan\na",
        "y",
        ":payments-1\n",
    ];
    for keys in openers {
        let mut session = with_plan(plan());
        session.later(10_000);
        session.type_keys(keys);
        for width in [
            0, 1, 2, 3, 10, 39, 40, 41, 59, 79, 80, 103, 118, 120, 200, 500,
        ] {
            for height in [0, 1, 2, 3, 9, 10, 11, 23, 24, 26, 31, 50, 120] {
                session.screen(width, height);
            }
        }
    }
}
