//! The JSON lines about a living cluster.

use serde::Serialize;

use crate::app::replica_words;
use crate::app::state::ReplicaForecast;
use crate::client::Quorum;
use crate::observe::cluster::{ClusterSample, InSyncIn, ReplicaRow};
use crate::plan::{Class, CutCause, GroupBelow, LiveAct, LivePlan, MirrorBelow};
use crate::terms::Timestamp;

/// The first line of a command that asks a living cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LiveRunLine {
    /// The layout of these lines.
    pub(crate) schema: u32,
    pub(crate) krescue_version: &'static str,
    pub(crate) command: &'static str,
    /// The protocol does not tell a release.
    pub(crate) kafka_version: Option<String>,
    /// RFC 3339.
    pub(crate) now: String,
    pub(crate) host: String,
    /// This host's broker.
    pub(crate) node_id: Option<i32>,
    pub(crate) cluster_id: Option<String>,
    pub(crate) bootstrap: String,
    /// Where the bootstrap list is from.
    pub(crate) found_by: String,
    /// Living brokers.
    pub(crate) brokers: Vec<i32>,
    /// Requests that the last look took.
    pub(crate) requests: u64,
    /// How long it took.
    pub(crate) took_ms: u64,
}

/// One replica.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "a field each, as documented")]
pub(crate) struct ReplicaLine<'a> {
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) broker: i32,
    /// Whether it is the leader.
    pub(crate) leader: bool,
    pub(crate) in_sync: bool,
    /// This replica's own; exclusive.
    pub(crate) log_end_offset: Option<i64>,
    /// Behind its leader.
    pub(crate) lag_records: Option<u64>,
    /// By the leader's end after this replica was asked.
    pub(crate) lag_records_most: Option<u64>,
    pub(crate) lag_bytes: Option<u64>,
    /// Whether `lag_bytes` is the difference of two sizes, else the records' average.
    pub(crate) lag_bytes_exact: Option<bool>,
    /// How long ago its leader's log ended where its own does.
    pub(crate) lag_ms: Option<u64>,
    /// Whether `lag_ms` is by the leader's ends as they were seen, else by what it appends now.
    pub(crate) lag_ms_exact: Option<bool>,
    /// The first offset in its own files.
    pub(crate) log_start_offset: Option<i64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) dir: Option<String>,
    /// The log dir that it is being moved to.
    pub(crate) moving_to: Option<String>,
    /// Offsets that the move has left to copy.
    pub(crate) moving_left: Option<i64>,
    /// Seconds until it is done; `null` before two looks.
    pub(crate) moved_in_s: Option<u64>,
    pub(crate) leader_id: Option<i32>,
    pub(crate) leader_epoch: Option<i32>,
    pub(crate) replicas: &'a [i32],
    pub(crate) isr: &'a [i32],
    /// `null` where brokers know no eligible leader replicas.
    pub(crate) elr: Option<&'a [i32]>,
    pub(crate) min_isr: Option<usize>,
    pub(crate) under_min_isr: Option<bool>,
    pub(crate) only_in_sync: bool,
    pub(crate) offline: bool,
    pub(crate) records_per_s: Option<f64>,
    pub(crate) bytes_per_s: Option<f64>,
    /// 0 if it is in sync; `null` if it does not come nearer or nothing is known.
    pub(crate) in_sync_in_s: Option<u64>,
    /// Whether it does not come nearer.
    pub(crate) falls_behind: bool,
    /// Age of `log_end_offset`.
    pub(crate) age_ms: Option<i64>,
    /// Why it is not in sync, or stays behind.
    pub(crate) causes: Vec<String>,
    /// Of a replica of this host whose broker the cluster does not see: records that it cuts when it meets its leader, by
    /// its files and the leader's epochs.
    pub(crate) will_cut_records: Option<u64>,
    /// Where it ends then; exclusive.
    pub(crate) will_cut_to_offset: Option<i64>,
    /// How many of these lie below its checkpointed high watermark.
    pub(crate) will_cut_acknowledged: Option<u64>,
    /// `diverged`, `leader_ends_before`, `leader_starts_behind` or `high_watermark`.
    pub(crate) will_cut_cause: Option<CutCause>,
}

