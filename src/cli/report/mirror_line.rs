//! The JSON lines of `mirror`, one struct a kind. Field names are a contract; an unknown value is `null`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::line::time;
use crate::mirror::{
    FailoverPosition, Flow, FlowStatus, PartitionLag, Translated, Translation, VersionSource, Why,
};
use crate::terms::{Offset, Timestamp};

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum MirrorLine {
    /// The first line of a run.
    Run(MirrorRunLine),
    /// A flow.
    Flow(Box<FlowLine>),
    /// A topic of a flow's source.
    MirroredTopic(MirroredTopicLine),
    /// A partition that a flow copies.
    MirroredPartition(Box<MirroredPartitionLine>),
    /// A commit and its translation.
    Translation(TranslationLine),
    /// Where a group goes on after a failover.
    Position(Box<PositionLine>),
    /// What is wrong.
    Finding(MirrorFindingLine),
    /// A rule that was not applied.
    Silent(SilentLine),
    /// A step of a promotion.
    PromoteStep(PromoteStepLine),
    /// The last line of a run.
    Summary(MirrorSummaryLine),
}

/// The run: what it knows, and from where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MirrorRunLine {
    pub(crate) schema: u32,
    pub(crate) krescue_version: &'static str,
    pub(crate) command: &'static str,
    pub(crate) now: String,
    pub(crate) host: String,
    /// The properties file.
    pub(crate) mm2: Option<String>,
    pub(crate) clusters: Vec<ClusterLine>,
}

/// A cluster that facts are known of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ClusterLine {
    pub(crate) alias: String,
    pub(crate) cluster_id: Option<String>,
    pub(crate) sources: Vec<SourceLine>,
}

/// Where facts are from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SourceLine {
    pub(crate) host: String,
    pub(crate) places: Vec<String>,
    pub(crate) node_id: Option<i32>,
    pub(crate) read_at: Option<String>,
    pub(crate) live: bool,
}

/// A flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FlowLine {
    pub(crate) flow: String,
    pub(crate) source: String,
    pub(crate) target: String,
    /// `active`, `heartbeat_only`, `off`, `invalid`.
    pub(crate) state: crate::mirror::FlowState,
    /// `file`, `connectors` or `defaults`.
    pub(crate) settings: &'static str,
    pub(crate) mm2_version: String,
    pub(crate) mm2_version_source: String,
    /// Topics that are copied.
    pub(crate) topics: u64,
    pub(crate) partitions: u64,
    /// Records behind, over the partitions that tell.
    pub(crate) behind: Option<u64>,
    /// Partitions that do not tell.
    pub(crate) behind_unknown: u64,
    pub(crate) last_sync: Option<String>,
    pub(crate) last_checkpoint: Option<String>,
    pub(crate) heartbeat: Option<String>,
    pub(crate) task_state: Option<String>,
    pub(crate) workers: Option<u64>,
    /// Clusters whose heartbeats reach the target: how many flows lie between.
    pub(crate) hops: BTreeMap<String, u32>,
}

impl FlowLine {
    /// Returns the line of a flow.
    pub(crate) fn new(flow: &Flow, status: &FlowStatus, source: VersionSource) -> Self {
        let (behind, unknown) = status.behind();
        let told = status.partitions.len() > unknown;
        let rfc = |at: Option<Timestamp>| at.and_then(time);
        Self {
            flow: flow.name.to_string(),
            source: flow.name.source.clone(),
            target: flow.name.target.clone(),
            state: flow.state,
            settings: match flow.origin {
                crate::mirror::ConfigOrigin::File(_) => "file",
                crate::mirror::ConfigOrigin::Connectors { .. } => "connectors",
                crate::mirror::ConfigOrigin::Defaults => "defaults",
            },
            mm2_version: flow.version.to_string(),
            mm2_version_source: source.to_string(),
            topics: status.copied_topics() as u64,
            partitions: status.partitions.len() as u64,
            behind: told.then_some(behind),
            behind_unknown: unknown as u64,
            last_sync: rfc(status.last_sync),
            last_checkpoint: rfc(status.last_checkpoint),
            heartbeat: rfc(status.heartbeat),
            task_state: status.task_state().map(|it| it.state.to_ascii_lowercase()),
            workers: status.workers.map(|it| it as u64),
            hops: status.hops.clone(),
        }
    }
}

