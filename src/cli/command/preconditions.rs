//! What must hold before an apply; else it is refused before any change.

use std::path::PathBuf;

use crate::cli::args::Answers;
use crate::cli::look::Look;
use crate::cli::state_room::has_room;
use crate::cli::target::{NOT_DETECTED, Presence, VersionBasis};
use crate::cli::{CliError, Context, clock, confirm};
use crate::disk::users_in;
use crate::engine::audit_refusal;
use crate::plan::RecoveryPlan;
use crate::settings::{Source, is_writable};
use crate::terms::KafkaVersion;

/// Refuses what needs no look at the log dirs to be refused; `like_kafka` is whether Kafka's way is asked for.
pub(super) fn check_allowed(
    context: &Context,
    command: &str,
    answers: &Answers,
    like_kafka: bool,
) -> Result<(), CliError> {
    let policy = &context.settings.policy;
    let yes_to_all = policy.forbids_yes_to_all().filter(|_| answers.yes_to_all);
    let way = policy.forbids_like_kafka().filter(|_| like_kafka);
    allowed_to_act(context, command, yes_to_all.or(way))?;
    if answers.yes.is_none() && !answers.yes_to_all {
        check_answer()?;
    }
    Ok(())
}

/// Refuses what the session or the host's policy forbids, and acting without a state dir; `also` is what the policy forbids
/// of this command alone.
pub(super) fn allowed_to_act(
    context: &Context,
    command: &str,
    also: Option<String>,
) -> Result<(), CliError> {
    let forbidden = context.forbidden().or(also);
    let state_dir = context.state_dir();
    if let Some(cause) = forbidden {
        let mut error = CliError::refused(&cause).hint("Nothing was changed.");
        // What the operator forbade himself is no attempt.
        let himself = matches!(context.settings.read_only.source, Source::Flag { .. });
        if let (Ok(dir), false) = (&state_dir, himself) {
            let (who, at) = (context.who(), clock::now());
            if let Err(untold) = audit_refusal(&dir.value, (&who, at), command, &cause) {
                error = error.hint(format!("The audit does not have it: {}", untold.sentence()));
            }
        }
        return Err(error);
    }
    let state_dir = state_dir?;
    if !is_writable(&state_dir.value) {
        let dir = state_dir.value.display();
        return Err(CliError::refused(format!(
            "the state dir {dir} cannot be written by user {}",
            nix::unistd::geteuid()
        ))
        .hint("Name one with --state-dir DIR, on a volume that outlives the host's restart."));
    }
    if !has_room(&state_dir.value) {
        let dir = state_dir.value.display();
        return Err(CliError::refused(format!(
            "the state dir {dir} lies on a full volume: neither a plan nor its journal can be written there"
        ))
        .hint("Name one on another volume with --state-dir DIR."));
    }
    Ok(())
}

/// Refuses to ask where nobody can answer.
pub(super) fn check_answer() -> Result<(), CliError> {
    if confirm::can_ask() {
        return Ok(());
    }
    Err(CliError::refused("there is no terminal to confirm on")
        .hint("Look at the plan first (without --apply), then: --apply --yes HASH.")
        .hint("For scripts: --apply --yes-to-all."))
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

/// Refuses to act beside a broker unless it has given up every one of `dirs`: it holds the locks of others, and has nothing
/// of these open or mapped.
pub(super) fn check_beside(look: &Look, dirs: &[PathBuf]) -> Result<(), CliError> {
    let Presence::Running { locked, how, .. } = &look.presence else {
        return Ok(());
    };
    let refused = |cause: String| {
        Err(CliError::refused(cause)
            .hint("--beside-broker acts only on a dir that the broker has taken offline."))
    };
    if locked.is_empty() {
        return refused(format!("a broker may be starting: {how}"));
    }
    for dir in dirs {
        if locked.contains(dir) {
            return refused(format!("the broker serves {}: {how}", dir.display()));
        }
    }
    match users_in(dirs).first() {
        Some(user) => refused(format!(
            "process {} ({}) has {} open or mapped",
            user.pid,
            user.command,
            user.file.display()
        ))
        .map_err(|error| match user.command.as_str() {
            "java" => error.hint(format!(
                "An index that failed stays mapped until the JVM's next collection: jcmd {} GC.run",
                user.pid
            )),
            _ => error,
        }),
        None => Ok(()),
    }
}
