//! Kills and power cuts during a cleanup: each log is a suffix of what it was, whole, and ends as planned.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krescue::disk::RealStorage;
use krescue::engine::{CleanupSpec, JobOutcome, PlanStore, StoredPlan, make_cleanup, plan_undo};
use krescue::plan::cleanup::{
    CleanupWish, FreeableLog, FreeableSegment, GroupCommits, LeftoverProof,
};
use krescue::terms::{KafkaVersion, Offset, Timestamp, TopicPartition};

use super::boot_in;
use crate::support::apply::{alone, apply, contents, copy_tree};
use crate::support::fixture::{SEGMENT, Tree};
use crate::support::memory_t4::inputs;
use crate::support::power_cut::{Files, RecordingStorage};
use crate::support::storage::StoppingStorage;
use crate::support::volumes::fast_tempdir;

const NOW: Timestamp = Timestamp(1_700_000_100_000);
const DELETED: &str = "v-9.3f0c1e9ad2b64c1c8a7be6f1a2b3c4d5-delete";
const EPOCHS: &str = "t-0/leader-epoch-checkpoint";

/// A log dir of which a leftover and the first two of four segments go.
struct Host {
    root: tempfile::TempDir,
    keeps: bool,
}

impl Host {
    fn new([clean, keeps]: [bool; 2]) -> Self {
        let tree = Tree::t4();
        tree.add_partition("d1", "u-0", 2);
        tree.write(
            "d1/t-0/leader-epoch-checkpoint",
            "0\n3\n0 0\n2 1500\n5 2500\n",
        );
        tree.write("d1/log-start-offset-checkpoint", "0\n1\nu 0 500\n");
        tree.write(
            "d1/replication-offset-checkpoint",
            "0\n2\nt 0 4000\nu 0 2000\n",
        );
        tree.write(
            "d1/recovery-point-offset-checkpoint",
            "0\n2\nt 0 4000\nu 0 2000\n",
        );
        tree.write("d1/t-0/00000000000000000500.log.deleted", [7; 9000]);
        for file in ["00000000000000000000.log", "leader-epoch-checkpoint"] {
            let path = tree.path("d1").join(DELETED).join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, [7; 5000]).unwrap();
        }
        if clean {
            tree.write("d1/.kafka_cleanshutdown", "");
        }
        let root = fast_tempdir();
        copy_tree(&tree.path("d1"), &root.path().join("d1"));
        Self { root, keeps }
    }

    fn copy(&self) -> Self {
        let root = fast_tempdir();
        copy_tree(&self.path("d1"), &root.path().join("d1"));
        Self {
            root,
            keeps: self.keeps,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn log(&self) -> Option<FreeableLog> {
        let segment = |base: i64| FreeableSegment {
            base_offset: Offset(base),
            next_offset: Offset(base + 1000),
            bytes: SEGMENT as u64,
            freed: SEGMENT as u64,
            largest_timestamp: Timestamp(base),
            past_retention: true,
        };
        let is_there = |segment: &FreeableSegment| {
            let name = format!("d1/t-0/{:020}.log", segment.base_offset.0);
            self.path(&name).exists()
        };
        let segments: Vec<_> = [0, 1000]
            .map(segment)
            .into_iter()
            .filter(is_there)
            .collect();
        (!segments.is_empty()).then(|| FreeableLog {
            log_dir: self.path("d1"),
            dir_name: "t-0".to_owned(),
            topic_partition: TopicPartition::new("t", 0),
            log_start_offset: Offset(0),
            log_end_offset: None,
            segments,
            mirrors: Vec::new(),
            unknown_mirrors: Vec::new(),
        })
    }

    fn plan(&self) -> StoredPlan {
        let spec = CleanupSpec {
            log_dirs: vec![self.path("d1")],
            on: vec![self.path("d1")],
            // All that there is: the leftovers, then both segments.
            wish: CleanupWish::Free(10 * SEGMENT as u64),
            only: None,
            logs: self.log().into_iter().collect(),
            kafka_version: KafkaVersion::NEWEST_KNOWN,
            version_source: "a test".to_owned(),
            now: NOW,
            quarantine: self.keeps.then(|| self.path("quarantine")),
            beside_broker: false,
            replicas: Arc::new(|_| Some(alone(NOW))),
            proof: Arc::new(|_, _, _| LeftoverProof::Proved),
            groups: Arc::new(GroupCommits::default),
        };
        let made = make_cleanup(&RealStorage, &spec).unwrap();
        PlanStore::new(&self.path("state")).save(made.made).unwrap()
    }

    fn apply(&self, plan: &StoredPlan) -> JobOutcome {
        apply(&StoppingStorage::never(), &self.path("state"), plan)
    }

    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        contents(&self.path("d1"))
    }
}

