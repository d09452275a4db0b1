//! What the brokers say of this host's logs while they run: high watermarks, log starts, settings.

use std::collections::{BTreeMap, BTreeSet};

use super::live::{HostBroker, Live, LiveClient};
use super::target::{Presence, TopicsTold};
use super::{CliError, Context, Look, clock};
use crate::client::{Client, ClientError, ConfigOrigin, ConfigResource, KafkaError, Special, Whom};
use crate::cluster::{ConfigKey, ConfigSource, ToldConfig};
use crate::plan::retention::{HighWatermark, LogFacts, LogRole};
use crate::terms::{Offset, Timestamp, TopicPartition};

/// Topics that are asked about in one request.
const TOPICS_AT_ONCE: usize = 500;

/// An answer of the brokers.
#[derive(Debug, Clone)]
pub struct LivingLogs {
    /// When they were asked.
    pub(super) at: Timestamp,
    /// The leaders' high watermarks of the partitions that this host's broker holds.
    pub(super) high_watermarks: BTreeMap<TopicPartition, Offset>,
    /// The first offsets of its own logs.
    pub(super) log_starts: BTreeMap<TopicPartition, Offset>,
    /// The settings of their topics, as this host's broker has them.
    pub(super) settings: TopicsTold,
    /// Topics whose settings it does not tell, with its answer.
    pub(super) refused: BTreeMap<String, KafkaError>,
}

impl LivingLogs {
    /// Asks the brokers that `--bootstrap` names, if it names any.
    pub(super) fn ask(context: &Context, look: &Look) -> Option<Result<Self, CliError>> {
        context.bootstrap.as_ref()?;
        let ask = || {
            let live = Live::new(context)?;
            live.run(ask(&live.client, live.host.as_ref(), look))
        };
        Some(ask())
    }

    /// Asks the brokers by a client that is there, while this host's broker runs.
    ///
    /// # Errors
    ///
    /// No broker answers, or none that is this host's.
    pub async fn ask_by(live: &LiveClient, look: &Look) -> Result<Self, CliError> {
        ask(&live.client, live.host.as_ref(), look).await
    }

    /// Puts what was told of a log in the place of what its dir's files say; a log on its way to another dir is not meant.
    pub(super) fn lay_over(&self, facts: &mut LogFacts) {
        if facts.role != LogRole::Current {
            return;
        }
        if let Some(start) = self.log_starts.get(&facts.topic_partition) {
            facts.log_start_offset = *start;
        }
        let high_watermark = self.high_watermarks.get(&facts.topic_partition);
        // A follower's files end where they were read, which may be before what its leader has committed.
        if let Some((told, end)) = high_watermark.zip(facts.log_end_offset) {
            facts.high_watermark = HighWatermark::Told((*told).min(end));
        }
    }

    /// Returns the logs whose log start was told.
    pub(super) fn told_starts(&self) -> BTreeSet<TopicPartition> {
        self.log_starts.keys().cloned().collect()
    }

    /// Returns the topics whose settings were told.
    pub(super) fn told_topics(&self) -> BTreeSet<String> {
        self.settings.keys().cloned().collect()
    }
}

/// Asks for what is in force on this host's broker; another one's settings and log starts would not be its.
///
/// # Errors
///
/// As for [`LivingLogs::ask_by`].
pub(super) async fn ask(
    client: &Client,
    host: Option<&HostBroker>,
    look: &Look,
) -> Result<LivingLogs, CliError> {
    if look.presence == Presence::Down {
        return Err(CliError::failed("this host's broker does not run"));
    }
    let Some(host) = host else {
        return Err(
            CliError::failed("which broker of the cluster this host's is, is not known")
                .hint("Its server.properties or meta.properties say: --config FILE."),
        );
    };
    let at = clock::now();
    let metadata = client.metadata(None).await?;
    if let (Some(ours), Some(theirs)) = (&host.cluster_id, &metadata.cluster_id)
        && ours != theirs
    {
        let text = format!("it is the cluster {theirs}; these log dirs belong to {ours}");
        return Err(CliError::failed(text));
    }
    let id = host.node_id;
    if !metadata.brokers.iter().any(|broker| broker.id == id) {
        let text = format!("broker {id} of this host is none of the living ones");
        return Err(CliError::failed(text));
    }
    let held = metadata.partitions.iter();
    let held = held.filter(|(_, known)| known.replicas.contains(&id));
    let mut leaders: BTreeMap<i32, Vec<TopicPartition>> = BTreeMap::new();
    let mut own = Vec::new();
    for (partition, known) in held {
        own.push(partition.clone());
        if let Some(leader) = known.leader {
            leaders.entry(leader).or_default().push(partition.clone());
        }
    }
    let mut living = LivingLogs {
        at,
        high_watermarks: BTreeMap::new(),
        log_starts: BTreeMap::new(),
        settings: TopicsTold::new(),
        refused: BTreeMap::new(),
    };
    for (leader, partitions) in leaders {
        // A leader that is silent leaves its partitions to the files.
        let told = client.offsets(leader, Special::HighWatermark, &partitions);
        living.high_watermarks.extend(known(told.await));
    }
    let starts = client.offsets(id, Special::LocalLogStart, &own);
    living.log_starts.extend(known(starts.await));
    let mut topics: Vec<_> = own.into_iter().map(|of| of.topic).collect();
    topics.dedup();
    (living.settings, living.refused) = settings(client, id, &topics).await?;
    Ok(living)
}

type Answers = BTreeMap<TopicPartition, crate::client::AnsweredOffset>;

fn known(answers: Result<Answers, ClientError>) -> impl Iterator<Item = (TopicPartition, Offset)> {
    let answers = answers.unwrap_or_default().into_iter();
    answers.filter_map(|(partition, answer)| Some((partition, answer.ok()??)))
}

type Settings = (TopicsTold, BTreeMap<String, KafkaError>);

/// Asks broker `id` for the settings of topics; returns those that it tells, and why it does not tell the others.
async fn settings(client: &Client, id: i32, topics: &[String]) -> Result<Settings, ClientError> {
    let keys: Vec<&str> = ConfigKey::ALL.iter().map(|key| key.topic).collect();
    let (mut told, mut refused) = (TopicsTold::new(), BTreeMap::new());
    for some in topics.chunks(TOPICS_AT_ONCE) {
        let resources = some.iter().cloned().map(ConfigResource::Topic);
        let resources: Vec<_> = resources.collect();
        let found = client.configs(Whom::Broker(id), &resources, &keys).await?;
        for (resource, entries) in found {
            let ConfigResource::Topic(topic) = resource else {
                continue;
            };
            let entries = match entries {
                Ok(entries) => entries,
                Err(code) => {
                    refused.insert(topic, code);
                    continue;
                }
            };
            let entries = entries.into_iter().filter_map(|(key, entry)| {
                let source = source(entry.origin)?;
                let value = entry.value?;
                Some((key, ToldConfig { value, source }))
            });
            told.insert(topic, entries.collect());
        }
    }
    Ok((told, refused))
}

fn source(origin: ConfigOrigin) -> Option<ConfigSource> {
    match origin {
        ConfigOrigin::Topic => Some(ConfigSource::Topic),
        ConfigOrigin::Broker => Some(ConfigSource::Broker),
        ConfigOrigin::ClusterDefault => Some(ConfigSource::AllBrokers),
        ConfigOrigin::File => Some(ConfigSource::Static),
        ConfigOrigin::Default => Some(ConfigSource::Default),
        ConfigOrigin::Other => None,
    }
}
