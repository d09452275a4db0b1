//! A power cut in the middle of an apply, and then krescue again: a rerun reaches the planned end, an undo the state before.
//!
//! The files are those that a cut may leave, each with the inode that it had; the journal is as it was written, as it was
//! last synced, or something between.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krescue::engine::{JobOutcome, PlanSpec, PlanStore, StoredPlan, TruncationSpec, plan_undo};
use krescue::plan::{HandOver, OnLoss, TruncationTarget};
use krescue::terms::{KafkaVersion, Offset, Timestamp, TopicPartition};

use crate::support::apply::{alone, apply, contents, copy_tree, stored};
use crate::support::fixture::{BATCH, SEGMENT, Tree};
use crate::support::power_cut::{Files, Left, Recording, RecordingStorage};
use crate::support::storage::StoppingStorage;
use crate::support::volumes::fast_tempdir;

const NOW: Timestamp = Timestamp(1_700_000_100_000);

/// A host on which the power is cut.
struct Host(tempfile::TempDir);

impl Host {
    fn of(tree: &Tree) -> Self {
        let host = Self(fast_tempdir());
        for dir in ["root", "inodes", "state"] {
            std::fs::create_dir(host.path(dir)).unwrap();
        }
        copy_tree(&tree.path("d1"), &host.path("root/d1"));
        host
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn spec(&self) -> PlanSpec {
        let mut spec = PlanSpec::new(vec![self.path("root/d1")], KafkaVersion::NEWEST_KNOWN, NOW);
        spec.hand_over = HandOver::Clean;
        spec.decisions.others = OnLoss::LikeKafka;
        spec.quarantine = Some(self.path("root/quarantine"));
        spec
    }

    fn apply(&self, plan: &StoredPlan) -> JobOutcome {
        apply(&StoppingStorage::never(), &self.path("state"), plan)
    }

    /// Returns the log dir's files without what krescue had half written.
    fn files(&self) -> Files {
        let mut files = contents(&self.path("root/d1"));
        files.retain(|path, _| !path.to_string_lossy().ends_with(".krescue.tmp"));
        files
    }
}

/// How much of what was written to the journal a cut leaves.
#[derive(Debug, Clone, Copy)]
enum Journal {
    All,
    Synced,
    Half,
}

/// Puts the state dir as a cut leaves it: journals are appended to and synced once all that goes is kept.
fn put_state(host: &Host, recording: &Recording, event: usize, journal: Journal) {
    let state = host.path("state");
    std::fs::remove_dir_all(&state).unwrap();
    let synced = recording.first_sync();
    for (path, all) in recording.beside(event) {
        let is_journal = path.starts_with("journals");
        let durable = if event > synced {
            recording.beside(synced).get(path).map_or(0, Vec::len)
        } else {
            0
        };
        let of_journal = match journal {
            Journal::All => all.len(),
            Journal::Synced => durable,
            Journal::Half => usize::midpoint(durable, all.len()),
        };
        let len = if is_journal { of_journal } else { all.len() };
        let path = state.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &all[..len]).unwrap();
    }
}

#[derive(Debug, Default)]
struct Counts {
    trees: usize,
    by_hash: usize,
    anew: usize,
    undone: usize,
    untouched: usize,
}

struct Drive<'a> {
    host: &'a Host,
    spec: &'a dyn Fn(&Host) -> PlanSpec,
    plan: &'a StoredPlan,
    recording: &'a Recording,
    before: Files,
    end: Files,
    counts: Counts,
    failures: Vec<String>,
}

impl Drive<'_> {
    fn put(&self, left: &Left<'_>, journal: Journal) {
        self.recording.put(left);
        put_state(self.host, self.recording, left.event, journal);
    }

    /// The plan again by its hash; if that is refused, a plan made anew.
    fn rerun(&mut self, left: &Left<'_>, journal: Journal) {
        self.put(left, journal);
        let mut outcome = self.host.apply(self.plan);
        if outcome == JobOutcome::Done {
            self.counts.by_hash += 1;
        } else {
            let made = stored(&self.host.path("state"), (self.spec)(self.host));
            let first = outcome;
            outcome = self.host.apply(&made);
            self.counts.anew += 1;
            self.failures
                .push(format!("{}, {journal:?}: {first:?}", left.what));
            if outcome != JobOutcome::Done {
                let what = format!("{}, {journal:?}: {first:?}, anew {outcome:?}", left.what);
                self.failures.push(what);
                return;
            }
        }
        let found = self.host.files();
        if found != self.end {
            let what = format!(
                "{}, {journal:?}, rerun: {}",
                left.what,
                differ(&found, &self.end)
            );
            self.failures.push(what);
        }
    }

    fn undo(&mut self, left: &Left<'_>, journal: Journal) {
        self.put(left, journal);
        let state = self.host.path("state");
        let what = match plan_undo(&state, &self.plan.hash, NOW) {
            Ok(made) => {
                let undo = PlanStore::new(&state).save(made).unwrap();
                let outcome = self.host.apply(&undo);
                self.counts.undone += 1;
                (outcome != JobOutcome::Done).then(|| format!("{outcome:?}"))
            }
            // Nothing was done yet; the journal may not be there either.
            Err(_) if self.host.files() == self.before => {
                self.counts.untouched += 1;
                None
            }
            Err(error) => Some(format!("{error}")),
        };
        let found = self.host.files();
        let what = what.or_else(|| (found != self.before).then(|| differ(&found, &self.before)));
        if let Some(what) = what {
            self.failures
                .push(format!("{}, {journal:?}, undo: {what}", left.what));
        }
    }
}

