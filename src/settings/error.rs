//! What is wrong with a setting.

use std::io;
use std::path::PathBuf;

use super::Source;

/// A setting or a configuration file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A file that cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A properties file that Java would not load.
    #[error("{} is no properties file: {cause}", path.display())]
    Properties {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// A value that its key does not take.
    #[error("\"{value}\" is not a value of {key} ({origin}): {cause}")]
    Value {
        /// The key.
        key: String,
        /// The value as it stands.
        value: String,
        /// Where it stands.
        origin: Box<Source>,
        /// What it should be.
        cause: String,
    },
    /// A key that krescue does not know.
    #[error("{} has an unknown key: {key}", path.display())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
    },
    /// A configuration that names no log dir.
    #[error("{origin} names no log dir")]
    NoLogDir {
        /// Where it should.
        origin: Source,
    },
    /// A log dir that does not exist.
    #[error("log dir {} ({origin}) does not exist", path.display())]
    LogDirMissing {
        /// The log dir.
        path: PathBuf,
        /// Who names it.
        origin: Source,
    },
    /// A log dir that is a symbolic link to nowhere.
    #[error("log dir {} ({origin}) is a link to {}, which does not exist", path.display(), target.display())]
    LogDirDangling {
        /// The log dir.
        path: PathBuf,
        /// Where it points to.
        target: PathBuf,
        /// Who names it.
        origin: Source,
    },
    /// A log dir that is no directory.
    #[error("log dir {} ({origin}) is not a directory", path.display())]
    LogDirNoDirectory {
        /// The log dir.
        path: PathBuf,
        /// Who names it.
        origin: Source,
    },
    /// A log dir that cannot be looked at.
    #[error("cannot look at log dir {} ({origin})", path.display())]
    LogDirUnreadable {
        /// The log dir.
        path: PathBuf,
        /// Who names it.
        origin: Source,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A partition dir where a log dir was expected.
    #[error("{} ({origin}) is a partition's dir, not a log dir", path.display())]
    LogDirIsPartition {
        /// The dir.
        path: PathBuf,
        /// Who names it.
        origin: Source,
    },
    /// Two log dirs that are one.
    #[error("log dirs {} and {} ({origin}) are the same directory", first.display(), second.display())]
    LogDirTwice {
        /// The one.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// Who names them.
        origin: Source,
    },
    /// A log dir inside another one.
    #[error("log dir {} ({origin}) lies inside log dir {}", inner.display(), outer.display())]
    LogDirNested {
        /// The one inside.
        inner: PathBuf,
        /// The one around.
        outer: PathBuf,
        /// Who names them.
        origin: Source,
    },
    /// A state dir, or a quarantine, inside a log dir.
    #[error("{} ({origin}) lies inside log dir {}", state.display(), log_dir.display())]
    StateInLogDir {
        /// The dir.
        state: PathBuf,
        /// The log dir.
        log_dir: PathBuf,
        /// Who names it.
        origin: Source,
    },
    /// Another place than the host's policy names.
    #[error("{} is not what the host's policy names: {rule}", asked.display())]
    Policy {
        /// What was asked for.
        asked: PathBuf,
        /// What may be, with file and line.
        rule: String,
    },
    /// No place for the state dir.
    #[error(
        "no state dir: neither XDG_STATE_HOME nor HOME is set, and /var/lib/krescue is not writable"
    )]
    NoStateDir,
    /// A line of a topic configuration that says nothing.
    #[error("{} line {line}: {cause}", path.display())]
    TopicConfig {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is wrong.
        cause: String,
    },
}
