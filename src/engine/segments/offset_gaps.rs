//! Segments that are missing from the middle of a log, for who has only listed its dir.

use std::path::Path;

use super::log_facts::{Gaps, LogFiles, LogRead, group};
use crate::disk::{Listed, Pace, Storage};
use crate::log::OffsetGap;

/// Returns where segments of a partition dir do not follow each other, by the ends of those that span too many offsets for
/// their bytes. Not for a compacted log, which has holes by nature, nor for one that a broker writes to.
pub(in crate::engine) fn offset_gaps(
    storage: &dyn Storage,
    dir: &Path,
    listed: &[Listed],
) -> Vec<OffsetGap> {
    let pace = Pace::unlimited();
    let files = LogFiles {
        storage,
        pace: &pace,
        is_live: false,
    };
    let (groups, _) = group(listed);
    LogRead::new(&files, dir).gaps(&groups, Gaps::Suspects)
}
