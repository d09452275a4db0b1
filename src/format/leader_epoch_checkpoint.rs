//! The leader epochs of a partition, `leader-epoch-checkpoint`.
//!
//! ```text
//! 0\n
//! N\n
//! epoch start_offset\n     N times, both rising
//! ```

use crate::format::checkpoint::{self, CheckpointError, Line};
use crate::terms::{LeaderEpoch, Offset};

/// A leader epoch and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EpochEntry {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// The first offset of the epoch, inclusive.
    pub start_offset: Offset,
}

/// Parses a checkpoint; an empty file has no entries.
///
/// The order is that of the file: Kafka's cache assigns one after the other, and may drop some.
pub fn parse(bytes: &[u8]) -> Result<Vec<EpochEntry>, CheckpointError> {
    let entries = checkpoint::parse(bytes, |line| {
        parse_entry(line).map(|entry| (line.number(), entry))
    })?;
    // Kafka reads the whole file before it looks at the numbers.
    for (number, entry) in &entries {
        if entry.epoch.0 < 0 || entry.start_offset.0 < 0 {
            return Err(CheckpointError::NegativeEpoch {
                number: *number,
                epoch: entry.epoch.0,
                start_offset: entry.start_offset.0,
            });
        }
    }
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// Encodes a checkpoint of `entries` in their order.
pub fn encode(entries: &[EpochEntry]) -> Vec<u8> {
    checkpoint::encode(
        entries
            .iter()
            .map(|entry| format!("{} {}", entry.epoch, entry.start_offset)),
    )
}

fn parse_entry(line: &Line<'_>) -> Result<EpochEntry, CheckpointError> {
    let [epoch, start_offset] = line.fields.as_slice() else {
        return Err(line.malformed());
    };
    Ok(EpochEntry {
        epoch: LeaderEpoch(line.i32(epoch)?),
        start_offset: Offset(line.i64(start_offset)?),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::checkpoint::CheckpointFailure;

    fn entry(epoch: i32, start_offset: i64) -> EpochEntry {
        EpochEntry {
            epoch: LeaderEpoch(epoch),
            start_offset: Offset(start_offset),
        }
    }

    #[test]
    fn an_emptied_file_is_that_of_kafka() {
        assert_eq!(encode(&[]), b"0\n0\n");
        assert_eq!(
            encode(&[entry(0, 0), entry(3, 2000)]),
            b"0\n2\n0 0\n3 2000\n"
        );
        assert_eq!(
            parse(b"0\n2\n0 0\n3 2000\n"),
            Ok(vec![entry(0, 0), entry(3, 2000)])
        );
        assert_eq!(parse(b""), Ok(vec![]));
    }

    #[test]
    fn zeros_and_wrong_counts_take_the_dir_offline_letters_and_signs_stop_the_broker() {
        for (text, failure) in [
            (&[0; 33][..], CheckpointFailure::Io),
            (b"0\n2\n0 0\n", CheckpointFailure::Io),
            (b"0\n1\n0 0 0\n", CheckpointFailure::Io),
            (b"0\n1\nx 0\n", CheckpointFailure::IllegalArgument),
            (b"0\n1\n-1 0\n", CheckpointFailure::IllegalArgument),
            (b"0\n1\n0 -1\n", CheckpointFailure::IllegalArgument),
            (b"0\n2\n0 -1\n", CheckpointFailure::Io),
        ] {
            assert_eq!(parse(text).unwrap_err().failure(), failure, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn entries_survive_the_way_there_and_back(entries in proptest::collection::vec((0..=i32::MAX, 0..=i64::MAX), 0..9)) {
            let entries: Vec<_> = entries.into_iter().map(|(e, o)| entry(e, o)).collect();
            prop_assert_eq!(parse(&encode(&entries)), Ok(entries));
        }

        #[test]
        fn any_bytes_are_parsed_without_a_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }
    }
}
