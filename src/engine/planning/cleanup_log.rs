//! One dir of a log dir: what of it may go, and the steps by which it goes.

use std::collections::BTreeMap;
use std::path::Path;

use super::cleanup_findings::{
    groups_finding, head_finding, mirror_finding, unfinished_finding, unknown_mirror_finding,
};
use super::cleanup_job::{Choice, CleanupSpec};
use crate::disk::{EntryKind, Listed, Storage};
use crate::engine::read::dir_facts::{DirFacts, read_whole};
use crate::format::file_name::{
    DirName, FileKind, LEADER_EPOCH_CHECKPOINT, PartitionFile, leading_offset,
};
use crate::format::leader_epoch_checkpoint;
use crate::log::{Finding, FindingCode, LeaderEpochs, Severity, UsageKind};
use crate::plan::cleanup::{
    CleanupChoice, Deletion, DeletionCost, FreeableLog, GroupCommits, Leftover,
};
use crate::plan::{
    Content, FileStamp, PartitionPlan, Quarantine, SegmentSummary, Step, StepAction, StopState,
    Verdict,
};
use crate::terms::{Offset, Timestamp};

/// A dir in a log dir.
pub(in crate::engine) struct CleanupLog {
    pub(in crate::engine) name: String,
    pub(in crate::engine) parsed: DirName,
    pub(in crate::engine) files: Vec<Listed>,
    pub(in crate::engine) error: Option<String>,
}

impl CleanupLog {
    /// Says whether the dir goes as a whole or not at all.
    pub(in crate::engine) fn kind_goes_whole(&self) -> bool {
        matches!(
            UsageKind::of_dir(&self.parsed),
            UsageKind::DeleteDirs
                | UsageKind::StrayDirs
                | UsageKind::FutureDirs
                | UsageKind::IndexCache
        )
    }

    /// Says whether a compaction or a split waits for its end: what is there means something else then.
    pub(in crate::engine) fn has_unfinished(&self) -> bool {
        self.files.iter().any(|file| {
            matches!(
                PartitionFile::parse(&file.name),
                PartitionFile::Swap { .. } | PartitionFile::Cleaned { .. }
            )
        })
    }

    /// Returns the files that a boot removes first of all, by kind.
    pub(in crate::engine) fn stale_files(&self) -> Vec<(UsageKind, Vec<&Listed>)> {
        let is_swap =
            |file: &Listed| matches!(PartitionFile::parse(&file.name), PartitionFile::Swap { .. });
        let has_swap = self.files.iter().any(is_swap);
        let has_log = |offset: Offset| {
            self.files.iter().any(|file| {
                PartitionFile::parse(&file.name).is_log()
                    && leading_offset(&file.name) == Some(offset)
            })
        };
        let mut by_kind: BTreeMap<UsageKind, Vec<&Listed>> = BTreeMap::new();
        for file in self.files.iter().filter(|file| is_plain(file)) {
            let kind = match PartitionFile::parse(&file.name) {
                PartitionFile::Deleted => UsageKind::DeletedFiles,
                // Which `.swap` files a boot keeps depends on the `.cleaned` ones.
                PartitionFile::Cleaned { .. } if !has_swap => UsageKind::CleanedFiles,
                PartitionFile::Segment { offset, kind }
                    if kind.is_index() && !self.has_unfinished() && !has_log(offset) =>
                {
                    UsageKind::OrphanIndexes
                }
                _ => continue,
            };
            by_kind.entry(kind).or_default().push(file);
        }
        by_kind.into_iter().collect()
    }

