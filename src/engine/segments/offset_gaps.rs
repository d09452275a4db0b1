//! Segments that are missing from the middle of a log, for who has only listed its dir.

use std::path::Path;

use super::log_facts::{Files, Gaps, LogFiles, LogRead, Way, group};
use crate::disk::{Listed, Pace, Storage};
use crate::log::{GapSearch, HeaderTimes, OffsetGap, TimeWalk, gap_suspects};
use crate::terms::Position;

/// Returns where segments of a partition dir do not follow each other, by the ends of those that span too many offsets for
/// their bytes. Not for a compacted log, which has holes by nature, nor for one that a broker writes to. Segments are left unread
/// once `is_wanted` says that nobody waits.
pub(in crate::engine) fn offset_gaps(
    storage: &dyn Storage,
    dir: &Path,
    listed: &[Listed],
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> GapSearch {
    let pace = Pace::unlimited();
    let files = LogFiles {
        storage,
        pace: &pace,
        is_live: false,
        is_wanted,
    };
    let (groups, _) = group(listed);
    LogRead::new(&files, dir).gaps(&groups, Gaps::Suspects)
}

/// How many bytes of a closed segment are walked at most to see whether the next one follows: index entries are 4 KiB apart by
/// default, and a segment without an index is read in full by the boot anyway, not here.
const FARTHEST: u64 = 16 << 20;

/// A segment's end lies too far behind what its index leads to.
struct TooFar;

impl LogRead<'_> {
    /// Returns the places where a segment ends before the next one begins; one whose end cannot be read is left out, one whose
    /// end is far behind what its index leads to is counted.
    pub(super) fn gaps(&mut self, groups: &[Files], which: Gaps) -> GapSearch {
        let len = |group: &Files| group.log.map_or(0, |stat| stat.len);
        let closed = groups.len().saturating_sub(1);
        let sizes = groups.iter().map(|group| (group.base_offset, len(group)));
        let numbers = match which {
            Gaps::Unread => return GapSearch::default(),
            Gaps::Suspects => gap_suspects(&sizes.collect::<Vec<_>>()),
            Gaps::All => (0..closed).collect(),
        };
        let mut search = GapSearch::default();
        for number in numbers {
            let (Some(group), Some(next)) = (groups.get(number), groups.get(number + 1)) else {
                continue;
            };
            let tail = if (self.files.is_wanted)() {
                self.near_tail(group)
            } else {
                Err(TooFar)
            };
            let Ok(tail) = tail else {
                search.unread += 1;
                continue;
            };
            let Some((tail, from)) = tail.and_then(|tail| Some((tail, tail.next_offset?))) else {
                continue;
            };
            // One that is damaged or torn is what recovery tells of.
            if tail.end.0 == len(group) && from < next.base_offset {
                search.gaps.push(OffsetGap {
                    after: group.base_offset,
                    from,
                    to: next.base_offset,
                });
            }
        }
        search
    }

    /// Walks the headers behind a segment's last index entry, if that is not too many bytes; `Ok(None)` if it cannot be read.
    fn near_tail(&mut self, group: &Files) -> Result<Option<HeaderTimes>, TooFar> {
        let len = group.log.map_or(0, |stat| stat.len);
        let Some(start) = self.walk_from(group, Way::Tail) else {
            return Ok(None);
        };
        let near = |start: u64| (len.saturating_sub(start) <= FARTHEST).then_some(());
        near(start.0).ok_or(TooFar)?;
        let times = self.walk(group, TimeWalk::new(start, len));
        if start.0 > 0 && times.is_some_and(|times| times.next_offset.is_none()) {
            near(0).ok_or(TooFar)?;
            return Ok(self.walk(group, TimeWalk::new(Position(0), len)));
        }
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::disk::RealStorage;
    use crate::format::file_name::{FileKind, segment_file_name};
    use crate::terms::Offset;

    /// Searches a dir with segments of these bytes, ten offsets each, without indexes.
    fn search(bytes: &[u64], is_wanted: &(dyn Fn() -> bool + Sync)) -> GapSearch {
        let dir = tempfile::tempdir().unwrap();
        for (base, bytes) in (0..).step_by(10).zip(bytes) {
            let name = segment_file_name(Offset(base), FileKind::Log);
            let file = std::fs::File::create(dir.path().join(name)).unwrap();
            file.set_len(*bytes).unwrap();
        }
        let listed = Storage::list(&RealStorage, dir.path()).unwrap();
        offset_gaps(&RealStorage, dir.path(), &listed, is_wanted)
    }

    #[test]
    fn a_long_segment_without_an_index_is_not_walked() {
        let found = search(&[1 << 40, 1 << 40, 0], &|| true);
        assert_eq!((found.gaps.len(), found.unread), (0, 2));
        // Short ones are: they hold no batch, so nothing is told of them.
        let found = search(&[1 << 10, 1 << 10, 0], &|| true);
        assert_eq!((found.gaps.len(), found.unread), (0, 0));
    }

    #[test]
    fn a_search_that_nobody_waits_for_ends() {
        let asked = AtomicUsize::new(0);
        let found = search(&[1, 1, 0], &|| asked.fetch_add(1, Ordering::Relaxed) == 0);
        assert_eq!(found.unread, 1);
    }
}
