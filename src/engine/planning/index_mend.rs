//! Plans indexes anew that cannot be right although no boot looks at them: below the recovery point, and in clean dirs.
//!
//! Such an index does harm to a living broker only, which looks positions up in it. A recovery leaves it alone, as a boot
//! does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::dir_plan::{bare_dir_plan, failed_dir_plan};
use super::gather::{DirReading, Gathered, gather};
use super::log_target::LogTarget;
use super::plan_spec::PlanSpec;
use crate::disk::{Pace, RealStorage, Storage, WindowBuffer};
use crate::engine::job::context::JobContext;
use crate::engine::read::dir_facts::DirFacts;
use crate::engine::read::log_reader::{LogReader, ReadFailure, Source};
use crate::engine::store::contents::Contents;
use crate::engine::store::plan_store::{MadePlan, PlanStore};
use crate::engine::{EngineError, JobEvent};
use crate::format::file_name::{FileKind, PartitionFile, segment_file_name};
use crate::log::{Finding, FindingCode, RebuiltIndex, ScanStop, Severity};
use crate::plan::{
    Content, EntryKind, HandOver, LogDirPlan, PartitionPlan, PlanAct, Quarantine, RecoveryPlan,
    SegmentSummary, Step, StepAction, Verdict,
};
use crate::terms::Offset;

/// An index that is to be made again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WrongIndex {
    /// The log dir.
    pub log_dir: PathBuf,
    /// The partition dir's name.
    pub dir_name: String,
    /// The name of the `.index` or `.timeindex`.
    pub file: String,
}

/// Plans what a boot would make of each wrong index if it were missing (`LogSegment.recover`); nothing is changed. A segment
/// whose batches do not scan to its end keeps its indexes, with a finding.
///
/// # Errors
///
/// None of the log dirs' own: a log that cannot be read is left, with a finding.
pub fn plan_indexes(
    spec: &PlanSpec,
    wrong: &BTreeSet<WrongIndex>,
) -> Result<MadePlan, EngineError> {
    let storage = &RealStorage;
    let context = JobContext::new(&spec.log_dirs, Box::new(|_: JobEvent| ()));
    let contents = Contents::new(spec.state_dir.as_deref().map(PlanStore::new));
    let pace = Pace::unlimited();
    let reader = LogReader {
        storage,
        context: &context,
        contents: &contents,
        pace: &pace,
        is_live: false,
    };
    let dirs: Vec<DirReading> = spec
        .log_dirs
        .iter()
        .map(|path| read_dir(storage, path))
        .collect();
    let Gathered { targets, settled } = gather(spec, &dirs);
    let mut by_dir: Vec<Vec<PartitionPlan>> = dirs.iter().map(|_| Vec::new()).collect();
    let mut add = |index: usize, plan: PartitionPlan| {
        if let Some(plans) = by_dir.get_mut(index) {
            plans.push(plan);
        }
    };
    for (index, plan) in settled {
        add(index, left(plan.dir_name.clone(), &plan));
    }
    for mut target in targets {
        let files = files_of(wrong, &target);
        let mut plan = target.untouched(nothing());
        if files.is_empty() {
            add(target.dir_index, left(target.dir_name.clone(), &plan));
            continue;
        }
        match storage.list(&target.path()) {
            Ok(listed) => {
                target.take_listing(None, listed);
                plan = mend(&reader, &target, &files)?;
            }
            Err(error) => plan.findings.push(unreadable(error.sentence())),
        }
        contents.keep(&mut plan);
        add(target.dir_index, plan);
    }
    let log_dirs = dirs.into_iter().zip(by_dir).zip(&spec.log_dirs);
    let log_dirs = log_dirs
        .map(|((dir, plans), path)| match dir {
            DirReading::Failed(finding) => failed_dir_plan(path.clone(), finding),
            DirReading::Facts(facts) => dir_plan(*facts, plans),
        })
        .collect();
    Ok(MadePlan {
        plan: RecoveryPlan {
            schema: 1,
            act: PlanAct::Mend,
            kafka_version: spec.kafka_version,
            version_source: spec.version_source.clone(),
            now: spec.now,
            hand_over: HandOver::None,
            quarantine: spec.quarantine.clone(),
            undoes: None,
            beside_broker: false,
            log_dirs,
        },
        staging: contents.into_staging(),
    })
}

fn read_dir(storage: &dyn Storage, path: &Path) -> DirReading {
    match DirFacts::read(storage, path) {
        Ok(facts) => DirReading::Facts(Box::new(facts)),
        Err(error) => DirReading::Failed(Finding::new(
            FindingCode::LogDir,
            Severity::Fatal,
            error.sentence(),
        )),
    }
}

