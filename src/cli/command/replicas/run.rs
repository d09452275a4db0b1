//! One look, or two where a rate is wanted.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use super::text::write_rows;
use super::wait::wait_in_sync;
use crate::app::state::ReplicaForecast;
use crate::cli::args::ReplicasArgs;
use crate::cli::forecast::forecast_truncations;
use crate::cli::live::Live;
use crate::cli::report::{
    BrokerLine, JsonReport, Line, LiveRunLine, QuorumLine, ReplicaLine, ReplicasSummaryLine,
};
use crate::cli::{CliError, Context, Exit, clock};
use crate::client::{ClientError, Quorum};
use crate::observe::cluster::{
    ClusterSample, Configs, ReplicaMeter, ReplicaRow, look_at_cluster, read_configs,
};
use crate::terms::TopicPartition;

/// How long after the first look the second one is taken, which rates need.
const SECOND_LOOK: Duration = Duration::from_secs(2);

/// What the last look found.
pub(super) struct Seen {
    pub(super) sample: ClusterSample,
    pub(super) rows: Vec<ReplicaRow>,
    pub(super) node_id: Option<i32>,
    pub(super) forecasts: BTreeMap<TopicPartition, ReplicaForecast>,
    /// The controllers' quorum; `None` if nobody tells it.
    pub(super) quorum: Option<Quorum>,
}

impl Seen {
    /// Returns what a replica will cut; `None` if nothing is known of that.
    pub(super) fn forecast(&self, row: &ReplicaRow) -> Option<&ReplicaForecast> {
        let is_here = Some(row.broker) == self.node_id;
        self.forecasts.get(&row.partition).filter(|_| is_here)
    }
}

/// Looks again and again, each time with what is known from before.
pub(super) struct Looker<'a> {
    live: &'a Live,
    topics: Option<Vec<String>>,
    broker: Option<i32>,
    meter: ReplicaMeter,
    configs: Option<Configs>,
}

impl<'a> Looker<'a> {
    pub(super) fn new(live: &'a Live, args: &ReplicasArgs, broker: Option<i32>) -> Self {
        Self {
            live,
            topics: (!args.topic.is_empty()).then(|| args.topic.clone()),
            broker,
            meter: ReplicaMeter::new(),
            configs: None,
        }
    }

    pub(super) async fn look(&mut self) -> Result<Seen, ClientError> {
        let client = &self.live.client;
        let known = self.configs.clone().unwrap_or_default();
        let topics = self.topics.as_deref();
        let mut sample = look_at_cluster(client, topics, &known, clock::now).await?;
        if self.configs.is_none() {
            let configs = read_configs(client, &sample.metadata, sample.at).await?;
            sample.configs = configs.clone();
            self.configs = Some(configs);
        }
        let forecasts = match &self.live.host {
            Some(host) => forecast_truncations(client, &sample, host).await,
            None => BTreeMap::new(),
        };
        // Not known to ZooKeeper's brokers, or not to us.
        let quorum = client.quorum().await.ok();
        let rows = self.meter.take(&sample).into_iter();
        let rows = rows.filter(|row| self.broker.is_none_or(|broker| row.broker == broker));
        Ok(Seen {
            rows: rows.collect(),
            node_id: self.live.node_id,
            forecasts,
            quorum,
            sample,
        })
    }
}

/// Runs `replicas`.
pub(in crate::cli) fn replicas(
    context: &Context,
    args: &ReplicasArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let live = Live::new(context)?;
    if args.wait_in_sync.is_some() {
        return wait_in_sync(context, &live, args, out);
    }
    let mut looker = Looker::new(&live, args, args.broker);
    let seen = live.run(async {
        let first = looker.look().await?;
        let wanted = |row: &ReplicaRow| !row.is_in_sync() && row.log_end.is_some();
        if !first.rows.iter().any(wanted) {
            return Ok::<_, ClientError>(first);
        }
        tokio::time::sleep(SECOND_LOOK).await;
        looker.look().await
    })?;
    known_topics(&seen, args)?;
    tell(context, &live, args, &seen, out)
}

