//! The volumes pane and the dialog that frees space.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::KeyCode;
use krescue::app::effect::{CleanupAsk, CleanupRequest, Copies, FreeWhat};
use krescue::app::facts::{BrokerFacts, Presence};
use krescue::app::state::{FreeOffer, KeptLeftover, VolumesFacts, free_lines};
use krescue::app::{Effect, Event, Scope};
use krescue::log::{Finding, FindingCode, Severity, Usage, UsageByKind, UsageKind};
use krescue::plan::cleanup::{
    CleanupWish, Deletion, DeletionCost, FreeableLog, FreeableSegment, GroupCommits, Leftover,
    LeftoverProof, OtherWay, WayAct, plan_cleanup,
};
use krescue::plan::retention::WhatIf;
use krescue::plan::volumes::{
    DirProblem, DirUsage, FileUsage, ForeignEntry, HeldBytes, LogUsage, SpaceFacts, UsedSample,
    VolumeFacts, VolumeReport, Written,
};
use krescue::plan::{Class, PlanAct, Verdict};
use krescue::terms::{Offset, Timestamp, TopicPartition};

use super::fixtures::{NOW, broker, dirs, listed, plan_of_indexes, with_plan};
use super::screens::keep;
use super::session::Session;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const ID: &str = "3f0c1e9ad2b64c1c8a7be6f1a2b3c4d5";

fn used(kind: UsageKind, name: &str, mib: u64) -> LogUsage {
    let mut usage = UsageByKind::default();
    let files = Usage {
        files: 2 + mib / 512,
        len: mib * MIB,
        allocated: mib * MIB,
    };
    usage.add(kind, files);
    let indexes = Usage {
        files: 2,
        len: 20 * MIB,
        allocated: 8192,
    };
    usage.add(kind, indexes);
    LogUsage {
        name: name.to_owned(),
        kind,
        usage,
        segments: 1 + mib / 1024,
        data: files,
        indexes,
        holes: 0,
        written_at: Some(Timestamp(NOW.0 - 40_000)),
        written: Written {
            minutes: mib * 1024,
            day: mib * MIB / 20,
        },
        elsewhere: false,
        error: None,
        gaps: krescue::log::GapSearch::default(),
    }
}

fn volume(dir: usize, free_mib: u64, logs: Vec<LogUsage>) -> VolumeFacts {
    VolumeFacts {
        dir: dirs()[dir].clone(),
        volume: Some(format!("disk {dir}")),
        mount_point: Some(dirs()[dir].clone()),
        fs_type: Some("xfs".to_owned()),
        source: Some(format!("/dev/sd{}1", ["b", "c"][dir])),
        options: "rw,noatime".to_owned(),
        space: Some(SpaceFacts {
            total: 1800 * GIB,
            free: free_mib * MIB,
            free_root: free_mib * MIB,
            inodes: Some(1 << 20),
            free_inodes: Some(1 << 19),
        }),
        device_bytes: None,
        problems: vec![],
        usage: DirUsage {
            logs,
            own: Usage {
                files: 6,
                len: 900,
                allocated: 24_576,
            },
            foreign: vec![],
            is_whole: true,
        },
        held: vec![],
    }
}

/// A full log dir that the broker gave up, and one that it serves.
fn facts(offline: bool) -> VolumesFacts {
    let mut first = volume(
        0,
        0,
        vec![
            used(UsageKind::Topics, "orders-0", 600_000),
            used(UsageKind::Topics, "orders-2", 580_000),
            used(UsageKind::Topics, "audit-0", 420_000),
            used(UsageKind::DeleteDirs, &format!("old-3.{ID}-delete"), 71_000),
            used(UsageKind::StrayDirs, &format!("lost-1.{ID}-stray"), 22_000),
            used(UsageKind::Internal, "__consumer_offsets-0", 84_000),
            used(UsageKind::Metadata, "__cluster_metadata-0", 90),
        ],
    );
    if offline {
        first.problems.push(DirProblem::Offline {
            since: Some(Timestamp(NOW.0 - 960_000)),
            cause: Some("java.io.IOException: No space left on device".to_owned()),
        });
    }
    first.usage.foreign.push(ForeignEntry {
        name: "java_pid812.hprof".to_owned(),
        usage: Usage {
            files: 1,
            len: 4 * GIB,
            allocated: 4 * GIB,
        },
        stops_boot: false,
    });
    first.held.push(HeldBytes {
        pid: 812,
        command: "java".to_owned(),
        files: 3,
        allocated: 3 * GIB,
        largest: PathBuf::from("/var/lib/kafka/data1/orders-0/00000000000000000000.log"),
    });
    let second = volume(
        1,
        820_000,
        vec![
            used(UsageKind::Topics, "clicks-0", 500_000),
            used(UsageKind::Topics, "clicks-10", 500_000),
        ],
    );
    let samples = [0, 1].map(|dir: u64| UsedSample {
        at: Timestamp(NOW.0 - 600_000),
        volume: format!("disk {dir}"),
        used: 1000 * GIB - dir * 300 * MIB,
    });
    VolumesFacts {
        report: VolumeReport::of(vec![first, second], &samples, NOW, 100),
        dirs_done: 9,
        dirs_total: 9,
        at: NOW,
    }
}

