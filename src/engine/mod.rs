//! Runs jobs: plans of log dirs, made in parallel, and their apply. Knows no UI; speaks in [`JobEvent`]s.
//!
//! - [`start_plan`] reads the log dirs that a [`PlanSpec`] names and ends in a [`MadePlan`]; it changes nothing.
//! - [`PlanStore`] keeps plans that were shown under their hash.
//! - [`start_job`] applies a stored plan in a process of its own; a [`JobHandle`] tails it from any process.
//!
//! Invariant: the plan is on disk before the first step, and every prefix of its steps is a tree from which Kafka's own
//! boot reaches the planned end.

mod apply;
mod apply_log;
mod audit;
mod audit_file;
mod boot_risk;
mod content_pack;
mod contents;
mod context;
mod crew;
mod dir_facts;
mod dir_plan;
mod dir_progress;
mod error;
mod event;
mod file_bytes;
mod file_owner;
mod gather;
mod hand_over;
mod job;
mod job_dir;
mod job_run;
mod job_spec;
mod journal;
mod kept_plans;
mod log_deep;
mod log_driver;
mod log_finish;
mod log_progress;
mod log_reader;
mod log_structure;
mod log_target;
mod metadata_dir;
mod permission;
mod plan_hash;
mod plan_job;
mod plan_spec;
mod plan_store;
mod preflight;
mod process;
mod progress_file;
mod quarantine;
mod scan_job;
mod second_look;
mod space;
mod stamps;
mod truncation_dir_plan;
mod undo_plan;
mod volumes;

pub use apply::apply_here;
pub use audit::audit_refusal;
pub use audit_file::{
    AUDIT_FILE, AuditAct, AuditEntry, AuditStep, AuditText, AuditWho, read_audit,
};
pub use error::EngineError;
pub use event::{DirProgress, JobEvent, JobOutcome, LogState, Phase, Progress};
pub use job::{
    JOB_SUBCOMMAND, JobHandle, JobState, JobSummary, Tail, interrupted_clock, list_jobs,
    request_stop, start_job,
};
pub use job_run::run_job;
pub use job_spec::{Confirmed, JobId, JobSpec, ParseJobIdError, Who};
pub use kept_plans::{KeptPlan, kept_plans, purge_kept};
pub use metadata_dir::read_metadata_dir;
pub use plan_job::{PlanHandle, plan_here, start_plan};
pub use plan_spec::{Beside, Decisions, PlanSpec, Reading, TopicConfigs, TruncationSpec};
pub use plan_store::{MadePlan, PlanStore, StoredPlan};
pub use undo_plan::plan_undo;