/// Says what is wrong with a tree between `before` and the end of the cleanup.
fn wrong(before: &Files, now: &Files) -> Option<String> {
    let log = |files: &Files| -> Vec<(PathBuf, Vec<u8>)> {
        let of_it = files.iter().filter(|(path, _)| {
            path.starts_with("t-0") && path.extension().is_some_and(|end| end == "log")
        });
        of_it
            .map(|(path, bytes)| (path.clone(), bytes.clone()))
            .collect()
    };
    let (old, new) = (log(before), log(now));
    if !old.ends_with(&new) || new.len() < 2 {
        return Some(format!("{} segments are no suffix", new.len()));
    }
    // An epoch may begin before the log, never behind a record of it.
    let epochs =
        String::from_utf8(now.get(Path::new(EPOCHS)).cloned().unwrap_or_default()).unwrap();
    let is_whole = new.len() == 4 || new.len() == 3 || new.len() == 2;
    let is_known = match epochs.as_str() {
        "0\n3\n0 0\n2 1500\n5 2500\n" => is_whole,
        "0\n2\n2 2000\n5 2500\n" => new.len() == 2,
        _ => false,
    };
    if !is_known {
        return Some(format!("{} segments and epochs {epochs:?}", new.len()));
    }
    let stays = |(path, _): &(&PathBuf, &Vec<u8>)| {
        path.starts_with("u-0") || path.to_string_lossy().contains("0000000000000000[23]000")
    };
    let same = before.iter().filter(stays).eq(now.iter().filter(stays));
    (!same).then(|| "another log changed".to_owned())
}

/// Checks that the cleanup is done.
fn check_end(host: &Host, before: &Files, what: &str) {
    let now = host.files();
    assert_eq!(wrong(before, &now), None, "{what}");
    let text = |name: &str| String::from_utf8(now[Path::new(name)].clone()).unwrap();
    assert_eq!(text(EPOCHS), "0\n2\n2 2000\n5 2500\n", "{what}");
    let starts = text("log-start-offset-checkpoint");
    assert_eq!(starts, "0\n2\nu 0 500\nt 0 2000\n", "{what}");
    let names: Vec<_> = now.keys().map(|path| path.display().to_string()).collect();
    let gone = |name: &String| {
        name.starts_with(DELETED)
            || name.ends_with(".deleted")
            || name.ends_with(".krescue.tmp")
            || name.starts_with("t-0/0000000000000000[01]000")
    };
    assert!(!names.iter().any(gone), "{what}: {names:?}");
    assert!(!host.path("d1").join(DELETED).exists(), "{what}");
}

#[test]
fn a_kill_behind_each_change_of_a_cleanup_leaves_a_suffix_and_a_rerun_ends_it() {
    for (clean, keeps) in [(true, false), (false, true)] {
        let first = Host::new([clean, keeps]);
        let before = first.files();
        let whole = first.copy();
        let plan = whole.plan();
        let storage = StoppingStorage::never();
        let outcome = apply(&storage, &whole.path("state"), &plan);
        assert_eq!(outcome, JobOutcome::Done);
        check_end(&whole, &before, "whole");
        let end = whole.files();
        let changes = storage.changes();
        assert!(changes > 12, "{changes}");
        for stop in 0..changes {
            let host = first.copy();
            let plan = host.plan();
            let storage = StoppingStorage::in_the_middle_after(stop);
            let outcome = apply(&storage, &host.path("state"), &plan);
            let what = format!("clean {clean}, keeps {keeps}, killed behind {stop}: {outcome:?}");
            assert_ne!(outcome, JobOutcome::Done, "{what}");
            assert_eq!(wrong(&before, &host.files()), None, "{what}");
            // A rerun of the plan, and a plan made anew.
            let again = host.copy();
            assert_eq!(host.apply(&plan), JobOutcome::Done, "{what}");
            check_end(&host, &before, &what);
            let made = again.plan();
            if made.plan.class().is_some() {
                assert_eq!(again.apply(&made), JobOutcome::Done, "{what}, anew");
            }
            let logs = |files: Files| -> Files {
                let is_log = |(path, _): &(PathBuf, Vec<u8>)| path.iter().count() > 1;
                let of_krescue = |path: &Path| path.to_string_lossy().ends_with(".krescue.tmp");
                let files = files.into_iter().filter(is_log);
                let files = files.filter(|(path, _)| {
                    !of_krescue(path) && !path.ends_with("leader-epoch-checkpoint")
                });
                files.collect()
            };
            assert_eq!(logs(again.files()), logs(end.clone()), "{what}, anew");
            if keeps {
                let undo = plan_undo(&host.path("state"), &plan.hash, NOW).unwrap();
                let undo = PlanStore::new(&host.path("state")).save(undo).unwrap();
                assert_eq!(host.apply(&undo), JobOutcome::Done, "{what}, undone");
                assert_eq!(host.files(), before, "{what}, undone");
            }
        }
    }
}

#[test]
fn a_power_cut_over_a_cleanup_leaves_a_log_that_a_boot_finds_whole() {
    for clean in [true, false] {
        let host = Host::new([clean, false]);
        let before = host.files();
        let plan = host.plan();
        let storage = RecordingStorage::new(host.root.path());
        assert_eq!(
            apply(&storage, &host.path("state"), &plan),
            JobOutcome::Done
        );
        let recording = storage.into_recording();
        let (mut cuts, mut failures) = (0, Vec::new());
        recording.cuts(7, |cut, files| {
            cuts += 1;
            let dir: Files = files
                .iter()
                .filter_map(|(path, bytes)| {
                    let path = path.strip_prefix("d1").ok()?.to_owned();
                    Some((path, bytes.clone()))
                })
                .collect();
            if let Some(wrong) = wrong(&before, &dir) {
                failures.push(format!("{cut}: {wrong}"));
            }
            let mut inputs = inputs(0);
            inputs.high_watermark = None;
            if let Err(cause) = boot_in("d1", &files, "t-0", &inputs) {
                failures.push(format!("{cut}: a boot refuses: {cause}"));
            }
        });
        assert!(failures.is_empty(), "{cuts}\n{}", failures.join("\n"));
        assert!(cuts > 20, "{cuts}");
    }
}
