//! What a malformed offset checkpoint still says.

use std::collections::BTreeMap;

use crate::format::java;
use crate::format::offset_checkpoint::OffsetCheckpoint;
use crate::terms::{Offset, TopicPartition};

/// A checkpoint that a boot can read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Salvaged {
    /// Its entries; each of a partition that lies in the dir.
    pub(super) entries: BTreeMap<TopicPartition, Offset>,
    /// Whether they are those of its `.tmp`.
    pub(super) from_tmp: bool,
}

impl Salvaged {
    /// Returns the file as Kafka writes it.
    pub(super) fn text(&self) -> String {
        let checkpoint = OffsetCheckpoint {
            entries: self.entries.clone().into_iter().collect(),
        };
        String::from_utf8_lossy(&checkpoint.encode()).into_owned()
    }
}

/// Takes a whole `.tmp`, which is newer than the file that it was to replace; else each line that ends, has three fields
/// and names a partition that `is_here`. A line that is dropped costs what its absence costs, no more.
pub(super) fn salvage(
    bytes: &[u8],
    tmp: Option<&[u8]>,
    is_here: impl Fn(&TopicPartition) -> bool,
) -> Salvaged {
    let whole = tmp.filter(|tmp| !tmp.is_empty());
    if let Some(Ok(checkpoint)) = whole.map(OffsetCheckpoint::parse)
        && !checkpoint.entries.is_empty()
    {
        let entries = checkpoint.entries.into_iter();
        return Salvaged {
            entries: entries
                .filter(|(partition, _)| is_here(partition))
                .collect(),
            from_tmp: true,
        };
    }
    let mut entries = BTreeMap::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(line) = line.strip_suffix(b"\n") else {
            continue;
        };
        if let Some((partition, offset)) = entry(line).filter(|(partition, _)| is_here(partition)) {
            entries.insert(partition, offset);
        }
    }
    Salvaged {
        entries,
        from_tmp: false,
    }
}

fn entry(line: &[u8]) -> Option<(TopicPartition, Offset)> {
    let text = std::str::from_utf8(line).ok()?;
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [topic, partition, offset] = fields.as_slice() else {
        return None;
    };
    let partition = java::parse_i32(partition).filter(|partition| *partition >= 0)?;
    let offset = java::parse_i64(offset).filter(|offset| *offset >= 0)?;
    Some((TopicPartition::new(*topic, partition), Offset(offset)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_lines_of_partitions_that_are_here_stay() {
        let bytes = b"0\n9\nt 0 12\nt 1 five\ngone 0 3\nt 2 77\nt 3 4";
        let salvaged = salvage(bytes, None, |partition| partition.topic == "t");
        assert_eq!(salvaged.text(), "0\n2\nt 0 12\nt 2 77\n");
    }

    #[test]
    fn a_whole_successor_wins_and_a_torn_one_does_not() {
        let here = |_: &TopicPartition| true;
        let salvaged = salvage(b"\0\0\0", Some(b"0\n1\nt 0 12\n"), here);
        assert_eq!(
            (salvaged.text().as_str(), salvaged.from_tmp),
            ("0\n1\nt 0 12\n", true)
        );
        let salvaged = salvage(b"7\n1\nt 0 3\n", Some(b"0\n2\nt 0 12\n"), here);
        assert_eq!(
            (salvaged.text().as_str(), salvaged.from_tmp),
            ("0\n1\nt 0 3\n", false)
        );
    }

    proptest! {
        #[test]
        fn what_is_salvaged_parses(bytes: Vec<u8>, tmp: Option<Vec<u8>>) {
            let salvaged = salvage(&bytes, tmp.as_deref(), |_| true);
            prop_assert!(OffsetCheckpoint::parse(salvaged.text().as_bytes()).is_ok());
        }
    }
}
