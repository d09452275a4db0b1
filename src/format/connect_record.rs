//! The records of Connect's internal topics, as far as MirrorMaker 2 is concerned; keys and values are JSON texts.
//!
//! ```text
//! offsets  ["CONNECTOR",{"cluster":"S","partition":0,"topic":"t"}]  →  {"offset":N}     N: the last record replicated
//! configs  connector-NAME  →  {"properties":{…}}                    tasks, session keys and commits beside
//! status   status-connector-NAME, status-task-NAME-N  →  {"state","trace","worker_id","version"}
//! ```
//!
//! A null value removes its key. Order and blanks are free, so texts are parsed, never compared.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::terms::Offset;

/// How far a source connector got in a partition of its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePosition {
    /// The connector's name.
    pub connector: String,
    /// The source's alias.
    pub cluster: String,
    /// The topic on the source.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The offset of the last record replicated; `None` where the position was removed.
    pub offset: Option<Offset>,
}

impl SourcePosition {
    /// Parses a record of the offsets topic; `None` if it is not that of a source connector's partition.
    pub fn parse(key: &[u8], value: Option<&[u8]>) -> Option<Self> {
        let Value::Array(parts) = serde_json::from_slice(key).ok()? else {
            return None;
        };
        let [Value::String(connector), partition] = parts.as_slice() else {
            return None;
        };
        let offset = match value {
            None => None,
            Some(value) => match serde_json::from_slice(value).ok()? {
                Value::Null => None,
                value => Some(Offset(value.get("offset")?.as_i64()?)),
            },
        };
        Some(Self {
            connector: connector.clone(),
            cluster: partition.get("cluster")?.as_str()?.to_owned(),
            topic: partition.get("topic")?.as_str()?.to_owned(),
            partition: i32::try_from(partition.get("partition")?.as_i64()?).ok()?,
            offset,
        })
    }
}

/// Parses a record of the configs topic: a connector's name and its properties, `None` where it was removed.
pub fn connector_config(
    key: &[u8],
    value: Option<&[u8]>,
) -> Option<(String, Option<BTreeMap<String, String>>)> {
    let name = std::str::from_utf8(key).ok()?.strip_prefix("connector-")?;
    let Some(value) = value else {
        return Some((name.to_owned(), None));
    };
    let value: Value = serde_json::from_slice(value).ok()?;
    let properties = value.get("properties")?.as_object()?;
    let texts = properties.iter().map(|(key, value)| {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        (key.clone(), text)
    });
    Some((name.to_owned(), Some(texts.collect())))
}

/// The state of a connector or of one of its tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectStatus {
    /// `RUNNING`, `FAILED`, `PAUSED`, `UNASSIGNED`, `RESTARTING`, `STOPPED`, `DESTROYED`.
    pub state: String,
    /// The stack trace of a failure.
    pub trace: Option<String>,
    /// The worker that said so.
    pub worker_id: String,
    /// The connector's version, where the release tells it (4.x).
    pub version: Option<String>,
}

/// Parses a record of the status topic: connector, task (`None` for the connector itself), and its state, `None` where it
/// was removed.
pub fn connect_status(
    key: &[u8],
    value: Option<&[u8]>,
) -> Option<(String, Option<i32>, Option<ConnectStatus>)> {
    let key = std::str::from_utf8(key).ok()?;
    let (name, task) = if let Some(name) = key.strip_prefix("status-connector-") {
        (name, None)
    } else {
        let (name, task) = key.strip_prefix("status-task-")?.rsplit_once('-')?;
        (name, Some(task.parse().ok()?))
    };
    let Some(value) = value else {
        return Some((name.to_owned(), task, None));
    };
    let value: Value = serde_json::from_slice(value).ok()?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let status = ConnectStatus {
        state: text("state")?,
        trace: text("trace"),
        worker_id: text("worker_id").unwrap_or_default(),
        version: text("version"),
    };
    Some((name.to_owned(), task, Some(status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_whatever_the_order_of_its_fields() {
        let key = br#"["MirrorSourceConnector",{"topic":"t-1","partition":2,"cluster":"primary"}]"#;
        let position = SourcePosition::parse(key, Some(br#"{"offset":9}"#)).unwrap();
        assert_eq!(position.cluster, "primary");
        assert_eq!((position.topic.as_str(), position.partition), ("t-1", 2));
        assert_eq!(position.offset, Some(Offset(9)));
        assert_eq!(SourcePosition::parse(key, None).unwrap().offset, None);
        let group = br#"["MirrorCheckpointConnector",{"topic":"t-1","partition":2,"group":"g"}]"#;
        assert_eq!(SourcePosition::parse(group, Some(br#"{"offset":0}"#)), None);
        assert_eq!(SourcePosition::parse(b"[", None), None);
    }

    #[test]
    fn states_and_configs_are_found_by_their_keys() {
        let value = br#"{"state":"FAILED","trace":"x\nCaused by: y","worker_id":"w","generation":10,"version":null}"#;
        let (name, task, status) = connect_status(b"status-task-a-b-0", Some(value)).unwrap();
        assert_eq!((name.as_str(), task), ("a-b", Some(0)));
        assert_eq!(status.unwrap().state, "FAILED");
        assert_eq!(connect_status(b"status-topic-t:connector-c", None), None);
        let value = br#"{"properties":{"topics":".*","tasks.max":1}}"#;
        let (name, properties) = connector_config(b"connector-c", Some(value)).unwrap();
        assert_eq!(name, "c");
        assert_eq!(properties.unwrap()["tasks.max"], "1");
        assert_eq!(connector_config(b"session-key", Some(b"{}")), None);
    }
}
