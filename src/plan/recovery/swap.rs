//! Temporary files, and compactions and splits that a crash interrupted (`LogLoader.load`, passes 1 to 3).

use super::Recovery;
use super::facts::{Interrupt, refused};
use super::finish::last_entry;
use super::need::{LogPart, Need, ScanRequest, WalkRequest};
use super::state::State;
use crate::format::file_name::{
    FileKind, PartitionFile, SWAP_SUFFIX, leading_offset, segment_file_name,
};
use crate::format::offset_index;
use crate::log::{Finding, FindingCode, Lookup, OffsetSearch, ScanStop, Severity};
use crate::plan::AskReason;
use crate::plan::virtual_dir::VirtualFile;
use crate::terms::{Offset, Position};

impl Recovery {
    /// Removes temporary files and completes interrupted swaps.
    pub(super) fn remove_temporary(&self, state: &mut State) -> Result<(), Interrupt> {
        let names: Vec<String> = state.dir.names().map(str::to_owned).collect();
        let mut cleaned = Vec::new();
        let mut swaps = Vec::new();
        for name in names {
            match PartitionFile::parse(&name) {
                PartitionFile::Deleted => {
                    leftover(state, &name, "scheduled for deletion; a boot removes it");
                }
                PartitionFile::Cleaned { offset, .. } => cleaned.push((offset, name)),
                PartitionFile::Swap { offset, kind } => swaps.push((offset, kind, name)),
                PartitionFile::BadNumber => {
                    return Err(refused(format!(
                        "the name of {name} has no offset where Kafka expects one"
                    )));
                }
                _ => {}
            }
        }
        // Swaps are renamed from the last one down: a `.cleaned` below one says that the set is incomplete.
        let incomplete_from = cleaned
            .iter()
            .map(|(offset, _)| *offset)
            .min()
            .unwrap_or(Offset(i64::MAX));
        for (_, _, name) in swaps
            .iter()
            .filter(|(offset, _, _)| *offset >= incomplete_from)
        {
            leftover(
                state,
                name,
                "part of a compaction or split that did not get ready; a boot removes it",
            );
            state.invalid_swaps.insert(name.clone());
        }
        for (_, name) in &cleaned {
            leftover(
                state,
                name,
                "a compaction or split that did not get ready; a boot removes it",
            );
        }
        swaps.retain(|(offset, _, _)| *offset < incomplete_from);
        if swaps.is_empty() {
            return Ok(());
        }
        let mut range = (Offset(i64::MAX), Offset(i64::MIN));
        for (base, _, name) in swaps
            .iter()
            .filter(|(_, kind, _)| *kind == Some(FileKind::Log))
        {
            let end = self.swap_end(state, *base, name)?;
            range = (range.0.min(*base), range.1.max(end));
        }
        state.swap_range = Some(range);
        self.check_swaps(state, range)?;
        replace_originals(state, range);
        Ok(())
    }

    /// Returns the offset behind the last batch of a `.log.swap` (`LogSegment.readNextOffset`).
    fn swap_end(&self, state: &mut State, base: Offset, name: &str) -> Result<Offset, Interrupt> {
        let index = segment_file_name(base, FileKind::Index) + SWAP_SUFFIX;
        let (mut from, mut target) = (Position(0), base);
        if state.dir.contains(&index) {
            let bytes = self.bytes(state, &index)?;
            (from, target) = last_entry(&bytes, base);
        } else {
            // Kafka makes it at full size when it looks for the end, and trusts its zeros afterwards.
            let size = u64::try_from(self.inputs.config.segment_index_bytes).unwrap_or(0);
            let entry_len = offset_index::ENTRY_LEN as u64;
            state.dir.allocate(&index, size / entry_len * entry_len)?;
        }
        let len = state.dir.get(name).map_or(0, VirtualFile::len);
        let request = WalkRequest {
            log: LogPart {
                file: name.to_owned(),
                start: 0,
                len,
            },
            lookup: Lookup {
                offset: target,
                position: from,
            },
            search: OffsetSearch::of(self.inputs.version),
        };
        let walked = self.facts.walk(request)?;
        match &walked.fatal {
            Some(cause) => Err(refused(format!("{name}: {cause}"))),
            None => Ok(walked.next_offset.unwrap_or(base)),
        }
    }

