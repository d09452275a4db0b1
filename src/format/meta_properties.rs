//! `meta.properties` of a log dir: which cluster, node and dir this is.
//!
//! ```text
//! version       0 or 1; absent means 0
//! broker.id     version 0: the node, optional
//! node.id       version 1: the node
//! cluster.id    optional in version 0
//! directory.id  22 characters of URL-safe base64; optional
//! ```
//!
//! Java properties; other keys are ignored. No checksum.

use crate::format::java;
use crate::format::properties::{MalformedEscape, Properties, Property};
use crate::terms::Uuid;

const VERSION: &str = "version";
const BROKER_ID: &str = "broker.id";
const NODE_ID: &str = "node.id";
const CLUSTER_ID: &str = "cluster.id";
const DIRECTORY_ID: &str = "directory.id";

/// The version of the file, which decides what must be in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetaPropertiesVersion {
    /// That of ZooKeeper's time: nothing is certain to be there.
    V0,
    /// That of KRaft.
    V1,
}

/// The identity of a log dir.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MetaProperties {
    /// The file's version.
    pub version: MetaPropertiesVersion,
    /// The cluster's id; certain from version 1 on.
    pub cluster_id: Option<String>,
    /// The node's id; certain from version 1 on.
    pub node_id: Option<i32>,
    /// The dir's id; KRaft brokers since 3.7 add one.
    pub directory_id: Option<Uuid>,
}

/// Why Kafka does not read the file: the log dir starts offline, and a metadata log dir stops the start-up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetaPropertiesError {
    /// The file is no Java properties file.
    #[error(transparent)]
    Escape(#[from] MalformedEscape),
    /// The version is not 0 or 1.
    #[error("unknown version {0:?}")]
    Version(String),
    /// A key is missing that the version asks for.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// The node's id is no number.
    #[error("{key} {value:?} is not a number")]
    NodeId {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// The dir's id is no id.
    #[error("directory.id {0:?} is not 16 bytes of base64")]
    DirectoryId(String),
}

impl MetaProperties {
    /// Parses the bytes of the file.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetaPropertiesError> {
        let properties = Properties::parse(bytes)?;
        let version = match properties.get(VERSION) {
            None => MetaPropertiesVersion::V0,
            Some(text) => match java::parse_i32(text.trim_matches(|it| it <= ' ')) {
                Some(0) => MetaPropertiesVersion::V0,
                Some(1) => MetaPropertiesVersion::V1,
                _ => return Err(MetaPropertiesError::Version(text.to_owned())),
            },
        };
        let key = match version {
            MetaPropertiesVersion::V0 => BROKER_ID,
            MetaPropertiesVersion::V1 => NODE_ID,
        };
        let node_id = match properties.get(key) {
            Some(value) => Some(java::parse_i32(value).ok_or_else(|| {
                let value = value.to_owned();
                MetaPropertiesError::NodeId { key, value }
            })?),
            None if version == MetaPropertiesVersion::V0 => None,
            None => return Err(MetaPropertiesError::Missing(key)),
        };
        let directory_id = match properties.get(DIRECTORY_ID) {
            Some(text) => Some(
                java::parse_uuid(text)
                    .ok_or_else(|| MetaPropertiesError::DirectoryId(text.to_owned()))?,
            ),
            None => None,
        };
        let cluster_id = properties.get(CLUSTER_ID).map(str::to_owned);
        if version == MetaPropertiesVersion::V1 && cluster_id.is_none() {
            return Err(MetaPropertiesError::Missing(CLUSTER_ID));
        }
        Ok(Self {
            version,
            cluster_id,
            node_id,
            directory_id,
        })
    }

    /// Encodes the file as Kafka does, with `date` in its second line.
    pub fn encode(&self, date: &str) -> Vec<u8> {
        let (version, node_key) = match self.version {
            MetaPropertiesVersion::V0 => ("0", BROKER_ID),
            MetaPropertiesVersion::V1 => ("1", NODE_ID),
        };
        let entries = [
            (node_key, self.node_id.map(|id| id.to_string())),
            (DIRECTORY_ID, self.directory_id.map(|id| id.to_string())),
            (VERSION, Some(version.to_owned())),
            (CLUSTER_ID, self.cluster_id.clone()),
        ];
        let entries = entries.into_iter().filter_map(|(key, value)| {
            Some(Property {
                key: key.to_owned(),
                value: value?,
                line: 0,
            })
        });
        Properties {
            entries: entries.collect(),
        }
        .encode(date)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<MetaProperties, MetaPropertiesError> {
        MetaProperties::parse(text.as_bytes())
    }

    const KRAFT: &str = "#\n#Tue Nov 28 08:15:00 UTC 2026\nnode.id=1\n\
                         directory.id=WJP-YmuvQ7ieid7KZyv-lA\nversion=1\ncluster.id=x\\=y\n";

    #[test]
    fn version_1_is_read_and_written() {
        let parsed = parse(KRAFT).unwrap();
        assert_eq!(
            parsed,
            MetaProperties {
                version: MetaPropertiesVersion::V1,
                cluster_id: Some("x=y".to_owned()),
                node_id: Some(1),
                directory_id: Uuid::parse("WJP-YmuvQ7ieid7KZyv-lA"),
            }
        );
        assert_eq!(
            parsed.encode("Tue Nov 28 08:15:00 UTC 2026"),
            KRAFT.as_bytes()
        );
    }

    #[test]
    fn each_version_has_its_own_key_for_the_node() {
        let node = |text| parse(text).map(|it| it.node_id);
        assert_eq!(node("broker.id=3\nnode.id=4\n"), Ok(Some(3)));
        assert_eq!(node("version=0\nnode.id=4\n"), Ok(None));
        assert_eq!(
            node("version= 1 \nbroker.id=3\nnode.id=4\ncluster.id=c"),
            Ok(Some(4))
        );
        assert_eq!(node(""), Ok(None));
    }

    #[test]
    fn what_kafka_does_not_read_is_an_error() {
        use MetaPropertiesError as Error;
        for (text, error) in [
            ("version=2", Error::Version("2".to_owned())),
            ("version=one", Error::Version("one".to_owned())),
            ("version=1\ncluster.id=c", Error::Missing("node.id")),
            ("version=1\nnode.id=1", Error::Missing("cluster.id")),
            (
                "broker.id=1 ",
                Error::NodeId {
                    key: "broker.id",
                    value: "1 ".to_owned(),
                },
            ),
            ("directory.id=abc", Error::DirectoryId("abc".to_owned())),
            ("a=\\u1", Error::Escape(MalformedEscape { line: 1 })),
        ] {
            assert_eq!(parse(text), Err(error), "{text:?}");
        }
    }
}
