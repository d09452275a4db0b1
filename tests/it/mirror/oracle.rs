//! Answers of MirrorMaker 2's own classes and of runs of it, as facts of few partitions: what krescue makes of them.

use std::collections::BTreeMap;

use krescue::format::mirror_record::OffsetSync;
use krescue::format::properties::Properties;
use krescue::mirror::{
    AclFact, Acls, CheckpointFact, ClusterFacts, ClusterMetadata, CommitFact, ConfigOrigin,
    ConfigValue, Content, CopyFact, CopyProducer, ExcessFact, Facts, Flow, FlowName, FlowState,
    Folded, GroupFacts, InternalRecord, InternalTopic, LintReport, LiveFacts, LogFacts,
    MirrorProperties, PositionFact, PositionNote, PositionSource, ReplicationPolicy, SyncsFacts,
    Thinning, TopicMetadata, TransactionalIds, Translated, Why, failover_positions, flow_status,
    flows_of_file, lint, partition_lag, promote_steps, translate, translations,
};
use krescue::terms::{KafkaVersion, Offset, Timestamp};

const NEW: KafkaVersion = KafkaVersion::new(4, 3, 1);
const TOPIC: &str = "t";
const REMOTE: &str = "primary.t";

fn flow_with(ends: (&str, &str), keys: &[(&str, &str)], version: KafkaVersion) -> Flow {
    let value = |text: &str| ConfigValue {
        value: text.to_owned(),
        line: None,
    };
    let config = keys
        .iter()
        .map(|(key, text)| ((*key).to_owned(), value(text)))
        .collect();
    let name = FlowName::new(ends.0, ends.1);
    Flow::new(
        name,
        FlowState::Active,
        ConfigOrigin::Defaults,
        config,
        version,
    )
}

fn flow() -> Flow {
    flow_with(("primary", "secondary"), &[], NEW)
}

fn log((start, end): (i64, i64)) -> LogFacts {
    LogFacts {
        host: "h".to_owned(),
        dir: String::new(),
        leader_epoch: None,
        log_start_offset: Offset(start),
        log_end_offset: Offset(end),
        newest_timestamp: None,
        content: None,
    }
}

fn holding(topic: InternalTopic, folded: Folded) -> LogFacts {
    let mut content = Content::new(topic, Thinning::default());
    content.folded = folded;
    LogFacts {
        content: Some(content),
        ..log((0, 1))
    }
}

fn syncs(pairs: &[(i64, i64)], thinning: Thinning) -> LogFacts {
    let mut syncs = SyncsFacts::new(thinning);
    for (at, (upstream, downstream)) in (0..).zip(pairs) {
        let sync = OffsetSync {
            topic: TOPIC,
            partition: 0,
            upstream: Offset(*upstream),
            downstream: Offset(*downstream),
        };
        let record = InternalRecord {
            offset: Offset(at),
            timestamp: Timestamp(at),
            key: &[],
            value: None,
        };
        syncs.push(TOPIC, 0, Some(sync), &record);
    }
    holding(InternalTopic::OffsetSyncs, Folded::OffsetSyncs(syncs))
}

/// Both clusters: the ends of the topic and of its copy, MirrorMaker 2's position, its syncs.
fn facts(
    (from, to): ((i64, i64), (i64, i64)),
    position: Option<i64>,
    pairs: &[(i64, i64)],
) -> Facts {
    let mut source = ClusterFacts::default();
    source.put(TOPIC, 0, log(from));
    source.put(
        "mm2-offset-syncs.secondary.internal",
        0,
        syncs(pairs, Thinning::default()),
    );
    let mut target = ClusterFacts::default();
    target.put(REMOTE, 0, log(to));
    if let Some(position) = position {
        let fact = PositionFact {
            connector: "MirrorSourceConnector".to_owned(),
            offset: Offset(position),
            timestamp: Timestamp(0),
        };
        let topics = BTreeMap::from([(TOPIC.to_owned(), BTreeMap::from([(0, fact)]))]);
        let positions = Folded::Positions(BTreeMap::from([("primary".to_owned(), topics)]));
        let log = holding(InternalTopic::Positions, positions);
        target.put("mm2-offsets.primary.internal", 0, log);
    }
    let clusters = [("primary", source), ("secondary", target)];
    Facts {
        clusters: clusters.map(|(alias, it)| (alias.to_owned(), it)).into(),
        ..Facts::default()
    }
}

