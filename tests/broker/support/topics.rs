//! The topics that the workload writes: one of every kind.

use super::kafka::Kafka;

/// A topic: what its traffic is (see `Workload.java`) and what overrides the broker's settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    pub(crate) partitions: u32,
    pub(crate) traffic: &'static str,
    /// Bytes of a segment; 0 leaves the broker's.
    pub(crate) segment: u32,
    pub(crate) config: &'static str,
}

const fn topic(
    name: &'static str,
    partitions: u32,
    traffic: &'static str,
    segment: u32,
    config: &'static str,
) -> Topic {
    Topic {
        name,
        partitions,
        traffic,
        segment,
        config,
    }
}

const COMPACT: &str = "cleanup.policy=compact min.cleanable.dirty.ratio=0.01";

/// For the comparison with Kafka: as many kinds as there are, in small segments.
pub(crate) const EVERY_KIND: [Topic; 22] = [
    topic("plain", 2, "none", 16_384, ""),
    topic("gzip", 1, "gzip", 16_384, ""),
    topic("snappy", 1, "snappy", 16_384, "index.interval.bytes=1024"),
    topic("lz4", 1, "lz4", 16_384, ""),
    topic("zstd", 1, "zstd", 16_384, "index.interval.bytes=512"),
    topic("mixed", 3, "mixed", 32_768, ""),
    topic("idempotent", 3, "idempotent", 16_384, ""),
    topic("many-producers", 2, "many-producers", 16_384, ""),
    topic("transactions", 3, "transactions-interleaved", 16_384, ""),
    topic("long-transactions", 2, "transactions", 32_768, ""),
    topic("compacted", 2, "compacted", 16_384, COMPACT),
    topic(
        "compacted-transactions",
        2,
        "transactions-compacted",
        16_384,
        COMPACT,
    ),
    topic(
        "append-time",
        2,
        "gzip",
        16_384,
        "message.timestamp.type=LogAppendTime",
    ),
    topic("deleted-prefix", 3, "delete-records", 16_384, ""),
    topic("preallocated", 2, "idempotent", 65_536, "preallocate=true"),
    topic(
        "small-index",
        2,
        "idempotent",
        32_768,
        "segment.index.bytes=512 index.interval.bytes=1024",
    ),
    topic("dense-index", 1, "mixed", 0, "index.interval.bytes=0"),
    topic("one-segment", 1, "lz4", 0, ""),
    topic("idle", 2, "idle", 0, ""),
    topic("consumed", 2, "group", 16_384, ""),
    topic("__consumer_offsets", 3, "idle", 4096, ""),
    topic("__transaction_state", 3, "idle", 16_384, ""),
];

/// For the demo: what an operator would know from home.
pub(crate) const DEMO: [Topic; 11] = [
    topic(
        "orders",
        3,
        "transactions-interleaved",
        65_536,
        "index.interval.bytes=2048",
    ),
    topic("payments", 2, "idempotent", 65_536, ""),
    topic("clicks", 3, "snappy", 65_536, ""),
    topic("metrics", 1, "lz4", 131_072, ""),
    topic(
        "audit",
        1,
        "gzip",
        65_536,
        "message.timestamp.type=LogAppendTime",
    ),
    topic("users", 1, "compacted", 131_072, COMPACT),
    topic("sessions", 1, "transactions-compacted", 32_768, COMPACT),
    topic("invoices", 1, "zstd", 0, ""),
    topic("telemetry", 1, "delete-records", 131_072, ""),
    topic("notifications", 1, "group", 131_072, ""),
    topic("__transaction_state", 2, "idle", 32_768, ""),
];

impl Topic {
    /// Returns its overrides for `kafka` as `key=value` words.
    pub(crate) fn overrides(&self, kafka: &Kafka) -> String {
        if self.segment == 0 {
            return self.config.to_owned();
        }
        format!("{} {}={}", self.config, kafka.segment_key(), self.segment)
    }
}

/// Returns the workload's file.
pub(crate) fn workload_lines(topics: &[Topic], kafka: &Kafka) -> String {
    let line = |topic: &Topic| {
        let Topic {
            name,
            partitions,
            traffic,
            ..
        } = topic;
        format!("{name} {partitions} {traffic} {}\n", topic.overrides(kafka))
    };
    topics.iter().map(line).collect::<Vec<_>>().concat()
}

/// Returns the loader's file of topic overrides.
pub(crate) fn override_lines(topics: &[Topic], kafka: &Kafka) -> String {
    let line = |topic: &Topic| format!("{} {}\n", topic.name, topic.overrides(kafka));
    topics.iter().map(line).collect::<Vec<_>>().concat()
}
