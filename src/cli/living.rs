//! What the living cluster says of partitions while this host's broker is down: the cluster that was named, else the brokers
//! that this host's metadata names.

use std::collections::BTreeMap;
use std::time::Duration;

use super::live::{Live, client_of};
use super::target::Identity;
use super::{CliError, Context, clock};
use crate::client::{Address, Client, ClusterMetadata, Special};
use crate::cluster::MetadataImage;
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::{EvidenceSource, ReplicaEvidence};
use crate::settings::read_client_properties;
use crate::terms::{Offset, Timestamp, TopicPartition};

/// How long brokers are waited for that nobody named.
const UNNAMED_LIMIT: Duration = Duration::from_secs(4);

/// An answer of the cluster.
#[derive(Debug)]
pub(super) struct LivingCluster {
    metadata: ClusterMetadata,
    /// Where replicas on other brokers end, by their own answers.
    ends: BTreeMap<TopicPartition, BTreeMap<i32, Offset>>,
    /// When it came.
    at: Timestamp,
}

/// On whose behalf the cluster is asked.
pub(super) struct AskedBy<'a> {
    /// What the log dirs say.
    pub(super) identity: &'a Identity,
    /// This host's broker.
    pub(super) node_id: Option<i32>,
    /// Whether it is down.
    pub(super) is_down: bool,
    /// Its metadata.
    pub(super) image: Option<&'a MetadataImage>,
}

impl LivingCluster {
    /// Asks the cluster that `--bootstrap` names; without it, while this host's broker is down, the others that its metadata
    /// names. `None` if there is none to ask. An error is a finding: the work goes on without it.
    pub(super) fn ask(context: &Context, by: &AskedBy<'_>) -> Result<Option<Self>, Box<Finding>> {
        let is_named = context.bootstrap.is_some();
        let peers = match (is_named, by.is_down, by.image, by.node_id) {
            (true, ..) => Vec::new(),
            (false, true, Some(image), Some(node_id)) => peers(context, image, node_id),
            _ => return Ok(None),
        };
        if !is_named && peers.is_empty() {
            return Ok(None);
        }
        let told = |severity, text: String| {
            let finding = Finding::new(FindingCode::ClusterNotAsked, severity, text);
            Box::new(
                finding
                    .next("name a broker that is up: --bootstrap HOST:PORT, --command-config FILE"),
            )
        };
        let asked = || -> Result<Self, CliError> {
            if is_named {
                let live = Live::new(context)?;
                return Ok(live.run(answers(&live.client, by.node_id))?);
            }
            let properties = context.command_config.as_ref();
            let properties = properties.map(|path| read_client_properties(path));
            let client = client_of(peers.clone(), properties.transpose()?.as_ref())?;
            let live = Live::of(client, "this host's metadata")?;
            // The timer needs the runtime around it.
            let answer = live.run(async {
                tokio::time::timeout(UNNAMED_LIMIT, answers(&live.client, by.node_id)).await
            });
            let late = |_| CliError::failed(format!("no answer in {} s", UNNAMED_LIMIT.as_secs()));
            Ok(answer.map_err(late)??)
        };
        let severity = if is_named {
            Severity::Warning
        } else {
            // Nobody asked for it, and all may be down: what this host's metadata says is told with its age.
            Severity::Routine
        };
        let list: Vec<String> = peers.iter().map(ToString::to_string).collect();
        let living = asked().map_err(|error| {
            let whom = if is_named {
                "the cluster".to_owned()
            } else {
                format!(
                    "the other brokers ({}, by this host's metadata)",
                    list.join(", ")
                )
            };
            let text = format!("{whom} could not be asked who else has the logs: {error}");
            told(severity, text)
        })?;
        match (&by.identity.cluster_id, &living.metadata.cluster_id) {
            (Some(ours), Some(theirs)) if ours != theirs => {
                let names = if is_named {
                    "--bootstrap names".to_owned()
                } else {
                    format!("at {} there is now", list.join(", "))
                };
                let text = format!("{names} the cluster {theirs}; these log dirs belong to {ours}");
                Err(told(Severity::Warning, text))
            }
            // An address of the metadata may long be somebody else's.
            (_, None) | (None, _) if !is_named => Ok(None),
            _ => Ok(Some(living)),
        }
    }

    /// Returns who has a partition, as seen from `broker`; `None` if the cluster does not know it.
    pub(super) fn replicas(
        &self,
        broker: Option<i32>,
        partition: &TopicPartition,
    ) -> Option<ReplicaEvidence> {
        let found = self.metadata.partitions.get(partition)?;
        Some(ReplicaEvidence {
            broker,
            isr: found.isr.clone(),
            leader: found.leader,
            as_of: self.at,
            source: EvidenceSource::Cluster,
            ends: (self.ends.get(partition).into_iter().flatten())
                .map(|(broker, end)| (*broker, *end))
                .collect(),
        })
    }
}

/// Returns where the other brokers listen, by the metadata, with the security of the client's configuration.
fn peers(context: &Context, image: &MetadataImage, node_id: i32) -> Vec<Address> {
    let properties = context.command_config.as_ref();
    // One that cannot be read is told when it is used.
    let properties = properties.and_then(|path| read_client_properties(path).ok());
    let wanted = properties
        .as_ref()
        .and_then(|file| file.get("security.protocol"))
        .unwrap_or("PLAINTEXT")
        .trim()
        .to_ascii_uppercase();
    let others = image.brokers().filter(|(id, _)| *id != node_id);
    let endpoints = others.flat_map(|(_, broker)| broker.endpoints.iter());
    let fitting = endpoints.filter(|endpoint| endpoint.protocol() == Some(&wanted));
    let addresses = fitting.map(|endpoint| Address {
        host: endpoint.host.clone(),
        port: endpoint.port,
    });
    let mut addresses: Vec<Address> = addresses.collect();
    addresses.sort();
    addresses.dedup();
    addresses
}

/// Asks for the partitions, and every other broker for the ends of the replicas that it holds of this host's.
async fn answers(
    client: &Client,
    node_id: Option<i32>,
) -> Result<LivingCluster, crate::client::ClientError> {
    let metadata = client.metadata(None).await?;
    let at = clock::now();
    let mut held: BTreeMap<i32, Vec<TopicPartition>> = BTreeMap::new();
    for (partition, known) in &metadata.partitions {
        if node_id.is_none_or(|id| !known.replicas.contains(&id)) {
            continue;
        }
        for broker in known.replicas.iter().filter(|id| Some(**id) != node_id) {
            held.entry(*broker).or_default().push(partition.clone());
        }
    }
    let mut ends: BTreeMap<TopicPartition, BTreeMap<i32, Offset>> = BTreeMap::new();
    let living = client.brokers();
    for (broker, partitions) in held.into_iter().filter(|(id, _)| living.contains(id)) {
        // One that is silent leaves its ends unknown.
        let told = client.offsets(broker, Special::LogEnd, &partitions).await;
        for (partition, answer) in told.unwrap_or_default() {
            if let Ok(Some(end)) = answer {
                ends.entry(partition).or_default().insert(broker, end);
            }
        }
    }
    Ok(LivingCluster { metadata, ends, at })
}
