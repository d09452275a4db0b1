//! Power cuts: behind every change of an apply, with what was not synced lost, torn or kept by chance, a boot reaches the
//! planned end, or what a boot makes of that end.
//!
//! The boot is played by the recovery machine; `tests/broker` compares that machine with real Kafka.

mod cleaning;
mod going_on;
mod moving;
mod truncating;
mod volumes;

use std::collections::BTreeMap;
use std::path::Path;

use krescue::engine::{EngineError, JobOutcome, PlanStore, StoredPlan, plan_undo};
use krescue::format::checkpoint::CheckpointFailure;
use krescue::format::offset_checkpoint::OffsetCheckpoint;
use krescue::plan::{HandOver, OnLoss, Quarantine, RecoveryInputs, StepAction, StopState, Verdict};

use crate::golden::{PACKED, VERSIONS, applied, case, names};
use crate::golden_on_disk::{spec, write};
use crate::support::apply::{apply, stored};
use crate::support::golden_archive::unpack;
use crate::support::memory_dir::MemoryDir;
use crate::support::power_cut::{Files, RecordingStorage};
use crate::support::random::Random;
use crate::support::volumes::fast_tempdir;

const MARKER: &str = "d1/.kafka_cleanshutdown";
const POINTS: &str = "d1/recovery-point-offset-checkpoint";

/// What a boot makes of a log: its files, or why it does not load it.
type Booted = Result<BTreeMap<String, Option<Vec<u8>>>, String>;

/// Plays Kafka's boot on the one log of `d1`.
fn boot(files: &Files, name: &str, inputs: &RecoveryInputs) -> Booted {
    boot_in("d1", files, name, inputs)
}

fn boot_in(log_dir: &str, files: &Files, name: &str, inputs: &RecoveryInputs) -> Booted {
    let mut inputs = inputs.clone();
    inputs.on_loss = OnLoss::LikeKafka;
    let log_dir = Path::new(log_dir);
    inputs.stop = if files.contains_key(&log_dir.join(".kafka_cleanshutdown")) {
        StopState::Clean
    } else {
        StopState::Unclean
    };
    let points = log_dir.join("recovery-point-offset-checkpoint");
    let points = files.get(&points).map(Vec::as_slice);
    let parsed = OffsetCheckpoint::parse(points.unwrap_or_default());
    inputs.checkpoint_io_error =
        matches!(&parsed, Err(error) if error.failure() == CheckpointFailure::Io);
    inputs.recovery_point = parsed.unwrap_or_default().get(&inputs.topic_partition);
    let dir = log_in(log_dir, files, name);
    let plan = dir.plan(&inputs);
    match &plan.verdict {
        verdict if verdict.reaches_end() => Ok(applied(&dir, &plan).files),
        verdict => Err(format!("{verdict:?}")),
    }
}

/// Returns the files of the one log of `d1` that a boot looks at.
fn log(files: &Files, name: &str) -> MemoryDir {
    log_in(Path::new("d1"), files, name)
}

fn log_in(log_dir: &Path, files: &Files, name: &str) -> MemoryDir {
    let prefix = log_dir.join(name);
    MemoryDir {
        name: name.to_owned(),
        files: files
            .iter()
            .filter_map(|(path, bytes)| {
                let file = path.strip_prefix(&prefix).ok()?.to_str()?.to_owned();
                (!file.ends_with(".krescue.tmp")).then(|| (file, Some(bytes.clone())))
            })
            .collect(),
    }
}

/// Checks one tree that a power cut left.
struct Judge<'a> {
    name: &'a str,
    inputs: &'a RecoveryInputs,
    plan: &'a StoredPlan,
    before: &'a Files,
    end: &'a Files,
    right: Vec<Booted>,
}

