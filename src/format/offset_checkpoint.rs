//! The offset checkpoints beside the partition dirs: recovery points, log starts, high watermarks, the cleaner's.
//!
//! ```text
//! 0\n
//! N\n
//! topic partition offset\n     N times
//! ```
//!
//! The order is that of a hash map of the JVM and means nothing.

use crate::format::checkpoint::{self, CheckpointError, Line};
use crate::terms::{Offset, TopicPartition};

/// An offset checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OffsetCheckpoint {
    /// The entries in file order; of two for one partition the later counts.
    pub entries: Vec<(TopicPartition, Offset)>,
}

impl OffsetCheckpoint {
    /// Parses a checkpoint; an empty file has no entries.
    pub fn parse(bytes: &[u8]) -> Result<Self, CheckpointError> {
        checkpoint::parse(bytes, parse_entry).map(|entries| Self { entries })
    }

    /// Encodes the checkpoint in the order of its entries.
    pub fn encode(&self) -> Vec<u8> {
        checkpoint::encode(self.entries.iter().map(|(partition, offset)| {
            format!("{} {} {offset}", partition.topic, partition.partition)
        }))
    }

    /// Returns the offset of `partition`.
    pub fn get(&self, partition: &TopicPartition) -> Option<Offset> {
        let mut latest_first = self.entries.iter().rev();
        latest_first
            .find(|(entry, _)| entry == partition)
            .map(|(_, offset)| *offset)
    }
}

fn parse_entry(line: &Line<'_>) -> Result<(TopicPartition, Offset), CheckpointError> {
    let [topic, partition, offset] = line.fields.as_slice() else {
        return Err(line.malformed());
    };
    let partition = TopicPartition::new(*topic, line.i32(partition)?);
    Ok((partition, Offset(line.i64(offset)?)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::checkpoint::CheckpointFailure::{IllegalArgument, Io};

    fn parse(text: &str) -> Result<OffsetCheckpoint, CheckpointError> {
        OffsetCheckpoint::parse(text.as_bytes())
    }

    #[test]
    fn nothing_and_only_a_version_are_no_entries() {
        for text in ["", "0", "0\n", "0\n0\n", "+0\r0"] {
            assert_eq!(parse(text), Ok(OffsetCheckpoint::default()), "{text:?}");
        }
    }

    #[test]
    fn fields_are_apart_by_any_white_space_and_the_later_entry_counts() {
        let parsed = parse("0\n3\nt 0 3000\nt\t1   -1  \nt 0 7\n").unwrap();
        assert_eq!(parsed.get(&TopicPartition::new("t", 0)), Some(Offset(7)));
        assert_eq!(parsed.get(&TopicPartition::new("t", 1)), Some(Offset(-1)));
        assert_eq!(parsed.get(&TopicPartition::new("t", 2)), None);
    }

    #[test]
    fn each_defect_fails_as_in_kafka() {
        const AT: &str = "/d1/recovery-point-offset-checkpoint";
        for (text, failure, message) in [
            (
                "0\n2\nt 0 3000\naa\n",
                Io,
                "Malformed line in checkpoint file [/d1/recovery-point-offset-checkpoint]: aa",
            ),
            (
                "1\n0\n",
                Io,
                "Unrecognised version:1, expected version: 0 in checkpoint file at: \
                 /d1/recovery-point-offset-checkpoint",
            ),
            (
                "0\n7\nt 0 3000\n",
                Io,
                "Expected [7] entries in checkpoint file \
                 [/d1/recovery-point-offset-checkpoint], but found only [1]",
            ),
            (
                "\n",
                Io,
                "Malformed line in checkpoint file [/d1/recovery-point-offset-checkpoint]: ",
            ),
            (
                "0\n1 \n",
                Io,
                "Malformed line in checkpoint file [/d1/recovery-point-offset-checkpoint]: 1 ",
            ),
            (
                "0\n1\n t 0 1\n",
                Io,
                "Malformed line in checkpoint file [/d1/recovery-point-offset-checkpoint]:  t 0 1",
            ),
            ("0\n1\nt 0 x\n", IllegalArgument, "For input string: \"x\""),
            (
                "0\n1\nt 2147483648 1\n",
                IllegalArgument,
                "For input string: \"2147483648\"",
            ),
            ("0\n-1\n", IllegalArgument, "Illegal Capacity: -1"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.failure(), failure, "{text:?}");
            assert_eq!(error.kafka_text(AT), message, "{text:?}");
        }
        assert_eq!(
            OffsetCheckpoint::parse(&[b'0', 0xff]),
            Err(CheckpointError::NotUtf8)
        );
    }

    proptest! {
        #[test]
        fn entries_survive_the_way_there_and_back(entries: Vec<(i32, i64)>, topic in "[A-Za-z0-9._-]{1,20}") {
            let entries = entries.into_iter().map(|(p, o)| (TopicPartition::new(&*topic, p), Offset(o))).collect();
            let checkpoint = OffsetCheckpoint { entries };
            prop_assert_eq!(OffsetCheckpoint::parse(&checkpoint.encode()), Ok(checkpoint));
        }

        #[test]
        fn any_bytes_are_parsed_without_a_panic(bytes: Vec<u8>, text: String) {
            let _ = OffsetCheckpoint::parse(&bytes);
            let _ = parse(&format!("0\n1\n{text}"));
        }
    }
}