    /// Returns the leftovers of this dir that were chosen.
    pub(in crate::engine) fn chosen<'a>(
        &self,
        path: &Path,
        choice: &Choice<'a>,
    ) -> Vec<&'a Leftover> {
        let picks = choice.chosen.choices.iter();
        let leftovers = picks.filter_map(|pick| match pick {
            CleanupChoice::Leftover(number) => choice.leftovers.get(*number),
            CleanupChoice::Segments { .. } => None,
        });
        leftovers
            .filter(|leftover| leftover.log_dir == path && leftover.dir_name == self.name)
            .collect()
    }

    pub(in crate::engine) fn plan(
        &self,
        spec: &CleanupSpec,
        (path, facts): (&Path, &DirFacts),
        choice: &Choice<'_>,
    ) -> PartitionPlan {
        let topic_partition = match &self.parsed {
            DirName::Normal(partition) | DirName::Future(partition) => Some(partition.clone()),
            _ => None,
        };
        let skipped = Verdict::Skipped {
            why: "nothing of it goes".to_owned(),
        };
        let mut plan = PartitionPlan::of(self.name.clone(), topic_partition, skipped);
        plan.segments = segments_of(&self.files);
        if let Some(partition) = &plan.topic_partition {
            plan.recovery_point = facts.recovery_points.get(partition);
            plan.high_watermark = facts.high_watermarks.get(partition);
        }
        self.delete_leftovers(&mut plan, spec, &self.chosen(path, choice));
        let segments = choice.chosen.segments();
        let log = choice
            .logs
            .iter()
            .position(|log| log.log_dir == path && log.dir_name == self.name);
        if let Some((number, (count, cost))) =
            log.and_then(|number| Some((number, *segments.get(&number)?)))
            && let Some(log) = choice.logs.get(number)
        {
            self.delete_segments(&mut plan, (spec, choice.groups), log, (count, cost));
        }
        let is_meant = |log: &FreeableLog| log.log_dir == path && log.dir_name == self.name;
        if self.has_unfinished()
            && spec.on.iter().any(|dir| dir == path)
            && spec.logs.iter().any(is_meant)
        {
            plan.findings.push(unfinished_finding());
        }
        plan.scan_bytes = self.boot_reads(facts).iter().sum();
        if !plan.steps.is_empty() {
            plan.stamps = self.files.iter().map(stamp).collect();
        }
        plan
    }

    /// Returns the lengths of the segments that a boot reads again: of an unclean dir those from the recovery point on.
    pub(in crate::engine) fn boot_reads(&self, facts: &DirFacts) -> Vec<u64> {
        let (DirName::Normal(partition) | DirName::Future(partition)) = &self.parsed else {
            return Vec::new();
        };
        if facts.stop == StopState::Clean || self.parsed.is_cluster_metadata() {
            return Vec::new();
        }
        let point = facts.recovery_points.get(partition).unwrap_or(Offset::ZERO);
        let segments = segments_of(&self.files);
        let next = segments.iter().skip(1).map(|next| Some(next.base_offset));
        segments
            .iter()
            .zip(next.chain([None]))
            .filter(|(_, next)| next.is_none_or(|next| next > point))
            .map(|(segment, _)| segment.bytes)
            .collect()
    }

    fn delete_leftovers(&self, plan: &mut PartitionPlan, spec: &CleanupSpec, chosen: &[&Leftover]) {
        for leftover in chosen {
            let cost = match leftover.kind {
                UsageKind::StrayDirs => DeletionCost::Stray,
                kind => DeletionCost::Leftover(kind),
            };
            let keep = cost == DeletionCost::Stray && spec.quarantine.is_some();
            for name in &leftover.files {
                let Some(file) = self.files.iter().find(|file| file.name == *name) else {
                    continue;
                };
                let quarantine = if keep && PartitionFile::parse(name).is_log() {
                    Quarantine::Keep
                } else {
                    Quarantine::Regenerable
                };
                plan.steps
                    .push(remove(file, quarantine, false, cost.words()));
            }
            if leftover.removes_dir {
                plan.steps.push(Step {
                    file: self.name.clone(),
                    action: StepAction::RemoveDir,
                    quarantine: Quarantine::Regenerable,
                    after_sync: true,
                    reason: cost.words(),
                });
            }
            plan.findings.push(
                Finding::new(
                    FindingCode::Leftover,
                    Severity::Routine,
                    leftover_words(leftover),
                )
                .loses(0, Some(0)),
            );
            let lost = if cost == DeletionCost::Stray {
                leftover.log_bytes
            } else {
                0
            };
            add(
                plan,
                Deletion {
                    cost,
                    freed: leftover.allocated,
                    lost_bytes: lost,
                    lost_offsets: (lost == 0).then_some(0),
                    deleted_segments: 0,
                    log_start_before: None,
                    removes_dir: leftover.removes_dir,
                    groups: Some(Vec::new()),
                },
            );
        }
    }

    /// Removes the log's oldest segments, each with all its files before the next: no prefix of it leaves a gap.
    fn delete_segments(
        &self,
        plan: &mut PartitionPlan,
        (spec, groups): (&CleanupSpec, &GroupCommits),
        log: &FreeableLog,
        (count, cost): (usize, DeletionCost),
    ) {
        let gone = log.segments.get(..count).unwrap_or_default();
        let (Some(first), Some(last)) = (gone.first(), gone.last()) else {
            return;
        };
        // The log may start inside the first segment that stays: what was deleted of it must not come back.
        let start = last.next_offset.max(log.log_start_offset);
        let evidence = (spec.replicas)(&log.topic_partition);
        let loses = gone.iter().filter(|segment| !segment.past_retention);
        let lost_bytes: u64 = loses.clone().map(|segment| segment.bytes).sum();
        let lost_offsets: i64 = loses
            .map(|segment| segment.next_offset.0 - segment.base_offset.0)
            .sum();
        for segment in gone {
            let mut files: Vec<&Listed> = self
                .files
                .iter()
                .filter(|file| is_of_segment(file, segment.base_offset))
                .collect();
            files.sort_by_key(|file| !PartitionFile::parse(&file.name).is_log());
            for file in files {
                let is_log = PartitionFile::parse(&file.name).is_log();
                // Without a quarantine nothing is read of what goes.
                let quarantine = if is_log && spec.quarantine.is_some() {
                    Quarantine::Keep
                } else {
                    Quarantine::Regenerable
                };
                plan.steps
                    .push(remove(file, quarantine, is_log, cost.words()));
            }
        }
        for (summary, gone) in plan.segments.iter_mut().zip(gone) {
            summary.next_offset = Some(gone.next_offset);
            summary.largest_timestamp = Some(gone.largest_timestamp);
        }
        plan.log_start_offset = Some(start);
        plan.log_end_offset = log.log_end_offset;
        let youngest = gone.iter().map(|of| of.largest_timestamp).max();
        plan.findings.push(
            Finding::new(
                FindingCode::LogStartMoves,
                if cost == DeletionCost::Records {
                    Severity::Loss
                } else {
                    Severity::Warning
                },
                format!(
                    "offsets {} to {} go, written up to {}; the log then starts at {start}, and a boot takes that as it is, \
                     without a scan",
                    first.base_offset,
                    start.0 - 1,
                    youngest.map_or_else(|| "?".to_owned(), Timestamp::rfc3339)
                ),
            )
            .offset(first.base_offset)
            .loses(lost_bytes, u64::try_from(lost_offsets).ok()),
        );
        let of_mirrors = log.mirrors.iter();
        let begin = first.base_offset.max(log.log_start_offset);
        plan.findings
            .extend(of_mirrors.filter_map(|mirror| mirror_finding(mirror, begin, start)));
        let unknown = log.unknown_mirrors.iter();
        plan.findings
            .extend(unknown.map(|why| unknown_mirror_finding(why)));
        if let Some(evidence) = evidence {
            plan.findings.push(head_finding(&evidence, spec.now, cost));
        }
        let groups = groups.below(&log.topic_partition, start);
        if let Some(below) = groups.as_deref().filter(|below| !below.is_empty()) {
            plan.findings.push(groups_finding(below, start));
        }
        add(
            plan,
            Deletion {
                cost,
                freed: gone.iter().map(|segment| segment.freed).sum(),
                lost_bytes,
                lost_offsets: u64::try_from(lost_offsets).ok(),
                deleted_segments: gone.len() as u64,
                log_start_before: Some(log.log_start_offset),
                removes_dir: false,
                groups,
            },
        );
    }
}

