//! Makes plans: finds the logs, reads them, asks the recovery machine of each, and puts dirs together. Changes nothing.

pub(in crate::engine) mod cleanup_findings;
pub(in crate::engine) mod cleanup_job;
pub(in crate::engine) mod cleanup_log;
pub(in crate::engine) mod dir_plan;
pub(in crate::engine) mod gather;
pub(in crate::engine) mod index_mend;
pub(in crate::engine) mod log_deep;
pub(in crate::engine) mod log_driver;
pub(in crate::engine) mod log_finish;
pub(in crate::engine) mod log_structure;
pub(in crate::engine) mod log_target;
pub(in crate::engine) mod plan_job;
pub(in crate::engine) mod plan_spec;
pub(in crate::engine) mod relocation_job;
pub(in crate::engine) mod scan_job;
pub(in crate::engine) mod truncation_dir_plan;
pub(in crate::engine) mod undo_plan;
