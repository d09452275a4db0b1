//! Facts for the tests of rules.

use std::path::PathBuf;

use super::facts::{
    Access, BootFacts, ConfigFacts, DirState, EntryFacts, HostFacts, LockFacts, LogDirFacts,
    PartitionFacts, SmallFile,
};
use crate::format::file_name::{CLEAN_SHUTDOWN_MARKER, DirName};
use crate::log::GapSearch;
use crate::plan::EntryKind;
use crate::terms::{KafkaVersion, Offset, Timestamp};

/// Returns facts of a broker of 4.4.0 with these log dirs, of which nothing else is known.
pub(super) fn facts(dirs: Vec<LogDirFacts>) -> BootFacts {
    BootFacts {
        version: KafkaVersion::new(4, 4, 0),
        now: Timestamp(0),
        config: ConfigFacts::default(),
        user: None,
        dirs,
        host: HostFacts::default(),
        image: None,
    }
}

fn entry(name: &str, len: u64) -> EntryFacts {
    EntryFacts {
        name: name.to_owned(),
        kind: EntryKind::File,
        access: Access::default(),
        len,
        mtime_ns: 0,
        inode: 0,
        children: None,
    }
}

/// Returns a log dir that was stopped cleanly or not.
pub(super) fn log_dir(path: &str, is_clean: bool, partitions: Vec<PartitionFacts>) -> LogDirFacts {
    let marker = is_clean.then(|| entry(CLEAN_SHUTDOWN_MARKER, 0));
    LogDirFacts {
        path: PathBuf::from(path),
        has_logs: true,
        state: DirState::Listed,
        access: Access::default(),
        volume: None,
        entries: marker.into_iter().collect(),
        meta: SmallFile::Missing,
        checkpoints: Vec::new(),
        lock: LockFacts::Free,
        partitions,
        quorum_state: SmallFile::Missing,
    }
}

/// Returns a log whose segments have these bytes; segment `n` begins at offset `1000 n`.
pub(super) fn log(name: &str, recovery_point: i64, segments: &[u64]) -> PartitionFacts {
    let entries = segments.iter().zip(0_i64..);
    PartitionFacts {
        dir_name: name.to_owned(),
        parsed: DirName::parse(name),
        access: Access::default(),
        unreadable: None,
        entries: entries
            .map(|(bytes, number)| entry(&format!("{:020}.log", number * 1000), *bytes))
            .collect(),
        metadata: SmallFile::Missing,
        epochs: SmallFile::Missing,
        epochs_in_log: None,
        recovery_point: Offset(recovery_point),
        gaps: GapSearch::default(),
    }
}
