//! A value and where it is from.

use std::fmt;
use std::path::PathBuf;

/// Where a value is from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// Nobody said anything.
    Default,
    /// A key of a file.
    File {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The line, from 1.
        line: usize,
    },
    /// A variable of the environment.
    Env {
        /// Its name.
        name: String,
    },
    /// An option of the command line, with its dashes.
    Flag {
        /// Its name.
        name: &'static str,
    },
    /// The host's policy.
    Policy {
        /// Where it says so.
        place: String,
    },
    /// Found out, in a few words (`class path of pid 812`).
    Detected {
        /// How.
        how: String,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, key, line } => {
                write!(f, "{key} in {} line {line}", path.display())
            }
            Self::Env { name } => write!(f, "${name}"),
            Self::Flag { name } => f.write_str(name),
            Self::Policy { place } => f.write_str(place),
            Self::Detected { how } => f.write_str(how),
        }
    }
}

/// A value with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it is from.
    pub source: Source,
}

impl<T> Sourced<T> {
    /// Returns `value` from `source`.
    pub fn new(value: T, source: Source) -> Self {
        Self { value, source }
    }

    /// Returns what `f` makes of the value, from the same source.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Sourced<U> {
        Sourced {
            value: f(self.value),
            source: self.source,
        }
    }
}
