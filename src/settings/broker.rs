//! What a broker's `server.properties` says, as far as recovery depends on it.
//!
//! Recovery at a boot knows the static configuration and the topics' overrides only: a broker applies its dynamic
//! configuration after its logs are loaded (`BrokerMetadataPublisher` starts the log manager before its dynamic
//! configuration publisher runs).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{SettingsError, Source, Sourced, read_properties};
use crate::format::properties::Properties;
use crate::plan::LogConfig;

/// Kafka's default for `log.dir`.
const DEFAULT_LOG_DIR: &str = "/tmp/kafka-logs";
/// Kafka's default for `producer.id.expiration.ms`.
const DEFAULT_PRODUCER_ID_EXPIRATION_MS: i64 = 86_400_000;

/// A broker's static configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerConfig {
    /// The file; `None` if there is none (log dirs alone were named).
    pub path: Option<PathBuf>,
    /// `log.dirs`, else `log.dir`; absolute, links unresolved.
    pub log_dirs: Sourced<Vec<PathBuf>>,
    /// `metadata.log.dir`, else the first log dir.
    pub metadata_log_dir: Option<Sourced<PathBuf>>,
    /// `node.id`, else `broker.id`.
    pub node_id: Option<Sourced<i32>>,
    /// `process.roles`; `None` for ZooKeeper mode.
    pub process_roles: Option<String>,
    /// The broker's defaults for its logs.
    pub log_config: LogConfig,
    /// Which of the log defaults the file sets, by Kafka's key.
    pub log_config_keys: Vec<&'static str>,
    /// `producer.id.expiration.ms`.
    pub producer_id_expiration_ms: Sourced<i64>,
    /// `num.recovery.threads.per.data.dir`, if it is set.
    pub recovery_threads: Option<Sourced<i32>>,
    /// `cordoned.log.dirs` (4.3), a list or `*`.
    pub cordoned_log_dirs: Option<String>,
    /// All it says, key to value, with what its command line overrides.
    pub properties: BTreeMap<String, String>,
}

impl BrokerConfig {
    /// Reads `path`, then lets `overrides` (`--override KEY=VALUE` of the broker's command line) win. Relative log dirs
    /// are taken from `cwd`, the broker's working directory.
    ///
    /// # Errors
    ///
    /// A file that is missing or that Java would not load; a value that Kafka would not take; no log dir.
    pub fn read(
        path: &Path,
        overrides: &[(String, String)],
        cwd: &Path,
    ) -> Result<Self, SettingsError> {
        let file = read_properties(path)?.ok_or_else(|| SettingsError::Read {
            path: path.to_owned(),
            source: std::io::ErrorKind::NotFound.into(),
        })?;
        let values = Values {
            path,
            file: &file,
            overrides,
        };
        let log_dirs = values.log_dirs(cwd)?;
        let metadata_log_dir = match values.text("metadata.log.dir") {
            Some(dir) => Some(dir.map(|dir| cwd.join(dir))),
            None => log_dirs
                .value
                .first()
                .map(|dir| Sourced::new(dir.clone(), log_dirs.source.clone())),
        };
        let defaults = LogConfig::default();
        let mut log_config_keys = Vec::new();
        let mut number = |key: &'static str, at_least: i32, default: i32| {
            let found = values.number(key, i64::from(at_least), i64::from(i32::MAX))?;
            Ok(found.map_or(default, |found| {
                log_config_keys.push(key);
                i32::try_from(found.value).unwrap_or(default)
            }))
        };
        let mut log_config = LogConfig {
            index_interval_bytes: number(
                "log.index.interval.bytes",
                0,
                defaults.index_interval_bytes,
            )?,
            segment_index_bytes: number(
                "log.index.size.max.bytes",
                4,
                defaults.segment_index_bytes,
            )?,
            segment_bytes: number("log.segment.bytes", 14, defaults.segment_bytes)?,
            preallocate: defaults.preallocate,
            compact: defaults.compact,
        };
        if let Some(preallocate) = values.boolean("log.preallocate")? {
            log_config.preallocate = preallocate;
            log_config_keys.push("log.preallocate");
        }
        if let Some(policy) = values.text("log.cleanup.policy") {
            log_config.compact = LogConfig::is_compact(&policy.value);
            log_config_keys.push("log.cleanup.policy");
        }
        let small = |key| -> Result<Option<Sourced<i32>>, SettingsError> {
            let found = values.number(key, i64::from(i32::MIN), i64::from(i32::MAX))?;
            Ok(found.map(|found| found.map(|value| i32::try_from(value).unwrap_or_default())))
        };
        let node_id = match small("node.id")? {
            Some(id) => Some(id),
            None => small("broker.id")?,
        };
        Ok(Self {
            path: Some(path.to_owned()),
            log_dirs,
            metadata_log_dir,
            node_id,
            process_roles: values.text("process.roles").map(|roles| roles.value),
            log_config,
            log_config_keys,
            producer_id_expiration_ms: values
                .number("producer.id.expiration.ms", 1, i64::from(i32::MAX))?
                .unwrap_or_else(default_expiration),
            recovery_threads: small("num.recovery.threads.per.data.dir")?,
            cordoned_log_dirs: values.text("cordoned.log.dirs").map(|dirs| dirs.value),
            properties: values.all(),
        })
    }

    /// Returns what is known where log dirs alone were named: Kafka's defaults.
    pub fn of_log_dirs(log_dirs: Sourced<Vec<PathBuf>>) -> Self {
        Self {
            path: None,
            log_dirs,
            metadata_log_dir: None,
            node_id: None,
            process_roles: None,
            log_config: LogConfig::default(),
            log_config_keys: Vec::new(),
            producer_id_expiration_ms: default_expiration(),
            recovery_threads: None,
            cordoned_log_dirs: None,
            properties: BTreeMap::new(),
        }
    }
}

