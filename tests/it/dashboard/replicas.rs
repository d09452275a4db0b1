//! The replicas pane: what is known, what is lost, what the keys do.

use std::collections::BTreeMap;

use crossterm::event::KeyCode;
use krescue::app::state::{ClusterFacts, ReplicaForecast, ReplicaScope};
use krescue::app::{Effect, Event};
use krescue::observe::cluster::{Cause, InSyncIn, Quorum, QuorumReplica, ReplicaRow};
use krescue::plan::{CutCause, TruncationForecast};
use krescue::terms::{LeaderEpoch, Offset, Timestamp, TopicPartition};

use super::fixtures::{NOW, listed};
use super::screens::keep;
use super::session::Session;

/// A replica in sync on `broker`, of a partition that broker 1 leads.
fn replica(topic: &str, partition: i32, broker: i32) -> ReplicaRow {
    ReplicaRow {
        partition: TopicPartition::new(topic, partition),
        broker,
        leader: Some(1),
        leader_epoch: Some(LeaderEpoch(14)),
        replicas: vec![1, 2, 3],
        isr: vec![1, 2, 3],
        eligible: Some(Vec::new()),
        min_isr: Some(2),
        offline: false,
        log_end: Some(Offset(48_211_904)),
        log_end_at: Some(Timestamp(NOW.0 - 2_000)),
        log_start: Some(Offset(47_104_000)),
        bytes: Some(47 << 30),
        dir: Some("/var/lib/k1".into()),
        moving: None,
        moved_in_s: None,
        lag_records: Some(0),
        lag_records_most: Some(0),
        lag_bytes: Some(0),
        lag_bytes_exact: true,
        lag_ms: Some(0),
        lag_ms_exact: true,
        records_per_s: Some(12_000.0),
        bytes_per_s: Some(4_500_000.0),
        leader_records_per_s: Some(12_000.0),
        in_sync_in: InSyncIn::Now,
        causes: Vec::new(),
    }
}

/// Broker 3 is a voter too, and has not fetched for 40 s.
fn quorum() -> Quorum {
    let voter = |id, ms| QuorumReplica {
        id,
        log_end_offset: Offset(81_204),
        last_fetch: Some(Timestamp(NOW.0 - ms)),
        last_caught_up: None,
    };
    Quorum {
        leader: 1,
        epoch: 6,
        high_watermark: Offset(81_203),
        voters: vec![voter(1, 2_000), voter(2, 2_400), voter(3, 42_000)],
        observers: Vec::new(),
    }
}

fn facts() -> ClusterFacts {
    let mut rows = Vec::new();
    for broker in 1..=3 {
        let mut row = replica("orders", 7, broker);
        row.isr = vec![1, 2];
        if broker == 3 {
            row.log_end = Some(Offset(47_007_573));
            row.lag_records = Some(1_204_331);
            row.lag_bytes = Some(412 << 20);
            row.lag_ms = Some(100_000);
            row.bytes_per_s = Some(39_845_888.0);
            row.records_per_s = Some(121_000.0);
            row.in_sync_in = InSyncIn::Seconds(11);
        }
        rows.push(row);
    }
    for broker in 1..=3 {
        let mut row = replica("clicks", 3, broker);
        row.isr = vec![1];
        match broker {
            2 => {
                row.lag_records = Some(90_000);
                row.lag_bytes = Some(90_000 * 700);
                row.lag_bytes_exact = false;
                (row.lag_ms, row.lag_ms_exact) = (Some(95_000), false);
                row.in_sync_in = InSyncIn::Never;
                row.records_per_s = Some(0.0);
                row.causes = vec![
                    Cause::Throttled { rate: 1_048_576 },
                    Cause::StandsStill { seconds: 95 },
                ];
            }
            3 => {
                row.offline = true;
                row.log_end = None;
                row.log_end_at = None;
                row.log_start = None;
                row.bytes = None;
                row.dir = None;
                row.lag_records = None;
                row.lag_records_most = None;
                row.lag_bytes = None;
                (row.lag_ms, row.lag_ms_exact) = (None, false);
                row.records_per_s = None;
                row.bytes_per_s = None;
                row.in_sync_in = InSyncIn::Unknown;
                row.causes = vec![Cause::BrokerGone];
            }
            _ => {}
        }
        rows.push(row);
    }
    for partition in 0..3 {
        rows.extend((1..=3).map(|broker| replica("payments", partition, broker)));
    }
    ClusterFacts {
        at: Timestamp(NOW.0 - 2_000),
        took_ms: 81,
        requests: 24,
        found_by: "listener PLAINTEXT of /etc/kafka/server.properties".to_owned(),
        node_id: Some(3),
        brokers: vec![(1, None), (2, None)],
        rows,
        forecasts: BTreeMap::from([(
            TopicPartition::new("clicks", 3),
            ReplicaForecast {
                forecast: TruncationForecast {
                    log_end: Offset(48_211_904),
                    cut_to: Offset(48_211_867),
                    records: 37,
                    acknowledged: 0,
                    epoch: Some(LeaderEpoch(14)),
                    cause: Some(CutCause::Diverged),
                },
                is_recovered: true,
            },
        )]),
        quorum: Some(quorum()),
        features: BTreeMap::from([
            ("eligible.leader.replicas.version".to_owned(), 1),
            ("metadata.version".to_owned(), 29),
        ]),
    }
}

