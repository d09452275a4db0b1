//! Faults at each call of a plan, volumes that stay bad, reads that lie, and changes under krescue's feet. Each error at
//! each call of an apply: `each_fault`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krescue::disk::{DiskAction, RealStorage};
use krescue::engine::{JobOutcome, MadePlan, PlanSpec, PlanStore, plan_here};
use krescue::plan::retention::{HighWatermark, TimeSource};
use krescue::plan::{HandOver, OnLoss};
use krescue::terms::{KafkaVersion, Timestamp};
use nix::libc::{EACCES, EINTR, EIO, EMFILE, ENOSPC, EROFS};

use crate::support::apply::{apply, contents, copy_tree, stored};
use crate::support::faults::{Call, Fault, FaultyStorage};
use crate::support::fixture::{BATCH, SEGMENT, Tree};
use crate::support::volumes::fast_tempdir;

const MARKER: &str = ".kafka_cleanshutdown";

/// A log with a torn tail, a missing index, an index that differs, and a leftover.
fn torn() -> Tree {
    let tree = Tree::t4_unflushed();
    for suffix in ["log", "index", "timeindex"] {
        std::fs::remove_file(tree.t0(3000, suffix)).unwrap();
    }
    tree.edit(&tree.t0(2000, "log"), |bytes| bytes.truncate(SEGMENT - 100));
    std::fs::remove_file(tree.t0(1000, "index")).unwrap();
    tree.edit(&tree.t0(2000, "timeindex"), |bytes| bytes[5] ^= 1);
    tree.write("d1/t-0/00000000000000009000.index", "orphan");
    tree
}

/// The same with a flipped bit in the middle.
fn flipped() -> Tree {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[BATCH * 50 + 300] ^= 1);
    tree
}

/// A copy of a tree to work on, with its state dir and quarantine beside.
struct Work {
    tmp: tempfile::TempDir,
}

impl Work {
    fn copy_of(tree: &Tree) -> Self {
        let tmp = fast_tempdir();
        copy_tree(&tree.path("d1"), &tmp.path().join("d1"));
        Self { tmp }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.tmp.path().join(name)
    }

    fn spec(&self) -> PlanSpec {
        let mut spec = PlanSpec::new(
            vec![self.path("d1")],
            KafkaVersion::NEWEST_KNOWN,
            Timestamp(1_700_000_100_000),
        );
        spec.hand_over = HandOver::Clean;
        spec.decisions.others = OnLoss::LikeKafka;
        spec.quarantine = Some(self.path("quarantine"));
        spec
    }

    fn apply(&self, storage: &FaultyStorage) -> JobOutcome {
        let plan = stored(&self.path("state"), self.spec());
        apply(storage, &self.path("state"), &plan)
    }

    /// Applies a plan that was made with faults.
    fn apply_made(&self, made: MadePlan, storage: &FaultyStorage) -> JobOutcome {
        let state = self.path("state");
        let plan = PlanStore::new(&state).save(made).unwrap();
        apply(storage, &state, &plan)
    }

    fn contents(&self) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
        contents(&self.path("d1"))
    }
}

fn honest() -> FaultyStorage {
    FaultyStorage::new(|_| Fault::None)
}

fn cause(outcome: &JobOutcome) -> String {
    match outcome {
        JobOutcome::Failed { cause } | JobOutcome::Refused { cause } => cause.clone(),
        other => panic!("{other:?}"),
    }
}

const ERRORS: [i32; 5] = [ENOSPC, EIO, EROFS, EMFILE, EINTR];

