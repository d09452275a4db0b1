//! Kafka's nouns as newtypes, and the glossary of this crate.
//!
//! One word, one meaning:
//!
//! - **offset**: a record's logical place in a partition ([`Offset`]). **position**: a byte in a file ([`Position`]).
//! - `base_offset` and `last_offset` are inclusive; `next_offset`, `log_end_offset` and `recovery_point` are exclusive.
//! - `log_start_offset` is the first offset that may be read; `high_watermark` the first that is not committed;
//!   `last_stable_offset` the first of an open transaction, or the high watermark.
//! - A **record** is in a **batch** is in a **segment** is in a **partition dir** is in a **log dir** (an entry of
//!   `log.dirs`) is on a **volume** (a block device; our word). "Message" is for magic 0 and 1 only.
//! - **truncate** drops a suffix; **delete** drops whole segments (retention); **clean** compacts; **roll** opens a segment.
//! - **torn** ends early; **corrupt** contradicts itself; **stray** belongs to no assigned partition; **unclean** lacks
//!   the `.kafka_cleanshutdown` marker.
//! - Ours: a **finding** is one oddity seen in the files; a **verdict** is what a plan decides of a thing; a **step** is
//!   one change of one file; a **plan** is an ordered list of steps; a **job** runs a plan; the **journal** is what a
//!   job wrote of its progress; the **quarantine** holds what was cut.

mod kafka_version;
mod offset;
mod partition;
mod producer;
mod timestamp;

pub use kafka_version::{KafkaVersion, ParseVersionError};
pub use offset::{LeaderEpoch, Offset, Position};
pub use partition::{TopicPartition, Uuid};
pub use producer::{ProducerEpoch, ProducerId};
pub use timestamp::Timestamp;
