//! Snapshots, checkpoints and the other files that are read whole.

use std::path::Path;

use super::row::{Report, Row, Severity};
use super::source::Source;
use crate::cli::CliError;
use crate::format::checkpoint::{CheckpointError, CheckpointFailure};
use crate::format::clean_shutdown::parse_broker_epoch;
use crate::format::meta_properties::{MetaProperties, MetaPropertiesVersion};
use crate::format::offset_checkpoint::OffsetCheckpoint;
use crate::format::partition_metadata::PartitionMetadata;
use crate::format::properties::Properties;
use crate::format::quorum_state::QuorumState;
use crate::format::{leader_epoch_checkpoint, producer_snapshot};

/// The most bytes that are read of such a file; real ones have fewer.
const CAP: usize = 256 << 20;

pub(super) fn producer_snapshot(source: &Source, report: &mut Report<'_>) -> Result<Row, CliError> {
    let entries = match producer_snapshot::decode(&source.read_all(CAP)?) {
        Ok(entries) => entries,
        Err(error) => {
            let text = format!(
                "{}; Kafka deletes it and takes an older one",
                error.kafka_text()
            );
            report.finding("snapshot_corrupt", Severity::Warning, 0, text)?;
            vec![]
        }
    };
    for entry in &entries {
        report.row(
            &Row::new("producer")
                .with("producer_id", entry.producer_id.0)
                .with("producer_epoch", entry.producer_epoch.0)
                .with("last_sequence", entry.last_sequence)
                .with("last_offset", entry.last_offset)
                .with("offset_delta", entry.offset_delta)
                .with("timestamp", entry.timestamp)
                .with("coordinator_epoch", entry.coordinator_epoch)
                .with("current_txn_first_offset", entry.current_txn_first_offset),
        )?;
    }
    Ok(Row::new("summary").with("producers", entries.len()))
}

pub(super) fn offset_checkpoint(
    source: &Source,
    path: &Path,
    report: &mut Report<'_>,
) -> Result<Row, CliError> {
    let checkpoint = match OffsetCheckpoint::parse(&source.read_all(CAP)?) {
        Ok(checkpoint) => checkpoint,
        Err(error) => {
            let effect = match error.failure() {
                CheckpointFailure::Io => {
                    "Kafka takes every entry of the file for missing and the log dir offline"
                }
                CheckpointFailure::IllegalArgument => {
                    "Kafka takes every entry of the file for missing"
                }
            };
            malformed(&error, path, effect, report)?;
            OffsetCheckpoint::default()
        }
    };
    for (partition, offset) in &checkpoint.entries {
        report.row(
            &Row::new("checkpoint_entry")
                .with("topic", partition.topic.as_str())
                .with("partition", partition.partition)
                .with("offset", *offset),
        )?;
    }
    Ok(Row::new("summary").with("entries", checkpoint.entries.len()))
}

pub(super) fn leader_epochs(
    source: &Source,
    path: &Path,
    report: &mut Report<'_>,
) -> Result<Row, CliError> {
    let entries = match leader_epoch_checkpoint::parse(&source.read_all(CAP)?) {
        Ok(entries) => entries,
        Err(error) => {
            let effect = match error.failure() {
                CheckpointFailure::Io => "Kafka takes the log dir offline",
                CheckpointFailure::IllegalArgument => "Kafka does not start with it",
            };
            malformed(&error, path, effect, report)?;
            vec![]
        }
    };
    for entry in &entries {
        report.row(
            &Row::new("epoch")
                .with("epoch", entry.epoch)
                .with("start_offset", entry.start_offset),
        )?;
    }
    Ok(Row::new("summary").with("entries", entries.len()))
}

fn malformed(
    error: &CheckpointError,
    path: &Path,
    effect: &str,
    report: &mut Report<'_>,
) -> Result<(), CliError> {
    let text = error.kafka_text(&path.to_string_lossy());
    let severity = match error.failure() {
        CheckpointFailure::Io => Severity::Fatal,
        CheckpointFailure::IllegalArgument => Severity::Warning,
    };
    report.finding(
        "checkpoint_malformed",
        severity,
        0,
        format!("{text}; {effect}"),
    )?;
    Ok(())
}

