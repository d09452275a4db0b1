//! What keys can and cannot bring about.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use krescue::app::facts::Presence;
use krescue::app::state::{Overlay, WorkKind};
use krescue::app::{Effect, Event, PlanRequest, Scope};
use krescue::engine::{DirProgress, JobEvent, JobOutcome, Progress};
use krescue::log::{Finding, FindingCode, Severity};
use krescue::plan::{HandOver, OnLoss, RecoveryPlan, TruncationTarget, Verdict};
use krescue::terms::{LeaderEpoch, Offset};

use super::fixtures::*;
use super::session::{Session, look, setup};

fn apply() -> Effect {
    Effect::Apply {
        plan: HASH.to_owned(),
    }
}

fn armed_with(plan: RecoveryPlan) -> Session {
    let mut session = with_plan(plan);
    session.type_keys(":arm\n");
    session.take();
    session
}

fn prompt(session: &Session) -> bool {
    matches!(session.state.view.top(), Some(Overlay::Plan(dialog)) if dialog.prompt.is_some())
}

#[test]
fn the_whole_way_from_listing_to_a_clean_boot() {
    let mut session = listed();
    session.take();
    session.type_keys("2xa");
    assert_eq!(session.take_acts(), [Effect::Plan(PlanRequest::default())]);
    session.event(Event::WorkStarted {
        kind: WorkKind::Scan,
        at: NOW,
    });
    session.event(planned(plan_of_cuts()));
    assert!(matches!(session.state.view.top(), Some(Overlay::Plan(_))));
    session.type_keys("a");
    assert!(!prompt(&session), "a session that looks asks nothing");
    assert!(session.screen(80, 24).contains("not now: LOOKING"));
    session.type_keys(":arm\n");
    assert!(
        !session.screen(80, 24).contains("not now"),
        "what was refused for want of arms no longer is"
    );
    session.type_keys("a");
    assert!(prompt(&session));
    session.later(600);
    session.take();
    session.type_keys("5\n");
    assert_eq!(session.take_acts(), [apply()]);
    assert!(
        !session.state.session.is_armed(),
        "ARMED ends with the apply"
    );
    session.event(Event::WorkStarted {
        kind: WorkKind::Apply {
            job: "J".to_owned(),
            plan: HASH.to_owned(),
        },
        at: NOW,
    });
    session.event(Event::Work(JobEvent::Ended {
        outcome: JobOutcome::Done,
    }));
    let replan = PlanRequest::default();
    assert_eq!(session.take_acts(), [Effect::List, Effect::Plan(replan)]);
    assert!(session.state.world.plan.as_ref().unwrap().applied);
}

#[test]
fn a_cut_below_the_high_watermark_is_named_in_the_plan() {
    let mut plan = plan_of_cuts();
    let logs = plan.log_dirs.iter_mut().flat_map(|dir| &mut dir.partitions);
    let mut logs = logs.filter(|log| log.dir_name == "notifications-0");
    let log = logs.next().unwrap();
    log.log_end_offset = Some(Offset(3_990));
    log.findings.push(Finding::new(
        FindingCode::EndBelowHighWatermark,
        Severity::Loss,
        "10 acknowledged offsets are gone",
    ));
    let mut session = with_plan(plan);
    session.type_keys(":plan\n");
    let screen = session.screen(120, 32);
    let named = "new end 3,990, BELOW the high watermark 4,000";
    assert!(screen.contains(named), "{screen}");
}

#[test]
fn typed_ahead_keys_confirm_nothing() {
    let mut session = armed_with(plan_of_indexes());
    session.type_keys(":plan\nayyyy");
    assert!(prompt(&session));
    assert_eq!(session.take_acts(), []);
    session.later(499);
    session.type_keys("y");
    assert_eq!(session.take_acts(), []);
    session.later(1);
    session.type_keys("y");
    assert_eq!(session.take_acts(), [apply()]);
}

#[test]
fn no_is_the_default() {
    for key in [
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Char('n'),
        KeyCode::Char('a'),
    ] {
        let mut session = armed_with(plan_of_indexes());
        session.type_keys(":plan\na");
        session.later(600);
        session.press(key);
        assert!(!prompt(&session));
        assert_eq!(session.take_acts(), [], "{key:?}");
    }
}