/// A topic of a flow's source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MirroredTopicLine {
    pub(crate) flow: String,
    pub(crate) topic: String,
    pub(crate) remote_topic: Option<String>,
    pub(crate) copied: Option<bool>,
    pub(crate) why: String,
}

/// A partition that a flow copies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MirroredPartitionLine {
    pub(crate) flow: String,
    pub(crate) topic: String,
    pub(crate) remote_topic: Option<String>,
    pub(crate) partition: i32,
    pub(crate) source_start_offset: Option<i64>,
    pub(crate) source_end_offset: Option<i64>,
    pub(crate) target_start_offset: Option<i64>,
    pub(crate) target_end_offset: Option<i64>,
    /// The last record that Connect knows to be copied.
    pub(crate) position: Option<i64>,
    pub(crate) last_sync_upstream: Option<i64>,
    pub(crate) last_sync_downstream: Option<i64>,
    /// The last record copied, as far as ends and syncs tell.
    pub(crate) copied_offset: Option<i64>,
    pub(crate) behind: Option<u64>,
    pub(crate) behind_at_most: Option<u64>,
    pub(crate) headroom: Option<i64>,
    /// Bytes that may be written until retention by size takes the first record that is not copied.
    pub(crate) headroom_bytes: Option<i64>,
    /// When retention may take the first record that is not copied, at the earliest.
    pub(crate) overtaken_at: Option<String>,
    /// By which limit: `time` or `size`.
    pub(crate) overtaken_by: Option<&'static str>,
    pub(crate) newest_copied: Option<String>,
    pub(crate) newest_written: Option<String>,
}

impl MirroredPartitionLine {
    /// Returns the line of a partition.
    pub(crate) fn new(flow: String, lag: &PartitionLag) -> Self {
        let number = |offset: Option<Offset>| offset.map(|offset| offset.0);
        let start = |ends: Option<(Offset, Offset)>| ends.map(|(start, _)| start.0);
        let end = |ends: Option<(Offset, Offset)>| ends.map(|(_, end)| end.0);
        Self {
            flow,
            topic: lag.topic.clone(),
            remote_topic: lag.remote_topic.clone(),
            partition: lag.partition,
            source_start_offset: start(lag.source),
            source_end_offset: end(lag.source),
            target_start_offset: start(lag.target),
            target_end_offset: end(lag.target),
            position: number(lag.position),
            last_sync_upstream: lag.last_sync.map(|pair| pair.upstream.0),
            last_sync_downstream: lag.last_sync.map(|pair| pair.downstream.0),
            copied_offset: number(lag.copied),
            behind: lag.behind,
            behind_at_most: lag.behind_at_most,
            headroom: lag.headroom,
            headroom_bytes: lag.retention.bytes,
            overtaken_at: lag.retention.first().and_then(|(at, _)| time(at)),
            overtaken_by: lag.retention.first().map(|(_, by)| by.word()),
            newest_copied: lag.newest_copied.and_then(time),
            newest_written: lag.newest_written.and_then(time),
        }
    }
}

/// A commit and its translation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct TranslationLine {
    pub(crate) flow: String,
    pub(crate) group: String,
    /// The source's name.
    pub(crate) topic: String,
    pub(crate) partition: i32,
    /// The group's commit on the source.
    pub(crate) upstream: i64,
    /// What `RemoteClusterUtils` would say after MM2's next pass.
    pub(crate) downstream: Option<i64>,
    pub(crate) remote_topic: Option<String>,
    pub(crate) committed_at: Option<String>,
    /// `exact`, `behind_sync`, `checkpoint_stays`, `too_old`, `no_sync`, `syncs_unknown`, `not_emitted`,
    /// `taken_over`.
    pub(crate) why: &'static str,
    /// The sync that the syncs left give, whether or not it counts.
    pub(crate) sync_upstream: Option<i64>,
    pub(crate) sync_downstream: Option<i64>,
    pub(crate) checkpoint_upstream: Option<i64>,
    pub(crate) checkpoint_downstream: Option<i64>,
    /// Offsets of the source that would be read again at most.
    pub(crate) read_again: Option<u64>,
}