pub(super) fn meta_properties(source: &Source, report: &mut Report<'_>) -> Result<Row, CliError> {
    match MetaProperties::parse(&source.read_all(CAP)?) {
        Ok(meta) => report.row(
            &Row::new("meta_properties")
                .with(
                    "version",
                    match meta.version {
                        MetaPropertiesVersion::V0 => 0,
                        MetaPropertiesVersion::V1 => 1,
                    },
                )
                .with("cluster_id", meta.cluster_id)
                .with("node_id", meta.node_id)
                .with("directory_id", meta.directory_id.map(|id| id.to_string())),
        )?,
        Err(error) => {
            let text = format!("{error}; Kafka takes the log dir offline");
            report.finding("log_dir", Severity::Fatal, 0, text)?;
        }
    }
    Ok(Row::new("summary"))
}

pub(super) fn properties(source: &Source, report: &mut Report<'_>) -> Result<Row, CliError> {
    let properties = match Properties::parse(&source.read_all(CAP)?) {
        Ok(properties) => properties,
        Err(error) => {
            report.finding("malformed", Severity::Fatal, 0, error.to_string())?;
            Properties::default()
        }
    };
    for property in &properties.entries {
        report.row(
            &Row::new("property")
                .with("line", property.line)
                .with("key", property.key.as_str())
                .with("value", shown_value(&property.key, &property.value)),
        )?;
    }
    Ok(Row::new("summary").with("entries", properties.entries.len()))
}

/// Returns `value` unless the name of `key` says that it is a secret.
pub(super) fn shown_value<'a>(key: &str, value: &'a str) -> &'a str {
    let key = key.to_ascii_lowercase();
    let is_secret = [
        "password",
        "secret",
        "jaas",
        "credential",
        "keystore.key",
        "token",
    ]
    .iter()
    .any(|word| key.contains(word));
    if is_secret { "[hidden]" } else { value }
}

pub(super) fn partition_metadata(
    source: &Source,
    report: &mut Report<'_>,
) -> Result<Row, CliError> {
    match PartitionMetadata::parse(&source.read_all(CAP)?) {
        Ok(metadata) => report.row(
            &Row::new("partition_metadata")
                .with("version", metadata.version)
                .with("topic_id", metadata.topic_id.to_string()),
        )?,
        Err(error) => {
            let effect = if error.is_fatal() {
                "Kafka does not start with it"
            } else {
                "Kafka takes the log dir offline"
            };
            let text = format!("{error}; {effect}");
            report.finding("partition_metadata", Severity::Fatal, 0, text)?;
        }
    }
    Ok(Row::new("summary"))
}

pub(super) fn clean_shutdown(source: &Source, report: &mut Report<'_>) -> Result<Row, CliError> {
    let epoch = parse_broker_epoch(&source.read_all(CAP)?);
    report.row(&Row::new("clean_shutdown").with("broker_epoch", epoch))?;
    Ok(Row::new("summary"))
}

pub(super) fn quorum_state(source: &Source, report: &mut Report<'_>) -> Result<Row, CliError> {
    match QuorumState::parse(&source.read_all(CAP)?) {
        Ok(state) => report.row(
            &Row::new("quorum_state")
                .with("data_version", state.data_version)
                .with("leader_id", state.leader_id)
                .with("leader_epoch", state.leader_epoch)
                .with("voted_id", state.voted_id)
                .with(
                    "voted_directory_id",
                    state.voted_directory_id.map(|id| id.to_string()),
                )
                .with("current_voters", state.current_voters),
        )?,
        Err(error) => {
            let text = format!("{error}; the node does not start with it");
            report.finding("malformed", Severity::Fatal, 0, text)?;
        }
    }
    Ok(Row::new("summary"))
}
