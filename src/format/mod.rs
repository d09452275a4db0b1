//! Bytes and values: every layout in this crate, both directions in one file.
//!
//! A decoder takes any bytes and never panics, reads no clock and opens no file. Each file begins with its layout and
//! with what a checksum covers. What Kafka tolerates is tolerated; what it refuses is an error that says how Kafka takes
//! it, since that decides what a boot does.
//!
//! | what | where |
//! |---|---|
//! | a log | [`batch`] (where batches end), [`record_batch`], [`record`], [`control_record`]; [`legacy_message`] |
//! | beside it | [`offset_index`], [`time_index`], [`txn_index`], [`producer_snapshot`] |
//! | text | [`offset_checkpoint`], [`leader_epoch_checkpoint`], [`partition_metadata`], [`meta_properties`], [`clean_shutdown`], [`quorum_state`] |
//! | names | [`file_name`] |
//! | KRaft | [`metadata_record`] |
//! | groups, MirrorMaker 2 | [`group_record`], [`mirror_record`], [`connect_record`] |
//! | below them | [`cursor`], [`compact`], [`plain`], [`checksum`], [`compression`], [`checkpoint`], [`properties`], [`java`] |
//! | ours | [`archive`] |

pub mod archive;
pub mod batch;
pub mod checkpoint;
pub mod checksum;
pub mod clean_shutdown;
pub mod compact;
pub mod compression;
pub mod connect_record;
pub mod control_record;
pub mod cursor;
pub mod file_name;
pub mod group_record;
pub mod java;
pub mod leader_epoch_checkpoint;
pub mod legacy_message;
pub mod meta_properties;
pub mod metadata_record;
pub mod mirror_record;
pub mod offset_checkpoint;
pub mod offset_index;
pub mod partition_metadata;
pub mod plain;
pub mod producer_snapshot;
pub mod properties;
pub mod quantity;
pub mod quorum_state;
pub mod record;
pub mod record_batch;
#[cfg(test)]
pub(crate) mod testing;
pub mod time_index;
pub mod transaction_record;
pub mod txn_index;

pub use cursor::{Cursor, FormatError};
