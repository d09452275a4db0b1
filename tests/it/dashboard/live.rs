//! Acts on the living cluster from the panes: menu, plan, phrase, what came of it.

use std::sync::Arc;

use crossterm::event::KeyCode;
use krescue::app::state::{Freeing, KeptChange, Overlay, PROMPT_DEAF_MS};
use krescue::app::{Effect, Event};
use krescue::plan::{
    BrokerFreed, FreedSoFar, GroupBelow, KeyChange, LiveAct, LiveLoss, LiveMirrors, LivePlan,
    LiveWish, MirrorBelow,
};
use krescue::terms::{Offset, Timestamp, TopicPartition};

use super::fixtures::{NOW, listed};
use super::replicas::told;
use super::screens::keep;
use super::session::Session;

/// Retention of `orders` shortened to an hour: class B.
fn shortened() -> LivePlan {
    LivePlan {
        schema: 1,
        cluster_id: Some("MkU3OEVBNTcwNTJENDM2Qg".to_owned()),
        topic_id: None,
        made_anew: false,
        act: LiveAct::TopicConfigs {
            topic: "orders".to_owned(),
            changes: vec![KeyChange {
                key: "retention.ms".to_owned(),
                value: Some("3600000".to_owned()),
                before: None,
                in_force: Some(("604800000".to_owned(), "default".to_owned())),
            }],
        },
        restores: None,
        loss: LiveLoss {
            bytes: Some(38 << 30),
            records: Some(11_448_000),
        },
        groups: Vec::new(),
        groups_unasked: Vec::new(),
        notes: Vec::new(),
        mirrors: LiveMirrors::default(),
    }
}

/// Records of `orders-7` deleted: class C.
fn deleted() -> LivePlan {
    let partition = TopicPartition::new("orders", 7);
    LivePlan {
        act: LiveAct::DeleteRecords {
            partition: partition.clone(),
            before: Offset(48_000_000),
            log_start: Offset(47_104_000),
        },
        groups: vec![GroupBelow {
            group: "billing".to_owned(),
            partition,
            committed: Offset(47_900_000),
        }],
        groups_unasked: vec!["the groups of broker 3: not authorized".to_owned()],
        mirrors: LiveMirrors {
            below: vec![MirrorBelow {
                mirror: "west".to_owned(),
                partition: TopicPartition::new("orders", 7),
                copied: Some(Offset(47_950_100)),
                uncopied: 49_899,
                last_sync: Some(Timestamp(NOW.0 - 60_000)),
            }],
            unread: vec!["mm2-offset-syncs.east.internal-0 has no leader that tells".to_owned()],
        },
        ..shortened()
    }
}

fn planned(session: &mut Session, plan: LivePlan) -> String {
    let hash = plan.hash();
    session.event(Event::LivePlanned {
        line: plan.kafka_line("--bootstrap-server kafka-07:9092"),
        plan: Arc::new(plan),
        hash: hash.clone(),
    });
    session.take();
    hash
}

/// Answers the question of the plan on screen.
fn confirm(session: &mut Session, phrase: &str) {
    session.type_keys("a");
    session.later(PROMPT_DEAF_MS);
    session.type_keys(phrase);
    session.press(KeyCode::Enter);
}