fn on_pane(offline: bool) -> Session {
    let mut session = listed();
    session.event(Event::Volumes(Ok(Arc::new(facts(offline)))));
    session.type_keys("4");
    session
}

fn segment(number: i64, past_retention: bool) -> FreeableSegment {
    FreeableSegment {
        base_offset: Offset(number * 1000),
        next_offset: Offset(number * 1000 + 1000),
        bytes: GIB,
        freed: GIB + 8192,
        largest_timestamp: Timestamp(NOW.0 - (50 - number) * 3_600_000),
        past_retention,
    }
}

#[test]
fn the_next_replica_goes_to_the_first_dir_where_all_are_cordoned() {
    let dirs = |cordoned: [bool; 2]| {
        let logs = ["a-0", "b-0"].map(|name| used(UsageKind::Topics, name, 1));
        let mut volumes = [volume(0, 9, logs.to_vec()), volume(1, 9, vec![])];
        for (volume, cordoned) in volumes.iter_mut().zip(cordoned) {
            volume
                .problems
                .extend(cordoned.then_some(DirProblem::Cordoned));
        }
        let report = VolumeReport::of(volumes.into(), &[], NOW, 100);
        let takes: Vec<bool> = report.rows.iter().map(|row| row.takes_next).collect();
        takes
    };
    assert_eq!(dirs([false, false]), [false, true]);
    assert_eq!(dirs([false, true]), [true, false]);
    assert_eq!(dirs([true, true]), [true, false]);
}

fn log(name: &str, past: i64, all: i64) -> FreeableLog {
    FreeableLog {
        log_dir: dirs()[0].clone(),
        dir_name: format!("{name}-0"),
        topic_partition: TopicPartition::new(name, 0),
        log_start_offset: Offset(0),
        log_end_offset: None,
        segments: (0..all)
            .map(|number| segment(number, number < past))
            .collect(),
        mirrors: vec![],
        unknown_mirrors: vec![],
    }
}

fn offer(target: u64) -> FreeOffer {
    let leftovers = [Leftover {
        log_dir: dirs()[0].clone(),
        dir_name: format!("old-3.{ID}-delete"),
        files: vec![],
        kind: UsageKind::DeleteDirs,
        removes_dir: true,
        allocated: 71 * GIB,
        log_bytes: 71 * GIB,
        proof: LeftoverProof::Proved,
    }];
    let logs = [log("orders", 3, 40), log("audit", 0, 20)];
    let chosen = plan_cleanup(CleanupWish::Free(target), &leftovers, &logs);
    let elsewhere = |partition: &TopicPartition| {
        (partition.topic == "orders").then(|| {
            "brokers 2 and 3 in sync (metadata of 16 min ago); not verified there".to_owned()
        })
    };
    let committed = |group: &str, offset| (group.to_owned(), Offset(offset));
    let groups = GroupCommits {
        committed: BTreeMap::from([(
            TopicPartition::new("orders", 0),
            BTreeMap::from([committed("billing", 1_200), committed("reports", 2_999_000)]),
        )]),
        read: BTreeSet::from([0]),
        partitions: Some(1),
        unread: vec![],
        is_unasked: false,
    };
    FreeOffer {
        dir: dirs()[0].clone(),
        target,
        space: facts(false).report.rows[0].facts.space,
        costless: vec![
            Finding::new(
                FindingCode::Volume,
                Severity::Routine,
                "4.00 GiB of /var/lib/kafka/data1/java_pid812.hprof are a dump or an old log",
            )
            .next("rm /var/lib/kafka/data1/java_pid812.hprof"),
        ],
        lines: free_lines(&leftovers, &logs, (&chosen, &groups), elsewhere),
        ways: vec![
            OtherWay {
                class: Class::C,
                freed: 12 * GIB,
                act: WayAct::Shorten {
                    topic: "audit".to_owned(),
                    limits: WhatIf::parse("retention.ms=36h").unwrap(),
                },
            },
            OtherWay {
                class: Class::B,
                freed: 78 * GIB,
                act: WayAct::Move {
                    partition: TopicPartition::new("telemetry", 4),
                    to: dirs()[1].clone(),
                },
            },
        ],
        kept: vec![KeptLeftover {
            dir_name: format!("lost-1.{ID}-stray"),
            allocated: 22 * GIB,
            why: "a proved stray goes by a plan of its own: :cleanup strays".to_owned(),
        }],
        boot_free: 12 * MIB,
        boot_reads: 31 * GIB,
        boot_rate: 100 * MIB,
        copies_here: false,
        notes: vec![],
        at: NOW,
    }
}