fn differ(found: &Files, want: &Files) -> String {
    let names: std::collections::BTreeSet<&PathBuf> = found.keys().chain(want.keys()).collect();
    let len = |files: &Files, name: &Path| files.get(name).map(Vec::len);
    names
        .into_iter()
        .filter(|name| found.get(*name) != want.get(*name))
        .map(|name| {
            let (found, want) = (len(found, name), len(want, name));
            format!("{}: {found:?}, not {want:?}", name.display())
        })
        .collect::<Vec<_>>()
        .join("; ")
}

/// Cuts the power everywhere in the apply of a plan, and goes on, or takes it back; returns how often.
fn everywhere(name: &str, tree: &Tree, spec: &dyn Fn(&Host) -> PlanSpec) -> Counts {
    let host = Host::of(tree);
    let plan = stored(&host.path("state"), spec(&host));
    let [root, state, inodes] = ["root", "state", "inodes"].map(|name| host.path(name));
    let before = host.files();
    let storage = RecordingStorage::beside(&root, &state, &inodes);
    let outcome = apply(&storage, &state, &plan);
    assert_eq!(outcome, JobOutcome::Done, "{name}");
    let recording = storage.into_recording();
    let mut drive = Drive {
        host: &host,
        spec,
        plan: &plan,
        recording: &recording,
        before,
        end: host.files(),
        counts: Counts::default(),
        failures: Vec::new(),
    };
    assert!(drive.before != drive.end, "{name}");
    recording.trees(3, |left| {
        drive.counts.trees += 1;
        let journals = [Journal::All, Journal::Synced, Journal::Half];
        let journal = journals[drive.counts.trees % journals.len()];
        drive.rerun(left, journal);
        drive.undo(left, journal);
    });
    assert!(
        drive.failures.is_empty(),
        "{name}: {} failures of {:?}\n{}",
        drive.failures.len(),
        drive.counts,
        drive.failures.join("\n")
    );
    let counts = &drive.counts;
    assert!(counts.trees > 30 && counts.undone > 3, "{counts:?}");
    // Each goes on by its hash, and is taken back as soon as something was done.
    let taken_back = counts.undone + counts.untouched;
    assert_eq!(
        (counts.by_hash, taken_back),
        (counts.trees, counts.trees),
        "{counts:?}"
    );
    drive.counts
}

#[test]
fn over_a_recovery_that_cuts_and_rebuilds() {
    let tree = Tree::t4_unflushed();
    for suffix in ["log", "index", "timeindex"] {
        std::fs::remove_file(tree.t0(3000, suffix)).unwrap();
    }
    tree.edit(&tree.t0(2000, "log"), |bytes| bytes.truncate(SEGMENT - 100));
    std::fs::remove_file(tree.t0(1000, "index")).unwrap();
    tree.edit(&tree.t0(2000, "timeindex"), |bytes| bytes[5] ^= 1);
    tree.write("d1/t-0/00000000000000009000.index", "orphan");
    println!("{:?}", everywhere("torn", &tree, &Host::spec));
}

#[test]
fn over_a_recovery_that_drops_segments() {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[BATCH * 50 + 300] ^= 1);
    println!("{:?}", everywhere("flipped", &tree, &Host::spec));
}

#[test]
fn over_a_cut_under_a_marker_that_is_not_trusted() {
    let tree = Tree::t4();
    tree.write("d1/recovery-point-offset-checkpoint", "0\n1\nt 0 4000\n");
    tree.write(
        "d1/.kafka_cleanshutdown",
        r#"{"version":0,"brokerEpoch":77}"#,
    );
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.resize(1 << 18, 0));
    for hand_over in [HandOver::Verify, HandOver::Clean] {
        let counts = everywhere("distrusted", &tree, &|host| {
            let mut spec = host.spec();
            spec.distrusts_marker = true;
            spec.hand_over = hand_over;
            spec
        });
        println!("{counts:?}");
    }
}

#[test]
fn over_a_truncation() {
    let tree = Tree::t4();
    tree.write("d1/.kafka_cleanshutdown", "");
    let counts = everywhere("truncated", &tree, &|host| {
        let mut spec = host.spec();
        let mut truncation = TruncationSpec::default();
        let target = TruncationTarget::Offset(Offset(1500));
        truncation
            .targets
            .insert(TopicPartition::new("t", 0), target);
        spec.replicas = Arc::new(|_| Some(alone(NOW)));
        spec.truncation = Some(truncation);
        spec
    });
    println!("{counts:?}");
}