#[test]
fn a_volume_that_stays_bad_leaves_whole_files_and_no_marker() {
    let tree = torn();
    let whole = Work::copy_of(&tree);
    let (before, storage) = (whole.contents(), honest());
    assert_eq!(whole.apply(&storage), JobOutcome::Done);
    let end = whole.contents();
    for (step, errno) in (0..storage.calls()).step_by(3).zip(ERRORS.iter().cycle()) {
        let work = Work::copy_of(&tree);
        let errno = *errno;
        let outcome = work.apply(&FaultyStorage::new(move |call| match call.action {
            // A volume that is full or read-only still reads.
            DiskAction::List | DiskAction::Stat | DiskAction::Open | DiskAction::Read
                if errno != EIO =>
            {
                Fault::None
            }
            _ if call.number >= step => Fault::FailsHalfWay(errno),
            _ => Fault::None,
        }));
        let what = format!("from call {step} on, error {errno}: {outcome:?}");
        assert!(cause(&outcome).contains("os error"), "{what}");
        let left = work.contents();
        for (path, bytes) in &left {
            let is_half = path.to_string_lossy().ends_with(".krescue.tmp");
            let known = [before.get(path), end.get(path)].contains(&Some(bytes));
            assert!(is_half || known, "{what}: {}", path.display());
        }
        // The last call makes the marker durable: all that it speaks of is.
        assert!(
            !left.contains_key(Path::new(MARKER)) || left == end,
            "{what}"
        );
        assert_eq!(work.apply(&honest()), JobOutcome::Done, "{what}");
        assert!(work.contents() == end, "{what}");
    }
}

#[test]
fn a_fault_at_any_call_of_a_plan_leaves_the_log_alone_or_changes_nothing() {
    let mut left_alone = 0;
    for (name, tree) in [("torn", torn()), ("flipped", flipped())] {
        let whole = Work::copy_of(&tree);
        let storage = honest();
        let mut spec = whole.spec();
        spec.threads = std::num::NonZeroUsize::new(1);
        let made = plan_here(&storage, &spec).unwrap();
        assert_eq!(whole.apply_made(made, &honest()), JobOutcome::Done);
        let end = whole.contents();
        let calls = storage.calls();
        let work = Work::copy_of(&tree);
        let before = work.contents();
        for number in 0..calls {
            let errno = [EIO, EMFILE, EACCES, EINTR][number % 4];
            let storage = FaultyStorage::failing_at(number, Fault::Fails(errno));
            let mut spec = work.spec();
            spec.threads = std::num::NonZeroUsize::new(1);
            let what = format!("{name}, call {number}, error {errno}");
            let made = plan_here(&storage, &spec).unwrap();
            let dir = &made.plan.log_dirs[0];
            let planned = dir.partitions.iter().any(|log| log.verdict.is_applied());
            if planned {
                // The fault hit what can be made again, such as an index that was to be compared.
                let other = Work::copy_of(&tree);
                let mut spec = other.spec();
                spec.threads = std::num::NonZeroUsize::new(1);
                let storage = FaultyStorage::failing_at(number, Fault::Fails(errno));
                let made = plan_here(&storage, &spec).unwrap();
                assert_eq!(
                    other.apply_made(made, &honest()),
                    JobOutcome::Done,
                    "{what}"
                );
                assert!(other.contents() == end, "{what}: another end");
                continue;
            }
            left_alone += 1;
            let mut findings = dir
                .findings
                .iter()
                .chain(dir.partitions.iter().flat_map(|log| &log.findings));
            assert!(
                findings.any(|finding| finding.text.contains("os error")),
                "{what}: not told: {:?}",
                dir.findings
            );
            assert_ne!(dir.hand_over, HandOver::Clean, "{what}");
        }
        assert!(work.contents() == before, "a plan changed something");
    }
    assert!(left_alone > 20);
}

#[test]
fn short_reads_change_no_plan() {
    for tree in [torn(), flipped()] {
        let work = Work::copy_of(&tree);
        let whole = plan_here(&RealStorage, &work.spec()).unwrap().hash();
        let short = FaultyStorage::new(|call| match call.action {
            DiskAction::Read => Fault::ReadsShort,
            _ => Fault::None,
        });
        assert_eq!(plan_here(&short, &work.spec()).unwrap().hash(), whole);
        assert_eq!(work.apply(&short), JobOutcome::Done);
    }
}