/// Returns Kafka's default expiry of idle producers.
fn default_expiration() -> Sourced<i64> {
    Sourced::new(DEFAULT_PRODUCER_ID_EXPIRATION_MS, Source::Default)
}

/// Splits a list as Kafka does: at commas, blanks around them dropped, empty entries left out.
pub(super) fn split_list(text: &str) -> Vec<PathBuf> {
    text.split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(PathBuf::from)
        .collect()
}

/// The values of one configuration.
struct Values<'a> {
    path: &'a Path,
    file: &'a Properties,
    overrides: &'a [(String, String)],
}

impl Values<'_> {
    /// Returns the value of `key`, trimmed as `ConfigDef` does.
    fn text(&self, key: &str) -> Option<Sourced<String>> {
        if let Some((_, value)) = self.overrides.iter().rev().find(|(name, _)| name == key) {
            let how = format!("--override {key} of the broker's command line");
            return Some(Sourced::new(
                value.trim().to_owned(),
                Source::Detected { how },
            ));
        }
        let found = self.file.property(key)?;
        let source = Source::File {
            path: self.path.to_owned(),
            key: key.to_owned(),
            line: found.line,
        };
        Some(Sourced::new(found.value.trim().to_owned(), source))
    }

    /// Returns all values by key, trimmed.
    fn all(&self) -> BTreeMap<String, String> {
        let file = self.file.entries.iter();
        let file = file.map(|entry| (entry.key.as_str(), entry.value.as_str()));
        let overrides = self.overrides.iter();
        let overrides = overrides.map(|(key, value)| (key.as_str(), value.as_str()));
        file.chain(overrides)
            .map(|(key, value)| (key.to_owned(), value.trim().to_owned()))
            .collect()
    }

    /// Returns the log dirs: `log.dirs` if the key is there at all, else `log.dir`, else Kafka's default.
    fn log_dirs(&self, cwd: &Path) -> Result<Sourced<Vec<PathBuf>>, SettingsError> {
        let found = self.text("log.dirs").or_else(|| self.text("log.dir"));
        let list =
            found.unwrap_or_else(|| Sourced::new(DEFAULT_LOG_DIR.to_owned(), Source::Default));
        let dirs = list.map(|list| {
            split_list(&list)
                .iter()
                .map(|dir| cwd.join(dir))
                .collect::<Vec<_>>()
        });
        if dirs.value.is_empty() {
            return Err(SettingsError::NoLogDir {
                origin: dirs.source,
            });
        }
        Ok(dirs)
    }

    fn number(
        &self,
        key: &str,
        at_least: i64,
        at_most: i64,
    ) -> Result<Option<Sourced<i64>>, SettingsError> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        match text.value.parse() {
            Ok(value) if (at_least..=at_most).contains(&value) => {
                Ok(Some(Sourced::new(value, text.source)))
            }
            _ => Err(wrong(
                key,
                text,
                format!("not an integer of at least {at_least}"),
            )),
        }
    }

    fn boolean(&self, key: &str) -> Result<Option<bool>, SettingsError> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        match text.value.to_ascii_lowercase().as_str() {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => Err(wrong(key, text, "neither true nor false".to_owned())),
        }
    }
}

