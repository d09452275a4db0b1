//! Segments that are missing from the middle of a log, for who has only listed its dir.

use std::path::Path;

use super::log_facts::{Gaps, LogFiles, LogRead, group};
use crate::disk::{Listed, Pace, Storage};
use crate::log::GapSearch;

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
