//! Kafka's `ProducerStateManager` over the virtual dir: which snapshots it reads, removes and writes.

use std::collections::BTreeSet;

use super::facts::{Facts, Interrupt, refused};
use super::need::ReplayRequest;
use super::state::{State, name_of};
use crate::format::file_name::FileKind;
use crate::format::producer_snapshot;
use crate::log::{Finding, FindingCode, OffsetSearch, ProducerEvent, ProducerState, Severity};
use crate::plan::virtual_dir::{VirtualDir, VirtualFile};
use crate::plan::{Content, RecoveryInputs};
use crate::terms::Offset;

/// One manager's life: a recovered segment has its own, the log another one at the end.
#[derive(Debug, Clone)]
pub(super) struct Producers<'a> {
    inputs: &'a RecoveryInputs,
    facts: &'a Facts,
    pub(super) state: ProducerState,
    snapshots: BTreeSet<Offset>,
    map_end: Offset,
    snapshot_end: Offset,
    /// Where the log's last load of the state began: at a snapshot, or at the log's start.
    pub(super) loaded_from: Offset,
    /// Whether a scan completed a transaction that no high watermark has confirmed.
    pub(super) completed_in_scan: bool,
}

/// Returns the offsets of the snapshot files that lie in a dir.
pub(super) fn list_snapshots(dir: &VirtualDir) -> Result<BTreeSet<Offset>, Interrupt> {
    let offsets: Result<Vec<Offset>, Interrupt> = dir
        .snapshots()
        .map(|(name, offset)| {
            offset.ok_or_else(|| {
                refused(format!(
                    "the name of {name} has no offset where Kafka expects one"
                ))
            })
        })
        .collect();
    // Of a list it is built at once, not one by one.
    Ok(offsets?.into_iter().collect())
}

impl<'a> Producers<'a> {
    pub(super) fn open(
        inputs: &'a RecoveryInputs,
        facts: &'a Facts,
        dir: &VirtualDir,
    ) -> Result<Self, Interrupt> {
        Ok(Self {
            inputs,
            facts,
            state: ProducerState::default(),
            snapshots: list_snapshots(dir)?,
            map_end: Offset(0),
            snapshot_end: Offset(0),
            loaded_from: Offset(0),
            completed_in_scan: false,
        })
    }

    /// Sets the offset up to which the state is known (`updateMapEndOffset`).
    pub(super) fn set_end(&mut self, end: Offset) {
        self.map_end = end;
    }

    /// Writes a snapshot of the present state, if it is newer than the last (`takeSnapshot`).
    pub(super) fn take_snapshot(&mut self, dir: &mut VirtualDir) -> Result<(), Interrupt> {
        if self.map_end <= self.snapshot_end {
            return Ok(());
        }
        let bytes = producer_snapshot::encode(&self.state.snapshot());
        dir.write(
            &name_of(self.map_end, FileKind::Snapshot),
            Content::new(bytes),
        )?;
        self.snapshots.insert(self.map_end);
        self.snapshot_end = self.map_end;
        Ok(())
    }

    /// Brings the state to `target` (`UnifiedLog.rebuildProducerState`).
    pub(super) fn rebuild(
        &mut self,
        state: &mut State,
        log_start: Offset,
        target: Offset,
        from_clean_stop: bool,
    ) -> Result<(), Interrupt> {
        let bases: Vec<Offset> = state.segments.keys().rev().take(2).copied().collect();
        let marks: Vec<Offset> = bases.iter().rev().copied().chain([target]).collect();
        if self.snapshots.is_empty() && from_clean_stop {
            for mark in marks {
                self.map_end = mark;
                self.take_snapshot(&mut state.dir)?;
                state.empty_snapshots.insert(mark);
            }
            return Ok(());
        }
        let skips_scan = self.state.is_empty() && self.map_end >= target;
        self.truncate_and_reload(state, log_start, target)?;
        if target > self.map_end && !skips_scan {
            let holder = state
                .segments
                .range(..=target)
                .next_back()
                .map(|(base, _)| *base);
            let scanned: Vec<Offset> = state
                .segments_from(self.map_end)
                .take_while(|base| *base < target)
                .collect();
            for base in scanned {
                let from = base.max(self.map_end).max(log_start);
                self.map_end = from;
                if marks.contains(&base) {
                    self.take_snapshot(&mut state.dir)?;
                }
                let to = (holder == Some(base)).then_some(target);
                self.replay(state, base, from, to)?;
            }
        }
        self.map_end = target;
        self.take_snapshot(&mut state.dir)
    }