fn cluster<'a>(facts: &'a mut Facts, alias: &str) -> &'a mut ClusterFacts {
    facts.clusters.get_mut(alias).unwrap()
}

fn group(commits: &[(&str, i64)]) -> GroupFacts {
    let commit = |offset: i64| CommitFact {
        offset: Offset(offset),
        leader_epoch: None,
        metadata: String::new(),
        timestamp: None,
        record_offset: Offset(0),
    };
    GroupFacts {
        protocol_type: Some("consumer".to_owned()),
        state: Some("Empty".to_owned()),
        commits: commits
            .iter()
            .map(|(topic, offset)| ((*topic).to_owned(), BTreeMap::from([(0, commit(*offset))])))
            .collect(),
        ..GroupFacts::default()
    }
}

fn put_group(facts: &mut Facts, alias: &str, name: &str, group: GroupFacts) {
    let groups = &mut cluster(facts, alias).live_groups;
    groups
        .get_or_insert_default()
        .insert(name.to_owned(), group);
}

/// Returns the text of a rule on the topic or its copy.
fn told(report: &LintReport, code: &str) -> Option<String> {
    let of_topic = |place: &str| place == "t-0" || place == "primary.t-0" || !place.contains("t-0");
    let mut found = report.lints.iter().filter(|it| it.code == code);
    found
        .find(|it| it.place.as_deref().is_none_or(of_topic))
        .map(|it| it.text.clone())
}

#[track_caller]
fn tells(facts: &Facts, code: &str, words: &str) {
    let report = lint(facts, &[flow()]);
    let text = told(&report, code).unwrap_or_else(|| panic!("no {code}: {:?}", report.lints));
    assert!(text.contains(words), "{code}: {text}");
}

#[track_caller]
fn silent(facts: &Facts, codes: &[&str]) {
    let report = lint(facts, &[flow()]);
    for code in codes {
        assert_eq!(told(&report, code), None, "{code}");
    }
}

#[test]
fn a_file_with_one_flow_makes_the_topics_that_were_seen() {
    let text = "clusters = primary, secondary\nprimary.bootstrap.servers = a:1\nsecondary.bootstrap.servers = b:1\n\
                primary->secondary.enabled = true\nprimary->secondary.topics = sensor-.*\n";
    let properties = Properties::parse(text.as_bytes()).unwrap();
    let file = MirrorProperties::new("mm2.properties", &properties, text.as_bytes());
    let flows = flows_of_file(&file, NEW);
    let states: Vec<_> = flows
        .iter()
        .map(|it| (it.name.to_string(), it.state))
        .collect();
    assert_eq!(
        states,
        [
            ("primary->secondary".to_owned(), FlowState::Active),
            ("secondary->primary".to_owned(), FlowState::HeartbeatOnly),
        ]
    );
    let to = &flows[0];
    let syncs = "mm2-offset-syncs.secondary.internal".to_owned();
    assert_eq!(to.offset_syncs_topic(), ("primary", syncs));
    assert_eq!(to.checkpoints_topic(), "primary.checkpoints.internal");
    for (topic, remote) in [
        ("sensor-suhu", Some("primary.sensor-suhu")),
        ("heartbeats", Some("primary.heartbeats")),
        ("orders", None),
    ] {
        let copied = to.topic(topic).is_copied() == Some(true);
        let name = to.remote_topic(topic).filter(|_| copied);
        assert_eq!(name.as_deref(), remote, "{topic}");
    }
    // On clusters of one broker each nothing starts.
    let mut facts = facts(((0, 0), (0, 0)), None, &[]);
    facts.properties = Some(file);
    for alias in ["primary", "secondary"] {
        cluster(&mut facts, alias).metadata = Some(ClusterMetadata {
            brokers: BTreeMap::from([(1, None)]),
            ..ClusterMetadata::default()
        });
    }
    let report = lint(&facts, &flows);
    let factor = |lint: &krescue::mirror::Lint| {
        let (key, rest) = lint.text.split_once(" is ")?;
        Some((key.to_owned(), rest.chars().next()?))
    };
    let of_flow =
        |it: &&krescue::mirror::Lint| it.code == "E-RF" && it.flow.as_ref() == Some(&to.name);
    let factors: BTreeMap<String, char> = report
        .lints
        .iter()
        .filter(of_flow)
        .filter_map(factor)
        .collect();
    for (key, wanted) in [
        ("replication.factor", '2'),
        ("offset-syncs.topic.replication.factor", '3'),
        ("checkpoints.topic.replication.factor", '3'),
        ("heartbeats.topic.replication.factor", '3'),
    ] {
        assert_eq!(factors.get(key), Some(&wanted), "{key}: {factors:?}");
    }
    assert!(
        factors.values().filter(|it| **it == '3').count() >= 6,
        "{factors:?}"
    );
}

