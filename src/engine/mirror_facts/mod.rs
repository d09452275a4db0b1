//! Facts of MirrorMaker 2 from log dirs: the ends of every log, and what its own topics and the groups' hold.
//!
//! Nothing is changed and no lock is needed. Memory is bounded by the keys of the topics read, never by their records.

mod batches;
mod copies;
mod groups;
mod log_end;
mod read;
mod records;
mod uncopied;

pub use copies::read_copies;
pub use groups::read_group_commits;
pub(super) use log_end::log_end;
pub use read::{FactsRequest, read_cluster_facts, read_copied_facts};
pub use uncopied::read_uncopied;
