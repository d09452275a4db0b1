//! The segments pane: maps, verdicts, and limits that are tried.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crossterm::event::KeyCode;
use krescue::app::effect::{CleanupAsk, CleanupRequest, Copies, Shorten};
use krescue::app::state::RetentionFacts;
use krescue::app::{Effect, Event, PlanRequest, Scope};
use krescue::cluster::{
    CleanupPolicy, ConfigLevels, ConfigMoment, ConfigSource, LogConfig, SettingsTable,
};
use krescue::plan::retention::{
    BrokerRules, CheckpointTimes, CleanerGaveUp, FactSources, HighWatermark, HostRetention,
    LeftoverKind, LeftoverSegment, LogFacts, LogRole, Placement, RetainedLog, RetentionLimits,
    SegmentFacts, TimeSource, WhatIf,
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
            cleaner_written_at: None,
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
        gave_up: None,
    }
}

/// A broker's settings, and what the topics override.
fn settings() -> SettingsTable {
    let pairs = |of: &[(&str, &str)]| -> BTreeMap<String, String> {
        let owned = of
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        owned.collect()
    };
    let properties = pairs(&[("log.retention.hours", "24"), ("log.roll.hours", "6")]);
    let levels = ConfigLevels {
        told: None,
        image: None,
        broker_id: Some(3),
        named: None,
        server_properties: &properties,
        moment: ConfigMoment::Running,
    };
    let own = pairs(&[
        ("retention.bytes", "734003200"),
        ("retention.ms", "604800000"),
    ]);
    SettingsTable::new(
        &levels,
        BTreeMap::from([("orders".to_owned(), own)]),
        BTreeMap::new(),
    )
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
            is_served: true,
        },
        settings_source: "/var/lib/kafka/data1/__cluster_metadata-0 as of offset 81234".to_owned(),
        settings: Arc::new(settings()),
        sources: FactSources {
            checkpoints: dirs().iter().map(|dir| (dir.clone(), times())).collect(),
            metadata: Some(Timestamp(NOW.0 - 34_000)),
            ..FactSources::default()
        },
        notes: vec![],
        at: NOW,
    }
}