/// Adds the step that takes the leader epochs of what went out of their checkpoint, as Kafka does when it deletes. A file that
/// Kafka would not read is left to whoever mends it; one that is longer than a megabyte is none of Kafka's.
pub(in crate::engine) fn forget_epochs(
    storage: &dyn Storage,
    log_dir: &Path,
    plan: &mut PartitionPlan,
) {
    const MOST: u64 = 1 << 20;
    let Some(start) = plan.log_start_offset else {
        return;
    };
    let is_there = |stamp: &&FileStamp| stamp.name == LEADER_EPOCH_CHECKPOINT;
    let Some(replaces) = plan.stamps.iter().find(is_there).map(|stamp| stamp.len) else {
        return;
    };
    let path = log_dir.join(&plan.dir_name).join(LEADER_EPOCH_CHECKPOINT);
    let Ok(bytes) = read_whole(storage, &path, MOST) else {
        return;
    };
    let Ok(entries) = leader_epoch_checkpoint::parse(&bytes) else {
        return;
    };
    let mut epochs = LeaderEpochs::new(entries);
    epochs.truncate_from_start(start);
    let new = epochs.to_checkpoint();
    if new == bytes {
        return;
    }
    plan.steps.push(Step {
        file: LEADER_EPOCH_CHECKPOINT.to_owned(),
        action: StepAction::Write {
            content: Content::new(new),
            replaces: Some(replaces),
        },
        quarantine: Quarantine::Regenerable,
        after_sync: true,
        reason: "the log starts later".to_owned(),
    });
}