#[test]
fn volumes_with_what_fills_the_selected_one() {
    let mut session = on_pane(true);
    keep("volumes", &mut session);
}

#[test]
fn the_walk_leads_to_the_segments_of_a_log() {
    let mut session = on_pane(false);
    session.type_keys("\n");
    keep("volumes-kinds", &mut session);
    session.type_keys("\n");
    let screen = session.screen(120, 32);
    assert!(screen.contains("data1 › topics"), "{screen}");
    session.take();
    session.type_keys("\nj\n");
    let wanted = Effect::ListFiles {
        dir: dirs()[0].clone(),
        name: "orders-2".to_owned(),
    };
    assert_eq!(session.take_acts(), [wanted]);
    assert!(session.screen(80, 24).contains("being listed"));
    let file = |base: i64, suffix: &str, mib: u64| FileUsage {
        name: format!("{base:020}.{suffix}"),
        kind: UsageKind::Topics,
        base_offset: Some(base),
        is_log: suffix == "log",
        usage: Usage {
            files: 1,
            len: mib * MIB,
            allocated: mib * MIB,
        },
        written_at: Timestamp(NOW.0 - 3_600_000),
    };
    session.event(Event::Files {
        dir: dirs()[0].clone(),
        name: "orders-2".to_owned(),
        files: Ok(vec![
            file(0, "log", 1024),
            file(0, "index", 1),
            file(48_211_904, "log", 600),
        ]),
    });
    keep("volumes-segments", &mut session);
    for place in ["data1 › topics › orders", "data1 › topics", "data1 ·"] {
        session.press(KeyCode::Esc);
        let screen = session.screen(120, 32);
        assert!(screen.contains(place), "{place}: {screen}");
    }
}

#[test]
fn it_fills_in_as_it_goes_and_what_is_looked_at_again_is_shown_whole() {
    let mut session = listed();
    session.type_keys("4");
    let asked = |session: &Session| {
        let effects = session.effects.iter();
        effects.filter(|it| **it == Effect::ReadVolumes).count()
    };
    assert_eq!(asked(&session), 1);
    assert!(session.screen(80, 24).contains("being looked at"));
    let mut half = facts(false);
    half.dirs_done = 4;
    for row in &mut half.report.rows {
        row.facts.usage.is_whole = false;
    }
    session.event(Event::Volumes(Ok(Arc::new(half.clone()))));
    let screen = session.screen(80, 24);
    assert!(screen.contains("4 of 9 dirs"), "{screen}");
    session.event(Event::Volumes(Ok(Arc::new(facts(false)))));
    assert!(session.screen(80, 24).contains("looked now"));
    session.later(31_000);
    assert_eq!(asked(&session), 2);
    session.event(Event::Volumes(Ok(Arc::new(half))));
    assert!(session.screen(80, 24).contains("anew"));
    session.event(Event::Volumes(Err("no such dir".to_owned())));
    assert!(session.screen(120, 32).contains("no such dir"));
}

#[test]
fn the_first_line_tells_of_a_full_volume() {
    let mut session = on_pane(false);
    let screen = session.screen(200, 50);
    assert!(
        screen.contains("a boot will fail: data1 is FULL: 0 B free"),
        "{screen}"
    );
    let running = BrokerFacts {
        presence: Presence::Running { pid: Some(812) },
        ..broker()
    };
    session.event(Event::Opened(Box::new(running)));
    session.event(Event::Volumes(Ok(Arc::new(facts(true)))));
    let screen = session.screen(200, 50);
    assert!(screen.contains("data1 is offline since 2026-"), "{screen}");
    session.type_keys("1");
    keep("overview-volumes", &mut session);
}