    fn replay(
        &mut self,
        state: &State,
        base: Offset,
        from: Offset,
        to: Option<Offset>,
    ) -> Result<(), Interrupt> {
        let file = name_of(base, FileKind::Log);
        let look_up = |offset| state.look_up(self.facts, base, offset);
        let request = ReplayRequest {
            log: state.log_part(base),
            from: look_up(from)?,
            to: to.map(look_up).transpose()?,
            search: OffsetSearch::of(self.inputs.version),
        };
        let replayed = self.facts.replay(request)?;
        if let Some(cause) = &replayed.fatal {
            return Err(refused(format!("{file}: {cause}")));
        }
        let open_before = self.state.open_transactions();
        self.state
            .apply_group(&replayed.events)
            .map_err(|cause| refused(format!("{file}: {cause}")))?;
        self.completed_in_scan |= replayed.events.iter().any(ProducerEvent::is_marker)
            && (open_before > 0 || replayed.events.iter().any(ProducerEvent::is_transactional));
        Ok(())
    }

    fn truncate_and_reload(
        &mut self,
        state: &mut State,
        log_start: Offset,
        log_end: Offset,
    ) -> Result<(), Interrupt> {
        let (kept, gone): (BTreeSet<Offset>, BTreeSet<Offset>) = self
            .snapshots
            .iter()
            .partition(|offset| **offset <= log_end && **offset > log_start);
        for offset in gone {
            state.dir.remove(&name_of(offset, FileKind::Snapshot));
        }
        self.snapshots = kept;
        if log_end == self.map_end {
            self.map_end = self.map_end.max(log_start);
            self.snapshot_end = self.snapshots.last().copied().unwrap_or(log_start);
            return Ok(());
        }
        self.load_newest(state, log_start)
    }

    /// Loads the newest snapshot that decodes; removes those that do not (`loadFromSnapshot`).
    fn load_newest(&mut self, state: &mut State, log_start: Offset) -> Result<(), Interrupt> {
        self.state.clear();
        while let Some(offset) = self.snapshots.last().copied() {
            let name = name_of(offset, FileKind::Snapshot);
            let on_disk = !matches!(state.dir.get(&name), Some(VirtualFile::New(_)));
            let decoded = match state.dir.get(&name) {
                Some(VirtualFile::New(content)) => {
                    producer_snapshot::decode(content.bytes.as_deref().unwrap_or_default())
                }
                _ => producer_snapshot::decode(
                    self.facts
                        .file(&state.source_of(&name))?
                        .unwrap_or_default(),
                ),
            };
            match decoded {
                Ok(entries) => {
                    if on_disk {
                        state.loaded_snapshots.insert(offset);
                    }
                    self.state.load(
                        &entries,
                        self.inputs.now,
                        self.inputs.producer_id_expiration_ms,
                    );
                    self.map_end = offset;
                    self.snapshot_end = offset;
                    self.loaded_from = offset;
                    return Ok(());
                }
                Err(error) => {
                    self.snapshots.remove(&offset);
                    let older = self.snapshots.last().copied();
                    state.findings.push(
                        Finding::new(
                            FindingCode::SnapshotCorrupt,
                            Severity::Warning,
                            format!(
                                "{}; {}",
                                error.kafka_text(),
                                rebuild_words(state, older, log_start)
                            ),
                        )
                        .file(name.clone())
                        .offset(offset),
                    );
                    state.dir.remove(&name);
                }
            }
        }
        self.map_end = log_start;
        self.snapshot_end = log_start;
        self.loaded_from = log_start;
        Ok(())
    }

    /// Removes snapshots that belong to no segment, but for the highest if it lies behind the last segment's base
    /// (`removeStraySnapshots`).
    pub(super) fn remove_stray(&mut self, state: &mut State) -> Result<(), Interrupt> {
        self.snapshots = list_snapshots(&state.dir)?;
        let last_base = state.segments.keys().next_back().copied();
        let mut strays: Vec<Offset> = self
            .snapshots
            .iter()
            .filter(|offset| !state.segments.contains_key(offset))
            .copied()
            .collect();
        if let (Some(highest), Some(last_base)) = (strays.last(), last_base)
            && *highest >= last_base
        {
            strays.pop();
        }
        for offset in strays {
            state.dir.remove(&name_of(offset, FileKind::Snapshot));
            self.snapshots.remove(&offset);
        }
        Ok(())
    }

    /// Empties the state and removes the snapshots that were `listed` (`truncateFullyAndStartAt`).
    pub(super) fn truncate_fully(
        &mut self,
        listed: &BTreeSet<Offset>,
        dir: &mut VirtualDir,
        start: Offset,
    ) {
        for offset in listed {
            dir.remove(&name_of(*offset, FileKind::Snapshot));
        }
        self.state.clear();
        self.snapshot_end = Offset(0);
        self.map_end = start;
    }
}

/// Says from where a boot reads the producers again once a snapshot is gone, and how many bytes of segments that is.
fn rebuild_words(state: &State, older: Option<Offset>, log_start: Offset) -> String {
    let from = older.unwrap_or(log_start);
    let read = state.segments_from(from);
    let read = read.filter_map(|base| state.segments.get(&base));
    let bytes: u64 = read.map(|segment| segment.len).sum();
    let source = match older {
        Some(offset) => format!("the snapshot of offset {offset}"),
        None => format!("the log's start, {log_start}"),
    };
    format!(
        "a boot deletes it and reads the producers again from {source}: {bytes} bytes of segments"
    )
}
