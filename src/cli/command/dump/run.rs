//! Which decoder a file's name asks for.

use std::io::Write;
use std::path::Path;

use super::batches::dump_batches;
use super::records::RecordKind;
use super::row::{Report, Row};
use super::source::Source;
use super::{index, small_file};
use crate::cli::{CliError, Exit};
use crate::format::file_name::{
    CLEAN_SHUTDOWN_MARKER, CLEANED_SUFFIX, DELETED_SUFFIX, DirName, FileKind,
    LEADER_EPOCH_CHECKPOINT, META_PROPERTIES, PARTITION_METADATA, QUORUM_STATE, SWAP_SUFFIX,
    leading_offset,
};
use crate::terms::Offset;

/// How far a log is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DumpDepth {
    /// Batches.
    Batches,
    /// Batches and the records in them.
    Records,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Segment { base_offset: Option<Offset> },
    Metadata,
    Index { base_offset: Option<Offset> },
    TimeIndex { base_offset: Option<Offset> },
    TxnIndex,
    ProducerSnapshot,
    OffsetCheckpoint,
    LeaderEpochs,
    MetaProperties,
    Properties,
    PartitionMetadata,
    CleanShutdown,
    QuorumState,
}

impl Content {
    fn name(self) -> &'static str {
        match self {
            Self::Segment { .. } => "segment",
            Self::Metadata => "metadata",
            Self::Index { .. } => "offset_index",
            Self::TimeIndex { .. } => "time_index",
            Self::TxnIndex => "transaction_index",
            Self::ProducerSnapshot => "producer_snapshot",
            Self::OffsetCheckpoint => "offset_checkpoint",
            Self::LeaderEpochs => "leader_epochs",
            Self::MetaProperties => "meta_properties",
            Self::Properties => "properties",
            Self::PartitionMetadata => "partition_metadata",
            Self::CleanShutdown => "clean_shutdown_marker",
            Self::QuorumState => "quorum_state",
        }
    }

    /// Tells the content from a file's name and its dir's.
    fn of(name: &str, dir_name: &str) -> Option<Self> {
        let mut stem = name;
        for suffix in [DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX, ".tmp", ".part"] {
            stem = stem.strip_suffix(suffix).unwrap_or(stem);
        }
        let base_offset = leading_offset(name);
        let is = |kind: FileKind| stem.ends_with(kind.suffix());
        let content = match stem {
            LEADER_EPOCH_CHECKPOINT => Self::LeaderEpochs,
            META_PROPERTIES => Self::MetaProperties,
            PARTITION_METADATA => Self::PartitionMetadata,
            CLEAN_SHUTDOWN_MARKER => Self::CleanShutdown,
            QUORUM_STATE => Self::QuorumState,
            _ if stem.ends_with("-offset-checkpoint") => Self::OffsetCheckpoint,
            _ if stem.ends_with(".checkpoint") => Self::Metadata,
            _ if stem.ends_with(".properties") => Self::Properties,
            _ if is(FileKind::Log) && DirName::parse(dir_name).is_cluster_metadata() => {
                Self::Metadata
            }
            _ if is(FileKind::Log) => Self::Segment { base_offset },
            _ if is(FileKind::TimeIndex) => Self::TimeIndex { base_offset },
            _ if is(FileKind::TxnIndex) => Self::TxnIndex,
            _ if is(FileKind::Index) => Self::Index { base_offset },
            _ if is(FileKind::Snapshot) => Self::ProducerSnapshot,
            _ => return None,
        };
        Some(content)
    }
}

/// Decodes the file at `path` by its name and reports it to `out`, as text or as JSON lines.
///
/// Returns [`Exit::Findings`] if anything in it is wrong.
///
/// # Errors
///
/// A name that says nothing, or a file that cannot be read.
pub fn dump(
    path: &Path,
    depth: DumpDepth,
    json: bool,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let text = |part: Option<&std::ffi::OsStr>| {
        part.map(|part| part.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let name = text(path.file_name());
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let dir_name = text(absolute.parent().and_then(Path::file_name));
    let content = Content::of(&name, &dir_name).ok_or_else(|| {
        CliError::usage(format!("cannot tell from the name what {name:?} holds"))
            .hint("A file is decoded by the name that it has in a log dir.")
    })?;
    let source = Source::open(path)?;
    let mut report = Report::new(out, json, name);
    report.row(
        &Row::new("file")
            .with("path", path.to_string_lossy().into_owned())
            .with("content", content.name())
            .with("bytes", source.len()),
    )?;
    let summary = match content {
        Content::Segment { base_offset } => {
            dump_batches(&source, base_offset, (RecordKind::Data, depth), &mut report)
        }
        Content::Metadata => {
            dump_batches(&source, None, (RecordKind::Metadata, depth), &mut report)
        }
        Content::Index { base_offset } => index::offset_index(&source, base_offset, &mut report),
        Content::TimeIndex { base_offset } => index::time_index(&source, base_offset, &mut report),
        Content::TxnIndex => index::txn_index(&source, &mut report),
        Content::ProducerSnapshot => small_file::producer_snapshot(&source, &mut report),
        Content::OffsetCheckpoint => small_file::offset_checkpoint(&source, path, &mut report),
        Content::LeaderEpochs => small_file::leader_epochs(&source, path, &mut report),
        Content::MetaProperties => small_file::meta_properties(&source, &mut report),
        Content::Properties => small_file::properties(&source, &mut report),
        Content::PartitionMetadata => small_file::partition_metadata(&source, &mut report),
        Content::CleanShutdown => small_file::clean_shutdown(&source, &mut report),
        Content::QuorumState => small_file::quorum_state(&source, &mut report),
    }?;
    let findings = report.findings();
    let exit = if findings == 0 {
        Exit::Ok
    } else {
        Exit::Findings
    };
    report.row(&summary.with("findings", findings).with("exit", exit.code()))?;
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_what_a_file_holds() {
        let of = |name| Content::of(name, "t-0").map(Content::name);
        for (name, content) in [
            ("00000000000000000042.log", Some("segment")),
            ("00000000000000000042.log.deleted", Some("segment")),
            ("00000000000000000042.timeindex.swap", Some("time_index")),
            ("00000000000000000042.index.cleaned", Some("offset_index")),
            ("00000000000000000042.txnindex", Some("transaction_index")),
            ("00000000000000000042.snapshot", Some("producer_snapshot")),
            (
                "recovery-point-offset-checkpoint",
                Some("offset_checkpoint"),
            ),
            ("cleaner-offset-checkpoint.tmp", Some("offset_checkpoint")),
            ("leader-epoch-checkpoint", Some("leader_epochs")),
            ("bootstrap.checkpoint", Some("metadata")),
            (
                "00000000000000000166-0000000001.checkpoint.deleted",
                Some("metadata"),
            ),
            ("server.properties", Some("properties")),
            ("meta.properties", Some("meta_properties")),
            ("partition.metadata", Some("partition_metadata")),
            (".kafka_cleanshutdown", Some("clean_shutdown_marker")),
            ("quorum-state", Some("quorum_state")),
            (".lock", None),
            ("core.1234", None),
        ] {
            assert_eq!(of(name), content, "{name}");
        }
        let log = "00000000000000000000.log";
        assert_eq!(
            Content::of(log, "__cluster_metadata-0"),
            Some(Content::Metadata)
        );
    }
}