impl Judge<'_> {
    fn wrong(&self, files: &Files) -> Option<String> {
        let booted = boot(files, self.name, self.inputs);
        if !self.right.iter().any(|right| same(&booted, right)) {
            return Some(match &booted {
                Err(cause) => format!("a boot refuses: {cause}"),
                Ok(found) => format!("a third end: {}", differences(found, &self.right)),
            });
        }
        None
    }

    /// Finds a marker that speaks of a log that is not at its end.
    fn marked(&self, files: &Files) -> Option<String> {
        let marker = Path::new(MARKER);
        let is_new = files.contains_key(marker) && !self.before.contains_key(marker);
        (is_new && in_log_dir(files) != in_log_dir(self.end))
            .then(|| "a marker beside a log that is not at its end".to_owned())
    }

    /// Finds bytes that went and are not in the quarantine.
    fn lost(&self, files: &Files) -> Option<String> {
        let log = &self.plan.plan.log_dirs[0].partitions[0];
        let kept = log
            .steps
            .iter()
            .filter(|step| step.quarantine == Quarantine::Keep);
        for step in kept {
            let from = match &step.action {
                StepAction::SetLen { to, .. } => usize::try_from(*to).unwrap(),
                StepAction::Remove { .. }
                | StepAction::Write { .. }
                | StepAction::CopyPart { .. }
                | StepAction::Allocate { .. } => 0,
                StepAction::RemoveDir
                | StepAction::Rename { .. }
                | StepAction::Restore { .. }
                | StepAction::Append { .. }
                | StepAction::CopyOut { .. }
                | StepAction::MoveDir { .. }
                | StepAction::SetOwner { .. } => continue,
            };
            let path = Path::new("d1").join(self.name).join(&step.file);
            let Some(old) = self.before.get(&path) else {
                continue;
            };
            let in_quarantine = || {
                files
                    .iter()
                    .any(|(path, bytes)| path.starts_with("quarantine") && *bytes == old[from..])
            };
            if files.get(&path) != Some(old) && !in_quarantine() {
                return Some(format!("{} is cut and not kept", step.file));
            }
        }
        None
    }
}

/// Compares what two boots made; a snapshot without producers may be missing where a newer one is there.
fn same(found: &Booted, right: &Booted) -> bool {
    let (Ok(found), Ok(right)) = (found, right) else {
        return found == right;
    };
    let newest = right.keys().rfind(|name| name.ends_with(".snapshot"));
    let counts = |(name, bytes): &(&String, &Option<Vec<u8>>)| {
        let says_nothing = bytes.as_ref().is_some_and(|bytes| bytes.len() == 10);
        !(name.ends_with(".snapshot") && says_nothing && Some(*name) != newest)
    };
    found.iter().filter(counts).eq(right.iter().filter(counts))
}

fn in_log_dir(files: &Files) -> Files {
    let counts = |path: &&std::path::PathBuf| path.starts_with("d1") && !path.ends_with(".lock");
    files
        .iter()
        .filter(|(path, _)| counts(path))
        .map(|(path, bytes)| (path.clone(), bytes.clone()))
        .collect()
}

fn differences(found: &BTreeMap<String, Option<Vec<u8>>>, right: &[Booted]) -> String {
    let Some(Ok(want)) = right.first() else {
        return format!("{right:?} wanted");
    };
    let names: std::collections::BTreeSet<_> = found.keys().chain(want.keys()).collect();
    let len = |files: &BTreeMap<String, Option<Vec<u8>>>, name: &String| {
        files.get(name).map(|bytes| bytes.as_ref().map(Vec::len))
    };
    names
        .into_iter()
        .filter(|name| found.get(*name) != want.get(*name))
        .map(|name| format!("{name}: {:?}, not {:?}", len(found, name), len(want, name)))
        .collect::<Vec<_>>()
        .join("; ")
}

/// An apply during which the power is cut.
struct Cut<'a> {
    what: String,
    root: &'a Path,
    name: &'a str,
    inputs: &'a RecoveryInputs,
    hand_over: HandOver,
    /// Whether the apply is then taken back, with power cuts as well.
    is_undone: bool,
}

