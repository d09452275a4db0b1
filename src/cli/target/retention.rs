//! The logs of a broker's dirs, with their settings, judged by a clock.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{EffectiveConfig, Presence, topic_settings};
use crate::cli::{CliError, Context, LivingLogs, Look};
use crate::cluster::{LogConfig, MetadataImage, SettingsTable};
use crate::disk::RealStorage;
use crate::engine::{Beside, RetentionSpec, read_retention};
use crate::log::{Finding, FindingCode, Severity};
use crate::observe::server_log::CleanerLog;
use crate::observe::{ProcessLife, log_file_of};
use crate::plan::retention::{
    BrokerRules, CheckpointTimes, CleanerGaveUp, FactSources, HostRetention, LogFacts, Placement,
    RetainedLog, RetentionLimits,
};
use crate::terms::{Timestamp, TopicPartition};

/// Says that verdicts are given without the topics' overrides.
fn unknown_overrides() -> Finding {
    let text = "no metadata log of KRaft that can be read lies here (a broker of ZooKeeper's has none): overrides of topics are \
                not known, and every verdict is by the broker's own limits";
    Finding::new(FindingCode::TopicConfigUnknown, Severity::Warning, text).next(
        "Save what kafka-topics.sh --describe or kafka-configs.sh --describe prints, and name it: --topic-config FILE; with a broker \
         up, --bootstrap HOST:PORT reads them live."
    )
}

/// Says of which topics the running broker does not tell the settings; `has_files` says whether files here stand in for them.
fn untold(living: &LivingLogs, has_files: bool) -> Option<Finding> {
    const NAMED: usize = 4;
    let (_, code) = living.refused.first_key_value()?;
    let names = living.refused.keys().take(NAMED).cloned();
    let mut names = names.collect::<Vec<_>>().join(", ");
    if living.refused.len() > NAMED {
        names = format!("{names} and {} more", living.refused.len() - NAMED);
    }
    let instead = if has_files {
        "what files here say of them counts, which may be old"
    } else {
        "no file here says them either: their overrides are not known, and their verdicts are by the broker's own limits"
    };
    let text = format!("the broker does not tell the settings of {names} ({code}): {instead}");
    let finding = Finding::new(FindingCode::TopicConfigUnknown, Severity::Warning, text);
    Some(finding.next("Ask as a user who may DESCRIBE_CONFIGS topics: --command-config FILE."))
}

/// Returns what the log of a running broker says of its cleaner; what it gave up is its again once it starts anew.
fn cleaner_log(look: &Look) -> CleanerLog {
    let proc = Path::new("/proc");
    let read = |pid| {
        let log = log_file_of(proc, pid).ok().flatten()?;
        let began = ProcessLife::of(proc, pid).and_then(|life| life.began_ms(proc));
        Some(CleanerLog::read(&log, began))
    };
    look.presence.pid().and_then(read).unwrap_or_default()
}

fn dead_cleaner(cause: &str) -> Finding {
    let text = format!(
        "a thread of the log cleaner has died, and nobody starts it again: nothing of its logs is compacted, nor trimmed \
         under compact,delete ({cause})"
    );
    Finding::new(FindingCode::CleanerGaveUp, Severity::Warning, text)
        .next("Mend what it names, then restart the broker.")
}

/// What was read for retention.
#[derive(Debug, Clone)]
pub struct HostLogs {
    /// The logs.
    pub host: HostRetention,
    /// What was seen, of a log dir or of the host.
    pub findings: Vec<(Option<PathBuf>, Finding)>,
    /// When a broker last wrote in these dirs.
    pub newest_write: Option<Timestamp>,
    /// Where the topics' settings are from.
    pub settings_source: String,
    /// Every setting of every topic.
    pub settings: Arc<SettingsTable>,
    /// Where each kind of fact is from, and how old it is.
    pub sources: FactSources,
}

/// Puts what the configuration and the metadata say beside what the disk says of a log.
fn retained(
    facts: LogFacts,
    (config, broker): (&Arc<LogConfig>, BrokerRules),
    (image, broker_id): (Option<&MetadataImage>, Option<i32>),
) -> RetainedLog {
    let topic = &facts.topic_partition.topic;
    let in_image = image.and_then(|image| image.partition(&facts.topic_partition));
    RetainedLog {
        config: Arc::clone(config),
        limits: RetentionLimits::of(topic, config, broker),
        gave_up: None,
        leads: in_image
            .zip(broker_id)
            .map(|(partition, id)| partition.leader == Some(id)),
        placement: image.zip(in_image).and_then(|(image, partition)| {
            Some(Placement {
                partitions: image.topic(topic)?.partitions.len() as u64,
                replicas: partition.replicas.len() as u64,
            })
        }),
        facts,
    }
}

/// Marks a log that the cleaner gave up.
fn given_up(mut log: RetainedLog, cleaner: &CleanerLog) -> RetainedLog {
    let mut given_up = cleaner.given_up.iter();
    let found = given_up.find(|of| of.partition == log.facts.topic_partition);
    log.limits.cleaner_gave_up = found.is_some();
    log.gave_up = found.map(|of| CleanerGaveUp {
        at: of.at.clone(),
        cause: of.cause.clone(),
    });
    log
}

