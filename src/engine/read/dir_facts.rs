//! What a log dir says beside its partition dirs: marker, checkpoints, names that a boot refuses.

use std::path::{Path, PathBuf};

use crate::disk::{DiskError, LogDirListing, Storage, Volume};
use crate::format::checkpoint::CheckpointFailure;
use crate::format::file_name::{
    CLEAN_SHUTDOWN_MARKER, CLEANER_CHECKPOINT, DirName, HIGH_WATERMARK_CHECKPOINT,
    LOG_START_CHECKPOINT, META_PROPERTIES, RECOVERY_POINT_CHECKPOINT,
};
use crate::format::offset_checkpoint::OffsetCheckpoint;
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::{FileStamp, StopState};

/// The files whose state belongs to a log dir's plan.
pub(in crate::engine) const STAMPED: [&str; 6] = [
    CLEAN_SHUTDOWN_MARKER,
    CLEANER_CHECKPOINT,
    LOG_START_CHECKPOINT,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
];

/// The largest checkpoint that is read: 100 bytes an entry for 1,000,000 partitions.
const MAX_CHECKPOINT: u64 = 100_000_000;

/// A log dir that could be listed.
#[derive(Debug)]
pub(in crate::engine) struct DirFacts {
    /// The log dir as the operator named it.
    pub(in crate::engine) path: PathBuf,
    /// How its broker stopped.
    pub(in crate::engine) stop: StopState,
    /// Its names.
    pub(in crate::engine) listing: LogDirListing,
    /// Where it lies; `None` if the system does not tell.
    pub(in crate::engine) volume: Option<Volume>,
    /// What a boot takes for recovery points: nothing where the checkpoint is malformed.
    pub(in crate::engine) recovery_points: OffsetCheckpoint,
    /// What a boot takes for log starts.
    pub(in crate::engine) log_starts: OffsetCheckpoint,
    /// The high watermarks, as far as they can be read.
    pub(in crate::engine) high_watermarks: OffsetCheckpoint,
    /// Where the cleaner goes on, as far as it can be read.
    pub(in crate::engine) cleaner_offsets: OffsetCheckpoint,
    /// Whether a malformed checkpoint takes the dir offline after its logs are loaded.
    pub(in crate::engine) checkpoint_io_error: bool,
    /// Why no log of the dir can be planned: a checkpoint that decides cannot be read.
    pub(in crate::engine) unreadable: Option<String>,
    /// What was seen.
    pub(in crate::engine) findings: Vec<Finding>,
    /// Marker and checkpoints as they are.
    pub(in crate::engine) stamps: Vec<FileStamp>,
}

impl DirFacts {
    /// Reads a log dir's own files; an error says that it cannot be listed.
    pub(in crate::engine) fn read(storage: &dyn Storage, path: &Path) -> Result<Self, DiskError> {
        let listing = LogDirListing::read(storage, path)?;
        let stop = if listing.has_marker() {
            StopState::Clean
        } else {
            StopState::Unclean
        };
        let mut facts = Self {
            path: path.to_owned(),
            stop,
            volume: Volume::of(path).ok(),
            recovery_points: OffsetCheckpoint::default(),
            log_starts: OffsetCheckpoint::default(),
            high_watermarks: OffsetCheckpoint::default(),
            cleaner_offsets: OffsetCheckpoint::default(),
            checkpoint_io_error: false,
            unreadable: None,
            findings: Vec::new(),
            stamps: stamps(&listing),
            listing,
        };
        facts.read_checkpoints(storage);
        facts.look_at_names(storage);
        Ok(facts)
    }

    fn read_checkpoints(&mut self, storage: &dyn Storage) {
        self.recovery_points = self.deciding(
            storage,
            RECOVERY_POINT_CHECKPOINT,
            "every log is scanned from its start",
            "remove it: its absence costs a full scan, no data",
        );
        self.log_starts = self.deciding(
            storage,
            LOG_START_CHECKPOINT,
            "every log starts at its first segment, and deleted records come back",
            "restore it from its .tmp if that is whole, else remove it",
        );
        let high_watermarks = self.checkpoint(storage, HIGH_WATERMARK_CHECKPOINT);
        self.high_watermarks = high_watermarks.unwrap_or_else(|problem| {
            self.findings.push(
                problem
                    .finding(
                        HIGH_WATERMARK_CHECKPOINT,
                        "the dir goes offline when its first partition is assigned",
                        "partitions stay unassigned although the broker looks started",
                    )
                    .next("remove it before the boot: high watermarks then start at 0 until a leader tells"),
            );
            OffsetCheckpoint::default()
        });
        let cleaner_offsets = self.checkpoint(storage, CLEANER_CHECKPOINT);
        self.cleaner_offsets = cleaner_offsets.unwrap_or_else(|problem| {
            self.findings.push(
                problem
                    .finding(
                        CLEANER_CHECKPOINT,
                        "the dir goes offline",
                        "the log cleaner dies and the broker looks healthy",
                    )
                    .next("remove it before the boot: compaction then starts over once"),
            );
            OffsetCheckpoint::default()
        });
    }