#[test]
fn a_bad_batch_that_is_good_at_a_second_look_is_not_cut() {
    // One read of the plan returns a wrong byte in a good batch: it plans a cut that costs two segments.
    let tree = Tree::t4_unflushed();
    let work = Work::copy_of(&tree);
    let lying = FaultyStorage::new(|call| {
        let is_log = call.path.ends_with("00000000000000001000.log");
        match call.action {
            DiskAction::Read if is_log => Fault::Lies(57_650),
            _ => Fault::None,
        }
    });
    let made = plan_here(&lying, &work.spec()).unwrap();
    let steps = &made.plan.log_dirs[0].partitions[0].steps;
    assert!(steps.iter().any(|step| step.removed_bytes() > 100_000));
    let before = work.contents();
    let outcome = work.apply_made(made, &honest());
    let cause = cause(&outcome);
    assert!(cause.contains("00000000000000001000.log"), "{cause}");
    assert!(cause.contains("at byte 57550 was bad"), "{cause}");
    assert!(work.contents() == before);
}

#[test]
fn a_copy_that_differs_from_a_second_read_is_not_taken_for_the_original() {
    let tree = torn();
    let work = Work::copy_of(&tree);
    let before = work.contents();
    let lying = FaultyStorage::new(|call| {
        let is_copy = call.path.to_string_lossy().contains('~');
        match call.action {
            DiskAction::Write if is_copy => {
                Fault::Lies(u64::try_from(SEGMENT - BATCH + 7).unwrap())
            }
            _ => Fault::None,
        }
    });
    let cause = cause(&work.apply(&lying));
    assert!(cause.contains("other bytes at a second read"), "{cause}");
    assert!(cause.contains("00000000000000002000.log"), "{cause}");
    assert!(work.contents() == before);
}

#[test]
fn what_appears_or_changes_between_plan_and_step_is_noticed() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 4] = [
        ("is new", |dir| {
            std::fs::write(dir.join("00000000000000000000.log.swap"), b"swap").unwrap();
        }),
        ("is new", |dir| {
            std::fs::write(dir.join("00000000000000002500.snapshot"), b"").unwrap();
        }),
        ("was written to", |dir| {
            let path = dir.join("00000000000000000000.log");
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(&path, bytes).unwrap();
        }),
        ("is another file", |dir| {
            let path = dir.join("leader-epoch-checkpoint");
            std::fs::copy(&path, dir.join("../copy")).unwrap();
            std::fs::rename(dir.join("../copy"), &path).unwrap();
        }),
    ];
    let tree = torn();
    for (text, change) in changes {
        let work = Work::copy_of(&tree);
        let dir = work.path("d1/t-0");
        let in_rule = dir.clone();
        let mut done = false;
        // The first sync comes when all is checked and written, and no step is done.
        let storage = FaultyStorage::new(move |call| {
            if call.action == DiskAction::Sync && !call.path.ends_with("quarantine") && !done {
                done = call.path.ends_with("d1");
                if done {
                    change(&in_rule);
                }
            }
            Fault::None
        });
        let outcome = work.apply(&storage);
        assert!(cause(&outcome).contains(text), "{outcome:?}");
        let log = std::fs::metadata(dir.join("00000000000000002000.log")).unwrap();
        assert_eq!(log.len(), u64::try_from(SEGMENT - 100).unwrap(), "not cut");
        assert!(dir.join("00000000000000009000.index").exists());
    }
}

/// Fails with EIO what `is_bad` picks.
fn bad_sectors(is_bad: impl Fn(&Call) -> bool + Send + 'static) -> FaultyStorage {
    FaultyStorage::new(move |call| {
        if is_bad(call) {
            Fault::Fails(EIO)
        } else {
            Fault::None
        }
    })
}

