//! What Kafka's checkpoint files have in common (`CheckpointFile`).
//!
//! ```text
//! 0\n          version
//! N\n          how many entries follow
//! entry\n      N times; fields apart by white space
//! ```
//!
//! UTF-8. Nothing at all, or only the version, stands for no entries. No checksum.

use crate::format::java;

/// Why Kafka does not read a checkpoint file, and how it fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// The bytes are no UTF-8.
    #[error("checkpoint is not UTF-8")]
    NotUtf8,
    /// The version is not 0.
    #[error("checkpoint has version {version}, not 0")]
    Version {
        /// The version as stored.
        version: i32,
    },
    /// The version or the count is no number, or an entry has too few or too many fields.
    #[error("line {number} of checkpoint is malformed: {line:?}")]
    MalformedLine {
        /// Which line, from 1.
        number: usize,
        /// The line.
        line: String,
    },
    /// The count is not that of the entries.
    #[error("checkpoint announces {expected} entries and has {found}")]
    Count {
        /// The count as stored.
        expected: i32,
        /// The entries that follow.
        found: usize,
    },
    /// The count is negative.
    #[error("checkpoint announces {count} entries")]
    NegativeCount {
        /// The count as stored.
        count: i32,
    },
    /// A field of an entry is no number.
    #[error("{text:?} in line {number} of checkpoint is not a number")]
    NotANumber {
        /// Which line, from 1.
        number: usize,
        /// The field.
        text: String,
    },
    /// A leader epoch or its start offset is negative.
    #[error(
        "line {number} of checkpoint has the negative leader epoch {epoch} or start offset {start_offset}"
    )]
    NegativeEpoch {
        /// Which line, from 1.
        number: usize,
        /// The epoch.
        epoch: i32,
        /// Its start offset.
        start_offset: i64,
    },
}

/// What Kafka throws; it decides what becomes of the log dir.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckpointFailure {
    /// `IOException`: the log dir goes offline.
    Io,
    /// `NumberFormatException` or another `IllegalArgumentException`: the log dir does not go offline. For a leader
    /// epoch checkpoint start-up fails.
    IllegalArgument,
}

impl CheckpointError {
    /// Returns how Kafka fails.
    pub fn failure(&self) -> CheckpointFailure {
        match self {
            Self::NotUtf8
            | Self::Version { .. }
            | Self::MalformedLine { .. }
            | Self::Count { .. } => CheckpointFailure::Io,
            Self::NegativeCount { .. } | Self::NotANumber { .. } | Self::NegativeEpoch { .. } => {
                CheckpointFailure::IllegalArgument
            }
        }
    }

    /// Returns the message of Kafka's exception for the file at `location`, an absolute path.
    pub fn kafka_text(&self, location: &str) -> String {
        match self {
            Self::NotUtf8 => "Input length = 1".to_owned(),
            Self::Version { version } => format!(
                "Unrecognised version:{version}, expected version: 0 in checkpoint file at: {location}"
            ),
            Self::MalformedLine { line, .. } => {
                format!("Malformed line in checkpoint file [{location}]: {line}")
            }
            Self::Count { expected, found } => format!(
                "Expected [{expected}] entries in checkpoint file [{location}], but found only [{found}]"
            ),
            Self::NegativeCount { count } => format!("Illegal Capacity: {count}"),
            Self::NotANumber { text, .. } => format!("For input string: \"{text}\""),
            Self::NegativeEpoch {
                epoch,
                start_offset,
                ..
            } => format!(
                "Received invalid partition leader epoch entry EpochEntry(epoch={epoch}, startOffset={start_offset})"
            ),
        }
    }
}

/// A line with its number, from 1, and its fields.
pub(super) struct Line<'a> {
    number: usize,
    text: &'a str,
    pub(super) fields: Vec<&'a str>,
}

impl Line<'_> {
    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn malformed(&self) -> CheckpointError {
        CheckpointError::MalformedLine {
            number: self.number,
            line: self.text.to_owned(),
        }
    }

    pub(super) fn i32(&self, field: &str) -> Result<i32, CheckpointError> {
        java::parse_i32(field).ok_or_else(|| self.not_a_number(field))
    }

    pub(super) fn i64(&self, field: &str) -> Result<i64, CheckpointError> {
        java::parse_i64(field).ok_or_else(|| self.not_a_number(field))
    }

    fn not_a_number(&self, field: &str) -> CheckpointError {
        CheckpointError::NotANumber {
            number: self.number,
            text: field.to_owned(),
        }
    }
}

/// Parses a checkpoint whose entries `parse_entry` reads, one a line.
pub(super) fn parse<T>(
    bytes: &[u8],
    parse_entry: impl Fn(&Line<'_>) -> Result<T, CheckpointError>,
) -> Result<Vec<T>, CheckpointError> {
    let text = std::str::from_utf8(bytes).map_err(|_| CheckpointError::NotUtf8)?;
    let mut lines = java::lines(text).zip(1..);
    let mut header = || {
        lines.next().map(|(text, number)| {
            java::parse_i32(text).ok_or_else(|| CheckpointError::MalformedLine {
                number,
                line: text.to_owned(),
            })
        })
    };
    match header().transpose()? {
        None => return Ok(vec![]),
        Some(0) => {}
        Some(version) => return Err(CheckpointError::Version { version }),
    }
    let Some(expected) = header().transpose()? else {
        return Ok(vec![]);
    };
    if expected < 0 {
        return Err(CheckpointError::NegativeCount { count: expected });
    }
    let entries: Vec<T> = lines
        .map(|(text, number)| {
            parse_entry(&Line {
                number,
                text,
                fields: java::split_whitespace(text),
            })
        })
        .collect::<Result<_, _>>()?;
    if usize::try_from(expected) != Ok(entries.len()) {
        return Err(CheckpointError::Count {
            expected,
            found: entries.len(),
        });
    }
    Ok(entries)
}

/// Encodes a checkpoint of `entries`, one a line.
pub(super) fn encode(entries: impl ExactSizeIterator<Item = String>) -> Vec<u8> {
    let mut text = format!("0\n{}\n", entries.len());
    for entry in entries {
        text.push_str(&entry);
        text.push('\n');
    }
    text.into_bytes()
}
