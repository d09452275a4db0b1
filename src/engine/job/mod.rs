//! A job as a process of its own: its folder, its counters, and how its work is shared among workers.

pub(in crate::engine) mod context;
pub(in crate::engine) mod crew;
pub(in crate::engine) mod handle;
pub(in crate::engine) mod job_dir;
pub(in crate::engine) mod job_run;
pub(in crate::engine) mod job_spec;
pub(in crate::engine) mod process;
pub(in crate::engine) mod progress_file;
pub(in crate::engine) mod volumes;
