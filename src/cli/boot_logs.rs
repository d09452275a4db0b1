//! What a boot reads of each log, from a plan that read no batch.

use std::path::Path;

use crate::format::file_name::DirName;
use crate::observe::{LoadedDir, LogBytes, SegmentBytes, reads_per_byte};
use crate::plan::{PartitionPlan, RecoveryPlan, StopState};

/// The bytes of an entry of an offset index.
const ENTRY: u64 = 8;
/// The size of an index that is not trimmed: what it holds cannot be told from it (`segment.index.bytes`).
const UNTRIMMED: u64 = 10 << 20;

/// Returns what a boot loads, with log dirs as the broker names them; the metadata log is read before, and counts nowhere.
pub(crate) fn loaded_dirs(plan: &RecoveryPlan) -> Vec<LoadedDir> {
    let dirs = plan.log_dirs.iter();
    dirs.map(|dir| {
        let path = as_its_broker_sees(&dir.path);
        let logs = dir.partitions.iter();
        let logs = logs.filter(|log| !DirName::parse(&log.dir_name).is_cluster_metadata());
        LoadedDir {
            logs: logs
                .map(|log| LogBytes {
                    dir: path.clone(),
                    name: log.dir_name.clone(),
                    segments: segments(log),
                    reads_per_byte: ratio(log),
                })
                .collect(),
            path,
            here: dir.path.clone(),
            is_clean: dir.stop == StopState::Clean,
        }
    })
    .collect()
}

/// Returns what a boot reads of each log.
pub(crate) fn boot_logs(dirs: &[LoadedDir]) -> Vec<LogBytes> {
    dirs.iter()
        .flat_map(|dir| dir.logs.iter().cloned())
        .collect()
}

fn segments(log: &PartitionPlan) -> Vec<SegmentBytes> {
    let read = log.segments.iter().filter(|segment| segment.scanned);
    let mut read: Vec<SegmentBytes> = read
        .map(|segment| SegmentBytes {
            base_offset: segment.base_offset,
            bytes: segment.bytes,
            passes: match index(log, segment.base_offset.0) {
                None if segment.bytes > 0 => 2,
                _ => 1,
            },
        })
        .collect();
    read.sort_by_key(|segment| segment.base_offset);
    read
}

/// Returns the length of the index of a segment; `None` if it is missing.
fn index(log: &PartitionPlan, base_offset: i64) -> Option<u64> {
    let name = format!("{base_offset:020}.index");
    let stamp = log.stamps.iter().find(|stamp| stamp.name == name)?;
    Some(stamp.len)
}

/// Guesses how much is read for a byte, from the closed segments, whose indexes are trimmed and whose records are counted
/// by their neighbours' names.
fn ratio(log: &PartitionPlan) -> Option<f64> {
    let mut sums = (0_u64, 0_u64, 0_u64);
    for pair in log.segments.windows(2) {
        let [segment, next] = pair else { continue };
        let Some(len) = index(log, segment.base_offset.0).filter(|len| *len < UNTRIMMED) else {
            continue;
        };
        let records = next.base_offset.0.saturating_sub(segment.base_offset.0);
        sums.0 += segment.bytes;
        sums.1 += u64::try_from(records).unwrap_or(0);
        sums.2 += len / ENTRY;
    }
    reads_per_byte(sums.0, sums.1, sums.2)
}

/// Returns a path of a container without the way there from here (`/proc/812/root`).
fn as_its_broker_sees(path: &Path) -> String {
    let text = path.display().to_string();
    let inside = text.strip_prefix("/proc/").and_then(|rest| {
        let (pid, inside) = rest.split_once("/root/")?;
        let is_pid = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
        is_pid.then(|| format!("/{inside}"))
    });
    inside.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_s_path_is_as_the_container_sees_it() {
        for (here, there) in [
            ("/proc/812/root/var/lib/kafka", "/var/lib/kafka"),
            ("/var/lib/kafka", "/var/lib/kafka"),
            ("/proc/self/root/x", "/proc/self/root/x"),
        ] {
            assert_eq!(as_its_broker_sees(Path::new(here)), there);
        }
    }
}
