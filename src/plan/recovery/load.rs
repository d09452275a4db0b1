//! The small files of a log, and its segments as they are opened (`LogLoader.load`, pass 4).

use std::sync::Arc;

use super::facts::{Interrupt, refused};
use super::recover::Recovered;
use super::state::{Phase, Segment, State, name_of};
use super::{Recovery, producers};
use crate::format::checkpoint::CheckpointFailure;
use crate::format::file_name::{
    FileKind, LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, PartitionFile,
};
use crate::format::partition_metadata::PartitionMetadata;
use crate::format::{leader_epoch_checkpoint, txn_index};
use crate::log::{Finding, FindingCode, LeaderEpochs, Severity};
use crate::plan::{Content, SegmentSummary};
use crate::terms::{KafkaVersion, Offset};

/// Whether a segment has to be recovered as soon as it is opened.
enum Broken {
    No,
    /// It has, with what to tell of it.
    Yes(Option<Finding>),
}

impl Recovery {
    /// Reads the small files, clears away what is temporary, lists the segments.
    pub(super) fn begin(&self, state: &mut State) -> Result<(), Interrupt> {
        self.check_partition_metadata(state)?;
        self.load_epochs(state)?;
        state.listed_snapshots = Arc::new(producers::list_snapshots(&state.dir)?);
        self.remove_temporary(state)?;
        state.list_logs();
        drop_orphaned_indexes(state);
        state.phase = Phase::Load(0);
        Ok(())
    }

    fn check_partition_metadata(&self, state: &mut State) -> Result<(), Interrupt> {
        if !state.dir.contains(PARTITION_METADATA) {
            let fate = if self.inputs.version >= KafkaVersion::new(3, 7, 1) {
                "a boot takes the log for a stray and renames its dir to -stray"
            } else {
                "a boot does not come up"
            };
            state.findings.push(
                Finding::new(
                    FindingCode::PartitionMetadata,
                    Severity::Warning,
                    format!("partition.metadata is missing: {fate}"),
                )
                .file(PARTITION_METADATA)
                .next("copy the topic id from another replica's partition.metadata"),
            );
            return Ok(());
        }
        let bytes = self.facts.file(PARTITION_METADATA)?.unwrap_or_default();
        PartitionMetadata::parse(bytes).map(drop).map_err(|error| {
            let fate = if error.is_fatal() {
                "a boot dies of it"
            } else {
                "a boot takes the log dir offline"
            };
            refused(format!(
                "partition.metadata: {error}: {fate}; restore it from another replica"
            ))
        })
    }

    fn load_epochs(&self, state: &mut State) -> Result<(), Interrupt> {
        if !state.dir.contains(LEADER_EPOCH_CHECKPOINT) {
            state.findings.push(
                Finding::new(
                    FindingCode::LeaderEpochsChanged,
                    Severity::Warning,
                    "leader-epoch-checkpoint is missing; only the epochs of segments that a boot reads come back",
                )
                .file(LEADER_EPOCH_CHECKPOINT),
            );
            state
                .dir
                .write(LEADER_EPOCH_CHECKPOINT, Content::new(Vec::new()))?;
            return Ok(());
        }
        let bytes = self
            .facts
            .file(LEADER_EPOCH_CHECKPOINT)?
            .unwrap_or_default();
        let entries = leader_epoch_checkpoint::parse(bytes).map_err(|error| {
            let fate = if error.failure() == CheckpointFailure::Io {
                "a boot takes the log dir offline"
            } else {
                "a boot dies of it"
            };
            refused(format!("leader-epoch-checkpoint: {error}: {fate}"))
        })?;
        state.epochs = LeaderEpochs::new(entries);
        Ok(())
    }