/// Reads the logs of a broker for retention, by its files alone. As [`read_living_logs`] without an answer of the brokers.
///
/// # Errors
///
/// As there.
pub fn read_host_logs(
    context: &Context,
    look: &Look,
    selection: Option<BTreeSet<TopicPartition>>,
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> Result<HostLogs, CliError> {
    read_living_logs(context, look, (selection, None), is_wanted)
}

/// Reads the logs of a broker for retention. What the brokers said counts before what lies in files. The metadata log is read
/// beside a living broker too: it is small, and without it no verdict can be given.
///
/// # Errors
///
/// A file of topic overrides that cannot be used; nobody wants the result any more.
pub fn read_living_logs(
    context: &Context,
    look: &Look,
    (selection, living): (Option<BTreeSet<TopicPartition>>, Option<&LivingLogs>),
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> Result<HostLogs, CliError> {
    let topics = topic_settings(&context.settings, &look.candidate, &look.log_dirs, true)?;
    let configured = look.candidate.broker.node_id.as_ref().map(|id| id.value);
    let broker_id = configured.or(look.identity.node_id);
    let version = look.version.version;
    let config = EffectiveConfig::new(&look.candidate, &topics, broker_id, version);
    let told = living.map(|living| living.settings.clone());
    let config = Arc::new(config.told(told.unwrap_or_default()));
    let asked = Arc::clone(&config);
    let compacted = Arc::clone(&config);
    let spec = RetentionSpec {
        log_dirs: look.log_dirs.clone(),
        selection,
        beside: beside(context, &look.presence),
        is_sole_in_sync: Arc::new(move |partition| asked.is_sole_in_sync(partition)),
        is_compacted: Arc::new(move |partition| {
            compacted
                .of(&partition.topic)
                .0
                .cleanup_policy
                .value
                .compacts()
        }),
        threads: context
            .settings
            .threads
            .as_ref()
            .map(|threads| threads.value),
    };
    let reading = read_retention(&RealStorage, &spec, is_wanted)?;
    let cleaner = cleaner_log(look);
    let broker = config.broker_rules();
    let mut by_topic: BTreeMap<String, Arc<LogConfig>> = BTreeMap::new();
    let logs: Vec<RetainedLog> = reading
        .logs
        .into_iter()
        .map(|mut facts| {
            if let Some(living) = living {
                living.lay_over(&mut facts);
            }
            let topic = facts.topic_partition.topic.clone();
            let of_topic = by_topic
                .entry(topic)
                .or_insert_with_key(|topic| Arc::new(config.of(topic).0));
            let log = retained(
                facts,
                (of_topic, broker),
                (topics.image.as_deref(), broker_id),
            );
            given_up(log, &cleaner)
        })
        .collect();
    let has_files = topics.image.is_some() || context.settings.topic_config.is_some();
    let is_blind = living.is_none() && !has_files;
    let untold = living.and_then(|living| untold(living, has_files));
    let metadata = topics.image.as_ref().map(|image| image.timestamp);
    let mut findings: Vec<(Option<PathBuf>, Finding)> = topics
        .findings
        .into_iter()
        .filter(|_| !is_blind)
        .chain(is_blind.then(unknown_overrides))
        .chain(untold)
        .chain(config.findings(by_topic.keys().map(String::as_str)))
        .map(|finding| (None, finding))
        .collect();
    findings.extend(cleaner.died.map(|cause| (None, dead_cleaner(&cause))));
    findings.extend(
        reading
            .findings
            .into_iter()
            .map(|(dir, finding)| (Some(dir), finding)),
    );
    Ok(HostLogs {
        host: HostRetention {
            logs,
            broker,
            now: context.now,
            is_served: look.presence != Presence::Down,
        },
        findings,
        newest_write: reading.newest_write,
        settings_source: match living {
            Some(living) => format!("this host's broker, asked at {}", living.at.rfc3339()),
            None => topics.source,
        },
        settings: Arc::new(config.table()),
        sources: sources(living, reading.checkpoints, metadata),
    })
}

/// Returns where each kind of fact is from.
fn sources(
    living: Option<&LivingLogs>,
    checkpoints: BTreeMap<PathBuf, CheckpointTimes>,
    metadata: Option<Timestamp>,
) -> FactSources {
    FactSources {
        asked: living.map(|living| living.at),
        silence: None,
        log_starts: living.map(LivingLogs::told_starts).unwrap_or_default(),
        settings: living.map(LivingLogs::told_topics).unwrap_or_default(),
        checkpoints,
        metadata,
    }
}

/// Returns who else may be using the log dirs.
fn beside(context: &Context, presence: &Presence) -> Beside {
    match presence {
        Presence::Down => Beside::Nobody,
        Presence::Running { .. } | Presence::Unknown { .. } => Beside::LiveBroker {
            bytes_per_second: Some(context.settings.live_read_rate.value),
        },
    }
}
