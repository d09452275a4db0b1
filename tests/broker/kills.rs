//! An apply on real files, killed at each of its changes: Kafka's own boot reaches the planned end from there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krescue::engine::{
    Confirmed, JobOutcome, JobSpec, PlanSpec, PlanStore, Who, apply_here, start_plan,
};
use krescue::plan::HandOver;
use krescue::terms::Timestamp;

use crate::loading::work_folder;
use crate::prefixes::Trees;
use crate::stopping_storage::StoppingStorage;
use crate::support::checkpoint::{self, LOG_START, RECOVERY_POINT};
use crate::support::compare::counts;
use crate::support::loader::{Loaded, Node, load};
use crate::support::source::Source;
use crate::support::tree;

#[test]
fn a_boot_after_a_kill_at_any_change_of_an_apply_ends_where_the_apply_ends_3_9_1() {
    kill_everywhere("3.9.1");
}

#[test]
fn a_boot_after_a_kill_at_any_change_of_an_apply_ends_where_the_apply_ends_4_4_0() {
    kill_everywhere("4.4.0");
}

/// Logs whose apply is killed everywhere.
const LOGS: usize = 10;

fn kill_everywhere(version: &str) {
    let source = Source::shared(version);
    let folder = work_folder(&format!("kills-{version}"));
    let trees = Trees::make(&source, &folder);
    let chosen: Vec<_> = trees
        .damaged
        .iter()
        .filter(|(partition, done)| !done.is_empty() && trees.outcome[*partition] == Loaded::Yes)
        .map(|(partition, _)| partition)
        .collect();
    let mut copies = Copies {
        source: &source,
        trees: &trees,
        folder: folder.join("copies"),
        expected: BTreeMap::new(),
    };
    let mut logs = 0;
    for partition in chosen.iter().step_by(chosen.len() / LOGS) {
        for hand_over in [HandOver::Verify, HandOver::Clean] {
            let storage = StoppingStorage::never();
            let outcome = copies.apply(partition, hand_over, "at no change", &storage);
            if outcome != JobOutcome::Done {
                // REFUSED, an ASK or another reason to leave it alone: then there is nothing to kill.
                eprintln!("{partition}: {outcome:?}");
                break;
            }
            for stop in 0..storage.changes() {
                let outcome = copies.apply(
                    partition,
                    hand_over,
                    &format!("at change {stop}"),
                    &StoppingStorage::after(stop),
                );
                assert!(
                    outcome != JobOutcome::Done,
                    "{partition}, {hand_over:?}, {stop}"
                );
            }
            logs += 1;
        }
    }
    let node = Node {
        properties: &trees.before.join("server.properties"),
        topics: &trees.before.join("topics"),
        now: source.now,
        log_dirs: copies
            .expected
            .values()
            .map(|copy| copy.log_dir.clone())
            .collect(),
    };
    let mut wrong = Vec::new();
    let loaded = load(&source.kafka, &node);
    assert_eq!(loaded.len(), copies.expected.len());
    for (path, loaded) in loaded {
        let copy = &copies.expected[&path];
        match loaded {
            Loaded::Refused(cause) => wrong.push(format!(
                "{}, {}: refused, {cause}",
                copy.partition, copy.what
            )),
            Loaded::Yes => {
                let mut found = tree::read(&path, counts);
                if copy.hand_over == HandOver::Clean {
                    // A clean load of a log without a snapshot begins with empty ones; this one has no records.
                    found.retain(|name, content| {
                        !name.ends_with(".snapshot")
                            || content.length > 10
                            || trees.has(&copy.partition, name)
                    });
                }
                wrong.extend(trees.compare_booted(version, &copy.partition, &found, &copy.what));
            }
        }
    }
    let halves = copies.expected.len();
    eprintln!("{version}: {logs} applies, killed {halves} times and booted");
    assert!(
        wrong.is_empty(),
        "{} of {halves} wrong; trees in {}\n{}",
        wrong.len(),
        folder.display(),
        wrong.join("\n")
    );
    assert!(halves > 100);
    fs::remove_dir_all(&folder).unwrap();
}

/// A log dir with one log, and how its apply went.
struct Copy {
    log_dir: PathBuf,
    partition: String,
    hand_over: HandOver,
    what: String,
}

struct Copies<'a> {
    source: &'a Source,
    trees: &'a Trees,
    folder: PathBuf,
    /// By the partition dir's path.
    expected: BTreeMap<PathBuf, Copy>,
}

impl Copies<'_> {
    /// Copies the damaged `partition` into a log dir of its own and applies its plan there with `storage`.
    fn apply(
        &mut self,
        partition: &str,
        hand_over: HandOver,
        kill: &str,
        storage: &StoppingStorage,
    ) -> JobOutcome {
        let inputs = self.trees.inputs(self.source, partition);
        // Another number each time, since all are loaded together.
        let tp = &inputs.topic_partition;
        let number = 1000 + u32::try_from(self.expected.len()).unwrap();
        let (_, name) = partition.split_once('/').unwrap();
        let name = name.replacen(&format!("-{}", tp.partition), &format!("-{number}"), 1);
        let log_dir = self.folder.join(number.to_string());
        fs::create_dir_all(&log_dir).unwrap();
        tree::copy(&self.trees.before.join(partition), &log_dir.join(&name));
        for (file, offset) in [
            (RECOVERY_POINT, inputs.recovery_point),
            (LOG_START, inputs.log_start_offset),
        ] {
            let offset = offset.map(|offset| ((tp.topic.clone(), number), offset.0));
            checkpoint::write(&log_dir.join(file), &offset.into_iter().collect());
        }
        let outcome = apply(
            &log_dir,
            hand_over,
            storage,
            self.source,
            &self.trees.configs,
        );
        let what = format!("hand-over {hand_over:?}, killed {kill}");
        let copy = Copy {
            log_dir: log_dir.clone(),
            partition: partition.to_owned(),
            hand_over,
            what,
        };
        self.expected.insert(log_dir.join(name), copy);
        outcome
    }
}

fn apply(
    log_dir: &Path,
    hand_over: HandOver,
    storage: &StoppingStorage,
    source: &Source,
    configs: &BTreeMap<String, krescue::plan::LogConfig>,
) -> JobOutcome {
    let state = log_dir.with_extension("state");
    let version = source.kafka.version.parse().unwrap();
    let mut spec = PlanSpec::new(vec![log_dir.to_owned()], version, Timestamp(source.now));
    spec.hand_over = hand_over;
    spec.decisions.others = krescue::plan::OnLoss::LikeKafka;
    spec.state_dir = Some(state.clone());
    let configs = configs.clone();
    spec.topic_configs =
        Arc::new(move |topic: &str| configs.get(topic).copied().unwrap_or_default());
    let plan = PlanStore::new(&state)
        .save(start_plan(spec).unwrap().join().unwrap())
        .unwrap();
    let who = Who::named("a test");
    let job = JobSpec::of(&plan, Timestamp(source.now), who, Confirmed::YesToAll);
    apply_here(storage, &state, &plan, &job, |_| ())
}
