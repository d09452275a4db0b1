//! Topic overrides from a file, where the metadata log is not at hand (`--topic-config`).
//!
//! A line each, `#` begins a comment:
//!
//! ```text
//! orders           segment.bytes=104857600,index.interval.bytes=1024
//! clicks           preallocate=true
//! ```
//!
//! The lines that `kafka-topics.sh --describe` prints are taken as they are (`Topic: orders … Configs: KEY=VALUE,…`),
//! so its output can be saved on another host and named here. Keys that recovery does not depend on are passed over.

use std::collections::BTreeMap;
use std::path::Path;

use super::SettingsError;
use crate::plan::LogConfig;

/// A topic's overrides, by Kafka's key.
pub type Overrides = BTreeMap<String, String>;

/// Returns `base` with the overrides that recovery depends on; the keys are the topic's (`segment.bytes`).
///
/// # Errors
///
/// A value that Kafka would not take, as `(key, cause)`.
pub fn apply_overrides<'a>(
    base: LogConfig,
    overrides: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<LogConfig, (String, String)> {
    let mut config = base;
    let (mut segment_bytes, mut internal_segment_bytes) = (None, None);
    for (key, value) in overrides {
        let value = value.trim();
        let number = |at_least: i32| match value.parse::<i32>() {
            Ok(number) if number >= at_least => Ok(number),
            _ => Err((
                key.to_owned(),
                format!("\"{value}\" is not an integer of at least {at_least}"),
            )),
        };
        match key {
            "index.interval.bytes" => config.index_interval_bytes = number(0)?,
            "segment.index.bytes" => config.segment_index_bytes = number(4)?,
            "segment.bytes" => segment_bytes = Some(number(14)?),
            "internal.segment.bytes" => internal_segment_bytes = Some(number(1)?),
            "cleanup.policy" => config.compact = LogConfig::is_compact(value),
            "preallocate" => {
                config.preallocate = match value.to_ascii_lowercase().as_str() {
                    "true" => true,
                    "false" => false,
                    _ => {
                        let cause = format!("\"{value}\" is neither true nor false");
                        return Err((key.to_owned(), cause));
                    }
                };
            }
            _ => {}
        }
    }
    if let Some(bytes) = internal_segment_bytes.or(segment_bytes) {
        config.segment_bytes = bytes;
    }
    Ok(config)
}

/// Reads a file of topic overrides.
///
/// # Errors
///
/// A file that cannot be read, or a line that says nothing or a value that Kafka would not take.
pub fn read_topic_config(path: &Path) -> Result<BTreeMap<String, Overrides>, SettingsError> {
    let bytes = std::fs::read(path).map_err(|source| SettingsError::Read {
        path: path.to_owned(),
        source,
    })?;
    parse(&String::from_utf8_lossy(&bytes)).map_err(|(line, cause)| SettingsError::TopicConfig {
        path: path.to_owned(),
        line,
        cause,
    })
}

/// Parses the text; an error is `(line from 1, cause)`.
fn parse(text: &str) -> Result<BTreeMap<String, Overrides>, (usize, String)> {
    let mut topics: BTreeMap<String, Overrides> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = |cause: String| (index + 1, cause);
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some((topic, list)) = split_line(line).map_err(wrong)? else {
            continue;
        };
        let overrides = split_pairs(list).map_err(wrong)?;
        let pairs = overrides
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        apply_overrides(LogConfig::default(), pairs)
            .map_err(|(key, cause)| wrong(format!("{key}: {cause}")))?;
        topics
            .entry(topic.to_owned())
            .or_default()
            .extend(overrides);
    }
    Ok(topics)
}

/// Splits a line into topic and list; `None` where there is nothing to learn.
fn split_line(line: &str) -> Result<Option<(&str, &str)>, String> {
    if line.is_empty() {
        return Ok(None);
    }
    if let Some(rest) = line.strip_prefix("Topic:") {
        let topic = rest
            .split_whitespace()
            .next()
            .ok_or("no topic behind \"Topic:\"")?;
        // Lines of partitions have no such part.
        return Ok(line
            .split_once("Configs:")
            .map(|(_, list)| (topic, list.trim())));
    }
    line.split_once(char::is_whitespace)
        .map(|(topic, list)| Some((topic, list.trim())))
        .ok_or_else(|| "not of the form TOPIC KEY=VALUE[,KEY=VALUE]".to_owned())
}

/// Splits `KEY=VALUE,KEY=VALUE`; a part without `=` belongs to the value before it (`cleanup.policy=compact,delete`).
fn split_pairs(list: &str) -> Result<Overrides, String> {
    let mut pairs = Overrides::new();
    let mut open_key: Option<String> = None;
    for part in list
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        match (part.split_once('='), &open_key) {
            (Some((key, value)), _) => {
                pairs.insert(key.trim().to_owned(), value.trim().to_owned());
                open_key = Some(key.trim().to_owned());
            }
            (None, Some(key)) => {
                if let Some(value) = pairs.get_mut(key) {
                    value.push(',');
                    value.push_str(part);
                }
            }
            (None, None) => return Err(format!("\"{part}\" is not of the form KEY=VALUE")),
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_internal_segment_size_wins_wherever_it_stands() {
        for pairs in [
            [
                ("segment.bytes", "1048576"),
                ("internal.segment.bytes", "20000"),
            ],
            [
                ("internal.segment.bytes", "20000"),
                ("segment.bytes", "1048576"),
            ],
        ] {
            let config = apply_overrides(LogConfig::default(), pairs).unwrap();
            assert_eq!(config.segment_bytes, 20_000);
        }
    }

    #[test]
    fn lines_of_ours_and_of_kafka_topics_sh_are_read() {
        let topics = parse(
            "# overrides\n\
             orders   segment.bytes=1048576, index.interval.bytes = 0\n\
             Topic: a.b-c\tTopicId: xyz\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: cleanup.policy=compact,delete,preallocate=true\n\
             \tTopic: a.b-c\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n\
             Topic: bare\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n",
        )
        .unwrap();
        assert_eq!(topics["orders"]["index.interval.bytes"], "0");
        assert_eq!(topics["a.b-c"]["cleanup.policy"], "compact,delete");
        assert_eq!(topics["a.b-c"]["preallocate"], "true");
        assert!(topics["bare"].is_empty());
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, line) in [
            ("\norders\n", 2),
            ("orders segment.bytes\n", 1),
            ("orders segment.bytes=1\n", 1),
            ("a preallocate=true\nb preallocate=maybe\n", 2),
        ] {
            assert_eq!(parse(text).unwrap_err().0, line, "{text}");
        }
    }
}
