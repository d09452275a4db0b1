//! Reads what lies in log dirs beside batches, and feeds the parsers of [`crate::log`] with the rest.

pub(in crate::engine) mod boot_facts;
pub(in crate::engine) mod boot_risk;
pub(in crate::engine) mod dir_facts;
pub(in crate::engine) mod file_bytes;
pub(in crate::engine) mod file_owner;
pub(in crate::engine) mod follower_logs;
pub(in crate::engine) mod log_reader;
pub(in crate::engine) mod metadata_dir;
pub(in crate::engine) mod node_files;
