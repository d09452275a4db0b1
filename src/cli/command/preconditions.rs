//! What must hold before an apply; else it is refused before any change.

use crate::cli::args::Answers;
use crate::cli::look::Look;
use crate::cli::target::{NOT_DETECTED, Presence, VersionBasis};
use crate::cli::{CliError, Context, confirm};
use crate::plan::RecoveryPlan;
use crate::settings::is_writable;
use crate::terms::KafkaVersion;

/// Refuses what needs no look at the log dirs to be refused.
pub(super) fn check_allowed(context: &Context, answers: &Answers) -> Result<(), CliError> {
    if let Some(why) = context.forbidden() {
        return Err(CliError::refused(why).hint("Nothing was changed."));
    }
    let state_dir = context.state_dir()?;
    if !is_writable(&state_dir.value) {
        let dir = state_dir.value.display();
        return Err(CliError::refused(format!(
            "the state dir {dir} cannot be written by user {}",
            nix::unistd::geteuid()
        ))
        .hint("Name one with --state-dir DIR, on a volume that outlives the host's restart."));
    }
    if answers.yes.is_none() && !answers.yes_to_all && !confirm::can_ask() {
        return Err(CliError::refused("there is no terminal to confirm on")
            .hint("Look at the plan first (without --apply), then: --apply --yes HASH.")
            .hint("For scripts: --apply --yes-to-all."));
    }
    Ok(())
}

/// Refuses an apply over a living broker or with a release that nobody is sure of.
pub(super) fn check_target(look: &Look) -> Result<(), CliError> {
    check_down(look)?;
    if look.version.basis == VersionBasis::Assumed {
        return Err(version_refused(&look.version.source));
    }
    check_compared(look.version.version, &look.version.source)
}

/// Refuses a stored plan whose release nobody is sure of. The same plan may have been made twice, the release being
/// guessed once and named once: so what is known now counts too.
pub(super) fn check_version(look: &Look, plan: &RecoveryPlan) -> Result<(), CliError> {
    let sure =
        look.version.basis != VersionBasis::Assumed && look.version.version == plan.kafka_version;
    if !sure && plan.version_source.contains(NOT_DETECTED) {
        return Err(version_refused(&plan.version_source));
    }
    check_compared(plan.kafka_version, &plan.version_source)
}

/// Refuses a release that recovery was not compared with.
fn check_compared(version: KafkaVersion, source: &str) -> Result<(), CliError> {
    if version.is_compared() {
        return Ok(());
    }
    Err(CliError::refused(format!(
        "Kafka {version} ({source}) is outside of what krescue was compared with (3.7 to 4.4)"
    ))
    .hint("Recovering with another release's rules is a choice: --kafka-version V."))
}

fn version_refused(source: &str) -> CliError {
    CliError::refused(format!(
        "the broker's Kafka release is not known ({source})"
    ))
    .hint("Name the release that will boot: --kafka-version V (3.7 to 4.4).")
}

/// Refuses over a living broker.
pub(super) fn check_down(look: &Look) -> Result<(), CliError> {
    match &look.presence {
        Presence::Down => Ok(()),
        Presence::Running { how, .. } => {
            let stop = match &look.candidate.unit {
                Some(unit) => {
                    format!("Stop it first: systemctl mask --runtime {unit}; systemctl stop {unit}")
                }
                None => "Stop it first, and whatever would start it again.".to_owned(),
            };
            Err(CliError::refused(format!("a living broker: {how}"))
                .hint(stop)
                .hint("krescue scan looks beside it."))
        }
        Presence::Unknown { why } => Err(CliError::refused(format!(
            "it cannot be told whether a broker lives on these log dirs: {why}"
        ))
        .hint("Run krescue as root or as the broker's user.")),
    }
}