#[test]
fn an_alias_with_the_separator_in_it_hides_cycles() {
    let policy = ReplicationPolicy::default_of(NEW);
    assert_eq!(policy.source("us.east.t"), Some("us"));
    assert!(!policy.is_cycle("us.east.t", "us.east"));
    let text = "clusters = us.east, b\nus.east.bootstrap.servers = a:1\nb.bootstrap.servers = b:1\nb->us.east.enabled = true\n";
    let properties = Properties::parse(text.as_bytes()).unwrap();
    let file = MirrorProperties::new("mm2.properties", &properties, text.as_bytes());
    let flows = flows_of_file(&file, NEW);
    let facts = Facts {
        properties: Some(file),
        ..Facts::default()
    };
    let report = lint(&facts, &flows);
    assert!(
        report.lints.iter().any(|it| it.code == "E-ALIAS-SEP"),
        "{:?}",
        report.lints
    );
}

#[test]
fn the_floor_pair_alone_is_what_was_once_thought_to_be_the_answer() {
    let facts = facts(((0, 8), (0, 8)), None, &[(0, 0), (3, 3), (7, 7)]);
    let syncs = facts.clusters["primary"]
        .offset_syncs("mm2-offset-syncs.secondary.internal")
        .and_then(|it| it.get(TOPIC, 0))
        .unwrap();
    for (commit, floor, real) in [(2, 0, 1), (6, 3, 4)] {
        assert_eq!(
            syncs.best_pair(Offset(commit)).unwrap().downstream,
            Offset(floor)
        );
        let translated = translate(&facts, &flow(), ("g", TOPIC, 0), Offset(commit));
        assert_eq!(translated.downstream, Some(Offset(real)), "{commit}");
    }
}

#[test]
fn old_releases_translate_by_the_last_pair_and_take_over_what_has_none() {
    let with = |version: KafkaVersion, pairs: &[(i64, i64)], commit: i64| {
        let mut facts = facts(((0, 200), (0, 200)), None, &[]);
        let syncs = syncs(pairs, Thinning::of(version));
        let topic = "mm2-offset-syncs.secondary.internal";
        cluster(&mut facts, "primary")
            .logs
            .insert(topic.to_owned(), BTreeMap::from([(0, syncs)]));
        let flow = flow_with(("primary", "secondary"), &[], version);
        translate(&facts, &flow, ("g", TOPIC, 0), Offset(commit))
    };
    let v3_2 = KafkaVersion::new(3, 2, 3);
    let v3_3 = KafkaVersion::new(3, 3, 2);
    assert_eq!(with(v3_2, &[(0, 0), (3, 3)], 6).downstream, Some(Offset(6)));
    let late = with(v3_2, &[(0, 0), (3, 3), (7, 7)], 6);
    assert_eq!(late.downstream, None);
    assert!(matches!(late.translated, Some(Translated::TooOld { .. })));
    let taken_over = with(v3_2, &[], 100);
    assert_eq!(
        (taken_over.downstream, taken_over.why),
        (Some(Offset(100)), Why::TakenOver)
    );
    let none = with(v3_3, &[], 100);
    assert_eq!((none.downstream, none.why), (None, Why::NoSync));
}

