//! The offset syncs of a flow, folded: what is left of each partition, and what stood out on the way.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::content::{ByPartition, InternalRecord};
use super::sync_store::{SyncPair, SyncStore, Thinning};
use crate::format::mirror_record::OffsetSync;
use crate::terms::{Offset, Timestamp};

/// Pairs of a partition that are kept beside the store; beyond them every other one goes.
const HISTORY: usize = 2048;
/// Events of a partition that are kept, the newest.
const EVENTS: usize = 16;

/// The syncs of one topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncsFacts {
    /// How the stores thin out.
    pub thinning: Thinning,
    /// What is known of each partition of the source.
    pub partitions: ByPartition<PartitionSyncs>,
}

/// The syncs of one partition of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionSyncs {
    /// What MirrorMaker 2 would know of them after it has read the topic.
    pub store: SyncStore,
    /// Pairs since the source or the target was last made anew, in order: more than the store keeps.
    pub history: Vec<SyncPair>,
    /// The newest.
    pub last: SyncPair,
    /// When that was written.
    pub last_timestamp: Timestamp,
    /// What stood out, in order.
    pub events: Vec<SyncEvent>,
}

/// What two syncs in a row say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncEvent {
    /// What it is.
    pub kind: SyncEventKind,
    /// The sync before.
    pub before: SyncPair,
    /// The sync that shows it.
    pub after: SyncPair,
    /// Where that stands in the topic.
    pub offset: Offset,
    /// When it was written.
    pub timestamp: Timestamp,
}

/// The kinds of [`SyncEvent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncEventKind {
    /// The source's offset fell: a task restarted and copied again, or the source was made anew.
    UpstreamRewind,
    /// The target's offset fell while the source's grew: the target was cut or made anew.
    DownstreamReset,
    /// More offsets were skipped on the source than were written to the target: compaction, markers or lost records.
    Gap,
    /// More was written to the target than the source had: copied again, or by another producer.
    Excess,
}

impl SyncsFacts {
    /// Returns syncs of no partition.
    pub fn new(thinning: Thinning) -> Self {
        Self {
            thinning,
            partitions: BTreeMap::new(),
        }
    }

    /// Takes the next sync of a partition; without one the partition is forgotten.
    pub fn push(
        &mut self,
        topic: &str,
        partition: i32,
        sync: Option<OffsetSync<'_>>,
        record: &InternalRecord<'_>,
    ) {
        let Some(sync) = sync else {
            if let Some(partitions) = self.partitions.get_mut(topic) {
                partitions.remove(&partition);
            }
            return;
        };
        let pair = SyncPair {
            upstream: sync.upstream,
            downstream: sync.downstream,
        };
        let known = self.partitions.get_mut(topic);
        if let Some(known) = known.and_then(|partitions| partitions.get_mut(&partition)) {
            return known.push(pair, record);
        }
        let mut first = PartitionSyncs {
            store: SyncStore::new(self.thinning),
            history: vec![],
            last: pair,
            last_timestamp: record.timestamp,
            events: vec![],
        };
        first.push(pair, record);
        let partitions = self.partitions.entry(topic.to_owned()).or_default();
        partitions.insert(partition, first);
    }

    /// Returns what is known of a partition of the source.
    pub fn get(&self, topic: &str, partition: i32) -> Option<&PartitionSyncs> {
        self.partitions.get(topic)?.get(&partition)
    }

    /// Returns when the newest sync of any partition was written.
    pub fn newest(&self) -> Option<Timestamp> {
        let all = self.partitions.values().flat_map(BTreeMap::values);
        all.map(|syncs| syncs.last_timestamp).max()
    }
}