/// Adds a deletion to what a dir comes to.
fn add(plan: &mut PartitionPlan, more: Deletion) {
    plan.verdict = Verdict::Delete(match &plan.verdict {
        Verdict::Delete(known) => Deletion {
            cost: known.cost.max(more.cost),
            freed: known.freed.saturating_add(more.freed),
            lost_bytes: known.lost_bytes.saturating_add(more.lost_bytes),
            lost_offsets: known
                .lost_offsets
                .zip(more.lost_offsets)
                .map(|(a, b)| a.saturating_add(b)),
            deleted_segments: known.deleted_segments + more.deleted_segments,
            log_start_before: more.log_start_before.or(known.log_start_before),
            removes_dir: known.removes_dir || more.removes_dir,
            groups: if more.deleted_segments > 0 {
                more.groups
            } else {
                known.groups.clone()
            },
        },
        _ => more,
    });
}

/// Returns what a leftover is and when it would have gone by itself.
fn leftover_words(leftover: &Leftover) -> String {
    let by_itself = match leftover.kind {
        UsageKind::DeleteDirs => "a broker removes it file.delete.delay.ms after its start",
        UsageKind::DeletedFiles | UsageKind::OrphanIndexes => "a boot removes it first of all",
        UsageKind::CleanedFiles => "a boot removes it; the originals are whole",
        UsageKind::IndexCache => "a broker fetches it again as it is asked for",
        UsageKind::FutureDirs => {
            "the current replica lies in another log dir; a move must be asked for again"
        }
        _ => "no broker ever removes it, and each boot loads it",
    };
    format!("{}: {by_itself}", leftover.kind.word())
}

fn remove(file: &Listed, quarantine: Quarantine, after_sync: bool, reason: String) -> Step {
    Step {
        file: file.name.clone(),
        action: StepAction::Remove { len: file.stat.len },
        quarantine,
        after_sync,
        reason,
    }
}

/// Returns a dir's segments by their names.
pub(in crate::engine) fn segments_of(files: &[Listed]) -> Vec<SegmentSummary> {
    let logs = files
        .iter()
        .filter(|file| PartitionFile::parse(&file.name).is_log());
    let mut segments: Vec<SegmentSummary> = logs
        .filter_map(|file| {
            Some(SegmentSummary::unread(
                leading_offset(&file.name)?,
                file.stat.len,
            ))
        })
        .collect();
    segments.sort_by_key(|segment| segment.base_offset);
    segments
}

pub(in crate::engine) fn stamp(file: &Listed) -> FileStamp {
    FileStamp {
        name: file.name.clone(),
        inode: file.stat.inode,
        len: file.stat.len,
        mtime_ns: file.stat.mtime_ns,
    }
}

pub(in crate::engine) fn is_plain(file: &Listed) -> bool {
    file.stat.kind == EntryKind::File && file.is_utf8
}

/// Says whether a file goes with the segment of this base offset: its log, its indexes, the snapshot of its start.
fn is_of_segment(file: &Listed, base: Offset) -> bool {
    is_plain(file)
        && matches!(
            PartitionFile::parse(&file.name),
            PartitionFile::Segment { offset, kind }
                if offset == base && FileKind::ALL.contains(&kind)
        )
}
