//! What this host's replicas will cut when they meet their leaders: their files against the leaders' answers, while the
//! cluster does not see their broker.

use std::collections::BTreeMap;

use super::live::HostBroker;
use crate::app::state::ReplicaForecast;
use crate::client::{Client, EpochQuestion};
use crate::disk::RealStorage;
use crate::engine::read_follower_logs;
use crate::observe::cluster::ClusterSample;
use crate::plan::{LeaderAnswer, LeaderLog, TruncationSearch};
use crate::terms::TopicPartition;

/// Rounds of questions: one for each epoch that a leader never saw.
const MAX_ROUNDS: usize = 1000;

/// A follower that meets its leader: its search, and whom it asks.
struct Meeting {
    leader: i32,
    search: TruncationSearch,
    is_recovered: bool,
}

/// Forecasts what is cut in the logs of `host`; empty while its broker serves, and for another cluster. A log whose leader
/// does not answer is left out.
pub async fn forecast_truncations(
    client: &Client,
    sample: &ClusterSample,
    host: &HostBroker,
) -> BTreeMap<TopicPartition, ReplicaForecast> {
    let mut forecasts = BTreeMap::new();
    let serves = sample
        .metadata
        .brokers
        .iter()
        .any(|broker| broker.id == host.node_id);
    if serves || host.cluster_id.is_none() || host.cluster_id != sample.metadata.cluster_id {
        return forecasts;
    }
    let mut open: BTreeMap<TopicPartition, Meeting> = BTreeMap::new();
    for (partition, held) in read_follower_logs(&RealStorage, &host.log_dirs) {
        let Some(known) = sample.metadata.partitions.get(&partition) else {
            continue;
        };
        let Some(leader) = known
            .leader
            .filter(|_| known.replicas.contains(&host.node_id))
        else {
            continue;
        };
        let its = sample.replicas.get(&(partition.clone(), leader));
        let log = its.and_then(|its| {
            Some(LeaderLog {
                log_start: its.log_start?,
                log_end: its.log_end?.0,
            })
        });
        let Some(log) = log else { continue };
        let search = Meeting {
            leader,
            search: TruncationSearch::new(held.log, log),
            is_recovered: held.is_recovered,
        };
        open.insert(partition, search);
    }
    for _ in 0..MAX_ROUNDS {
        let (asking, done): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut open)
            .into_iter()
            .partition(|(_, search)| search.search.question().is_some());
        let told = done.into_iter().map(|(partition, search)| {
            let forecast = ReplicaForecast {
                forecast: search.search.forecast(),
                is_recovered: search.is_recovered,
            };
            (partition, forecast)
        });
        forecasts.extend(told);
        if asking.is_empty() {
            break;
        }
        open = ask(client, asking).await;
    }
    forecasts
}

/// Asks each leader its question; returns the searches that got an answer.
async fn ask(
    client: &Client,
    mut asking: BTreeMap<TopicPartition, Meeting>,
) -> BTreeMap<TopicPartition, Meeting> {
    let mut questions: BTreeMap<i32, Vec<EpochQuestion>> = BTreeMap::new();
    for (partition, search) in &asking {
        if let Some(epoch) = search.search.question() {
            questions
                .entry(search.leader)
                .or_default()
                .push(EpochQuestion {
                    partition: partition.clone(),
                    epoch,
                });
        }
    }
    let mut answered = BTreeMap::new();
    for (leader, questions) in questions {
        let answers = client.epoch_ends(leader, &questions).await;
        for (partition, answer) in answers.unwrap_or_default() {
            let Some(mut search) = asking.remove(&partition) else {
                continue;
            };
            if let Ok(answer) = answer {
                search.search.answer(LeaderAnswer {
                    epoch: answer.epoch,
                    end: answer.end,
                });
                answered.insert(partition, search);
            }
        }
    }
    answered
}
