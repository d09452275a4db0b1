//! The audit: what is written of each act, and how it is read.

pub(in crate::engine) mod audit_file;
pub(in crate::engine) mod job_audit;
