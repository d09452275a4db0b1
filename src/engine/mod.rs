//! Runs jobs: plans of log dirs, made in parallel, and their apply. Knows no UI; speaks in [`JobEvent`]s.
//!
//! - [`start_plan`] reads the log dirs that a [`PlanSpec`] names and ends in a [`MadePlan`]; it changes nothing.
//! - [`PlanStore`] keeps plans that were shown under their hash.
//! - [`start_job`] applies a stored plan in a process of its own; a [`JobHandle`] tails it from any process.
//!
//! Invariant: the plan is on disk before the first step, and every prefix of its steps is a tree from which Kafka's own
//! boot reaches the planned end.

mod apply;
mod audit;
mod error;
mod event;
mod job;
mod keep;
mod mirror_facts;
mod planning;
mod read;
mod segments;
mod store;
mod survey;

pub use apply::run::apply_here;
pub use audit::audit_file::{
    AUDIT_FILE, AuditAct, AuditEntry, AuditStep, AuditText, AuditWho, read_audit,
};
pub use audit::job_audit::audit_refusal;
pub use error::EngineError;
pub use event::{DirProgress, JobEvent, JobOutcome, LogState, Phase, Progress};
pub use job::handle::{
    JOB_SUBCOMMAND, JobHandle, JobState, JobSummary, Tail, ToldEvent, interrupted_clock, list_jobs,
    request_stop, start_job,
};
pub use job::job_run::run_job;
pub use job::job_spec::{Confirmed, JobId, JobSpec, ParseJobIdError, Who};
pub use keep::kept_plans::{KeptPlan, kept_plans, purge_kept};
pub use mirror_facts::{
    FactsRequest, read_cluster_facts, read_copied_facts, read_copies, read_group_commits,
    read_uncopied,
};
pub use planning::cleanup_job::{AskGroups, AskProof, CleanupSpec, MadeCleanup, make_cleanup};
pub use planning::index_mend::{WrongIndex, is_wrong_index, plan_indexes};
pub use planning::plan_job::{PlanHandle, plan_here, start_plan};
pub use planning::plan_spec::{
    Beside, Decisions, PlanSpec, Reading, Replicas, TopicConfigs, TruncationSpec,
};
pub use planning::relocation_job::{RelocationSpec, make_relocation};
pub use planning::undo_plan::plan_undo;
pub use read::boot_facts::{BootDirsRead, read_boot_dirs};
pub use read::follower_logs::{HeldLog, read_follower_logs};
pub use read::metadata_dir::{follow_metadata_dir, read_metadata_dir};
pub use read::node_files::{NodeFiles, read_node_files};
pub use segments::{AskPartition, RetentionReading, RetentionSpec, read_retention};
pub use store::live_store::{InForce, LiveStore, audit_live};
pub use store::plan_store::{MadePlan, PlanStore, StoredPlan};
pub use store::verify_store::{VerifiedLog, VerifyStore, verify_stamp};
pub use survey::volume_facts::volume_facts;
pub use survey::volume_samples::{keep_volume_samples, volume_samples};
pub use survey::volume_survey::{SurveyEvent, log_files, survey, survey_all};
