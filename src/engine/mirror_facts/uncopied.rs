//! The segment of the first record that is not copied: by its largest timestamp and by the bytes behind it retention goes.

use std::path::Path;

use super::batches::segments_in;
use super::log_end::log_end;
use crate::disk::{Pace, ReadManner, Storage, WindowBuffer};
use crate::engine::segments::last_written_time;
use crate::mirror::{ClusterFacts, SecondLook, UncopiedFact};
use crate::terms::{Offset, Timestamp};

/// Looks for the segments in the partition dirs of `host` that `facts` name; what cannot be read stays absent.
pub fn read_uncopied(
    storage: &dyn Storage,
    look: &SecondLook,
    host: &str,
    facts: &mut ClusterFacts,
) {
    for (partition, first) in &look.uncopied {
        let log = facts.log(&partition.topic, partition.partition);
        // Facts of another host name dirs of that host.
        let here = log.filter(|log| log.host == host && !log.dir.is_empty());
        let Some(dir) = here.map(|log| log.dir.clone()) else {
            continue;
        };
        if let Some((timestamp, bytes)) = segment_of(storage, Path::new(&dir), *first) {
            let here = facts.uncopied.entry(partition.topic.clone()).or_default();
            let fact = UncopiedFact {
                offset: *first,
                timestamp,
                bytes_behind: Some(bytes),
            };
            here.insert(partition.partition, fact);
        }
    }
}

/// Returns the largest timestamp of the segment with `offset`, and the bytes of those behind it.
fn segment_of(storage: &dyn Storage, dir: &Path, offset: Offset) -> Option<(Timestamp, u64)> {
    let bases = segments_in(storage, dir).ok()?;
    let at = bases.partition_point(|(base, ..)| *base <= offset).max(1);
    let (base, name, _) = bases.get(at - 1)?;
    let behind = bases.iter().skip(at).map(|(.., len)| len).sum();
    let in_index = || {
        let file = storage
            .open(&dir.join(name.replace(".log", ".timeindex")))
            .ok()?;
        let len = file.file_len().ok()?;
        last_written_time(&*file, len).ok()?
    };
    // The last segment's index may lack its end; its last batch is read instead.
    let at_end = || {
        let pace = Pace::limited(None);
        let counter = std::sync::atomic::AtomicU64::new(0);
        let manner = ReadManner {
            pace: &pace,
            keeps_cache: true,
            counter: &counter,
        };
        let mut buffer = WindowBuffer::default();
        let end = log_end(storage, (dir, *base, name), manner, &mut buffer).ok()?;
        end.newest_timestamp
    };
    let is_last = at >= bases.len();
    let indexed = in_index();
    let newest = if is_last {
        indexed.max(at_end())
    } else {
        indexed
    };
    newest.map(|newest| (newest, behind))
}