/// Checkpoints and marker stay as they are.
fn dir_plan(facts: DirFacts, mut partitions: Vec<PartitionPlan>) -> LogDirPlan {
    partitions.sort_by(|a, b| a.dir_name.cmp(&b.dir_name));
    LogDirPlan {
        stop: facts.stop,
        partitions,
        stamps: facts.stamps,
        ..bare_dir_plan(facts.path)
    }
}

fn nothing() -> Verdict {
    Verdict::Skipped {
        why: "nothing to mend".to_owned(),
    }
}

/// Returns the plan of a log that is not looked into.
fn left(dir_name: String, plan: &PartitionPlan) -> PartitionPlan {
    PartitionPlan::of(dir_name, plan.topic_partition.clone(), nothing())
}

fn unreadable(cause: String) -> Finding {
    Finding::new(FindingCode::Unreadable, Severity::Fatal, cause)
}

/// Returns the names in a log that are to be made again.
fn files_of(wrong: &BTreeSet<WrongIndex>, target: &LogTarget) -> Vec<String> {
    wrong
        .iter()
        .filter(|index| index.log_dir == target.log_dir && index.dir_name == target.dir_name)
        .map(|index| index.file.clone())
        .collect()
}

fn mend(
    reader: &LogReader<'_>,
    target: &LogTarget,
    files: &[String],
) -> Result<PartitionPlan, EngineError> {
    let mut plan = target.untouched(Verdict::Mend);
    plan.segments = target
        .segments
        .iter()
        .map(|(base, len)| SegmentSummary::unread(*base, *len))
        .collect();
    let mut buffer = WindowBuffer::default();
    for (base, len) in &target.segments {
        let of_it = [FileKind::Index, FileKind::TimeIndex].map(|kind| {
            let name = segment_file_name(*base, kind);
            let entry = target
                .entries
                .iter()
                .find(|entry| entry.stamp.name == name && entry.kind == EntryKind::File);
            entry.filter(|_| files.contains(&name))
        });
        if of_it.iter().all(Option::is_none) {
            continue;
        }
        let found = match scan(reader, target, (*base, *len), &mut buffer) {
            Ok(found) => found,
            Err(ReadFailure::Cancelled) => return Err(EngineError::Cancelled),
            Err(ReadFailure::Unreadable(cause)) => {
                plan.findings.push(unreadable(cause));
                continue;
            }
        };
        let Some(indexes) = found else {
            plan.findings.push(
                Finding::new(
                    FindingCode::IndexCorrupt,
                    Severity::Warning,
                    "its indexes stay as they are: the segment itself does not scan to its end",
                )
                .file(segment_file_name(*base, FileKind::Log))
                .next("let this replica be fetched again"),
            );
            continue;
        };
        for (entry, bytes) in of_it.into_iter().zip(indexes) {
            let Some(entry) = entry else { continue };
            plan.steps.push(Step {
                file: entry.stamp.name.clone(),
                action: StepAction::Write {
                    content: content(bytes),
                    replaces: Some(entry.stamp.len),
                },
                quarantine: Quarantine::Keep,
                after_sync: true,
                reason: "rebuilt from the log".to_owned(),
            });
        }
    }
    plan.stamps.sort_by(|a, b| a.name.cmp(&b.name));
    if plan.steps.is_empty() {
        plan.verdict = nothing();
    }
    Ok(plan)
}

fn content(index: RebuiltIndex) -> Content {
    match index {
        RebuiltIndex::Stored { len, sha256 } => Content {
            len,
            sha256,
            bytes: None,
        },
        RebuiltIndex::Bytes(bytes) => Content::new(bytes),
        // Nothing is compared with the disk.
        RebuiltIndex::OnDisk { .. } => Content::new(Vec::new()),
    }
}

/// Returns the two indexes of a segment, offsets first; `None` if it does not scan to its end.
fn scan(
    reader: &LogReader<'_>,
    target: &LogTarget,
    (base_offset, len): (Offset, u64),
    buffer: &mut WindowBuffer,
) -> Result<Option<[RebuiltIndex; 2]>, ReadFailure> {
    let request = target.scan_of(base_offset, len);
    let dir = target.path();
    let source = Source {
        dir: &dir,
        counter: &AtomicU64::new(0),
        abandoned: &AtomicBool::new(false),
    };
    let scan = reader.scan(source, &request, buffer)?;
    let is_whole = scan.stop == ScanStop::EndOfFile;
    Ok(is_whole.then_some([scan.offset_index, scan.time_index]))
}

/// Says whether a finding is about an index that [`plan_indexes`] can make again.
pub fn is_wrong_index(finding: &Finding) -> bool {
    let kind = |name: &String| match PartitionFile::parse(name) {
        PartitionFile::Segment { kind, .. } => Some(kind),
        _ => None,
    };
    finding.code == FindingCode::IndexCorrupt
        && matches!(
            finding.file.as_ref().and_then(kind),
            Some(FileKind::Index | FileKind::TimeIndex)
        )
}