#[test]
fn classes_want_their_phrase() {
    for (plan, wrong, right) in [
        (plan_of_cuts(), "y\n", "5\n"),
        (plan_like_kafka(), "payments-1\n", "kafka-07 96.0 KiB\n"),
    ] {
        let mut session = armed_with(plan);
        session.type_keys(":plan\na");
        session.later(600);
        session.type_keys(wrong);
        assert_eq!(session.take_acts(), []);
        assert!(prompt(&session));
        session.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
        session.type_keys(right);
        assert_eq!(session.take_acts(), [apply()]);
    }
}

#[test]
fn one_log_is_confirmed_by_its_name() {
    let mut plan = plan_of_cuts();
    plan.log_dirs[1].partitions.clear();
    plan.log_dirs[0]
        .partitions
        .retain(|log| log.dir_name == "notifications-0");
    let mut session = armed_with(plan);
    session.type_keys(":plan\na");
    session.later(600);
    session.type_keys("notifications-0\n");
    assert_eq!(session.take_acts(), [apply()]);
}

#[test]
fn a_plan_that_changed_under_the_question_is_not_carried_out() {
    let mut session = armed_with(plan_of_indexes());
    session.type_keys(":plan\na");
    session.later(600);
    session.event(Event::Planned {
        plan: plan_like_kafka().into(),
        hash: "ff".repeat(32),
        request: PlanRequest::default(),
        unstored: None,
        at: NOW,
    });
    session.type_keys("y");
    assert_eq!(session.take_acts(), []);
}

#[test]
fn a_plan_is_carried_out_once() {
    let mut session = armed_with(plan_of_indexes());
    session.type_keys(":plan\na");
    session.later(600);
    session.type_keys("y");
    assert_eq!(session.take_acts(), [apply()]);
    session.type_keys(":arm\n:plan\na");
    assert!(!prompt(&session));
}

#[test]
fn a_read_only_session_never_asks() {
    let mut setup = setup();
    setup.forbidden = Some("--read-only".to_owned());
    setup.armed = true;
    let mut session = Session::with(setup, look(krescue::tui::Charset::Unicode, true));
    session.event(Event::Opened(Box::new(broker())));
    session.event(planned(plan_of_indexes()));
    session.type_keys(":arm\n");
    assert!(!session.state.session.is_armed());
    session.type_keys(":plan\na");
    assert!(!prompt(&session));
}

#[test]
fn a_running_broker_refuses_the_act_and_allows_the_look() {
    let mut session = Session::new();
    let mut broker = broker();
    broker.presence = Presence::Running { pid: Some(812) };
    session.event(Event::Opened(Box::new(broker)));
    session.event(Event::Listed(listing(krescue::plan::StopState::Unclean)));
    session.take();
    session.type_keys(":recover\n");
    assert_eq!(session.take_acts(), []);
    session.type_keys(":scan\n");
    assert_eq!(session.take_acts(), [Effect::Plan(PlanRequest::default())]);
}

#[test]
fn an_ask_is_decided_where_it_is_open() {
    let mut session = with_plan(plan());
    session.type_keys(":payments-1\nxf");
    let [Effect::ReadBytes { .. }, Effect::Plan(request)] = &session.take_acts()[..] else {
        panic!("not a plan");
    };
    assert_eq!(request.on_loss, OnLoss::LikeKafka);
    let alone = vec![(dirs()[0].clone(), "payments-1".to_owned())];
    assert_eq!(request.scope, Scope::Logs(alone));
    let mut session = with_plan(plan());
    session.type_keys(":payments-1\nxl");
    assert_eq!(session.state.selected_log().unwrap().word(), "ASK: left");
    assert!(session.screen(120, 32).contains("DO NOT START"));
}

#[test]
fn each_way_to_decide_an_ask_has_its_letter_and_its_command() {
    for (letter, command, way) in [
        ('c', "cut-here", OnLoss::CutHere),
        ('e', "keep", OnLoss::Leave),
        ('f', "kafkas-way", OnLoss::LikeKafka),
    ] {
        for keys in [format!("x{letter}"), format!(":{command}\n")] {
            let mut session = with_plan(plan());
            session.type_keys(&format!(":payments-1\n{keys}"));
            let acts = session.take_acts();
            let Some(Effect::Plan(request)) = acts.last() else {
                panic!("{keys}: {acts:?}");
            };
            assert_eq!(request.on_loss, way, "{keys}");
        }
    }
}