/// Checkpoint 101: what group sync would write for a group of the target that is idle, or busy.
#[test]
fn a_commit_on_the_target_gives_way_to_a_later_checkpoint_alone() {
    let position = |commit: Option<i64>, state: &str| {
        let mut facts = facts(((0, 300), (0, 300)), None, &[]);
        let checkpoint = CheckpointFact {
            upstream: Offset(150),
            downstream: Offset(101),
            highest_upstream: Offset(150),
            timestamp: Timestamp(0),
        };
        let of_group = BTreeMap::from([(REMOTE.to_owned(), BTreeMap::from([(0, checkpoint)]))]);
        let checkpoints = Folded::Checkpoints(BTreeMap::from([("g".to_owned(), of_group)]));
        let log = holding(InternalTopic::Checkpoints, checkpoints);
        cluster(&mut facts, "secondary").put("primary.checkpoints.internal", 0, log);
        let commits: Vec<(&str, i64)> = commit.iter().map(|it| (REMOTE, *it)).collect();
        let mut there = group(&commits);
        there.state = Some(state.to_owned());
        put_group(&mut facts, "secondary", "g", there);
        failover_positions(&facts, &flow()).remove(0)
    };
    for (commit, at, source) in [
        (Some(100), 101, PositionSource::Checkpoint),
        (Some(101), 101, PositionSource::TargetCommit),
        (Some(150), 150, PositionSource::TargetCommit),
        (None, 101, PositionSource::Checkpoint),
    ] {
        let told = position(commit, "Empty");
        assert_eq!(
            (told.position, told.source),
            (Some(Offset(at)), Some(source)),
            "{commit:?}"
        );
        assert!(told.can_be_set());
    }
    let busy = position(Some(100), "Stable");
    assert_eq!(busy.notes, [PositionNote::Active]);
    assert_eq!(busy.position, Some(Offset(100)));
    assert!(!busy.can_be_set());
}

/// Syncs stand `offset.lag.max` + 1 apart, and one more comes with the next flush.
#[test]
fn between_spaced_syncs_a_commit_is_read_again_by_less_than_the_spacing() {
    for (spacing, pairs) in [
        (101, vec![(0, 0), (101, 101), (202, 202)]),
        (1, (0..=5).map(|it| (it, it)).collect()),
        (2, vec![(0, 0), (2, 2), (4, 4)]),
    ] {
        let (last, _) = *pairs.last().unwrap();
        let facts = facts(((0, 251), (0, 251)), None, &pairs);
        // The newest two pairs are always kept.
        for commit in last - spacing..=last + spacing {
            let it = translate(&facts, &flow(), ("g", TOPIC, 0), Offset(commit));
            let again = commit - it.downstream.unwrap().0;
            assert!((0..spacing.max(2)).contains(&again), "{spacing}: {it:?}");
            assert_eq!(
                it.read_again,
                u64::try_from(again).ok(),
                "{spacing}: {it:?}"
            );
        }
    }
    let flushed = facts(
        ((0, 251), (0, 251)),
        None,
        &[(0, 0), (101, 101), (202, 202), (250, 250)],
    );
    let it = translate(&flushed, &flow(), ("g", TOPIC, 0), Offset(250));
    assert_eq!((it.downstream, it.why), (Some(Offset(250)), Why::Exact));
}

/// Records (0,0) (1,1) (2,2) (5,3) (6,4) (7,1): a sync for the first, for the hole and for the target that was made anew.
#[test]
fn a_hole_and_a_target_made_anew_each_have_their_sync() {
    let facts = facts(((0, 8), (0, 2)), None, &[(0, 0), (5, 3), (7, 1)]);
    tells(&facts, "W-DOWN-RESET", "syncs (5,3) then (7,1)");
    let at = |commit: i64| translate(&facts, &flow(), ("g", TOPIC, 0), Offset(commit)).downstream;
    assert_eq!([at(7), at(8)], [Some(Offset(1)), Some(Offset(2))]);
    let syncs = facts.clusters["primary"].offset_syncs("mm2-offset-syncs.secondary.internal");
    let syncs = syncs.and_then(|it| it.get(TOPIC, 0)).unwrap();
    assert_eq!(
        syncs.best_pair(Offset(6)),
        None,
        "what was before is gone from the target"
    );
}

