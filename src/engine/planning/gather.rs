//! Finds the partition dirs of all log dirs, and settles those that need no reading.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::log_target::LogTarget;
use super::plan_spec::PlanSpec;
use crate::disk::SubDir;
use crate::engine::read::boot_risk::BrokerUser;
use crate::engine::read::dir_facts::DirFacts;
use crate::format::file_name::DirName;
use crate::log::{Finding, FindingCode, Severity, UsageKind};
use crate::plan::{PartitionPlan, RecoveryInputs, Verdict};
use crate::terms::TopicPartition;

/// A log dir as far as it could be read.
#[derive(Debug)]
pub(in crate::engine) enum DirReading {
    /// Its facts.
    Facts(Box<DirFacts>),
    /// Why nothing in it can be planned.
    Failed(Finding),
}

/// What was found in all log dirs.
#[derive(Debug, Default)]
pub(in crate::engine) struct Gathered {
    /// Dirs whose logs are to be planned.
    pub(in crate::engine) targets: Vec<LogTarget>,
    /// Dirs that stay as they are for a reason known already, with the number of their log dir.
    pub(in crate::engine) settled: Vec<(usize, PartitionPlan)>,
}

/// Where a partition lies: the number of the log dir and the dir's name.
type Places = HashMap<(bool, TopicPartition), Vec<(usize, String)>>;

/// Finds the partition dirs.
pub(in crate::engine) fn gather(spec: &PlanSpec, dirs: &[DirReading]) -> Gathered {
    let places = places(dirs);
    let mut gathered = Gathered::default();
    for (index, facts) in facts_of(dirs) {
        for sub_dir in facts.listing.sub_dirs() {
            if matches!(
                sub_dir.parsed,
                DirName::Invalid | DirName::RemoteLogIndexCache
            ) {
                continue;
            }
            let target = target(spec, index, facts, &sub_dir);
            match settle(spec, facts, &target, &sub_dir, &places) {
                Some((verdict, finding)) => {
                    let mut plan = target.untouched(verdict);
                    plan.findings.extend(finding);
                    gathered.settled.push((index, plan));
                }
                None => gathered.targets.push(target),
            }
        }
    }
    gathered
}

fn facts_of(dirs: &[DirReading]) -> impl Iterator<Item = (usize, &DirFacts)> {
    dirs.iter()
        .enumerate()
        .filter_map(|(index, dir)| match dir {
            DirReading::Facts(facts) => Some((index, facts.as_ref())),
            DirReading::Failed(_) => None,
        })
}

/// Returns where each partition lies; normal and future dirs may share one, two of a kind may not.
fn places(dirs: &[DirReading]) -> Places {
    let mut places = Places::new();
    for (index, facts) in facts_of(dirs) {
        for sub_dir in facts.listing.sub_dirs() {
            if let Some(key) = unique_key(&sub_dir.parsed) {
                places.entry(key).or_default().push((index, sub_dir.name));
            }
        }
    }
    places
}

fn unique_key(parsed: &DirName) -> Option<(bool, TopicPartition)> {
    match parsed {
        DirName::Normal(partition) => Some((false, partition.clone())),
        DirName::Future(partition) => Some((true, partition.clone())),
        _ => None,
    }
}