pub(super) fn told() -> Session {
    let mut session = listed();
    session.type_keys("5");
    session.event(Event::Cluster(Box::new(facts())));
    session
}

#[test]
fn replicas_of_the_cluster() {
    keep("replicas-cluster", &mut told());
}

#[test]
fn replicas_of_this_host_as_a_follower() {
    let mut session = told();
    session.type_keys("v");
    assert_eq!(session.state.view.replicas.scope, ReplicaScope::Following);
    keep("replicas-follower", &mut session);
}

#[test]
fn a_lost_connection_is_a_state_on_screen() {
    let mut session = told();
    let cause = "cannot connect to 127.0.0.1:9092: Connection refused (os error 111)".to_owned();
    session.event(Event::ClusterLost {
        cause: cause.clone(),
        at: NOW,
    });
    keep("replicas-lost", &mut session);
    let mut session = listed();
    session.type_keys("5");
    session.event(Event::ClusterLost { cause, at: NOW });
    keep("replicas-never-reached", &mut session);
}

#[test]
fn the_cluster_is_asked_only_while_somebody_looks() {
    let mut session = listed();
    session.take();
    session.type_keys("5");
    assert_eq!(session.take_acts(), [Effect::WatchCluster(true)]);
    session.type_keys("r");
    assert_eq!(session.take_acts(), [Effect::AskCluster]);
    session.type_keys("2");
    assert_eq!(session.take_acts(), [Effect::WatchCluster(false)]);
}

#[test]
fn who_needs_a_look_comes_first_and_the_cursor_stays_there() {
    let mut session = told();
    let selected = |session: &mut Session| {
        session.state.refresh();
        let facts = session.state.world.cluster.facts.clone().unwrap();
        let (place, index) = session.state.view.replicas.cursor(&facts).unwrap();
        let row = &facts.rows[index];
        (place, format!("{} on {}", row.partition, row.broker))
    };
    assert_eq!(selected(&mut session), (0, "clicks-3 on 3".to_owned()));
    session.press(KeyCode::Down);
    assert_eq!(selected(&mut session), (1, "clicks-3 on 2".to_owned()));
    // The worst is mended: the cursor goes with its row.
    let mut facts = facts();
    facts
        .rows
        .retain(|row| !(row.partition.topic == "clicks" && row.broker == 3));
    session.event(Event::Cluster(Box::new(facts)));
    assert_eq!(selected(&mut session), (0, "clicks-3 on 2".to_owned()));
    session.type_keys("/orders\n");
    assert_eq!(selected(&mut session), (0, "orders-7 on 3".to_owned()));
    session.press(KeyCode::Esc);
    session.type_keys(":sort partition\n");
    assert_eq!(selected(&mut session).1, "orders-7 on 3");
    assert_eq!(session.state.view.replicas.order().len(), 14);
}