#[test]
fn more_on_the_target_than_the_source_gave_is_a_second_copy_or_another_writer() {
    let with =
        |pairs: &[(i64, i64)], ends: ((i64, i64), (i64, i64)), excess: Option<(i64, bool)>| {
            let mut facts = facts(ends, None, pairs);
            let copy = CopyFact {
                excesses: excess
                    .map(|(at, copied_again)| {
                        (
                            at,
                            ExcessFact {
                                markers: 0,
                                copied_again,
                            },
                        )
                    })
                    .into_iter()
                    .collect(),
                ..CopyFact::default()
            };
            let copies = &mut cluster(&mut facts, "secondary").copies;
            copies.insert(REMOTE.to_owned(), BTreeMap::from([(0, copy)]));
            facts
        };
    let ends = ((0, 301), (0, 261));
    let pairs = [(100, 50), (200, 150), (300, 260)];
    let new = with(&pairs, ends, Some((260, false)));
    tells(
        &new,
        "W-FOREIGN-ARITH",
        "the target got 10 records more than the source had",
    );
    silent(&new, &["I-RECOPY", "E-FOREIGN"]);
    let again = with(&pairs, ends, Some((260, true)));
    tells(
        &again,
        "I-RECOPY",
        "the target got 10 records more than the source had",
    );
    silent(&again, &["W-FOREIGN-ARITH"]);
    // The same, as a run of it left them: thirty records twice.
    let run = with(
        &[(250, 250), (251, 281)],
        ((0, 281), (0, 311)),
        Some((281, true)),
    );
    tells(&run, "I-RECOPY", "the target got 30 records more");
    silent(&run, &["W-FOREIGN-ARITH"]);
    // A restart explains what follows it.
    let restart = with(
        &[(300, 260), (250, 265), (350, 365)],
        ((0, 351), (0, 366)),
        None,
    );
    silent(
        &restart,
        &["W-FOREIGN-ARITH", "I-EXCESS", "E-FOREIGN", "W-GAP"],
    );
    // Behind the last sync no restart can hide.
    let mut tail = with(&[(7, 7)], ((0, 8), (0, 12)), None);
    tells(
        &tail,
        "W-FOREIGN-ARITH",
        "4 records follow the last sync on the target, 0 on the source",
    );
    silent(&tail, &["E-FOREIGN"]);
    let target = cluster(&mut tail, "secondary");
    target.transactional_ids = Some(TransactionalIds {
        complete: true,
        ..TransactionalIds::default()
    });
    let producer = CopyProducer {
        first_offset: Offset(8),
        last_offset: Offset(11),
        last_timestamp: Timestamp(0),
    };
    let copy = target.copies.get_mut(REMOTE).unwrap().get_mut(&0).unwrap();
    copy.producers.insert(4001, producer);
    tells(&tail, "E-FOREIGN", "id 4001: offsets 8 to 11");
}

#[test]
fn what_retention_took_and_what_was_made_anew_are_told_by_the_numbers() {
    let purged = facts(((900, 2000), (0, 501)), Some(500), &[(400, 400)]);
    tells(
        &purged,
        "E-PURGED",
        "retention took 399 offsets (501 to 899)",
    );
    let recreated = facts(((0, 40), (0, 5001)), Some(5000), &[(4990, 4990)]);
    tells(
        &recreated,
        "W-RECREATED",
        "record 5000 was copied, the source ends at 40",
    );
    silent(&recreated, &["E-PURGED"]);
    let measured = facts(((0, 4), (0, 10)), Some(9), &[(9, 9)]);
    tells(
        &measured,
        "W-RECREATED",
        "record 9 was copied, the source ends at 4",
    );
    let gap = facts(((35, 36), (0, 11)), None, &[(9, 9), (35, 10)]);
    tells(&gap, "W-GAP", "25 offsets of the source were never copied");
    let from_start = facts(((0, 4), (0, 14)), None, &[(9, 9), (0, 10)]);
    tells(&from_start, "W-RECREATED", "syncs (9,9) then (0,10)");
    let rebuilt = facts(((0, 15), (0, 5)), Some(14), &[(9, 9), (10, 0)]);
    tells(&rebuilt, "W-DOWN-RESET", "syncs (9,9) then (10,0)");
    tells(
        &rebuilt,
        "W-REBUILT",
        "10 offsets that the source still has are not on it",
    );
}