/// A dir on bad sectors is told, and what can be read is counted all the same.
#[test]
fn an_io_error_under_a_survey_is_told_of_the_dir_that_has_it() {
    let tree = Tree::t4();
    tree.add_partition("d1", "u-0", 2);
    let dirs = [tree.path("d1")];
    let look = |storage: &FaultyStorage| {
        krescue::engine::survey_all(storage, &dirs, Timestamp(1_700_000_100_000)).remove(0)
    };
    let storage = bad_sectors(|call| call.action == DiskAction::List && call.path.ends_with("t-0"));
    let usage = look(&storage).unwrap();
    let of = |name: &str| usage.logs.iter().find(|log| log.name == name).unwrap();
    assert!(
        of("t-0")
            .error
            .as_ref()
            .unwrap()
            .contains("Input/output error")
    );
    assert_eq!((of("t-0").segments, of("u-0").segments), (0, 2));
    assert_eq!(of("u-0").error, None);
    let storage = bad_sectors(|call| call.action == DiskAction::List && call.path.ends_with("d1"));
    let cause = look(&storage).unwrap_err();
    assert!(cause.contains("Input/output error"), "{cause}");
}

/// Retention falls back as Kafka does where an index cannot be read, and says so; a log that cannot be listed is left out.
#[test]
fn an_io_error_under_retention_is_a_finding_and_no_verdict_by_a_guess() {
    let tree = Tree::t4();
    tree.add_partition("d1", "u-0", 2);
    // Stopped cleanly: only the ends of indexes are read.
    tree.write("d1/.kafka_cleanshutdown", "");
    let spec = krescue::engine::RetentionSpec {
        log_dirs: vec![tree.path("d1")],
        selection: None,
        beside: krescue::engine::Beside::Nobody,
        is_sole_in_sync: Arc::new(|_| true),
        is_compacted: Arc::new(|_| false),
        threads: None,
    };
    let read = |storage: &FaultyStorage| {
        krescue::engine::read_retention(storage, &spec, &|| true).unwrap()
    };
    let bad_index = "t-0/00000000000000001000.timeindex";
    let storage =
        bad_sectors(move |call| call.action == DiskAction::Read && call.path.ends_with(bad_index));
    let reading = read(&storage);
    let log = &reading.logs[0];
    assert_eq!(log.dir_name, "t-0");
    assert_eq!(log.findings.len(), 1, "{:?}", log.findings);
    assert_eq!(log.findings[0].code, krescue::log::FindingCode::Unreadable);
    assert!(log.findings[0].text.contains("Input/output error"));
    let sources: Vec<TimeSource> = log.segments.iter().map(|of| of.time_source).collect();
    let by_index = TimeSource::TimeIndex;
    assert_eq!(
        sources,
        [by_index, TimeSource::FileTime, by_index, by_index]
    );
    // Where the end of the log cannot be read, its high watermark is not known, and nothing goes.
    let active = "t-0/00000000000000003000.log";
    let storage =
        bad_sectors(move |call| call.action == DiskAction::Read && call.path.ends_with(active));
    let log = &read(&storage).logs[0];
    assert_eq!(
        (log.log_end_offset, log.high_watermark),
        (None, HighWatermark::Unknown)
    );
    let storage = bad_sectors(|call| call.action == DiskAction::List && call.path.ends_with("t-0"));
    let reading = read(&storage);
    assert_eq!(reading.logs.len(), 1);
    assert_eq!(reading.findings.len(), 1, "{:?}", reading.findings);
    assert_eq!(reading.findings[0].1.file.as_deref(), Some("t-0"));
    let storage = bad_sectors(|call| call.action == DiskAction::List && call.path.ends_with("d1"));
    let reading = read(&storage);
    assert!(reading.logs.is_empty());
    assert_eq!(
        reading.findings[0].1.code,
        krescue::log::FindingCode::LogDir
    );
}