impl<'a> ReplicaLine<'a> {
    /// Returns the line of a row, as it is at `now`.
    pub(crate) fn of(
        row: &'a ReplicaRow,
        forecast: Option<&ReplicaForecast>,
        now: Timestamp,
    ) -> Self {
        let cut = forecast.map(|forecast| forecast.forecast);
        let moving = row.moving.as_ref();
        Self {
            topic: &row.partition.topic,
            partition: row.partition.partition,
            broker: row.broker,
            leader: row.is_leader(),
            in_sync: row.is_in_sync(),
            log_end_offset: row.log_end.map(|end| end.0),
            lag_records: row.lag_records,
            lag_records_most: row.lag_records_most,
            lag_bytes: row.lag_bytes,
            lag_bytes_exact: row.lag_bytes.map(|_| row.lag_bytes_exact),
            lag_ms: row.lag_ms,
            lag_ms_exact: row.lag_ms.map(|_| row.lag_ms_exact),
            log_start_offset: row.log_start.map(|start| start.0),
            bytes: row.bytes,
            dir: row.dir.as_ref().map(|dir| dir.display().to_string()),
            moving_to: moving.map(|(dir, _)| dir.display().to_string()),
            moving_left: moving.map(|(_, left)| *left),
            moved_in_s: row.moved_in_s,
            leader_id: row.leader,
            leader_epoch: row.leader_epoch.map(|epoch| epoch.0),
            replicas: &row.replicas,
            isr: &row.isr,
            elr: row.eligible.as_deref(),
            min_isr: row.min_isr,
            under_min_isr: row.is_under_min_isr(),
            only_in_sync: row.is_only_in_sync(),
            offline: row.offline,
            records_per_s: row.records_per_s,
            bytes_per_s: row.bytes_per_s,
            in_sync_in_s: match row.in_sync_in {
                InSyncIn::Now => Some(0),
                InSyncIn::Seconds(seconds) => Some(seconds),
                InSyncIn::Never | InSyncIn::Unknown => None,
            },
            falls_behind: row.in_sync_in == InSyncIn::Never,
            age_ms: row.log_end_at.map(|at| now.0 - at.0),
            causes: row.causes.iter().map(replica_words::cause).collect(),
            will_cut_records: cut.map(|cut| cut.records),
            will_cut_to_offset: cut.map(|cut| cut.cut_to.0),
            will_cut_acknowledged: cut.map(|cut| cut.acknowledged),
            will_cut_cause: cut.and_then(|cut| cut.cause),
        }
    }
}

/// A broker as it answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BrokerLine {
    pub(crate) broker: i32,
    pub(crate) address: String,
    pub(crate) rack: Option<String>,
    /// Why it did not answer, if it did not.
    pub(crate) failure: Option<String>,
    pub(crate) offline_dirs: Option<Vec<String>>,
}

impl BrokerLine {
    /// Returns a line for each living broker.
    pub(crate) fn all_of(sample: &ClusterSample) -> Vec<Self> {
        let brokers = sample.metadata.brokers.iter().map(|broker| {
            let told = sample.brokers.get(&broker.id);
            let dirs = told.and_then(|told| told.log_dirs.as_ref());
            let offline = dirs.map(|dirs| {
                let gone = dirs.iter().filter(|dir| dir.error.is_some());
                gone.map(|dir| dir.path.display().to_string()).collect()
            });
            Self {
                broker: broker.id,
                address: broker.address.to_string(),
                rack: broker.rack.clone(),
                failure: told.and_then(|told| told.failure.clone()),
                offline_dirs: offline,
            }
        });
        brokers.collect()
    }
}

/// A log dir as its broker tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BrokerVolumeLine {
    pub(crate) broker: i32,
    pub(crate) dir: String,
    /// `online` or `offline`.
    pub(crate) state: &'static str,
    /// Bytes of its volume; `null` before 3.3 and for an offline dir.
    pub(crate) total: Option<u64>,
    /// Bytes of it that the broker can use.
    pub(crate) free: Option<u64>,
    pub(crate) used_percent: Option<u64>,
    /// Bytes of segments; indexes and what is on its way out are not counted.
    pub(crate) kafka: Option<u64>,
    pub(crate) replicas: u64,
    /// Replicas that are being moved here.
    pub(crate) moving_here: u64,
}

/// The controllers' quorum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct QuorumLine {
    /// The active controller.
    pub(crate) leader: i32,
    pub(crate) epoch: i32,
    pub(crate) voters: Vec<i32>,
    /// Voters that fetch; the others are down or stuck. `null` if the controller does not tell (before 3.3).
    pub(crate) current: Option<Vec<i32>>,
    /// How many of these may fail before no controller can be elected; `null` with `current`.
    pub(crate) may_fail: Option<usize>,
    pub(crate) text: String,
}

impl QuorumLine {
    /// Returns the line of a quorum.
    pub(crate) fn of(quorum: &Quorum) -> Self {
        Self {
            leader: quorum.leader,
            epoch: quorum.epoch,
            voters: quorum.voters.iter().map(|voter| voter.id).collect(),
            current: quorum.current_voters(),
            may_fail: quorum.may_fail(),
            text: replica_words::quorum(quorum),
        }
    }
}