#[test]
fn to_set_a_replica_aside_comes_first_where_others_have_it_and_is_refused_where_nothing_says_so() {
    let mut session = with_plan(plan());
    session.type_keys(":payments-1\nxb");
    assert!(!matches!(session.take_acts().last(), Some(Effect::Plan(_))));
    let mut elsewhere = plan();
    let logs = elsewhere
        .log_dirs
        .iter_mut()
        .flat_map(|dir| &mut dir.partitions);
    for log in logs {
        if let Verdict::Ask(ask) = &mut log.verdict {
            ask.no_set_aside = None;
            ask.replicas = Some(Box::new(evidence()));
        }
    }
    for keys in ["xb", ":set-aside\n"] {
        let mut session = with_plan(elsewhere.clone());
        session.type_keys(":payments-1\nx");
        let screen = session.screen(120, 32);
        let place = |text: &str| {
            screen
                .find(text)
                .unwrap_or_else(|| panic!("{text}\n{screen}"))
        };
        assert!(place("set payments-1 aside whole") < place("cut payments-1 only where"));
        session.press(KeyCode::Esc);
        session.type_keys(keys);
        let acts = session.take_acts();
        let Some(Effect::Plan(request)) = acts.last() else {
            panic!("{keys}: {acts:?}");
        };
        assert_eq!(request.on_loss, OnLoss::SetAside, "{keys}");
    }
}

#[test]
fn a_plan_is_taken_back_from_the_list_or_by_its_hash() {
    let undone = |acts: &[Effect]| match acts.last() {
        Some(Effect::Plan(request)) => request.undoes.clone(),
        _ => None,
    };
    let mut session = with_plan(plan());
    session.type_keys("2xu");
    assert!(session.take_acts().contains(&Effect::ListKept));
    session.event(Event::Kept(kept()));
    session.press(KeyCode::Down);
    session.press(KeyCode::Enter);
    assert_eq!(
        undone(&session.take_acts()),
        None,
        "it was written to since"
    );
    session.press(KeyCode::Up);
    session.press(KeyCode::Enter);
    assert_eq!(undone(&session.take_acts()), Some("7f3a91c2".repeat(8)));

    let mut session = with_plan(plan());
    session.type_keys("2:undo 7F3A91C2\n");
    assert_eq!(undone(&session.take_acts()), Some("7f3a91c2".to_owned()));
    session.type_keys(":undo xyz\n");
    assert_eq!(undone(&session.take_acts()), None);
    // What was asked for long ago takes no key from what is open now.
    let mut session = with_plan(plan());
    session.type_keys("2:undo\n?");
    session.event(Event::Kept(kept()));
    assert!(matches!(
        session.state.view.top(),
        Some(Overlay::Help { .. })
    ));
}

#[test]
fn a_decision_that_is_not_carried_out_keeps_no_boot_from_kafka_s_way() {
    let mut session = with_plan(plan_like_kafka());
    let screen = session.screen(120, 32);
    assert!(
        screen.contains(
            "DO NOT START before the plan is carried out: a boot deletes good records of payments-1"
        ),
        "{screen}"
    );
}

#[test]
fn a_truncation_asks_where_the_log_is_to_end() {
    for (words, target) in [
        ("to-offset 3,950", TruncationTarget::Offset(Offset(3_950))),
        ("to-epoch 4", TruncationTarget::Epoch(LeaderEpoch(4))),
        ("to-high-watermark", TruncationTarget::HighWatermark),
        ("to-last-stable", TruncationTarget::LastStable),
    ] {
        let mut session = with_plan(plan());
        session.type_keys(&format!(":audit-0\nxn{words}\n"));
        let acts = session.take_acts();
        let Some(Effect::Plan(request)) = acts.last() else {
            panic!("{words}: {acts:?}");
        };
        assert_eq!(request.truncation, Some(target));
        assert!(matches!(&request.scope, Scope::Logs(logs) if logs[0].1 == "audit-0"));
    }
    let mut session = with_plan(plan());
    session.type_keys(":truncate audit-0 to-offset x\n");
    assert!(session.screen(80, 24).contains("x is no number"));
    assert!(
        !session
            .take_acts()
            .iter()
            .any(|act| matches!(act, Effect::Plan(_)))
    );
}

#[test]
fn a_hand_over_is_chosen_in_the_plan() {
    let mut session = with_plan(plan_of_cuts());
    session.type_keys(":plan\nh");
    let [Effect::Plan(request)] = &session.take_acts()[..] else {
        panic!("not a plan");
    };
    assert_eq!(request.hand_over, HandOver::Clean);
}

#[test]
fn armed_ends_after_ten_idle_minutes() {
    let mut session = armed_with(plan_of_indexes());
    session.later(9 * 60_000);
    session.type_keys("j");
    session.later(9 * 60_000);
    assert!(session.state.session.is_armed());
    session.later(60_000);
    assert!(!session.state.session.is_armed());
}