/// Fails for a topic that was named and is none.
fn known_topics(seen: &Seen, args: &ReplicasArgs) -> Result<(), CliError> {
    let refused = &seen.sample.metadata.refused;
    match refused.iter().find(|(topic, _)| args.topic.contains(topic)) {
        Some((topic, error)) => Err(CliError::failed(format!("topic {topic}: {error}"))),
        None => Ok(()),
    }
}

/// Prints what was seen; returns how the process ends.
pub(super) fn tell(
    context: &Context,
    live: &Live,
    args: &ReplicasArgs,
    seen: &Seen,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let summary = summary(seen);
    let exit = if summary.exit == 0 {
        Exit::Ok
    } else {
        Exit::Findings
    };
    if !args.json {
        write_rows(seen, &summary, args, out)?;
        return Ok(exit);
    }
    let now = clock::now();
    let mut report = JsonReport::new(out);
    report.line(&Line::LiveRun(run_line(context, live, seen, "replicas")))?;
    for broker in BrokerLine::all_of(&seen.sample) {
        report.line(&Line::Broker(broker))?;
    }
    if let Some(quorum) = &seen.quorum {
        report.line(&Line::Quorum(QuorumLine::of(quorum)))?;
    }
    for row in &seen.rows {
        report.line(&Line::Replica(Box::new(ReplicaLine::of(
            row,
            seen.forecast(row),
            now,
        ))))?;
    }
    report.line(&Line::ReplicasSummary(summary))?;
    Ok(exit)
}

fn run_line(context: &Context, live: &Live, seen: &Seen, command: &'static str) -> LiveRunLine {
    LiveRunLine {
        schema: 1,
        krescue_version: env!("CARGO_PKG_VERSION"),
        command,
        kafka_version: None,
        now: seen.sample.at.rfc3339(),
        host: context.host.clone(),
        node_id: live.node_id,
        cluster_id: seen.sample.metadata.cluster_id.clone(),
        bootstrap: live.bootstrap(),
        found_by: live.found_by.clone(),
        brokers: seen
            .sample
            .metadata
            .brokers
            .iter()
            .map(|broker| broker.id)
            .collect(),
        requests: seen.sample.requests,
        took_ms: seen.sample.took_ms,
    }
}

fn summary(seen: &Seen) -> ReplicasSummaryLine {
    let count = |wanted: &dyn Fn(&ReplicaRow) -> bool| {
        seen.rows.iter().filter(|row| wanted(row)).count() as u64
    };
    // A partition is told of once, by the first of its rows.
    let mut partitions: Vec<&ReplicaRow> = seen.rows.iter().collect();
    partitions.dedup_by(|left, right| left.partition == right.partition);
    let of = |wanted: &dyn Fn(&ReplicaRow) -> bool| {
        partitions.iter().filter(|row| wanted(row)).count() as u64
    };
    let findings = seen.rows.iter().any(ReplicaRow::needs_attention)
        || seen
            .sample
            .brokers
            .values()
            .any(|broker| broker.failure.is_some());
    ReplicasSummaryLine {
        partitions: partitions.len() as u64,
        replicas: seen.rows.len() as u64,
        out_of_sync: count(&|row| !row.is_in_sync()),
        offline: count(&|row| row.offline),
        under_min_isr: of(&|row| row.is_under_min_isr() == Some(true)),
        without_leader: of(&|row| row.leader.is_none()),
        only_one_in_sync: of(&|row| row.isr.len() == 1 && row.replicas.len() > 1),
        will_cut_records: seen
            .rows
            .iter()
            .filter_map(|row| seen.forecast(row))
            .map(|forecast| forecast.forecast.records)
            .reduce(u64::saturating_add),
        exit: if findings { Exit::Findings } else { Exit::Ok }.code(),
        cause: None,
    }
}
