//! The topics' settings as far as recovery depends on them: a file, else the broker's copy of the metadata log, else the
//! broker's defaults.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::Candidate;
use crate::cli::CliError;
use crate::cluster::MetadataImage;
use crate::disk::RealStorage;
use crate::engine::{TopicConfigs, read_metadata_dir};
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::LogConfig;
use crate::settings::{Overrides, Settings, apply_overrides, read_topic_config};

/// How many records that could not be used are named.
const MAX_FINDINGS: usize = 5;
/// The metadata log's dir.
const METADATA_DIR: &str = "__cluster_metadata-0";

/// What is known of topics.
#[derive(Debug, Clone, Default)]
pub struct TopicSettings {
    /// Settings by topic; of topics that are not there the broker's defaults hold.
    by_topic: BTreeMap<String, LogConfig>,
    /// The broker's defaults.
    default: LogConfig,
    /// Overrides by topic, as the operator's file has them.
    pub named: BTreeMap<String, Overrides>,
    /// The metadata of this host, where it was read.
    pub image: Option<Arc<MetadataImage>>,
    /// The level of the feature `metadata.version`.
    pub metadata_version: Option<i16>,
    /// What was seen, for the report.
    pub findings: Vec<Finding>,
    /// Where the settings are from, for the report.
    pub source: String,
}

impl TopicSettings {
    /// Returns the lookup that the engine takes.
    pub fn lookup(&self) -> TopicConfigs {
        let this = self.clone();
        Arc::new(move |topic| this.by_topic.get(topic).copied().unwrap_or(this.default))
    }

    fn add(&mut self, topic: &str, overrides: &Overrides) {
        let pairs = overrides
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        match apply_overrides(self.default, pairs) {
            Ok(config) => {
                self.by_topic.insert(topic.to_owned(), config);
            }
            Err((key, cause)) => self.findings.push(
                Finding::new(
                    FindingCode::TopicConfigUnknown,
                    Severity::Routine,
                    format!("topic {topic}: {key}: {cause}; the broker's default was used"),
                )
                .next("Name the topic's settings with --topic-config FILE."),
            ),
        }
    }
}

/// Collects the topics' settings. `may_read` says whether the metadata log may be read (not beside a living broker).
///
/// # Errors
///
/// A file of topic overrides that cannot be used.
pub fn topic_settings(
    settings: &Settings,
    candidate: &Candidate,
    log_dirs: &[PathBuf],
    may_read: bool,
) -> Result<TopicSettings, CliError> {
    let mut topics = TopicSettings {
        default: candidate.broker.log_config,
        ..TopicSettings::default()
    };
    let image = if may_read {
        read_image(candidate, log_dirs, &mut topics.findings)
    } else {
        None
    };
    if let Some((image, dir)) = &image {
        topics.metadata_version = image.feature("metadata.version");
        topics.source = format!(
            "{} as of offset {} ({}), its tail possibly uncommitted",
            dir.display(),
            image.next_offset,
            image.timestamp.rfc3339()
        );
        for (topic, _) in image.topics() {
            let overrides = image
                .topic_configs(topic)
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect();
            topics.add(topic, &overrides);
        }
    }
    topics.image = image.map(|(image, _)| Arc::new(image));
    if let Some(file) = &settings.topic_config {
        topics.source = file.value.display().to_string();
        topics.named = read_topic_config(&file.value)?;
        for (topic, overrides) in &topics.named.clone() {
            topics.add(topic, overrides);
        }
    } else if topics.image.is_none() && may_read {
        "the broker's defaults".clone_into(&mut topics.source);
        topics.findings.push(
            Finding::new(
                FindingCode::TopicConfigUnknown,
                Severity::Routine,
                "no metadata log was found, so topics are taken to have no overrides; with others indexes come out \
                 longer or shorter than the broker's, which no broker minds",
            )
            .next("Name the topics' settings with --topic-config FILE."),
        );
    }
    Ok(topics)
}

/// Reads the metadata log of the metadata log dir, else of any log dir.
fn read_image(
    candidate: &Candidate,
    log_dirs: &[PathBuf],
    findings: &mut Vec<Finding>,
) -> Option<(MetadataImage, PathBuf)> {
    let metadata_log_dir = candidate.broker.metadata_log_dir.as_ref();
    let own = metadata_log_dir
        .filter(|_| candidate.own_log_dirs)
        .map(|dir| &dir.value);
    let dir = own
        .into_iter()
        .chain(log_dirs)
        .map(|dir| dir.join(METADATA_DIR))
        .find(|dir| dir.is_dir())?;
    let finding = |text: String| {
        Finding::new(FindingCode::TopicConfigUnknown, Severity::Routine, text)
            .next("Name the topics' settings with --topic-config FILE.")
    };
    match read_metadata_dir(&RealStorage, &dir, None) {
        Ok(Some(folded)) => {
            for (file, error) in &folded.given_up {
                findings.push(finding(format!(
                    "{}: {error}; topic settings set behind it are not known",
                    dir.join(file).display()
                )));
            }
            for of in folded.findings.iter().take(MAX_FINDINGS) {
                findings.push(finding(format!("{}: {of}", dir.display())));
            }
            let more = folded.findings.len().saturating_sub(MAX_FINDINGS) as u64
                + folded.findings_left_out;
            if more > 0 {
                let text = format!("{}: {more} more records could not be used", dir.display());
                findings.push(finding(text));
            }
            Some((folded.image, dir))
        }
        Ok(None) => None,
        Err(error) => {
            findings.push(finding(error.sentence()));
            None
        }
    }
}