    /// Reads a checkpoint that decides what a boot makes of each log.
    fn deciding(
        &mut self,
        storage: &dyn Storage,
        name: &str,
        effect: &str,
        next: &str,
    ) -> OffsetCheckpoint {
        match self.checkpoint(storage, name) {
            Ok(checkpoint) => return checkpoint,
            Err(Problem::Unreadable(cause)) => self.unreadable = Some(cause),
            Err(problem @ Problem::Malformed { .. }) => {
                self.checkpoint_io_error |= problem.takes_offline();
                let offline = format!("{effect}, then the dir goes offline");
                self.findings
                    .push(problem.finding(name, &offline, effect).next(next));
            }
        }
        OffsetCheckpoint::default()
    }

    fn checkpoint(&self, storage: &dyn Storage, name: &str) -> Result<OffsetCheckpoint, Problem> {
        if self.listing.entry(name).is_none() {
            return Ok(OffsetCheckpoint::default());
        }
        let path = self.path.join(name);
        match read_whole(storage, &path, MAX_CHECKPOINT) {
            Ok(bytes) => OffsetCheckpoint::parse(&bytes).map_err(|error| Problem::Malformed {
                text: error.kafka_text(&path.display().to_string()),
                failure: error.failure(),
            }),
            Err(error) if error.is_not_found() => Ok(OffsetCheckpoint::default()),
            Err(error) => Err(Problem::Unreadable(error.sentence())),
        }
    }

    fn look_at_names(&mut self, storage: &dyn Storage) {
        let mut findings = Vec::new();
        let log_dir = |severity, text: String| Finding::new(FindingCode::LogDir, severity, text);
        if self.listing.is_empty() {
            findings.push(
                log_dir(
                    Severity::Fatal,
                    "the log dir is empty: a broker that was formatted does not start".to_owned(),
                )
                .next("look whether its volume is mounted before anything is formatted"),
            );
        } else if !self.listing.has_meta_properties() {
            findings.push(
                log_dir(
                    Severity::Warning,
                    "there is no meta.properties: a KRaft broker does not start".to_owned(),
                )
                .next("look whether this is the right dir and its volume is mounted"),
            );
        } else if self
            .listing
            .file(META_PROPERTIES)
            .is_some_and(|stat| stat.len == 0)
        {
            findings.push(
                log_dir(
                    Severity::Fatal,
                    "meta.properties is empty: the broker does not start".to_owned(),
                )
                .file(META_PROPERTIES)
                .next(
                    "restore it from another log dir of this broker, with this dir's directory.id",
                ),
            );
        }
        for dir in self.listing.sub_dirs() {
            if dir.parsed == DirName::Invalid {
                findings.push(
                    Finding::new(
                        FindingCode::ForeignName,
                        Severity::Fatal,
                        format!(
                            "the broker does not start: Found directory {0}, '{1}' is not in the form of \
                             topic-partition or topic-partition.uniqueId-delete (if marked for deletion).",
                            self.path.join(&dir.name).display(),
                            dir.name
                        ),
                    )
                    .next(what_to_do(storage, &self.path.join(&dir.name)))
                    .file(dir.name),
                );
            }
        }
        self.findings.append(&mut findings);
    }
}

/// Returns what to do with a dir that no broker takes.
fn what_to_do(storage: &dyn Storage, dir: &Path) -> &'static str {
    if dir.file_name().is_none_or(|name| name != "lost+found") {
        return "move it out of the log dir";
    }
    match storage.list(dir) {
        Ok(entries) if entries.is_empty() => {
            "remove it with rmdir, it is empty; e2fsck makes it again, so move log.dirs one level down"
        }
        _ => {
            "move log.dirs one level down; what a file system check saved may lie in it, so delete nothing"
        }
    }
}

/// Why a checkpoint gives nothing.
enum Problem {
    Malformed {
        text: String,
        failure: CheckpointFailure,
    },
    Unreadable(String),
}

impl Problem {
    fn takes_offline(&self) -> bool {
        matches!(
            self,
            Self::Malformed {
                failure: CheckpointFailure::Io,
                ..
            }
        )
    }

    fn finding(&self, name: &str, if_io: &str, if_number: &str) -> Finding {
        match self {
            Self::Malformed { text, .. } => {
                let effect = if self.takes_offline() {
                    if_io
                } else {
                    if_number
                };
                Finding::new(
                    FindingCode::CheckpointMalformed,
                    Severity::Fatal,
                    format!("{text}: {effect}"),
                )
                .file(name)
            }
            Self::Unreadable(cause) => {
                Finding::new(FindingCode::Unreadable, Severity::Fatal, cause.clone()).file(name)
            }
        }
    }
}