fn target(spec: &PlanSpec, dir_index: usize, facts: &DirFacts, sub_dir: &SubDir) -> LogTarget {
    let topic_partition = LogTarget::partition_of(&sub_dir.parsed);
    let on_loss = spec
        .decisions
        .of(&facts.path, &sub_dir.name, &topic_partition);
    let inputs = RecoveryInputs {
        version: spec.kafka_version,
        now: spec.now,
        producer_id_expiration_ms: spec.producer_id_expiration_ms,
        stop: facts.stop,
        recovery_point: facts.recovery_points.get(&topic_partition),
        log_start_offset: facts.log_starts.get(&topic_partition),
        high_watermark: facts.high_watermarks.get(&topic_partition),
        config: (spec.topic_configs)(&topic_partition.topic),
        on_loss,
        hand_over: spec.hand_over,
        checkpoint_io_error: facts.checkpoint_io_error,
        truncation: spec
            .truncation
            .as_ref()
            .and_then(|truncation| truncation.target(&sub_dir.parsed)),
        replicas: (spec.replicas)(&topic_partition),
        quarantine: spec.quarantine.clone(),
        topic_partition,
    };
    let is_gapless = UsageKind::of_dir(&sub_dir.parsed) == UsageKind::Topics
        && !inputs.config.compact
        && facts.cleaner_offsets.get(&inputs.topic_partition).is_none();
    LogTarget {
        is_gapless,
        dir_index,
        log_dir: facts.path.clone(),
        dir_name: sub_dir.name.clone(),
        parsed: sub_dir.parsed.clone(),
        inputs,
        entries: Vec::new(),
        not_utf8: Vec::new(),
        segments: Vec::new(),
        own_leftovers: Vec::new(),
        broker_user: BrokerUser::of(facts),
        refused: None,
        scan_estimate: 0,
    }
}

/// Returns verdict and finding of a dir whose log needs no reading.
fn settle(
    spec: &PlanSpec,
    facts: &DirFacts,
    target: &LogTarget,
    sub_dir: &SubDir,
    places: &Places,
) -> Option<(Verdict, Option<Finding>)> {
    if let Some(others) = unique_key(&target.parsed).and_then(|key| places.get(&key))
        && others.len() > 1
    {
        return Some(duplicate(spec, target, others));
    }
    if target.parsed.is_cluster_metadata() {
        let why = "the metadata log, which each boot reads in full by itself".to_owned();
        return Some((Verdict::Skipped { why }, None));
    }
    if spec.truncation.is_some() && target.inputs.truncation.is_none() {
        let why = "not truncated".to_owned();
        return Some((Verdict::Skipped { why }, None));
    }
    if let Some(selection) = &spec.selection
        && !target
            .parsed
            .partition()
            .is_some_and(|partition| selection.contains(partition))
    {
        let why = "not selected".to_owned();
        return Some((Verdict::Skipped { why }, None));
    }
    if !sub_dir.is_utf8 {
        let cause = "the dir's name is not UTF-8: no topic has such a name".to_owned();
        let finding = Finding::new(FindingCode::ForeignName, Severity::Fatal, cause.clone())
            .next("move the dir out of the log dir");
        return Some((Verdict::Refused { cause }, Some(finding)));
    }
    let cause = facts.unreadable.clone()?;
    let finding = Finding::new(FindingCode::Unreadable, Severity::Fatal, cause.clone())
        .next("let krescue run as a user who can read the log dir's checkpoints");
    Some((Verdict::Unreadable { cause }, Some(finding)))
}

fn duplicate(
    spec: &PlanSpec,
    target: &LogTarget,
    others: &[(usize, String)],
) -> (Verdict, Option<Finding>) {
    let paths: Vec<String> = others
        .iter()
        .filter(|(index, name)| !(*index == target.dir_index && *name == target.dir_name))
        .filter_map(|(index, name)| Some(spec.log_dirs.get(*index)?.join(name)))
        .map(|path| path.display().to_string())
        .collect();
    let cause = format!(
        "{} lies in {} too: the broker does not start",
        target.inputs.topic_partition,
        paths.join(" and ")
    );
    let finding = Finding::new(
        FindingCode::DuplicatePartition,
        Severity::Fatal,
        cause.clone(),
    )
    .next("compare both; after a failed dir the newer, empty one is the copy to set aside");
    (Verdict::Refused { cause }, Some(finding))
}

/// Returns for each log dir the number of an earlier entry that is the same dir by another name.
pub(in crate::engine) fn same_dirs(log_dirs: &[PathBuf]) -> BTreeMap<usize, usize> {
    let mut seen: HashMap<PathBuf, usize> = HashMap::new();
    let mut same = BTreeMap::new();
    for (index, dir) in log_dirs.iter().enumerate() {
        let real = std::fs::canonicalize(dir).unwrap_or_else(|_| Path::new(dir).to_owned());
        match seen.get(&real) {
            Some(first) => {
                same.insert(index, *first);
            }
            None => {
                seen.insert(real, index);
            }
        }
    }
    same
}