impl Cut<'_> {
    /// Applies a plan for the log, cuts the power everywhere, and boots; returns how many trees were booted.
    fn everywhere(&self, failures: &mut Vec<String>) -> usize {
        let (name, inputs) = (self.name, self.inputs);
        let state = fast_tempdir();
        let mut spec = spec(&self.root.join("d1"), inputs);
        spec.hand_over = self.hand_over;
        spec.decisions.others = inputs.on_loss;
        spec.quarantine = Some(self.root.join("quarantine"));
        let plan = stored(state.path(), spec);
        let storage = RecordingStorage::new(self.root);
        let outcome = apply(&storage, state.path(), &plan);
        assert_eq!(outcome, JobOutcome::Done, "{}", self.what);
        let recording = storage.into_recording();
        let (before, end) = (recording.before(), recording.end());
        let right = self.right_ends(&before, &end);
        let judge = Judge {
            name,
            inputs,
            plan: &plan,
            before: &before,
            end: &end,
            right,
        };
        let mut booted = 0;
        recording.cuts(1, |cut, files| {
            booted += 1;
            let wrong = judge.wrong(&files);
            let wrong = wrong.or_else(|| judge.marked(&files));
            let wrong = wrong.or_else(|| judge.lost(&files));
            if let Some(wrong) = wrong {
                failures.push(format!("{}, {cut}: {wrong}", self.what));
            }
        });
        if self.is_undone {
            booted += self.undone_everywhere(state.path(), judge, failures);
        }
        booted
    }

    /// Takes the apply back and cuts the power everywhere: a boot ends where it does before and after the apply.
    fn undone_everywhere(
        &self,
        state: &Path,
        judge: Judge<'_>,
        failures: &mut Vec<String>,
    ) -> usize {
        let undo = match plan_undo(state, &judge.plan.hash, self.inputs.now) {
            Ok(made) => PlanStore::new(state).save(made).unwrap(),
            // Nothing was changed.
            Err(EngineError::CannotUndo { .. }) => return 0,
            Err(error) => panic!("{}: {error}", self.what),
        };
        let storage = RecordingStorage::new(self.root);
        let outcome = apply(&storage, state, &undo);
        assert_eq!(outcome, JobOutcome::Done, "{}, undone", self.what);
        let recording = storage.into_recording();
        let end = recording.end();
        assert!(
            in_log_dir(&end) == in_log_dir(judge.before),
            "{}",
            self.what
        );
        let judge = Judge {
            before: judge.end,
            end: &end,
            ..judge
        };
        let mut booted = 0;
        recording.cuts(2, |cut, files| {
            booted += 1;
            if let Some(wrong) = judge.wrong(&files) {
                failures.push(format!("{}, undone, {cut}: {wrong}", self.what));
            }
        });
        booted
    }

    fn right_ends(&self, before: &Files, end: &Files) -> Vec<Booted> {
        let (name, inputs) = (self.name, self.inputs);
        // Kafka may add to its own end at a second boot: leader epochs that a stale one kept out of the first.
        let mut unmarked = end.clone();
        unmarked.remove(Path::new(MARKER));
        let mut unpointed = unmarked.clone();
        match before.get(Path::new(POINTS)) {
            Some(points) => unpointed.insert(POINTS.into(), points.clone()),
            None => unpointed.remove(Path::new(POINTS)),
        };
        vec![
            Ok(log(end, name).files),
            boot(before, name, inputs),
            boot(end, name, inputs),
            boot(&unmarked, name, inputs),
            boot(&unpointed, name, inputs),
        ]
    }
}

