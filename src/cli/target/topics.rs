//! The topics' settings as far as recovery depends on them: a file, else the broker's copy of the metadata log, else the
//! broker's defaults.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Candidate;
use super::identity::read_meta;
use crate::cli::CliError;
use crate::cluster::{FoldedDir, MetadataImage, NodeMetadata, VotersSource, features};
use crate::disk::RealStorage;
use crate::engine::{TopicConfigs, read_metadata_dir, read_node_files};
use crate::format::meta_properties::MetaPropertiesVersion;
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
    /// What the disk says of the node's quorum and format; `None` without a metadata log.
    pub node: Option<NodeMetadata>,
    /// Whether the dirs are those of a ZooKeeper-mode broker, which keeps no metadata on its disk.
    pub is_zookeeper: bool,
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
    let dir = metadata_dir(candidate, log_dirs);
    topics.is_zookeeper = dir.is_none() && is_zookeeper(candidate, log_dirs);
    let folded = dir
        .as_ref()
        .filter(|_| may_read)
        .and_then(|dir| read_image(dir, &mut topics.findings));
    topics.node = dir
        .as_ref()
        .map(|dir| node_metadata(candidate, (dir, log_dirs), folded.as_ref()));
    let image = folded.map(|folded| folded.image).zip(dir);
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
        topics.findings.push(if topics.is_zookeeper {
            zookeeper_mode()
        } else {
            Finding::new(
                FindingCode::TopicConfigUnknown,
                Severity::Routine,
                "no metadata log was found, so topics are taken to have no overrides; with others indexes come out \
                 longer or shorter than the broker's, which no broker minds",
            )
            .next("Name the topics' settings with --topic-config FILE.")
        });
    }
    Ok(topics)
}

/// Says of a ZooKeeper-mode broker where its topics' settings can be had.
fn zookeeper_mode() -> Finding {
    let text = "a ZooKeeper-mode broker (3.x): its topics' settings lie in ZooKeeper, not on its disk; the broker's own limits \
                stand in for them";
    Finding::new(FindingCode::TopicConfigUnknown, Severity::Routine, text).next(
        "Save what kafka-configs.sh --describe or kafka-topics.sh --describe prints and name it with --topic-config FILE; or, \
         with a broker up, read them live: krescue retention TOPIC --bootstrap HOST:PORT.",
    )
}

/// Says whether log dirs without a metadata log are a ZooKeeper-mode broker's.
fn is_zookeeper(candidate: &Candidate, log_dirs: &[PathBuf]) -> bool {
    let named = candidate.broker.properties.get("zookeeper.connect");
    let has_role = candidate.broker.properties.contains_key("process.roles");
    let is_of_zookeeper = |dir: &PathBuf| {
        read_meta(dir).is_some_and(|meta| meta.version == MetaPropertiesVersion::V0)
    };
    !has_role && (named.is_some() || log_dirs.iter().any(is_of_zookeeper))
}

/// Puts together what the disk says of a node.
fn node_metadata(
    candidate: &Candidate,
    (dir, log_dirs): (&Path, &[PathBuf]),
    folded: Option<&FoldedDir>,
) -> NodeMetadata {
    let files = read_node_files(&RealStorage, dir, log_dirs);
    let by_records = folded.and_then(|folded| folded.voters.as_ref());
    let by_records = by_records.map(|voters| {
        let ids = voters.iter().map(|voter| voter.id).collect();
        (ids, VotersSource::Records)
    });
    let state = files.quorum.as_ref().and_then(|state| state.as_ref().ok());
    let by_state = state
        .filter(|state| !state.current_voters.is_empty())
        .map(|state| (state.current_voters.clone(), VotersSource::QuorumState));
    let by_config = || {
        let text = candidate
            .broker
            .properties
            .get("controller.quorum.voters")?;
        let ids = text
            .split(',')
            .map(|voter| voter.trim().split_once('@')?.0.parse().ok());
        Some((ids.collect::<Option<Vec<i32>>>()?, VotersSource::Config))
    };
    NodeMetadata {
        as_of: folded.map(|folded| (folded.image.next_offset, folded.image.timestamp)),
        features: folded.map_or_else(BTreeMap::new, |folded| features(&folded.image)),
        voters: by_records.or(by_state).or_else(by_config),
        quorum: files.quorum,
        bootstrap: files.bootstrap,
    }
}

/// Returns the metadata log in the metadata log dir, else in any log dir.
fn metadata_dir(candidate: &Candidate, log_dirs: &[PathBuf]) -> Option<PathBuf> {
    let metadata_log_dir = candidate.broker.metadata_log_dir.as_ref();
    let own = metadata_log_dir
        .filter(|_| candidate.own_log_dirs())
        .map(|dir| &dir.value);
    own.into_iter()
        .chain(log_dirs)
        .map(|dir| dir.join(METADATA_DIR))
        .find(|dir| dir.is_dir())
}

/// Folds the metadata log.
fn read_image(dir: &Path, findings: &mut Vec<Finding>) -> Option<FoldedDir> {
    let finding = |text: String| {
        Finding::new(FindingCode::TopicConfigUnknown, Severity::Routine, text)
            .next("Name the topics' settings with --topic-config FILE.")
    };
    match read_metadata_dir(&RealStorage, dir, None) {
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
            Some(folded)
        }
        Ok(None) => None,
        Err(error) => {
            findings.push(finding(error.sentence()));
            None
        }
    }
}
