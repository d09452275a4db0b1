//! What the names in a log dir say.
//!
//! ```text
//! log dir        topic-partition, topic-partition.HEX-{delete,future,stray}, remote-log-index-cache
//! partition dir  OFFSET.{log,index,timeindex,txnindex,snapshot}   offset in 20 digits
//!                ….deleted, ….cleaned, ….swap                      leftovers of deletion, cleaning, splitting
//!                leader-epoch-checkpoint, partition.metadata
//!                OFFSET-EPOCH.checkpoint, quorum-state            __cluster_metadata only; 20 and 10 digits
//! ```
//!
//! Kafka takes an offset from the text before the first `.`, as `Long.parseLong` reads it, whatever its digits.

mod dir_name;
mod partition_file;

pub use dir_name::{
    CLEAN_SHUTDOWN_MARKER, CLEANER_CHECKPOINT, DirName, HIGH_WATERMARK_CHECKPOINT, LOCK,
    LOG_START_CHECKPOINT, META_PROPERTIES, METADATA_TOPIC, RECOVERY_POINT_CHECKPOINT,
    REMOTE_LOG_INDEX_CACHE, delete_dir_name,
};
pub use partition_file::{
    CLEANED_SUFFIX, DELETED_SUFFIX, FileKind, LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA,
    PartitionFile, QUORUM_STATE, SWAP_SUFFIX, leading_offset, metadata_snapshot_name,
    segment_file_name,
};
