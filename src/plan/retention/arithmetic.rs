//! What a topic's limits come to: `retention.bytes` is for one partition, and rests above its value.

use super::host::RetainedLog;
use crate::cluster::CleanupPolicy;

/// How much a topic may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicBudget {
    /// How many partitions it has in the cluster.
    pub partitions: u64,
    /// How many replicas each has.
    pub replicas: u64,
    /// `retention.bytes` of a partition.
    pub limit: u64,
    /// `segment.bytes`.
    pub segment_bytes: u64,
}

impl TopicBudget {
    /// Returns the budget of a log's topic; `None` without a size limit that counts, or where the metadata does not say how
    /// many partitions it has.
    pub fn of(log: &RetainedLog) -> Option<Self> {
        let placement = log.placement?;
        let limit = u64::try_from(log.limits.retention_bytes).ok()?;
        let deletes = matches!(
            log.limits.policy,
            CleanupPolicy::Delete | CleanupPolicy::CompactDelete
        );
        deletes.then_some(Self {
            partitions: placement.partitions,
            replicas: placement.replicas,
            limit,
            segment_bytes: u64::try_from(log.config.segment_bytes.value).unwrap_or(0),
        })
    }

    /// Returns the limit over all partitions and replicas, in bytes.
    pub fn nominal(self) -> u64 {
        self.over_all(self.limit)
    }

    /// Returns what the topic takes at its realistic peak, in bytes: each log rests below its limit and one segment more; with
    /// it its indexes, at most 20 bytes for 4 KiB.
    pub fn peak(self) -> u64 {
        let log = self.limit.saturating_add(self.segment_bytes);
        self.over_all(log.saturating_add(log / 200))
    }

    /// Returns what segments take that are `.deleted` and wait for `file.delete.delay.ms`, if every log has one at once.
    pub fn pending(self) -> u64 {
        self.over_all(self.segment_bytes)
    }

    fn over_all(self, bytes: u64) -> u64 {
        bytes
            .saturating_mul(self.partitions)
            .saturating_mul(self.replicas)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_for_a_partition_and_the_peak_lies_a_segment_above() {
        let budget = TopicBudget {
            partitions: 12,
            replicas: 3,
            limit: 5 << 30,
            segment_bytes: 1 << 30,
        };
        assert_eq!(budget.nominal(), 180 << 30);
        let without_indexes = 216_u64 << 30;
        assert!(budget.peak() > without_indexes && budget.peak() < without_indexes + (2 << 30));
        assert_eq!(budget.pending(), 36 << 30);
    }
}
