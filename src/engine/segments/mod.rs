//! What the disk says of logs, as far as retention depends on it: names, sizes, the ends of their indexes, a few headers.
//!
//! Beside a living broker this is cheap: of each segment the last entry of its time index is read, of each active segment
//! the batches behind its last index entry. What a boot would read in full is judged by headers, never by checksums.

mod index_end;
mod log_facts;
mod offset_gaps;
mod read_logs;

pub(in crate::engine) use index_end::last_written_time;
pub(in crate::engine) use offset_gaps::offset_gaps;
pub use read_logs::{AskPartition, RetentionReading, RetentionSpec, read_retention};