#[test]
fn quitting_asks_while_something_runs() {
    let mut session = with_plan(plan_of_cuts());
    session.type_keys("q");
    assert_eq!(session.take_acts(), [Effect::Quit]);
    session.event(Event::WorkStarted {
        kind: WorkKind::Apply {
            job: "J".to_owned(),
            plan: HASH.to_owned(),
        },
        at: NOW,
    });
    session.type_keys("q");
    assert_eq!(session.take_acts(), []);
    session.press(KeyCode::Esc);
    session.type_keys("qt");
    assert_eq!(
        session.take_acts(),
        [Effect::StopJob {
            job: "J".to_owned()
        }]
    );
    session.event(Event::Work(JobEvent::Ended {
        outcome: JobOutcome::Stopped,
    }));
    assert_eq!(session.take_acts(), [Effect::Quit]);
}

#[test]
fn escape_never_ends_the_program() {
    let mut session = with_plan(plan());
    for _ in 0..10 {
        session.press(KeyCode::Esc);
    }
    assert_eq!(session.take_acts(), []);
}

#[test]
fn letters_typed_into_a_line_are_not_commands() {
    let mut session = with_plan(plan());
    session.type_keys("/qxq");
    assert_eq!(session.take_acts(), []);
    assert_eq!(session.state.view.table.filter.text(), "qxq");
    session.press(KeyCode::Esc);
    session.type_keys(":qq");
    assert_eq!(session.take_acts(), []);
}

#[test]
fn marks_make_the_plan_of_the_marked() {
    let mut session = with_plan(plan());
    session.type_keys("2/audit\n /click\n ");
    session.press(KeyCode::Esc);
    session.type_keys("xm");
    let [Effect::Plan(request)] = &session.take_acts()[..] else {
        panic!("not a plan");
    };
    let Scope::Logs(logs) = &request.scope else {
        panic!("not of some logs");
    };
    assert_eq!(logs.len(), 2);
}

#[test]
fn a_frozen_screen_thaws_before_a_plan_is_shown() {
    let mut session = with_plan(plan());
    session.type_keys("p");
    assert!(session.state.frozen.is_some());
    session.type_keys(":plan\n");
    assert!(session.state.frozen.is_none());
}

#[test]
fn rows_that_move_keep_the_cursor_on_its_log() {
    let mut session = listed();
    session.type_keys(":sessions-0\n");
    session.press(KeyCode::Esc);
    let before = session.state.selected_log().unwrap().dir_name.clone();
    session.event(planned(plan()));
    session.type_keys(":sort bytes\n");
    assert_eq!(session.state.selected_log().unwrap().dir_name, before);
    session.event(Event::Listed(listing(krescue::plan::StopState::Unclean)));
    assert_eq!(session.state.selected_log().unwrap().dir_name, before);
}

#[test]
fn a_preflight_says_how_far_it_is_and_can_be_stopped() {
    let mut session = listed();
    session.take();
    session.type_keys(":preflight\n");
    assert_eq!(session.take_acts(), [Effect::Preflight]);
    let kind = WorkKind::Preflight;
    session.event(Event::WorkStarted { kind, at: NOW });
    let all = DirProgress {
        logs_done: 1_200,
        logs_total: 48_000,
        ..DirProgress::default()
    };
    let progress = Progress {
        dirs: vec![all],
        ..Progress::default()
    };
    session.event(Event::Progress { progress, at: NOW });
    let screen = session.screen(80, 24);
    let words = "looking what stands in the way of a boot: 1,200 of 48,000 logs";
    assert!(screen.contains(words), "{screen}");
    assert!(screen.contains("PREFLIGHT: nothing is changed"), "{screen}");
    // It is asked for once.
    session.type_keys(":preflight\n");
    assert_eq!(session.take_acts(), []);
    session.type_keys(":stop\n");
    assert_eq!(session.take_acts(), [Effect::CancelPlan]);
    assert!(session.screen(80, 24).contains("stopping: looking"));
    session.event(Event::PlanCancelled);
    let screen = session.screen(80, 24);
    assert!(
        screen.contains("it was ended; nothing was changed"),
        "{screen}"
    );
    session.take();
    session.type_keys(":preflight\n");
    assert_eq!(session.take_acts(), [Effect::Preflight]);
    session.event(Event::WorkStarted {
        kind: WorkKind::Preflight,
        at: NOW,
    });
    session.event(Event::Preflight([0, 0, 0]));
    assert!(session.screen(80, 24).contains("nothing beyond routine"));
}
