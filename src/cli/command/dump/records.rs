//! The records of a batch.

use super::row::{Report, Row, Severity, Value};
use super::small_file::shown_value;
use crate::cli::CliError;
use crate::format::Cursor;
use crate::format::control_record::ControlType;
use crate::format::legacy_message::LegacyMessage;
use crate::format::metadata_record::{
    MetadataRecord, ResourceType, decode_kraft_version, decode_leader_change,
    decode_snapshot_header, decode_voters, record_type_name,
};
use crate::format::record::{Record, Records, plain_records};
use crate::format::record_batch::BatchHeader;
use crate::terms::Uuid;

/// The most plain bytes of a batch that are shown.
const PLAIN_CAP: usize = 256 << 20;

/// What the records of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// Anybody's.
    Data,
    /// KRaft's.
    Metadata,
}

/// Reports the records of the batch at `position`.
pub(super) fn dump_records(
    header: &BatchHeader,
    payload: &[u8],
    (kind, position): (RecordKind, u64),
    report: &mut Report<'_>,
) -> Result<(), CliError> {
    let plain = match plain_records(header, payload, PLAIN_CAP) {
        Ok(plain) => plain,
        Err(error) => {
            report.finding(
                "record_invalid",
                Severity::Warning,
                position,
                error.to_string(),
            )?;
            return Ok(());
        }
    };
    for record in Records::new(header, &plain) {
        let row = match record {
            Err(error) => Err(error.to_string()),
            Ok(record) if header.attributes.is_control() => control_row(&record),
            Ok(record) if kind == RecordKind::Metadata => metadata_row(&record),
            Ok(record) => Ok(record_row(&record)),
        };
        match row {
            Ok(row) => report.row(&row)?,
            Err(text) => report.finding("record_invalid", Severity::Warning, position, text)?,
        }
    }
    Ok(())
}

/// Reports messages of magic 0 and 1.
pub(super) fn dump_messages(
    messages: &[LegacyMessage],
    report: &mut Report<'_>,
) -> Result<(), CliError> {
    for message in messages {
        let row = Row::new("record")
            .with("offset", message.offset)
            .with("timestamp", message.timestamp);
        let row = with_bytes(row, ["key", "key_hex"], message.key.as_deref());
        report.row(&with_bytes(
            row,
            ["value", "value_hex"],
            message.value.as_deref(),
        ))?;
    }
    Ok(())
}

fn record_row(record: &Record<'_>) -> Row {
    let row = Row::new("record")
        .with("offset", record.offset)
        .with("timestamp", record.timestamp)
        .with("sequence", record.sequence);
    let row = with_bytes(row, ["key", "key_hex"], record.key);
    let row = with_bytes(row, ["value", "value_hex"], record.value);
    let headers: Vec<Value> = record
        .headers()
        .map(|(key, value)| Value::List(vec![bytes_value(key), value.map(bytes_value).into()]))
        .collect();
    row.with("headers", headers)
}

fn base_row(kind: &'static str, record: &Record<'_>) -> Row {
    Row::new(kind)
        .with("offset", record.offset)
        .with("timestamp", record.timestamp)
}

fn control_row(record: &Record<'_>) -> Result<Row, String> {
    let key = record.key.unwrap_or_default();
    let kind = ControlType::decode_key(key).map_err(|error| error.to_string())?;
    let row = base_row("control_record", record).with("type", kind.to_string());
    let value = record.value.unwrap_or_default();
    let fail = |error: crate::format::FormatError| format!("value of {kind}: {error}");
    Ok(match kind {
        ControlType::Abort | ControlType::Commit => {
            let mut cursor = Cursor::new(value);
            cursor.i16().map_err(fail)?;
            row.with("coordinator_epoch", cursor.i32().map_err(fail)?)
        }
        ControlType::LeaderChange => row.with(
            "leader_id",
            decode_leader_change(value).map_err(fail)?.leader_id,
        ),
        ControlType::SnapshotHeader => {
            let header = decode_snapshot_header(value).map_err(fail)?;
            row.with(
                "last_contained_log_timestamp",
                header.last_contained_log_timestamp,
            )
        }
        ControlType::KRaftVersion => {
            row.with("kraft_version", decode_kraft_version(value).map_err(fail)?)
        }
        ControlType::KRaftVoters => {
            let voters = decode_voters(value).map_err(fail)?;
            let voters: Vec<_> = voters.iter().map(ToString::to_string).collect();
            row.with("voters", voters.join(", "))
        }
        ControlType::SnapshotFooter | ControlType::Unknown(_) => row,
    })
}

