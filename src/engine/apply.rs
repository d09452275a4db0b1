//! Carries out a stored plan.

use std::path::Path;

use super::JobOutcome;
use super::context::JobContext;
use super::job_spec::JobSpec;
use super::plan_store::StoredPlan;
use crate::disk::Storage;

/// Carries out `stored`; what it says is on disk when this returns.
pub(super) fn apply(
    _storage: &dyn Storage,
    _state_dir: &Path,
    _stored: &StoredPlan,
    _spec: &JobSpec,
    _context: &JobContext,
) -> JobOutcome {
    JobOutcome::Refused {
        cause: "no apply in this build".to_owned(),
    }
}