/// Returns why the plan on screen is not asked about.
fn refusal(session: &mut Session) -> String {
    session.type_keys("a");
    match session.state.view.top() {
        Some(Overlay::Live(dialog)) if dialog.prompt.is_none() => dialog.refused.clone().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The pane with the follower of `orders-7` on this host selected.
fn at_orders() -> Session {
    let mut session = told();
    session.type_keys("/orders\n");
    session.take();
    session
}

#[test]
fn the_menu_names_the_acts_of_the_selected_replica() {
    let mut session = at_orders();
    session.type_keys("x");
    keep("live-acts", &mut session);
    // What the menu refuses is told, not done.
    session.type_keys("o");
    assert_eq!(session.take_acts(), []);
    assert!(matches!(
        session.state.view.top(),
        Some(Overlay::Acts {
            refused: Some(_),
            ..
        })
    ));
    session.press(KeyCode::Esc);
    session.type_keys("xi1h\n");
    let wish = LiveWish::Configs {
        topic: "orders".to_owned(),
        set: vec![("retention.ms".to_owned(), "3600000".to_owned())],
        reset: Vec::new(),
    };
    assert_eq!(session.take_acts(), [Effect::PlanLive(wish)]);
    // One at a time.
    session.type_keys(":quota 1MiB\n");
    assert_eq!(session.take_acts(), []);
    session.event(Event::LivePlanFailed("topic orders: refused".to_owned()));
    session.type_keys(":move to /d2\n");
    let wish = LiveWish::Move {
        partition: TopicPartition::new("orders", 7),
        broker: 3,
        to: Some("/d2".to_owned()),
    };
    assert_eq!(session.take_acts(), [Effect::PlanLive(wish)]);
}

#[test]
fn a_plan_is_carried_out_once_it_is_armed_and_confirmed() {
    let mut session = at_orders();
    let hash = planned(&mut session, shortened());
    keep("live-plan", &mut session);
    assert_eq!(
        refusal(&mut session),
        "LOOKING: type :arm first; the plan stays here"
    );
    session.type_keys(":arm\n");
    confirm(&mut session, "order");
    assert_eq!(session.take_acts(), [], "not the phrase");
    session.press(KeyCode::Esc);
    confirm(&mut session, "orders");
    assert_eq!(
        session.take_acts(),
        [Effect::ApplyLive { hash: hash.clone() }]
    );
    assert!(!session.state.session.is_armed());
    session.event(Event::LiveEnded {
        hash,
        result: Ok(vec![
            "in force, read back from brokers 1, 2, 3".to_owned(),
            "each broker's next pass comes within 5 min".to_owned(),
        ]),
    });
    assert_eq!(session.take_acts(), [Effect::AskCluster]);
    keep("live-done", &mut session);
    // Once is enough.
    assert!(refusal(&mut session).starts_with("this plan was carried out"));
}

/// What brokers 1 to 3 have freed `seconds` after the change: 1 has made its pass, 2 has not, 3 does not answer.
fn freed_after(seconds: i64, stays: Option<Vec<String>>) -> Event {
    let broker = |broker, now| BrokerFreed {
        broker,
        before: 47 << 30,
        now,
        records: if broker == 1 { 10_843_107 } else { 0 },
    };
    let plan = shortened();
    Event::Freed(Box::new(Freeing {
        hash: plan.hash(),
        so_far: FreedSoFar {
            since: NOW,
            at: Timestamp(NOW.0 + seconds * 1000),
            every_ms: Some(300_000),
            delay_ms: Some(60_000),
            promised: plan.loss.bytes,
            brokers: vec![
                broker(1, Some(11 << 30)),
                broker(2, Some(47 << 30)),
                broker(3, None),
            ],
        },
        plan: Arc::new(plan),
        done: vec![
            "in force, read back from brokers 1, 2, 3".to_owned(),
            "each broker's next pass comes within 5 min".to_owned(),
        ],
        stays,
    }))
}

#[test]
fn what_a_change_frees_is_told_until_it_is_over_and_then_why_the_rest_stays() {
    let mut session = at_orders();
    let hash = planned(&mut session, shortened());
    session.type_keys(":arm\n");
    confirm(&mut session, "orders");
    session.event(Event::InForce(vec![KeptChange {
        plan: shortened(),
        since: NOW,
    }]));
    session.event(Event::LiveEnded {
        hash,
        result: Ok(vec![
            "in force, read back from brokers 1, 2, 3".to_owned(),
            "each broker's next pass comes within 5 min".to_owned(),
        ]),
    });
    session.event(freed_after(47, None));
    session.later(46_500);
    keep("live-freeing", &mut session);
    // The pane tells it too, and counts down between the looks.
    session.press(KeyCode::Esc);
    keep("live-freeing-pane", &mut session);
    session.take();
    let stays = "orders-7: 9 segments, 9.00 GiB, from 47,104,000 on: KEEP time: 12 min under";
    session.event(freed_after(370, Some(vec![stays.to_owned()])));
    let logged = session.take();
    let is_told =
        |effect: &Effect| matches!(effect, Effect::Log { text, .. } if text.ends_with(stays));
    assert!(logged.iter().any(is_told), "{logged:?}");
    session.type_keys(":freed\n");
    keep("live-freed", &mut session);
    // Once the old value is back nothing more is awaited of it.
    session.press(KeyCode::Esc);
    session.event(Event::InForce(Vec::new()));
    session.event(freed_after(380, None));
    assert_eq!(session.state.world.freeing, []);
}

#[test]
fn a_loss_of_good_data_wants_host_and_bytes() {
    let mut session = at_orders();
    let hash = planned(&mut session, deleted());
    session.type_keys(":arm\n");
    confirm(&mut session, "y");
    assert_eq!(session.take_acts(), []);
    keep("live-loss", &mut session);
    session.press(KeyCode::Esc);
    confirm(&mut session, "kafka-07 38.0 GiB");
    assert_eq!(session.take_acts(), [Effect::ApplyLive { hash }]);
}

#[test]
fn a_session_that_only_looks_carries_nothing_out() {
    let mut session = at_orders();
    planned(&mut session, shortened());
    session.type_keys(":read-only\n");
    let why = refusal(&mut session);
    assert!(why.starts_with("this session only looks"), "{why}");
}

#[test]
fn a_value_in_force_is_reminded_of_until_it_is_put_back() {
    let mut session = at_orders();
    session.event(Event::InForce(vec![KeptChange {
        plan: shortened(),
        since: Timestamp(NOW.0 - 7_200_000),
    }]));
    keep("live-in-force", &mut session);
    session.type_keys("xo");
    let wish = LiveWish::Restore {
        topic: "orders".to_owned(),
    };
    assert_eq!(session.take_acts(), [Effect::PlanLive(wish)]);
}

#[test]
fn a_value_in_force_is_told_of_although_the_broker_is_down() {
    let mut session = listed();
    assert!(!session.screen(80, 24).contains("EMERGENCY"));
    session.event(Event::InForce(vec![KeptChange {
        plan: shortened(),
        since: Timestamp(NOW.0 - 7_200_000),
    }]));
    for pane in ["1", "3", "5", "7"] {
        session.type_keys(pane);
        let screen = session.screen(80, 24);
        let head = screen.lines().next().unwrap();
        assert!(head.contains("EMERGENCY  "), "{pane}: {head}");
        assert!(head.contains("down, unclean"), "{pane}: {head}");
    }
}