/// Returns the error of a value that its key does not take.
fn wrong(key: &str, text: Sourced<String>, cause: String) -> SettingsError {
    SettingsError::Value {
        key: key.to_owned(),
        value: text.value,
        origin: Box::new(text.source),
        cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<BrokerConfig, SettingsError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.properties");
        std::fs::write(&path, text).unwrap();
        BrokerConfig::read(&path, &[], Path::new("/opt/kafka"))
    }

    #[test]
    fn log_dirs_win_over_log_dir_and_are_split_as_kafka_does() {
        let config = read("log.dir=/x\nlog.dirs= /a , /b,, rel/c \nnode.id=3\n").unwrap();
        let dirs: Vec<&str> = config
            .log_dirs
            .value
            .iter()
            .filter_map(|dir| dir.to_str())
            .collect();
        assert_eq!(dirs, ["/a", "/b", "/opt/kafka/rel/c"]);
        assert_eq!(config.node_id.unwrap().value, 3);
        assert_eq!(config.metadata_log_dir.unwrap().value, Path::new("/a"));
        assert_eq!(
            read("log.dir=/x").unwrap().log_dirs.value,
            [Path::new("/x")]
        );
        assert_eq!(
            read("").unwrap().log_dirs.value,
            [Path::new("/tmp/kafka-logs")]
        );
    }

    #[test]
    fn an_empty_list_is_an_error() {
        assert!(matches!(
            read("log.dirs=\n"),
            Err(SettingsError::NoLogDir { .. })
        ));
        assert!(matches!(
            read("log.dirs= , \n"),
            Err(SettingsError::NoLogDir { .. })
        ));
    }

    #[test]
    fn broker_defaults_reach_the_logs() {
        let config = read(
            "log.index.interval.bytes=1024\nlog.index.size.max.bytes=8192\nlog.preallocate=TRUE\n\
             log.segment.bytes=1048576\nproducer.id.expiration.ms=5000\nmetadata.log.dir=/m\n\
             log.cleanup.policy=delete, compact\n\
             num.recovery.threads.per.data.dir=4\nbroker.id=9\n",
        )
        .unwrap();
        assert_eq!(
            config.log_config,
            LogConfig {
                index_interval_bytes: 1024,
                segment_index_bytes: 8192,
                segment_bytes: 1 << 20,
                preallocate: true,
                compact: true,
            }
        );
        assert_eq!(config.producer_id_expiration_ms.value, 5000);
        assert_eq!(config.metadata_log_dir.unwrap().value, Path::new("/m"));
        assert_eq!(config.recovery_threads.unwrap().value, 4);
        assert_eq!(config.node_id.unwrap().value, 9);
    }

    #[test]
    fn a_value_that_kafka_refuses_names_its_key() {
        for text in [
            "log.index.size.max.bytes=3",
            "log.segment.bytes=big",
            "log.preallocate=yes",
            "log.index.interval.bytes=-1",
            "log.segment.bytes=99999999999",
        ] {
            let error = read(text).unwrap_err();
            assert!(
                matches!(error, SettingsError::Value { .. }),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn the_command_line_of_the_broker_overrides_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.properties");
        std::fs::write(&path, "log.dirs=/a\n").unwrap();
        let overrides = [("log.dirs".to_owned(), "/b".to_owned())];
        let config = BrokerConfig::read(&path, &overrides, Path::new("/")).unwrap();
        assert_eq!(config.log_dirs.value, [Path::new("/b")]);
    }
}