/// When the broker wrote the checkpoints of a log dir last.
fn times() -> CheckpointTimes {
    CheckpointTimes {
        high_watermarks: Some(Timestamp(NOW.0 - 4_000)),
        log_starts: Some(Timestamp(NOW.0 - 58_000)),
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
fn what_a_running_broker_told_stands_with_its_age_where_files_did() {
    let mut session = listed();
    session.type_keys("3");
    let mut told = facts();
    let asked = Timestamp(NOW.0 - 3_000);
    told.sources.asked = Some(asked);
    for log in &mut told.host.logs[..3] {
        let of = &mut log.facts;
        of.high_watermark = HighWatermark::Told(Offset(7_500));
        told.sources.log_starts.insert(of.topic_partition.clone());
    }
    told.sources.settings = BTreeSet::from(["orders".to_owned()]);
    told.settings_source = "this host's broker, asked at 2026-12-01T14:02:28Z".to_owned();
    session.event(Event::Retention(Ok(Arc::new(told.clone()))));
    session.type_keys(":orders-2\n3");
    keep("segments-told", &mut session);
    // What it did not tell is from files, each with its age.
    session.type_keys(":users-0\n3");
    let screen = session.screen(200, 50);
    let files = "(file, 4 s ago) · log start 0 (file, 58 s ago) · settings: metadata, 34 s ago";
    assert!(screen.contains(files), "{screen}");
    told.sources = FactSources {
        silence: Some("no broker answers".to_owned()),
        ..facts().sources
    };
    session.event(Event::Retention(Ok(Arc::new(told))));
    let screen = session.screen(200, 50);
    assert!(screen.contains("not asked: no broker answers"), "{screen}");
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

/// What outlived its segments has rows of its own, and a compacted log says why it grows.
#[test]
fn leftovers_and_what_the_cleaner_left_are_told_with_their_cause() {
    let leftover = |base, kind, seconds: i64| LeftoverSegment {
        base_offset: Some(Offset(base)),
        kind,
        bytes: 90 * MIB,
        allocated: 90 * MIB,
        changed_at: Timestamp(NOW.0 - seconds * 1000),
    };
    let mut facts = facts();
    let users = &mut facts.host.logs[3];
    users.facts.leftovers = vec![
        leftover(0, LeftoverKind::Deleted, 20),
        leftover(500, LeftoverKind::Deleted, 200),
        leftover(1000, LeftoverKind::Swap, 7_500),
    ];
    let mut config = *users.config;
    config.segment_jitter_ms.value = 3 * 86_400_000;
    users.limits = RetentionLimits::of("users", &config, BrokerRules::default());
    users.limits.cleaner_gave_up = true;
    users.gave_up = Some(CleanerGaveUp {
        at: "2026-11-30 09:12:44".to_owned(),
        cause: Some("java.lang.IllegalStateException: too large".to_owned()),
    });
    let mut session = listed();
    session.type_keys("3");
    session.event(Event::Retention(Ok(Arc::new(facts.clone()))));
    session.type_keys("gGk\nG");
    keep("segments-leftovers", &mut session);
    let screen = session.screen(200, 50);
    for words in [
        ".deleted: goes in 40 s",
        ".deleted: overdue after 3 min 20 s",
        ".swap 2 h 5 min: a boot puts it in the place",
        "HELD by cleaner: gave up 2026-11-30 09:12:44",
        "backlog",
    ] {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
    facts.host.is_served = false;
    session.event(Event::Retention(Ok(Arc::new(facts))));
    let screen = session.screen(200, 50);
    assert!(
        screen.contains("its timer ended with the broker"),
        "{screen}"
    );
}

/// What is tried is applied with the broker down by a cleanup's plan, for as much as it was tried on.
#[test]
fn limits_that_are_tried_are_applied_offline_by_a_plan() {
    let mut session = on_pane();
    session.type_keys(":shorten");
    session.press(KeyCode::Enter);
    assert!(session.screen(120, 32).contains("no limits are tried"));
    session.press(KeyCode::Esc);
    session.type_keys(":orders-2");
    session.press(KeyCode::Enter);
    session.type_keys("3w2d");
    session.press(KeyCode::Enter);
    session.type_keys("x");
    let menu = session.screen(120, 32);
    assert!(
        menu.contains("apply offline: delete what retention.ms=172800000 takes of orders-2"),
        "{menu}"
    );
    assert!(menu.contains("class C"), "{menu}");
    session.type_keys("X");
    session.type_keys("w");
    session.press(KeyCode::Up);
    session.press(KeyCode::Enter);
    session.type_keys(":shorten no-copies");
    session.press(KeyCode::Enter);
    let limits = WhatIf::parse("retention.ms=2d").unwrap();
    let asked: Vec<CleanupRequest> = session
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Plan(PlanRequest {
                scope: Scope::Cleanup(request),
                ..
            }) => Some(request.clone()),
            _ => None,
        })
        .collect();
    let request = |names: &[&str], copies| CleanupRequest {
        ask: CleanupAsk::Shorten(Shorten {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            limits,
            copies,
        }),
        on: None,
        copies,
    };
    // Up leads from the partition around to the host.
    let want = [
        request(&["orders-2"], Copies::Kept),
        request(&[], Copies::None),
    ];
    assert_eq!(asked, want);
    session.type_keys("3y");
    let lines = session.screen(200, 50);
    assert!(
        lines.contains("cleanup --past-retention --what-if retention.ms=172800000"),
        "{lines}"
    );
}

#[test]
fn every_setting_of_a_topic_is_told_with_the_level_that_set_it() {
    let mut session = on_pane();
    session.type_keys(":orders-2");
    session.press(KeyCode::Enter);
    session.type_keys("3e");
    keep("segments-settings", &mut session);
    let screen = session.screen(200, 50);
    for words in [
        "settings of orders",
        "topic · over 86400000 (server.properties log.retention.hours) · over 604800000 (default)",
        "21600000             server.properties log.roll.hours · over 604800000 (default)",
        "file.delete.delay.ms             60000                default",
    ] {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
    session.press(KeyCode::Esc);
    assert!(!session.screen(200, 50).contains("settings of orders"));
}
