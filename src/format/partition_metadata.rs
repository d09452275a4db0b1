//! `partition.metadata` of a partition dir: the id of its topic.
//!
//! ```text
//! version: 0\n
//! topic_id: 22 characters of URL-safe base64      no newline behind it
//! ```
//!
//! What stands before `:` and behind the two lines is not looked at. No checksum.

use crate::format::java;
use crate::terms::Uuid;

/// The id of a partition's topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PartitionMetadata {
    /// The file's version; Kafka takes any from 0 on.
    pub version: i32,
    /// The topic's id.
    pub topic_id: Uuid,
}

/// Why Kafka does not read the file, and how it fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartitionMetadataError {
    /// `NullPointerException`: a line is missing. Start-up fails.
    #[error("partition.metadata has no line {number}")]
    MissingLine {
        /// Which line, from 1.
        number: usize,
    },
    /// `IllegalArgumentException`: the id is no id. Start-up fails.
    #[error("topic id {0:?} is not 16 bytes of base64")]
    TopicId(String),
    /// `IOException`: the bytes are no UTF-8. The log dir goes offline.
    #[error("partition.metadata is not UTF-8")]
    NotUtf8,
    /// `IOException`: a line is not a name, `: ` and a value. The log dir goes offline.
    #[error("line {number} of partition.metadata is malformed: {line:?}")]
    MalformedLine {
        /// Which line, from 1.
        number: usize,
        /// The line.
        line: String,
    },
    /// `IOException`: the version is negative. The log dir goes offline.
    #[error("partition.metadata has version {0}")]
    Version(i32),
    /// `IOException`: the id is that of no topic. The log dir goes offline.
    #[error("partition.metadata has the topic id of none")]
    ZeroTopicId,
}

impl PartitionMetadataError {
    /// Says whether start-up fails, rather than the log dir going offline.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::MissingLine { .. } | Self::TopicId(_))
    }
}

impl PartitionMetadata {
    /// Parses the bytes of the file.
    pub fn parse(bytes: &[u8]) -> Result<Self, PartitionMetadataError> {
        let text = std::str::from_utf8(bytes).map_err(|_| PartitionMetadataError::NotUtf8)?;
        let mut lines = java::lines(text);
        let malformed = |number, line: &str| PartitionMetadataError::MalformedLine {
            number,
            line: line.to_owned(),
        };
        let mut value = |number| {
            let line = lines
                .next()
                .ok_or(PartitionMetadataError::MissingLine { number })?;
            let value = value_of(line).ok_or_else(|| malformed(number, line))?;
            Ok((line, value))
        };
        let (line, version) = value(1)?;
        let version = java::parse_i32(version).ok_or_else(|| malformed(1, line))?;
        if version < 0 {
            return Err(PartitionMetadataError::Version(version));
        }
        let (_, topic_id) = value(2)?;
        let topic_id = java::parse_uuid(topic_id)
            .ok_or_else(|| PartitionMetadataError::TopicId(topic_id.to_owned()))?;
        if topic_id == Uuid::ZERO {
            return Err(PartitionMetadataError::ZeroTopicId);
        }
        Ok(Self { version, topic_id })
    }

    /// Encodes the file as Kafka does.
    pub fn encode(&self) -> Vec<u8> {
        format!("version: {}\ntopic_id: {}", self.version, self.topic_id).into_bytes()
    }
}

/// Returns the second of the two parts that the regular expression `:\s+` makes of `line`.
fn value_of(line: &str) -> Option<&str> {
    let mut parts = vec![];
    let (mut start, mut from) = (0, 0);
    while let Some(colon) = line.get(from..)?.find(':').map(|at| from + at) {
        from = colon + 1;
        let tail = line.get(from..)?;
        let trimmed = tail.trim_start_matches(java::is_whitespace);
        if trimmed.len() < tail.len() {
            parts.push(line.get(start..colon)?);
            start = line.len() - trimmed.len();
            from = start;
        }
    }
    parts.push(line.get(start..)?);
    while parts.len() > 1 && parts.last()?.is_empty() {
        parts.pop();
    }
    match parts.as_slice() {
        [_, value] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<PartitionMetadata, PartitionMetadataError> {
        PartitionMetadata::parse(text.as_bytes())
    }

    #[test]
    fn names_white_space_and_what_follows_do_not_matter() {
        let want = parse("version: 0\ntopic_id: WJP-YmuvQ7ieid7KZyv-lA").unwrap();
        for text in [
            "version: 0\r\ntopic_id: WJP-YmuvQ7ieid7KZyv-lA\r\nmore",
            "x: \t 0\n: WJP-YmuvQ7ieid7KZyv-lA",
            "version: 0: \na:b: WJP-YmuvQ7ieid7KZyv-lA==",
        ] {
            assert_eq!(parse(text), Ok(want), "{text:?}");
        }
        assert_eq!(
            want.encode(),
            b"version: 0\ntopic_id: WJP-YmuvQ7ieid7KZyv-lA"
        );
    }

    #[test]
    fn a_missing_line_is_worse_than_a_malformed_one() {
        for (text, fatal) in [
            ("", true),
            ("version: 0\n", true),
            ("version: 0\ntopic_id: xyz", true),
            ("\n", false),
            ("version:0\n", false),
            ("version: x\n", false),
            ("version: -1\n", false),
            ("version: 0\ntopic_id\n", false),
            ("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", false),
        ] {
            assert_eq!(parse(text).unwrap_err().is_fatal(), fatal, "{text:?}");
        }
        let zeros = PartitionMetadata::parse(&[0; 44]).unwrap_err();
        assert!(!zeros.is_fatal());
    }

    proptest! {
        #[test]
        fn ids_survive_the_way_there_and_back(version in 0..=i32::MAX, id in proptest::array::uniform16(1_u8..)) {
            let metadata = PartitionMetadata { version, topic_id: Uuid(id) };
            prop_assert_eq!(PartitionMetadata::parse(&metadata.encode()), Ok(metadata));
        }

        #[test]
        fn any_bytes_are_parsed_without_a_panic(bytes: Vec<u8>, text in "[a:\\s0]*") {
            let _ = PartitionMetadata::parse(&bytes);
            let _ = parse(&text);
        }
    }
}
