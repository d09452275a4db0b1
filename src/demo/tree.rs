//! The embedded broker, unpacked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{UnpackError, unpack};
use crate::format::properties::{Properties, Property};
use crate::terms::{KafkaVersion, Timestamp};

/// A real broker's log dirs as SIGKILL left them; `demo-data/README.md` says how it was made.
const CRASHED: &[u8] = include_bytes!("../../demo-data/crashed.tar.zst");

/// Milliseconds after the kill at which the demo takes place: producers expire a day after their last record.
const AFTER_KILL_MS: i64 = 60_000;

/// Why there is no demo.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The embedded archive could not be written.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// A file of the demo could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The embedded archive lacks something.
    #[error("the embedded demo has no {0}")]
    Missing(&'static str),
    /// There is too little room.
    #[error("{} has {free} bytes free, the demo needs {needed}", path.display())]
    NoSpace {
        /// Where.
        path: PathBuf,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that there are.
        free: u64,
    },
    /// It was asked to stop.
    #[error("stopped on request")]
    Cancelled,
}

impl DemoError {
    /// Places an I/O error.
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

/// A broker that can be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoTree {
    /// Its `server.properties`.
    pub config: PathBuf,
    /// Its log dirs.
    pub log_dirs: Vec<PathBuf>,
    /// Its release.
    pub kafka_version: KafkaVersion,
    /// The clock to judge it by.
    pub now: Timestamp,
}

/// Unpacks the broker into `folder`, which is there already and empty.
///
/// # Errors
///
/// The disk's.
pub fn write_crashed(folder: &Path) -> Result<DemoTree, DemoError> {
    unpack(CRASHED, folder)?;
    let (kafka_version, now) = about(folder)?;
    let log_dirs = vec![folder.join("data1"), folder.join("data2")];
    let config = folder.join("server.properties");
    point_to(&config, &log_dirs)?;
    Ok(DemoTree {
        config,
        log_dirs,
        kafka_version,
        now,
    })
}

/// Reads what an archive says of itself: its release, and the clock to judge it by.
pub(super) fn about(folder: &Path) -> Result<(KafkaVersion, Timestamp), DemoError> {
    let about = read_properties(&folder.join("about.properties"))?;
    let kafka_version = about
        .get("kafka.version")
        .and_then(|version| version.parse().ok())
        .ok_or(DemoError::Missing("kafka.version"))?;
    let killed: i64 = about
        .get("killed.at")
        .and_then(|time| time.parse().ok())
        .ok_or(DemoError::Missing("killed.at"))?;
    Ok((kafka_version, Timestamp(killed + AFTER_KILL_MS)))
}

fn read_properties(path: &Path) -> Result<Properties, DemoError> {
    let bytes = fs::read(path).map_err(DemoError::at(path))?;
    Properties::parse(&bytes).map_err(|error| DemoError::Io {
        path: path.to_owned(),
        source: io::Error::other(error),
    })
}

/// Makes `log.dirs` of a configuration say where the dirs are.
pub(super) fn point_to(config: &Path, log_dirs: &[PathBuf]) -> Result<(), DemoError> {
    let paths: Vec<String> = log_dirs
        .iter()
        .map(|dir| dir.display().to_string())
        .collect();
    set_properties(config, &[("log.dirs", &paths.join(","))])
}

/// Sets keys of a configuration.
pub(super) fn set_properties(config: &Path, values: &[(&str, &str)]) -> Result<(), DemoError> {
    let mut properties = read_properties(config)?;
    for (key, value) in values {
        properties.entries.retain(|entry| entry.key != *key);
        properties.entries.push(Property {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            line: 0,
        });
    }
    let text = properties.encode("the demo's log dirs");
    fs::write(config, text).map_err(DemoError::at(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_names_the_unpacked_dirs() {
        let folder = tempfile::tempdir().unwrap();
        let tree = write_crashed(folder.path()).unwrap();
        let properties = read_properties(&tree.config).unwrap();
        let want = format!("{0}/data1,{0}/data2", folder.path().display());
        assert_eq!(properties.get("log.dirs"), Some(want.as_str()));
        assert_eq!(properties.get("node.id"), Some("1"));
        assert_eq!(tree.kafka_version, KafkaVersion::new(4, 4, 0));
        assert!(
            tree.log_dirs
                .iter()
                .all(|dir| dir.join("meta.properties").exists())
        );
    }
}