impl TranslationLine {
    /// Returns the line of a translation.
    pub(crate) fn new(flow: String, it: &Translation) -> Self {
        let pair = match it.translated {
            Some(Translated::At { pair, .. } | Translated::TooOld { oldest: pair }) => Some(pair),
            _ => None,
        };
        Self {
            flow,
            group: it.group.clone(),
            topic: it.topic.clone(),
            partition: it.partition,
            upstream: it.upstream.0,
            downstream: it.downstream.map(|offset| offset.0),
            remote_topic: it.remote_topic.clone(),
            committed_at: it.committed_at.and_then(time),
            why: why_code(it.why),
            sync_upstream: pair.map(|pair| pair.upstream.0),
            sync_downstream: pair.map(|pair| pair.downstream.0),
            checkpoint_upstream: it.checkpoint.as_ref().map(|it| it.upstream.0),
            checkpoint_downstream: it.checkpoint.as_ref().map(|it| it.downstream.0),
            read_again: it.read_again,
        }
    }
}

fn why_code(why: Why) -> &'static str {
    match why {
        Why::Exact => "exact",
        Why::BehindSync(_) => "behind_sync",
        Why::CheckpointStays => "checkpoint_stays",
        Why::TooOld => "too_old",
        Why::NoSync => "no_sync",
        Why::SyncsUnknown => "syncs_unknown",
        Why::NotEmitted => "not_emitted",
        Why::TakenOver => "taken_over",
    }
}

/// Where a group goes on after a failover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PositionLine {
    pub(crate) flow: String,
    pub(crate) group: String,
    pub(crate) topic: String,
    pub(crate) remote_topic: String,
    pub(crate) partition: i32,
    pub(crate) upstream: Option<i64>,
    pub(crate) committed_at: Option<String>,
    pub(crate) target_commit: Option<i64>,
    pub(crate) checkpoint: Option<i64>,
    pub(crate) position: Option<i64>,
    /// `target_commit`, `checkpoint`, `translation`, `all_syncs`.
    pub(crate) told_by: Option<&'static str>,
    pub(crate) read_again: Option<u64>,
    /// `active`, `rewound`, `target_ahead`, `beyond_end`, `before_start`.
    pub(crate) notes: Vec<&'static str>,
}

impl PositionLine {
    /// Returns the line of a position.
    pub(crate) fn new(flow: String, it: &FailoverPosition) -> Self {
        use crate::mirror::{PositionNote, PositionSource};
        let number = |offset: Option<Offset>| offset.map(|offset| offset.0);
        Self {
            flow,
            group: it.group.clone(),
            topic: it.topic.clone(),
            remote_topic: it.remote_topic.clone(),
            partition: it.partition,
            upstream: number(it.upstream),
            committed_at: it.committed_at.and_then(time),
            target_commit: number(it.target_commit),
            checkpoint: number(it.checkpoint),
            position: number(it.position),
            told_by: it.source.map(|source| match source {
                PositionSource::TargetCommit => "target_commit",
                PositionSource::Checkpoint => "checkpoint",
                PositionSource::Translation => "translation",
                PositionSource::AllSyncs => "all_syncs",
            }),
            read_again: it.read_again,
            notes: it
                .notes
                .iter()
                .map(|note| match note {
                    PositionNote::Active => "active",
                    PositionNote::Rewound => "rewound",
                    PositionNote::TargetAhead => "target_ahead",
                    PositionNote::BeyondEnd => "beyond_end",
                    PositionNote::BeforeStart => "before_start",
                })
                .collect(),
        }
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MirrorFindingLine {
    pub(crate) code: &'static str,
    /// `routine`, `warning`, `error`.
    pub(crate) severity: &'static str,
    pub(crate) flow: Option<String>,
    /// A file with its line, a dir, a topic, a group.
    pub(crate) place: Option<String>,
    pub(crate) text: String,
    pub(crate) next: Option<String>,
}

/// A rule that was not applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SilentLine {
    pub(crate) code: &'static str,
    /// The fact that it needs.
    pub(crate) missing: String,
}

/// A step of a promotion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PromoteStepLine {
    pub(crate) flow: String,
    /// From 1.
    pub(crate) number: u32,
    pub(crate) title: &'static str,
    pub(crate) why: String,
    pub(crate) facts: Vec<String>,
    /// What to type or write.
    pub(crate) lines: Vec<String>,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MirrorSummaryLine {
    pub(crate) exit: u8,
    pub(crate) findings: u64,
    pub(crate) lines: u64,
    pub(crate) cause: Option<String>,
}