#[test]
fn a_power_cut_anywhere_ends_as_planned_or_as_before() {
    let files = unpack(PACKED);
    let mut failures = Vec::new();
    let mut booted = 0;
    for (number, name) in names(&files).iter().enumerate() {
        let case = case(&files, name, VERSIONS[1]);
        // `Clean` ends with all that the others do; they matter for where they stop.
        let hand_over = match number % 8 {
            0 => HandOver::Verify,
            1 => HandOver::None,
            _ => HandOver::Clean,
        };
        // Most cases are of logs that a broker was killed over.
        let marked = if number % 3 == 0 || name.contains("snapshot") {
            [false, true].as_slice()
        } else {
            &[false]
        };
        for marked in marked.iter().copied() {
            let mut inputs = case.inputs.clone();
            if marked {
                inputs.stop = StopState::Clean;
            }
            // Where Kafka's way costs good records, every other log is cut only where it is bad.
            if number % 2 == 0 {
                inputs.on_loss = OnLoss::CutHere;
            }
            let plan = case.dir.plan(&inputs);
            let nothing_to_do = marked && plan.verdict == Verdict::Nothing;
            if !plan.verdict.reaches_end() || nothing_to_do {
                continue;
            }
            let root = fast_tempdir();
            write(&case.dir, &files, name, &root.path().join("d1"));
            if marked {
                std::fs::write(root.path().join(MARKER), "").unwrap();
            }
            let cut = Cut {
                what: format!("{name}, marked {marked}"),
                root: root.path(),
                name: &case.dir.name,
                inputs: &inputs,
                hand_over,
                is_undone: number % 3 == 0,
            };
            booted += cut.everywhere(&mut failures);
        }
    }
    println!("{booted} trees booted");
    assert!(
        failures.is_empty(),
        "{} of {booted}\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(booted > 1000);
}

/// Logs with one to three damages by chance; `KRESCUE_SEED` and `KRESCUE_LOGS` choose others and more.
#[test]
fn a_power_cut_over_damage_by_chance_ends_as_planned_or_as_before() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse::<u64>().unwrap())
    };
    // The seeds behind the first ones found a wrong order once.
    let (first, logs) = (number("KRESCUE_SEED", 1), number("KRESCUE_LOGS", 10));
    let found_once = [1224, 1357, 1469];
    let files = unpack(PACKED);
    let names = names(&files);
    let mut failures = Vec::new();
    let mut booted = 0;
    for seed in (first..first + logs).chain(found_once) {
        let mut random = Random::new(seed);
        let name = &names[random.below(names.len())];
        let mut case = case(&files, name, VERSIONS[random.below(2)]);
        let damages: Vec<String> = (0..=random.below(3))
            .map(|_| damage(&mut case.dir, &mut random))
            .collect();
        if !case.dir.plan(&case.inputs).verdict.reaches_end() {
            continue;
        }
        let root = fast_tempdir();
        write(&case.dir, &files, name, &root.path().join("d1"));
        let cut = Cut {
            what: format!("seed {seed}, {name} {}, {damages:?}", case.inputs.version),
            root: root.path(),
            name: &case.dir.name,
            inputs: &case.inputs,
            hand_over: HandOver::Clean,
            is_undone: seed % 2 == 0,
        };
        booted += cut.everywhere(&mut failures);
    }
    println!("{booted} trees booted");
    assert!(
        failures.is_empty(),
        "{} of {booted}\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(booted > 20 * usize::try_from(logs).unwrap());
}

/// Damages one file; returns what was done.
fn damage(dir: &mut MemoryDir, random: &mut Random) -> String {
    let plain: Vec<String> = dir
        .files
        .iter()
        .filter(|(_, bytes)| bytes.is_some())
        .map(|(name, _)| name.clone())
        .collect();
    let name = plain[random.below(plain.len())].clone();
    let how = random.below(5);
    let Some(Some(bytes)) = dir.files.get_mut(&name) else {
        return String::new();
    };
    let at = random.below(bytes.len() + 1);
    match how {
        0 => drop(dir.files.remove(&name)),
        1 => bytes.truncate(at),
        2 => bytes.extend(std::iter::repeat_n(0, 1 + random.below(5000))),
        3 => bytes.extend((0..=random.below(40)).map(|n| u8::try_from(n).unwrap())),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
    }
    format!("{name} {how} at {at}")
}