    /// Opens the segment at `place`; reads it in full where its offset index is missing or its transaction index is
    /// corrupt.
    pub(super) fn load_segment(&self, state: &mut State, place: usize) -> Result<(), Interrupt> {
        let Some((base, name)) = state.log_files.get(place).cloned() else {
            state.phase = self.after_load(state);
            return Ok(());
        };
        let len = state
            .dir
            .get(&name)
            .map_or(0, crate::plan::virtual_dir::VirtualFile::len);
        if name != name_of(base, FileKind::Log) {
            return Err(refused(format!(
                "{name} is not how Kafka writes the offset {base}"
            )));
        }
        if len > i32::MAX as u64 {
            return Err(refused(format!(
                "{name} has {len} bytes; a segment has 2147483647 at the most"
            )));
        }
        let segment = Segment {
            len,
            next_offset: None,
        };
        if !state.summaries.contains_key(&base) {
            state
                .summaries
                .insert(base, SegmentSummary::unread(base, len));
        }
        let index = name_of(base, FileKind::Index);
        let txn = name_of(base, FileKind::TxnIndex);
        if let Some(taken) = [&index, &txn]
            .into_iter()
            .find(|name| state.dir.is_taken(name))
        {
            return Err(refused(format!(
                "{taken} is not a file: a boot fails to open the segment"
            )));
        }
        let broken = if state.dir.contains(&index) {
            self.load_side_indexes(state, base)?
        } else {
            Broken::Yes(self.missing_index(base, &index))
        };
        if let Broken::Yes(finding) = broken {
            state.repaired.insert(base);
            let recovered = self.recover_segment(state, base, &segment)?;
            match recovered {
                Recovered::Segment(segment) => {
                    state.segments.insert(base, segment);
                }
                Recovered::Overflow(last_offset) => {
                    state.findings.extend(finding);
                    return self.split_segment(state, base, last_offset);
                }
                Recovered::OffsetsGoBack(_) => {
                    return Err(refused(format!(
                        "{name}: offsets go back at an index point while its index is rebuilt"
                    )));
                }
            }
            state.findings.extend(finding);
        } else {
            state.segments.insert(base, segment);
        }
        state.phase = Phase::Load(place + 1);
        Ok(())
    }

    /// Says what the loss of an offset index means; a fresh segment that a crash left without one is routine.
    fn missing_index(&self, base: Offset, index: &str) -> Option<Finding> {
        let below = self.inputs.is_clean() || base < self.inputs.recovery_point_or_zero();
        below.then(|| {
            let text = "the offset index is missing: a boot reads the whole segment, whatever the marker or the \
                        recovery point says";
            Finding::new(FindingCode::IndexMissing, Severity::Warning, text).file(index)
        })
    }

    /// Checks time and transaction index of a segment that has an offset index. Says whether it has to be recovered.
    fn load_side_indexes(&self, state: &mut State, base: Offset) -> Result<Broken, Interrupt> {
        let time = name_of(base, FileKind::TimeIndex);
        if !state.dir.contains(&time) {
            state.dir.write(&time, Content::new(Vec::new()))?;
            if base < self.inputs.recovery_point_or_zero() || self.inputs.is_clean() {
                let text =
                    "the time index is missing: a boot makes an empty one and does not rebuild it";
                state.findings.push(
                    Finding::new(FindingCode::TimeIndexMissing, Severity::Warning, text).file(time),
                );
            }
        }
        let txn = name_of(base, FileKind::TxnIndex);
        if state.dir.get(&txn).is_none_or(|file| file.len() == 0) {
            return Ok(Broken::No);
        }
        let bytes = self.bytes(state, &txn)?;
        for entry in txn_index::decode(&bytes) {
            let bad_version = if self.inputs.version >= KafkaVersion::new(4, 4, 0) {
                entry.version != 0
            } else {
                entry.version_before_4_4() > 0
            };
            if bad_version {
                return Err(refused(format!(
                    "{txn}: an aborted transaction of version {}, which a boot does not know",
                    entry.version
                )));
            }
            if entry.last_offset < base {
                let text = format!(
                    "the transaction index has an entry that ends at {}, below the segment's base: a boot reads the \
                     whole segment",
                    entry.last_offset
                );
                return Ok(Broken::Yes(Some(
                    Finding::new(FindingCode::TxnIndexCorrupt, Severity::Warning, text).file(txn),
                )));
            }
        }
        Ok(Broken::No)
    }

    /// Returns what follows once all segments are open.
    pub(super) fn after_load(&self, state: &mut State) -> Phase {
        if self.inputs.is_clean() || self.is_delete {
            return Phase::Finish;
        }
        let first = state
            .segments_from(self.inputs.recovery_point_or_zero())
            .next();
        state.first_read = first;
        state.first_read.map_or(Phase::Finish, Phase::Recover)
    }
}

/// Removes indexes without a `.log`.
fn drop_orphaned_indexes(state: &mut State) {
    let orphans: Vec<String> = state
        .dir
        .names()
        .filter(|name| match PartitionFile::parse(name) {
            PartitionFile::Segment { offset, kind } => {
                matches!(
                    kind,
                    FileKind::Index | FileKind::TimeIndex | FileKind::TxnIndex
                ) && !state.dir.contains(&name_of(offset, FileKind::Log))
            }
            _ => false,
        })
        .map(str::to_owned)
        .collect();
    for name in orphans {
        let text = "an index without its log; a boot removes it";
        state.findings.push(
            Finding::new(FindingCode::IndexOrphaned, Severity::Warning, text).file(name.clone()),
        );
        state.dir.remove(&name);
    }
}
