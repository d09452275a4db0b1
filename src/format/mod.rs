//! Bytes and values: every layout in this crate, both directions in one file.
//!
//! A decoder takes any bytes and never panics, reads no clock and opens no file. Each file begins with its layout and
//! with what a checksum covers. What Kafka tolerates is tolerated; what it refuses is an error that says how Kafka takes
//! it, since that decides what a boot does.

pub mod archive;
pub mod batch;
pub mod checkpoint;
pub mod checksum;
pub mod clean_shutdown;
pub mod compact;
pub mod compression;
pub mod control_record;
pub mod cursor;
pub mod file_name;
pub mod java;
pub mod leader_epoch_checkpoint;
pub mod legacy_message;
pub mod meta_properties;
pub mod metadata_record;
pub mod offset_checkpoint;
pub mod offset_index;
pub mod partition_metadata;
pub mod producer_snapshot;
pub mod properties;
pub mod quorum_state;
pub mod record;
pub mod record_batch;
#[cfg(test)]
pub(crate) mod testing;
pub mod time_index;
pub mod txn_index;

pub use cursor::{Cursor, FormatError};
