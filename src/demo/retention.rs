//! The embedded broker a week later, under limits that its records half exceed.

use std::fs;
use std::path::Path;

use super::tree::{DemoError, DemoTree, set_properties, write_crashed};
use crate::format::file_name::{FileKind, PartitionFile};
use crate::format::time_index;
use crate::terms::Timestamp;

/// How long after the kill the demo takes place.
const WEEK_MS: i64 = 604_800_000;
/// What a partition may keep: fewer bytes than the larger logs have.
const RETENTION_BYTES: &str = "200000";

/// Unpacks the broker into `folder`, which is there already and empty, as it stands a week later: with a `log.retention.ms`
/// that about half of its segments exceed, and a `log.retention.bytes` that the larger logs exceed.
///
/// # Errors
///
/// The disk's.
pub fn write_retention(folder: &Path) -> Result<DemoTree, DemoError> {
    let mut tree = write_crashed(folder)?;
    tree.now = Timestamp(tree.now.0.saturating_add(WEEK_MS));
    let mut times = Vec::new();
    for log_dir in &tree.log_dirs {
        for dir in fs::read_dir(log_dir).map_err(DemoError::at(log_dir))? {
            let path = dir.map_err(DemoError::at(log_dir))?.path();
            if path.is_dir() {
                collect_times(&path, &mut times)?;
            }
        }
    }
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied();
    let middle = middle.ok_or(DemoError::Missing("time index with an entry"))?;
    let retention_ms = (tree.now.0 - middle.0).to_string();
    set_properties(
        &tree.config,
        &[
            ("log.retention.ms", &retention_ms),
            ("log.retention.bytes", RETENTION_BYTES),
        ],
    )?;
    Ok(tree)
}

/// Collects the largest timestamps of a log's closed segments.
fn collect_times(dir: &Path, times: &mut Vec<Timestamp>) -> Result<(), DemoError> {
    for entry in fs::read_dir(dir).map_err(DemoError::at(dir))? {
        let path = entry.map_err(DemoError::at(dir))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let PartitionFile::Segment {
            kind: FileKind::TimeIndex,
            ..
        } = PartitionFile::parse(&name)
        else {
            continue;
        };
        let bytes = fs::read(&path).map_err(DemoError::at(&path))?;
        let last = time_index::decode(&bytes).next_back();
        // The index of a segment that is written to ends in zeros.
        times.extend(last.map(|entry| entry.timestamp).filter(|at| at.0 > 0));
    }
    Ok(())
}