/// How far replicas are that are waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CatchUpLine {
    pub(crate) replicas_total: u64,
    pub(crate) replicas_in_sync: u64,
    /// Of all that are not in sync; `null` if one is unknown.
    pub(crate) lag_records: Option<u64>,
    /// Until the last one is in sync; `null` if one never is or is unknown.
    pub(crate) in_sync_in_s: Option<u64>,
    pub(crate) text: String,
}

/// The last line of `replicas`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ReplicasSummaryLine {
    pub(crate) partitions: u64,
    pub(crate) replicas: u64,
    /// Not in the ISR.
    pub(crate) out_of_sync: u64,
    pub(crate) offline: u64,
    /// Partitions.
    pub(crate) under_min_isr: u64,
    /// Partitions.
    pub(crate) without_leader: u64,
    /// Partitions of several replicas of which one is in sync.
    pub(crate) only_one_in_sync: u64,
    /// What this host's replicas cut when they meet their leaders; `null` while its broker serves.
    pub(crate) will_cut_records: Option<u64>,
    pub(crate) exit: u8,
    pub(crate) cause: Option<String>,
}

/// A plan for a living cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "unrelated facts")]
pub(crate) struct LivePlanLine<'a> {
    pub(crate) plan: &'a str,
    pub(crate) class: Class,
    pub(crate) cluster_id: Option<&'a str>,
    #[serde(flatten)]
    pub(crate) act: &'a LiveAct,
    /// The id of the topic that it is about; `null` where brokers do not tell it, or it is about none.
    pub(crate) topic_id: Option<&'a str>,
    /// Whether the topic of the plan that this one takes back was deleted and made anew since.
    pub(crate) made_anew: bool,
    /// The hash of the plan that this one takes back.
    pub(crate) restores: Option<&'a str>,
    pub(crate) text: String,
    /// On each replica, at most; `null` if unknown.
    pub(crate) lost_bytes: Option<u64>,
    pub(crate) lost_records: Option<u64>,
    pub(crate) groups: &'a [GroupBelow],
    /// What of the groups could not be asked.
    pub(crate) groups_unasked: &'a [String],
    /// What must be known beside it.
    pub(crate) notes: &'a [String],
    pub(crate) mirrors: &'a [MirrorBelow],
    /// Why it is not known of other mirrors.
    pub(crate) mirrors_unread: &'a [String],
    /// Whether the old values are kept, so that one act restores them.
    pub(crate) can_be_restored: bool,
    /// The line for Kafka's own tools that does the same.
    pub(crate) kafka_line: String,
}

impl<'a> LivePlanLine<'a> {
    /// Returns the line of a plan.
    pub(crate) fn of(hash: &'a str, plan: &'a LivePlan, kafka_line: String) -> Self {
        Self {
            plan: hash,
            class: plan.class(),
            cluster_id: plan.cluster_id.as_deref(),
            act: &plan.act,
            topic_id: plan.topic_id.as_deref(),
            made_anew: plan.made_anew,
            restores: plan.restores.as_deref(),
            text: plan.sentence(),
            lost_bytes: plan.loss.bytes,
            lost_records: plan.loss.records,
            groups: &plan.groups,
            groups_unasked: &plan.groups_unasked,
            notes: &plan.notes,
            mirrors: &plan.mirrors.below,
            mirrors_unread: &plan.mirrors.unread,
            can_be_restored: plan.can_be_restored(),
            kafka_line,
        }
    }
}

/// A setting of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ConfigLine {
    pub(crate) topic: String,
    pub(crate) key: String,
    pub(crate) value: String,
    /// `topic`, `broker`, `all brokers`, `broker's file` or `default`.
    pub(crate) source: String,
}

/// What a broker has freed of a topic since its retention was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FreedLine {
    pub(crate) topic: String,
    pub(crate) broker: i32,
    /// Bytes of its segments just before the change.
    pub(crate) before_bytes: u64,
    /// Bytes now; `null` if it does not answer.
    pub(crate) bytes: Option<u64>,
    /// The difference; what was appended meanwhile hides as much.
    pub(crate) freed_bytes: Option<u64>,
    /// At most, by the plan; `null` if nothing was foretold.
    pub(crate) promised_bytes: Option<u64>,
    /// Offsets by which its logs begin later.
    pub(crate) freed_records: u64,
}

/// The last line of an act on a living cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LiveSummaryLine {
    pub(crate) plan: String,
    pub(crate) class: Class,
    pub(crate) exit: u8,
    pub(crate) cause: Option<String>,
}