fn metadata_row(record: &Record<'_>) -> Result<Row, String> {
    let value = record.value.unwrap_or_default();
    let fail =
        |error: crate::format::FormatError| format!("record at offset {}: {error}", record.offset);
    let kind = MetadataRecord::decode_type(value).map_err(fail)?;
    let name = record_type_name(kind.key).map_or_else(|| kind.key.to_string(), str::to_owned);
    let row = base_row("metadata_record", record)
        .with("type", name)
        .with("version", kind.version);
    Ok(metadata_fields(
        row,
        MetadataRecord::decode(value).map_err(fail)?,
    ))
}

fn metadata_fields(row: Row, record: MetadataRecord) -> Row {
    match record {
        MetadataRecord::Topic { name, topic_id } => row
            .with("name", name)
            .with("topic_id", topic_id.to_string()),
        MetadataRecord::RemoveTopic { topic_id } => row.with("topic_id", topic_id.to_string()),
        MetadataRecord::Partition(it) => row
            .with("topic_id", it.topic_id.to_string())
            .with("partition", it.partition)
            .with("replicas", it.replicas)
            .with("isr", it.isr)
            .with("leader", it.leader)
            .with("leader_epoch", it.leader_epoch)
            .with("partition_epoch", it.partition_epoch)
            .with("directories", uuids(&it.directories))
            .with("elr", it.elr)
            .with("last_known_elr", it.last_known_elr),
        MetadataRecord::PartitionChange(it) => row
            .with("topic_id", it.topic_id.to_string())
            .with("partition", it.partition)
            .with("replicas", it.replicas)
            .with("isr", it.isr)
            .with("leader", it.leader)
            .with("directories", it.directories.map(|ids| uuids(&ids)))
            .with("elr", it.elr)
            .with("last_known_elr", it.last_known_elr),
        MetadataRecord::ClientQuota(it) => {
            let part = |(kind, name): &(String, Option<String>)| {
                format!("{kind}={}", name.as_deref().unwrap_or("<default>"))
            };
            row.with("entity", it.entity.iter().map(part).collect::<Vec<_>>())
                .with("key", it.key.as_str())
                .with("value", it.value.map(|value| value.to_string()))
        }
        MetadataRecord::ClearElr { topic } => row.with("topic", topic),
        MetadataRecord::Config(it) => {
            let value = it.value.as_deref();
            let shown = value.map(|value| match it.resource_type {
                ResourceType::Topic => value,
                _ => shown_value(&it.key, value),
            });
            row.with("resource_type", it.resource_type.to_string())
                .with("resource", it.resource_name.as_str())
                .with("key", it.key.as_str())
                .with("value", shown)
        }
        MetadataRecord::RegisterBroker(it) => row
            .with("broker_id", it.broker_id)
            .with("broker_epoch", it.broker_epoch)
            .with("incarnation_id", it.incarnation_id.to_string())
            .with("rack", it.rack)
            .with("fenced", it.fenced)
            .with("log_dirs", uuids(&it.log_dirs)),
        MetadataRecord::UnregisterBroker { broker_id } => row.with("broker_id", broker_id),
        MetadataRecord::FenceBroker { broker_id, fenced } => {
            row.with("broker_id", broker_id).with("fenced", fenced)
        }
        MetadataRecord::BrokerRegistrationChange(it) => row
            .with("broker_id", it.broker_id)
            .with("broker_epoch", it.broker_epoch)
            .with("fencing", format!("{:?}", it.fenced).to_ascii_lowercase())
            .with("log_dirs", uuids(&it.log_dirs)),
        MetadataRecord::FeatureLevel { name, level } => row.with("name", name).with("level", level),
        MetadataRecord::BeginTransaction
        | MetadataRecord::EndTransaction
        | MetadataRecord::AbortTransaction
        | MetadataRecord::Other(_) => row,
    }
}

fn uuids(ids: &[Uuid]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

/// Adds bytes under the first of `names` if they are text, else in hexadecimal digits under the second.
fn with_bytes(row: Row, [text, hex]: [&'static str; 2], bytes: Option<&[u8]>) -> Row {
    match bytes.map(std::str::from_utf8) {
        None => row.with(text, Value::Null),
        Some(Ok(value)) => row.with(text, value),
        Some(Err(_)) => row.with(hex, hex_digits(bytes.unwrap_or_default())),
    }
}

fn bytes_value(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => format!("0x{}", hex_digits(bytes)).into(),
    }
}

fn hex_digits(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or_default();
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 0x0f)])
        .collect()
}