#[test]
fn what_can_go_is_ranked_marked_and_planned() {
    let mut session = on_pane(false);
    session.take();
    session.type_keys("f");
    // A tenth of the volume is proposed.
    assert!(session.screen(80, 24).contains("180GiB"));
    session.type_keys("x\n");
    assert!(session.screen(80, 24).contains("not a size"));
    assert!(session.take_acts().is_empty());
    session.press(KeyCode::Esc);
    session.type_keys(":free 76GiB data1\n");
    let wanted = Effect::OfferFree {
        dir: dirs()[0].clone(),
        target: 76 * GIB,
    };
    assert_eq!(session.take_acts(), [wanted]);
    session.event(Event::FreeOffer(Ok(Arc::new(offer(76 * GIB)))));
    keep("free-space", &mut session);
    session.type_keys("j");
    let screen = session.screen(120, 32);
    assert!(
        screen.contains("have not read it all: billing (at 1200)"),
        "{screen}"
    );
    session.type_keys("k");
    // Unchanged, it is the plan of the same words on the command line.
    let plan = |session: &mut Session| {
        let effects = session.take_acts();
        let [Effect::Plan(request)] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        let Scope::Cleanup(request) = request.scope.clone() else {
            panic!("{request:?}")
        };
        request
    };
    session.take();
    session.press(KeyCode::Enter);
    let want = CleanupRequest {
        ask: CleanupAsk::Free(76 * GIB),
        on: Some(dirs()[0].clone()),
        copies: Copies::Kept,
    };
    assert_eq!(plan(&mut session), want);
    // The good records stay, and nothing is kept.
    session.type_keys("jj n");
    let screen = session.screen(120, 32);
    assert!(screen.contains("gone for good"), "{screen}");
    session.press(KeyCode::Enter);
    let request = plan(&mut session);
    assert_eq!(request.copies, Copies::None);
    let CleanupAsk::Marked(choices) = request.ask else {
        panic!("{:?}", request.ask)
    };
    let what: Vec<FreeWhat> = choices.iter().map(|choice| choice.what).collect();
    let leftover = FreeWhat::Leftover(UsageKind::DeleteDirs);
    assert_eq!(what, [leftover, FreeWhat::Segments(3)]);
}

#[test]
fn copies_on_the_same_volume_are_refused_where_records_go() {
    let mut session = on_pane(false);
    session.type_keys(":free 76GiB data1\n");
    let mut here = offer(76 * GIB);
    here.copies_here = true;
    session.event(Event::FreeOffer(Ok(Arc::new(here))));
    session.take();
    session.press(KeyCode::Enter);
    assert!(session.take_acts().is_empty());
    let screen = session.screen(120, 32);
    assert!(screen.contains("n keeps no copy"), "{screen}");
}

#[test]
fn marks_in_the_pane_say_what_goes_first() {
    let mut session = on_pane(false);
    // The topic audit is marked.
    session.type_keys("\n\nj ");
    assert!(session.screen(80, 24).contains("1 marked"));
    session.type_keys(":free 2GiB data1\n");
    session.event(Event::FreeOffer(Ok(Arc::new(offer(2 * GIB)))));
    let screen = session.screen(120, 32);
    let marked: Vec<&str> = screen.lines().filter(|line| line.contains("[x]")).collect();
    assert!(
        matches!(marked.as_slice(), [only] if only.contains("audit-0  2 of 20")),
        "{screen}"
    );
}

#[test]
fn acts_of_the_pane_are_those_that_free_space() {
    let mut session = on_pane(false);
    session.take();
    session.type_keys("xl");
    let effects = session.take_acts();
    let [Effect::Plan(request)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let want = Scope::Cleanup(CleanupRequest {
        ask: CleanupAsk::Leftovers,
        on: Some(dirs()[0].clone()),
        copies: Copies::Kept,
    });
    assert_eq!(request.scope, want);
    session.type_keys(":cleanup past-retention orders\n");
    let effects = session.take_acts();
    assert!(
        matches!(effects.as_slice(), [Effect::Plan(_)]),
        "{effects:?}"
    );
}

/// A plan that keeps no copy says so where it costs good records.
#[test]
fn what_goes_without_a_copy_is_told_to_be_gone_for_good() {
    let mut plan = plan_of_indexes();
    plan.act = PlanAct::CleanUp;
    plan.quarantine = None;
    let dirs = plan.log_dirs.iter_mut();
    let log = dirs.flat_map(|dir| &mut dir.partitions).next().unwrap();
    log.steps.clear();
    log.verdict = Verdict::Delete(Deletion {
        cost: DeletionCost::Records,
        freed: 2 * MIB,
        lost_bytes: MIB,
        lost_offsets: Some(900),
        deleted_segments: 1,
        log_start_before: Some(Offset(0)),
        removes_dir: false,
        groups: None,
    });
    let mut session = with_plan(plan);
    session.type_keys(":plan\n");
    let screen = session.screen(200, 50);
    assert!(
        screen.contains("none: what is lost is gone for good"),
        "{screen}"
    );
    assert!(!screen.contains("nothing is lost"), "{screen}");
}
