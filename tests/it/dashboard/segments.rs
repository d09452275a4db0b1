//! The segments pane: maps, verdicts, and limits that are tried.

use std::sync::Arc;

use crossterm::event::KeyCode;
use krescue::app::state::RetentionFacts;
use krescue::app::{Effect, Event};
use krescue::cluster::{CleanupPolicy, ConfigSource, LogConfig};
use krescue::plan::retention::{
    BrokerRules, HighWatermark, HostRetention, LogFacts, LogRole, Placement, RetainedLog,
    RetentionLimits, SegmentFacts, TimeSource,
};
use krescue::terms::{Offset, Timestamp, TopicPartition};

use super::fixtures::{NOW, dirs, listed};
use super::screens::keep;
use super::session::Session;

const HOUR: i64 = 3_600_000;
const MIB: u64 = 1 << 20;

/// A log of segments with 1,000 offsets each: size in MiB and age in hours.
fn log(name: &str, dir: usize, segments: &[(u64, i64)], config: &LogConfig) -> RetainedLog {
    let (topic, number) = name.rsplit_once('-').unwrap();
    let segments: Vec<SegmentFacts> = (0..)
        .zip(segments)
        .map(|(number, (mib, age))| SegmentFacts {
            base_offset: Offset(number * 1000),
            bytes: mib * MIB,
            allocated: mib * MIB,
            freed: mib * MIB + 8192,
            largest_timestamp: Timestamp(NOW.0 - age * HOUR),
            time_source: TimeSource::TimeIndex,
        })
        .collect();
    let end = Offset(i64::try_from(segments.len()).unwrap() * 1000);
    RetainedLog {
        limits: RetentionLimits::of(topic, config, BrokerRules::default()),
        facts: LogFacts {
            log_dir: dirs()[dir].clone(),
            dir_name: name.to_owned(),
            topic_partition: TopicPartition::new(topic, number.parse().unwrap()),
            role: LogRole::Current,
            active_since: segments.last().map(|active| active.largest_timestamp),
            segments,
            log_start_offset: Offset(0),
            log_end_offset: Some(end),
            high_watermark: HighWatermark::Checkpoint(end),
            cleaner_offset: Some(Offset(2000)),
            open_transaction: None,
            recovered_from: None,
            leftovers: vec![],
            findings: vec![],
        },
        config: Arc::new(*config),
        leads: Some(dir == 1),
        placement: Some(Placement {
            partitions: 12,
            replicas: 3,
        }),
    }
}

fn facts() -> RetentionFacts {
    let mut seven_days = LogConfig::default();
    seven_days.retention_bytes.value = 700 << 20;
    seven_days.retention_bytes.source = ConfigSource::Topic;
    let mut compact = LogConfig::default();
    compact.cleanup_policy.value = CleanupPolicy::Compact;
    compact.cleanup_policy.source = ConfigSource::Topic;
    let aged = [
        (100, 200),
        (100, 180),
        (100, 166),
        (100, 150),
        (100, 140),
        (100, 90),
        (100, 40),
        (60, 1),
    ];
    let mut future = log("clicks-0", 1, &aged[..5], &LogConfig::default());
    future.facts.segments[1].largest_timestamp = Timestamp(1_924_992_000_000);
    let mut behind = log("clicks-10", 1, &aged[..4], &LogConfig::default());
    behind.facts.high_watermark = HighWatermark::Checkpoint(Offset(500));
    RetentionFacts {
        host: HostRetention {
            logs: vec![
                log("orders-2", 1, &aged, &seven_days),
                future,
                behind,
                log("users-0", 1, &aged[3..], &compact),
                log("audit-0", 0, &aged[5..], &LogConfig::default()),
            ],
            broker: BrokerRules::default(),
            now: NOW,
        },
        settings_source: "/var/lib/kafka/data1/__cluster_metadata-0 as of offset 81234".to_owned(),
        notes: vec![],
        at: NOW,
    }
}

fn on_pane() -> Session {
    let mut session = listed();
    session.type_keys("3");
    session.event(Event::Retention(Ok(Arc::new(facts()))));
    session
}

#[test]
fn the_pane_asks_for_what_it_shows_once() {
    let mut session = listed();
    session.type_keys("3");
    let asked = |session: &Session| {
        let effects = session.effects.iter();
        effects.filter(|it| **it == Effect::ReadRetention).count()
    };
    assert_eq!(asked(&session), 1);
    assert!(session.screen(80, 24).contains("are being read"));
    session.type_keys("13");
    assert_eq!(asked(&session), 1);
    session.event(Event::Retention(Err("no such dir".to_owned())));
    assert!(session.screen(80, 24).contains("no such dir"));
}

#[test]
fn topics_of_the_host_with_what_holds_them() {
    let mut session = on_pane();
    keep("segments-host", &mut session);
    session.type_keys("g\n");
    let screen = session.screen(120, 32);
    assert!(screen.contains("clicks-10"), "{screen}");
}

#[test]
fn one_log_with_its_map() {
    let mut session = on_pane();
    session.type_keys("g\nj\n");
    let screen = session.screen(80, 24);
    assert!(screen.contains("BASE OFFSET"), "{screen}");
    session.type_keys(":orders-2");
    session.press(KeyCode::Enter);
    session.type_keys("3");
    keep("segments-log", &mut session);
    session.type_keys("t");
    keep("segments-time", &mut session);
    session.press(KeyCode::Esc);
    assert!(session.screen(80, 24).contains("WHY THE REST"));
}

#[test]
fn limits_that_are_tried_change_the_verdicts_as_they_are_typed() {
    let mut session = on_pane();
    session.type_keys(":orders-2");
    session.press(KeyCode::Enter);
    session.type_keys("3");
    let goes = |session: &mut Session| {
        let screen = session.screen(120, 32);
        screen.lines().nth(3).unwrap().to_owned()
    };
    assert!(
        goes(&mut session).contains("goes 200 MiB"),
        "{}",
        goes(&mut session)
    );
    session.type_keys("w2d");
    assert!(
        goes(&mut session).contains("goes 600 MiB"),
        "{}",
        goes(&mut session)
    );
    keep("segments-what-if", &mut session);
    session.press(KeyCode::Tab);
    session.type_keys("0x");
    assert!(session.screen(120, 32).contains("not a size"));
    session.press(KeyCode::Esc);
    assert!(goes(&mut session).contains("goes 200 MiB"));
}
