//! What the living cluster says of partitions while this host's broker is down; asked only where it was named.

use super::live::Live;
use super::target::Identity;
use super::{CliError, Context, clock};
use crate::client::ClusterMetadata;
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::{EvidenceSource, ReplicaEvidence};
use crate::terms::{Timestamp, TopicPartition};

/// An answer of the cluster.
#[derive(Debug)]
pub(super) struct LivingCluster {
    metadata: ClusterMetadata,
    /// When it came.
    at: Timestamp,
}

impl LivingCluster {
    /// Asks the cluster that `--bootstrap` names, if it names one; an error is a finding: the work goes on without it.
    pub(super) fn ask(
        context: &Context,
        identity: &Identity,
    ) -> Result<Option<Self>, Box<Finding>> {
        if context.bootstrap.is_none() {
            return Ok(None);
        }
        let unknown = |text: String| {
            let finding = Finding::new(FindingCode::ClusterNotAsked, Severity::Warning, text);
            Box::new(
                finding
                    .next("name a broker that is up: --bootstrap HOST:PORT, --command-config FILE"),
            )
        };
        let asked = || -> Result<ClusterMetadata, CliError> {
            let live = Live::new(context)?;
            Ok(live.run(live.client.metadata(None))?)
        };
        let metadata = asked().map_err(|error| {
            unknown(format!(
                "the cluster could not be asked who else has the logs: {error}"
            ))
        })?;
        match (&identity.cluster_id, &metadata.cluster_id) {
            (Some(ours), Some(theirs)) if ours != theirs => Err(unknown(format!(
                "--bootstrap names the cluster {theirs}; these log dirs belong to {ours}"
            ))),
            _ => Ok(Some(Self {
                metadata,
                at: clock::now(),
            })),
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
        })
    }
}