#[test]
fn the_lag_is_counted_from_positions_syncs_and_ends() {
    let facts = facts(((0, 2100), (0, 1500)), Some(1999), &[(1990, 1490)]);
    let lag = partition_lag(&facts, &flow(), TOPIC, 0);
    assert_eq!((lag.copied, lag.behind), (Some(Offset(1999)), Some(100)));
    let staleness = lag.copied.unwrap().0 - lag.last_sync.unwrap().upstream.0;
    assert_eq!(staleness, 9);
}

/// As runs gave them, before and after a kill.
#[test]
fn a_second_copy_moves_later_commits_and_all_syncs_know_more_than_the_store() {
    let pairs = [
        (0, 0),
        (101, 101),
        (202, 202),
        (250, 250),
        (251, 281),
        (285, 315),
    ];
    let facts = facts(((0, 286), (0, 316)), None, &pairs);
    let at = |commit: i64| translate(&facts, &flow(), ("g", TOPIC, 0), Offset(commit)).downstream;
    for (commit, told) in [
        (251, 281),
        (260, 282),
        (285, 315),
        (300, 316),
        (101, 1),
        (230, 203),
    ] {
        assert_eq!(at(commit), Some(Offset(told)), "{commit}");
    }
    let syncs = facts.clusters["primary"].offset_syncs("mm2-offset-syncs.secondary.internal");
    let syncs = syncs.and_then(|it| it.get(TOPIC, 0)).unwrap();
    for (commit, told) in [(101, 101), (230, 203)] {
        let pair = syncs.best_pair(Offset(commit)).unwrap();
        let behind = i64::from(pair.upstream < Offset(commit));
        assert_eq!(pair.downstream.plus(behind), Offset(told), "{commit}");
    }
}

fn acl(principal: &str, topic: &str, operation: &str, allows: bool) -> AclFact {
    AclFact {
        topic: topic.trim_end_matches('^').to_owned(),
        prefixed: topic.ends_with('^'),
        principal: format!("User:{principal}"),
        operation: operation.to_owned(),
        allows,
    }
}

/// The rights that MirrorMaker 2 copied in a run of it: READ alone of ALL, no WRITE, denials, nothing of prefixes.
#[test]
fn who_could_write_before_and_cannot_after_is_named() {
    let mut facts = facts(((0, 1), (0, 1)), None, &[(0, 0)]);
    let on_source = vec![
        acl("alice", TOPIC, "ALL", true),
        acl("bob", TOPIC, "WRITE", true),
        acl("eve", TOPIC, "ALL", false),
        acl("carl", "t^", "READ", true),
    ];
    let on_target = vec![
        acl("alice", REMOTE, "READ", true),
        acl("eve", REMOTE, "ALL", false),
    ];
    for (alias, rules) in [("primary", on_source), ("secondary", on_target)] {
        let cluster = cluster(&mut facts, alias);
        cluster.live = Some(LiveFacts {
            acls: Some(Acls::Rules(rules)),
            ..LiveFacts::default()
        });
        cluster.metadata = Some(ClusterMetadata::default());
    }
    // Nobody may write to the copy: the rights that were copied open nothing.
    silent(&facts, &["W-ACL-WRITE", "I-NO-AUTHZ"]);
    let steps = promote_steps(&facts, &flow(), Timestamp(0));
    let text = format!("{steps:?}");
    for (who, named) in [
        ("alice", true),
        ("bob", true),
        ("eve", false),
        ("carl", false),
    ] {
        assert_eq!(
            text.contains(&format!("User:{who}")),
            named,
            "{who}: {text}"
        );
    }
}