    /// Asks where a swap that would replace its originals does not scan to its end; Kafka does not look.
    fn check_swaps(&self, state: &mut State, range: (Offset, Offset)) -> Result<(), Interrupt> {
        let logs: Vec<(Offset, String, u64)> = state
            .dir
            .iter()
            .filter_map(|(name, file)| match PartitionFile::parse(name) {
                PartitionFile::Swap {
                    offset,
                    kind: Some(FileKind::Log),
                } => Some((offset, name.to_owned(), file.len())),
                _ => None,
            })
            .collect();
        let side = |base, kind| {
            let name = segment_file_name(base, kind) + SWAP_SUFFIX;
            state.dir.source(&name).map(str::to_owned)
        };
        let missing: Vec<ScanRequest> = logs
            .iter()
            .filter(|(base, _, _)| self.facts.scan(*base).is_none())
            .map(|(base, name, len)| ScanRequest {
                base_offset: *base,
                log: LogPart {
                    file: name.clone(),
                    start: 0,
                    len: *len,
                },
                offset_index_file: side(*base, FileKind::Index),
                time_index_file: side(*base, FileKind::TimeIndex),
                limits: self.inputs.config.limits(),
            })
            .collect();
        if !missing.is_empty() {
            return Err(Interrupt::Need(Need::Scan(missing)));
        }
        let originals: u64 = state
            .dir
            .iter()
            .filter(|(name, _)| is_original(name, range) && PartitionFile::parse(name).is_log())
            .map(|(_, file)| file.len())
            .sum();
        for (base, name, _) in logs {
            let Some(scan) = self.facts.scan(base) else {
                continue;
            };
            if scan.stop != ScanStop::EndOfFile && originals > 0 {
                state.findings.push(
                    Finding::new(
                        FindingCode::SwapIncomplete,
                        Severity::Loss,
                        format!(
                            "a boot lets this file replace {originals} bytes of original segments, but its batches end \
                             at position {} of {}",
                            scan.valid_up_to, scan.file_len
                        ),
                    )
                    .file(name)
                    .at(scan.valid_up_to)
                    .offset(scan.next_offset)
                    .loses(originals, None)
                    .next("decide: take Kafka's way, or leave the log and fetch it from another replica"),
                );
                state.loss.add(AskReason::SwapIncomplete, originals, None);
            }
        }
        Ok(())
    }
}

fn leftover(state: &mut State, name: &str, what: &str) {
    state.findings.push(
        Finding::new(
            FindingCode::Leftover,
            Severity::Routine,
            format!("a leftover: {what}"),
        )
        .file(name.to_owned()),
    );
    state.dir.remove(name);
}

/// Says whether completing a swap of these offsets removes the file.
fn is_original(name: &str, range: (Offset, Offset)) -> bool {
    !name.ends_with(SWAP_SUFFIX)
        && leading_offset(name).is_some_and(|offset| range.0 <= offset && offset < range.1)
}

/// Removes what was compacted or split, and gives the swaps their final names.
fn replace_originals(state: &mut State, range: (Offset, Offset)) {
    let names: Vec<String> = state.dir.names().map(str::to_owned).collect();
    for name in names.iter().filter(|name| is_original(name, range)) {
        state.dir.remove(name);
    }
    for name in &names {
        if let Some(to) = name.strip_suffix(SWAP_SUFFIX) {
            state.dir.rename(name, to);
        }
    }
    let text = "a compaction or split was interrupted after it had got ready; a boot completes it: the originals from \
                its first offset to its last go";
    let finding = Finding::new(FindingCode::Leftover, Severity::Warning, text);
    let finding = if range.0 < range.1 {
        finding.offset(range.0)
    } else {
        finding
    };
    state.findings.push(finding);
}