/// Reads a whole file of at most `limit` bytes.
pub(in crate::engine) fn read_whole(
    storage: &dyn Storage,
    path: &Path,
    limit: u64,
) -> Result<Vec<u8>, DiskError> {
    use crate::disk::DiskAction::Read;
    let file = storage.open(path)?;
    let error = |source| DiskError::new(Read, path, source);
    let len = file.opened_len().map_err(error)?;
    let size = usize::try_from(len)
        .ok()
        .filter(|_| len <= limit)
        .ok_or_else(|| {
            let text = format!("{len} bytes are more than the {limit} that such a file may have");
            DiskError::new(Read, path, std::io::Error::other(text))
        })?;
    let mut bytes = vec![0; size];
    let read = file.fill(&mut bytes, 0).map_err(error)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Returns the state of the files of a log dir that its plan depends on.
pub(in crate::engine) fn stamps(listing: &LogDirListing) -> Vec<FileStamp> {
    STAMPED
        .iter()
        .filter_map(|name| {
            let stat = listing.entry(name)?;
            Some(FileStamp {
                name: (*name).to_owned(),
                inode: stat.inode,
                len: stat.len,
                mtime_ns: stat.mtime_ns,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealStorage;
    use crate::terms::{Offset, TopicPartition};

    fn facts_with(files: &[(&str, &[u8])]) -> DirFacts {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            std::fs::write(dir.path().join(name), bytes).unwrap();
        }
        DirFacts::read(&RealStorage, dir.path()).unwrap()
    }

    fn codes(facts: &DirFacts) -> Vec<(FindingCode, Option<&str>)> {
        facts
            .findings
            .iter()
            .map(|finding| (finding.code, finding.file.as_deref()))
            .collect()
    }

    #[test]
    fn sound_checkpoints_are_read_and_say_nothing() {
        let facts = facts_with(&[
            (META_PROPERTIES, b"version=1\n"),
            (RECOVERY_POINT_CHECKPOINT, b"0\n1\nt 0 42\n"),
            (LOG_START_CHECKPOINT, b""),
            (CLEAN_SHUTDOWN_MARKER, b""),
        ]);
        assert_eq!(facts.stop, StopState::Clean);
        assert_eq!(codes(&facts), []);
        let partition = TopicPartition::new("t", 0);
        assert_eq!(facts.recovery_points.get(&partition), Some(Offset(42)));
        assert_eq!(facts.stamps.len(), 4);
    }

    #[test]
    fn a_malformed_recovery_point_checkpoint_counts_as_empty_and_takes_the_dir_offline() {
        let facts = facts_with(&[
            (META_PROPERTIES, b"version=1\n"),
            (RECOVERY_POINT_CHECKPOINT, b"0\n9\nt 0 42\n"),
        ]);
        assert!(facts.checkpoint_io_error);
        assert_eq!(facts.recovery_points, OffsetCheckpoint::default());
        assert_eq!(
            codes(&facts),
            [(
                FindingCode::CheckpointMalformed,
                Some(RECOVERY_POINT_CHECKPOINT)
            )]
        );
    }

    #[test]
    fn a_number_that_is_none_does_not_take_the_dir_offline() {
        let facts = facts_with(&[
            (META_PROPERTIES, b"version=1\n"),
            (RECOVERY_POINT_CHECKPOINT, b"0\n1\nt 0 five\n"),
        ]);
        assert!(!facts.checkpoint_io_error);
        assert_eq!(facts.findings.len(), 1);
    }

    #[test]
    fn a_dir_in_place_of_a_deciding_checkpoint_leaves_all_logs_alone() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(META_PROPERTIES), b"version=1\n").unwrap();
        std::fs::create_dir(dir.path().join(RECOVERY_POINT_CHECKPOINT)).unwrap();
        let facts = DirFacts::read(&RealStorage, dir.path()).unwrap();
        assert!(facts.unreadable.is_some());
    }

    #[test]
    fn an_empty_dir_and_foreign_dirs_stop_a_boot() {
        assert_eq!(codes(&facts_with(&[])), [(FindingCode::LogDir, None)]);
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(META_PROPERTIES), b"version=1\n").unwrap();
        std::fs::create_dir(dir.path().join("lost+found")).unwrap();
        let facts = DirFacts::read(&RealStorage, dir.path()).unwrap();
        assert_eq!(
            codes(&facts),
            [(FindingCode::ForeignName, Some("lost+found"))]
        );
        assert!(DirFacts::read(&RealStorage, &dir.path().join("none")).is_err());
    }
}