#[test]
fn on_the_third_cluster_heartbeats_tell_the_way() {
    let flow = flow_with(("secondary", "tertiary"), &[], NEW);
    let with = |more: &[&str]| {
        let mut third = ClusterFacts::default();
        let topics = [
            "heartbeats",
            "secondary.heartbeats",
            "secondary.primary.heartbeats",
        ];
        for topic in topics.iter().chain(more) {
            third.put(topic, 0, log((0, 1)));
        }
        third
    };
    let hops = |third: ClusterFacts| {
        let clusters = BTreeMap::from([("tertiary".to_owned(), third)]);
        let facts = Facts {
            clusters,
            ..Facts::default()
        };
        let hops = flow_status(&facts, &flow).hops;
        hops.into_iter().collect::<Vec<_>>()
    };
    let two = [("primary".to_owned(), 2), ("secondary".to_owned(), 1)];
    assert_eq!(hops(with(&[])), two);
    let mut three = two.to_vec();
    three.insert(0, ("orders".to_owned(), 1));
    assert_eq!(hops(with(&["orders.heartbeats"])), three);

    // What a run left in the copy of a copy: the worker that wrote it ran from secondary to primary.
    let mut third = with(&[]);
    let mut content = Content::new(InternalTopic::Heartbeats, Thinning::default());
    let hex = |text: &str| -> Vec<u8> {
        let digits = (0..text.len()).step_by(2);
        digits
            .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
            .collect()
    };
    content.push(&InternalRecord {
        offset: Offset(0),
        timestamp: Timestamp(0),
        key: &hex("00097365636f6e6461727900077072696d617279"),
        value: Some(&hex("00000000018bcfe56800")),
    });
    let name = "secondary.primary.heartbeats";
    third
        .logs
        .get_mut(name)
        .unwrap()
        .get_mut(&0)
        .unwrap()
        .content = Some(content);
    let beats = third.heartbeats(name);
    assert_eq!(beats.len(), 1);
    assert_eq!(
        (beats[0].source.as_str(), beats[0].target.as_str()),
        ("secondary", "primary")
    );
    assert_eq!(beats[0].timestamp, Timestamp(1_700_000_000_000));
    // It is no sign of life of the flow to here.
    let facts = Facts {
        clusters: BTreeMap::from([("tertiary".to_owned(), third)]),
        ..Facts::default()
    };
    let status = flow_status(&facts, &flow);
    assert_eq!((status.heartbeat, status.worker_heartbeat), (None, None));
}

#[test]
fn progress_on_a_copy_is_not_carried_back() {
    let back = flow_with(("secondary", "primary"), &[], NEW);
    let mut facts = facts(((0, 10), (0, 10)), None, &[(0, 0), (9, 9)]);
    put_group(&mut facts, "secondary", "g", group(&[(REMOTE, 7)]));
    let mut none = SyncsFacts::new(Thinning::default());
    none.partitions.clear();
    let log = holding(InternalTopic::OffsetSyncs, Folded::OffsetSyncs(none));
    cluster(&mut facts, "secondary").put("mm2-offset-syncs.primary.internal", 0, log);
    let all = translations(&facts, &back).unwrap();
    let told: Vec<_> = all
        .iter()
        .map(|it| (it.topic.as_str(), it.downstream, it.why))
        .collect();
    assert_eq!(told, [(REMOTE, None, Why::NoSync)]);
    assert_eq!(
        all[0].remote_topic.as_deref(),
        Some(TOPIC),
        "by its name at home"
    );
    let positions = failover_positions(&facts, &back);
    assert_eq!(positions[0].position, None);
}

#[test]
fn a_group_that_reads_nothing_that_is_copied_gets_no_checkpoint() {
    let mut facts = facts(((0, 10), (0, 10)), None, &[(9, 9)]);
    put_group(
        &mut facts,
        "primary",
        "g-out",
        group(&[("left.replica", 5)]),
    );
    put_group(&mut facts, "primary", "g-in", group(&[(TOPIC, 5)]));
    cluster(&mut facts, "primary").metadata = Some(ClusterMetadata {
        topics: BTreeMap::from(
            [TOPIC, "left.replica"].map(|it| (it.to_owned(), TopicMetadata::default())),
        ),
        ..ClusterMetadata::default()
    });
    for keys in [&[][..], &[("groups", "g-.*")]] {
        let flow = flow_with(("primary", "secondary"), keys, NEW);
        let report = lint(&facts, std::slice::from_ref(&flow));
        let found: Vec<_> = report
            .lints
            .iter()
            .filter(|it| it.code == "W-GRP-TOPIC")
            .collect();
        assert_eq!(found.len(), 1, "{:?}", report.lints);
        assert_eq!(found[0].place.as_deref(), Some("g-out"));
        let all = translations(&facts, &flow).unwrap();
        let groups: Vec<_> = all.iter().map(|it| it.group.as_str()).collect();
        assert_eq!(groups, ["g-in"]);
    }
}