impl PartitionSyncs {
    fn push(&mut self, pair: SyncPair, record: &InternalRecord<'_>) {
        let before = self.history.last().copied();
        self.store.push(pair);
        self.last = pair;
        self.last_timestamp = record.timestamp;
        if let Some(before) = before {
            let kind = event(before, pair);
            if let Some(kind) = kind {
                if self.events.len() == EVENTS {
                    self.events.remove(0);
                }
                self.events.push(SyncEvent {
                    kind,
                    before,
                    after: pair,
                    offset: record.offset,
                    timestamp: record.timestamp,
                });
            }
            if matches!(
                kind,
                Some(SyncEventKind::UpstreamRewind | SyncEventKind::DownstreamReset)
            ) {
                self.history.clear();
            }
        }
        if self.history.len() >= HISTORY {
            let mut keep = false;
            self.history.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.history.push(pair);
    }

    /// Returns the last pair at or before `commit` of all that are left, not only of those that MirrorMaker 2 keeps.
    pub fn best_pair(&self, commit: Offset) -> Option<SyncPair> {
        let at = self.history.partition_point(|pair| pair.upstream <= commit);
        self.history.get(at.checked_sub(1)?).copied()
    }

    /// Returns the last pair at or before `position` on the target.
    pub fn pair_before_downstream(&self, position: Offset) -> Option<SyncPair> {
        let at = self
            .history
            .partition_point(|pair| pair.downstream <= position);
        self.history.get(at.checked_sub(1)?).copied()
    }
}

fn event(before: SyncPair, after: SyncPair) -> Option<SyncEventKind> {
    let upstream = after.upstream.0.wrapping_sub(before.upstream.0);
    let downstream = after.downstream.0.wrapping_sub(before.downstream.0);
    if upstream < 0 {
        Some(SyncEventKind::UpstreamRewind)
    } else if downstream < 0 {
        Some(SyncEventKind::DownstreamReset)
    } else if downstream > upstream {
        Some(SyncEventKind::Excess)
    } else if downstream == 1 && upstream > 1 {
        Some(SyncEventKind::Gap)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pairs: &[(i64, i64)]) -> (Vec<SyncEventKind>, PartitionSyncs) {
        let mut syncs = SyncsFacts::new(Thinning::Cursor);
        for (offset, (upstream, downstream)) in (0..).zip(pairs) {
            let record = InternalRecord {
                offset: Offset(offset),
                timestamp: Timestamp(offset),
                key: &[],
                value: None,
            };
            let sync = OffsetSync {
                topic: "t",
                partition: 0,
                upstream: Offset(*upstream),
                downstream: Offset(*downstream),
            };
            syncs.push("t", 0, Some(sync), &record);
        }
        let known = syncs.get("t", 0).unwrap().clone();
        let kinds = known.events.iter().map(|event| event.kind).collect();
        (kinds, known)
    }

    #[test]
    fn what_two_syncs_say_is_told() {
        use SyncEventKind::{DownstreamReset, Excess, Gap, UpstreamRewind};
        for (pairs, kinds) in [
            (vec![(0, 0), (101, 101)], vec![]),
            (vec![(250, 250), (251, 281)], vec![Excess]),
            (vec![(9, 9), (35, 10)], vec![Gap]),
            (vec![(9, 9), (0, 10)], vec![UpstreamRewind]),
            (vec![(9, 9), (10, 0)], vec![DownstreamReset]),
            (vec![(100, 50), (200, 150), (300, 260)], vec![Excess]),
            (
                vec![(300, 260), (250, 265), (350, 365)],
                vec![UpstreamRewind],
            ),
        ] {
            assert_eq!(events(&pairs).0, kinds, "{pairs:?}");
        }
    }

    #[test]
    fn history_knows_more_than_the_store_and_ends_at_a_reset() {
        let (_, syncs) = events(&[(0, 0), (6, 5), (10, 8), (15, 12)]);
        assert_eq!(syncs.best_pair(Offset(7)), Some(SyncPair::new(6, 5)));
        assert_eq!(
            syncs.pair_before_downstream(Offset(11)),
            Some(SyncPair::new(10, 8))
        );
        let (_, syncs) = events(&[(100, 200), (150, 251), (200, 10)]);
        assert_eq!(syncs.best_pair(Offset(199)), None);
        assert_eq!(syncs.best_pair(Offset(200)), Some(SyncPair::new(200, 10)));
    }

    #[test]
    fn history_is_bounded() {
        let pairs: Vec<_> = (0..10_000).map(|n| (n * 10, n * 10)).collect();
        let (_, syncs) = events(&pairs);
        assert!(syncs.history.len() <= HISTORY);
        assert_eq!(syncs.history.last(), Some(&SyncPair::new(99_990, 99_990)));
        assert_eq!(syncs.history.first(), Some(&SyncPair::new(0, 0)));
        assert!(syncs.history.is_sorted_by_key(|pair| pair.upstream));
    }
}
