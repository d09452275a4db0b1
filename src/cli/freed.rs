//! What a live change, or records that were deleted, have freed so far: asked of the brokers; and why the rest stays.

use super::live_facts::{check_interval, replica_sizes, topic_values};
use super::target::read_living_logs;
use super::{CliError, Context, LivingLogs, Look, clock};
use crate::app::retention_words;
use crate::app::text::{bytes, offset};
use crate::client::Client;
use crate::plan::retention::{RetentionVerdict, WhatIf, WhatIfScope};
use crate::plan::{FreedSoFar, LivePlan, ReplicaSize, UNTOLD_LIMIT_MS, freed_by_broker};
use crate::terms::{Timestamp, TopicPartition};

/// Asks again and again what a change has freed.
#[derive(Debug, Clone)]
pub(crate) struct FreedWatch {
    topic: String,
    partition: Option<i32>,
    promised: Option<u64>,
    since: Timestamp,
    before: Vec<ReplicaSize>,
    every_ms: Option<u64>,
    delay_ms: Option<u64>,
}

impl FreedWatch {
    /// Asks the brokers when they look for what is to be deleted; `None` for a plan by which no segment goes, or of which
    /// nobody knows what was there before. Looks for the brokers first.
    ///
    /// # Errors
    ///
    /// No broker answers.
    pub(crate) async fn begin(
        client: &Client,
        plan: &LivePlan,
        (since, before): (Timestamp, &[ReplicaSize]),
    ) -> Result<Option<Self>, CliError> {
        const DELAY: &str = "file.delete.delay.ms";
        let Some((topic, partition)) = plan.frees().filter(|_| !before.is_empty()) else {
            return Ok(None);
        };
        client.metadata(Some(&[])).await?;
        let delay = topic_values(client, topic).await?;
        let delay = delay.get(DELAY).and_then(|entry| entry.value.as_ref());
        Ok(Some(Self {
            topic: topic.to_owned(),
            partition,
            promised: plan.loss.bytes,
            since,
            before: before.to_vec(),
            every_ms: check_interval(client).await,
            delay_ms: delay.and_then(|value| value.parse().ok()),
        }))
    }

    /// Asks each broker what is left.
    pub(crate) async fn look(&self, client: &Client) -> FreedSoFar {
        let now = replica_sizes(client, &self.topic).await;
        FreedSoFar {
            since: self.since,
            at: clock::now(),
            every_ms: self.every_ms,
            delay_ms: self.delay_ms,
            promised: self.promised,
            brokers: freed_by_broker(&self.before, &now),
        }
    }

    /// Returns why segments stay in this host's logs, by what the brokers told where they did: a sentence for each log and for
    /// each cause in it; where no broker of this host holds any, how to ask that of another host.
    ///
    /// # Errors
    ///
    /// The logs of this host cannot be read.
    pub(crate) fn why_the_rest_stays(
        &self,
        context: &Context,
        (look, told): (Option<&Look>, Option<&LivingLogs>),
    ) -> Result<Vec<String>, CliError> {
        let name = self
            .partition
            .map_or_else(|| "N".to_owned(), |it| it.to_string());
        let mut lines: Vec<String> = self.untold().into_iter().collect();
        let elsewhere = || {
            let topic = &self.topic;
            let text = format!("krescue segments {topic}-{name} on the broker's host");
            format!("why the rest stays: {text}")
        };
        let Some(look) = look else {
            lines.push(elsewhere());
            return Ok(lines);
        };
        let mut host = read_living_logs(context, look, (None, told), &|| true)?.host;
        // What was waited for is over at this clock, not at that of the start.
        if !context.now_given {
            host.now = clock::now();
        }
        let judged = host.judge(WhatIf::default(), &WhatIfScope::Host);
        let before = lines.len();
        for (log, judged) in host.logs.iter().zip(&judged) {
            let of = &log.facts.topic_partition;
            if of.topic == self.topic && self.partition.is_none_or(|it| it == of.partition) {
                lines.extend(stays(log, judged, host.now));
            }
        }
        if lines.len() == before {
            lines.push(elsewhere());
        }
        Ok(lines)
    }

    /// Returns the topic that it is about.
    pub(crate) fn topic(&self) -> &str {
        &self.topic
    }

    /// Says that it is not known when the brokers act; `None` where it is.
    fn untold(&self) -> Option<String> {
        let is_told = self.every_ms.is_some() && self.delay_ms.is_some();
        let minutes = UNTOLD_LIMIT_MS / 60_000;
        (!is_told).then(|| {
            format!(
                "a broker does not tell how often it looks, or how soon files go: it is waited for {minutes} min at most, and what \
                 stays may yet go"
            )
        })
    }
}

/// Returns the segments of a log that stay, the neighbours of one cause in one line.
fn stays(
    log: &crate::plan::retention::RetainedLog,
    judged: &crate::plan::retention::LogRetention,
    now: Timestamp,
) -> Vec<String> {
    let partition: &TopicPartition = &log.facts.topic_partition;
    let mut lines: Vec<(crate::plan::retention::RetentionReason, u64, u64, String)> = Vec::new();
    for (index, (segment, verdict)) in log.facts.segments.iter().zip(&judged.segments).enumerate() {
        if verdict.verdict == RetentionVerdict::Delete {
            continue;
        }
        match lines.last_mut() {
            Some((reason, count, size, _)) if *reason == verdict.reason => {
                *count += 1;
                *size += segment.bytes;
            }
            _ => {
                let words = retention_words::segment(log, judged, index, now);
                let words = format!("{} on: {words}", offset(segment.base_offset));
                lines.push((verdict.reason, 1, segment.bytes, words));
            }
        }
    }
    let line = |(_, count, size, words): (_, u64, u64, String)| {
        let segments = crate::app::text::plural(count, "segment", "segments");
        format!("{partition}: {segments}, {}, from {words}", bytes(size))
    };
    lines.into_iter().map(line).collect()
}
