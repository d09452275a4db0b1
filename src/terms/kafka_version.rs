//! Kafka releases, as far as their behaviour differs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A release of Apache Kafka, compared by its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KafkaVersion {
    /// The first number.
    pub major: u16,
    /// The second number.
    pub minor: u16,
    /// The third number; 0 where only two were given.
    pub patch: u16,
}

impl KafkaVersion {
    /// The newest release that this crate was compared with.
    pub const NEWEST_KNOWN: Self = Self::new(4, 4, 0);
    /// The oldest release that this crate was compared with.
    pub const OLDEST_KNOWN: Self = Self::new(3, 7, 0);

    /// Returns release `major.minor.patch`.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// Says whether recovery was compared byte by byte with this release or its neighbours.
    pub fn is_compared(self) -> bool {
        self >= Self::OLDEST_KNOWN && (self.major, self.minor) <= (4, 4)
    }
}

impl fmt::Display for KafkaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A text that names no release.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a Kafka version such as 4.1.2")]
pub struct ParseVersionError(String);

impl FromStr for KafkaVersion {
    type Err = ParseVersionError;

    /// Parses `3.9`, `3.9.1` and what vendors append to it (`3.9.1-IV0`, `3.7.1.redhat-00001`).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseVersionError(text.to_owned());
        let numbers: Vec<u16> = text
            .split(['.', '-'])
            .map_while(|part| part.parse().ok())
            .take(3)
            .collect();
        match numbers.as_slice() {
            [major, minor] => Ok(Self::new(*major, *minor, 0)),
            [major, minor, patch, ..] => Ok(Self::new(*major, *minor, *patch)),
            _ => Err(error()),
        }
    }
}

impl Serialize for KafkaVersion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KafkaVersion {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendor_suffixes_do_not_hide_the_numbers() {
        for (text, want) in [
            ("4.4.0", KafkaVersion::new(4, 4, 0)),
            ("3.9", KafkaVersion::new(3, 9, 0)),
            ("3.9.1-IV0", KafkaVersion::new(3, 9, 1)),
            ("3.7.1.redhat-00001", KafkaVersion::new(3, 7, 1)),
        ] {
            assert_eq!(text.parse(), Ok(want));
        }
        assert!("kafka".parse::<KafkaVersion>().is_err());
    }
}
