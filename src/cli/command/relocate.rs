//! `move` while the broker is down: the partition's files go to another log dir.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::plan_run::PlanRun;
use super::preconditions::{check_allowed, check_down};
use super::truncate::refusal;
use crate::cli::args::MoveArgs;
use crate::cli::look::{Look, check_named};
use crate::cli::{CliError, Context, Exit};
use crate::disk::RealStorage;
use crate::engine::{PlanStore, Reading, RelocationSpec, StoredPlan, make_relocation};
use crate::format::file_name::DirName;
use crate::plan::Verdict;

/// Runs `move` for a broker that is down.
pub(super) fn relocate(
    context: &Context,
    args: &MoveArgs,
    mut look: Look,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let partition = &args.partition;
    let to = args.to.as_deref().unwrap_or_default();
    if DirName::parse(&partition.to_string()).is_cluster_metadata() {
        return Err(CliError::refused("the metadata log is never moved")
            .hint("metadata.log.dir says where it lies."));
    }
    let answers = &args.answers;
    if answers.apply {
        check_allowed(context, "move", answers, false)?;
    }
    let mut run = PlanRun {
        context,
        answers,
        json: args.json,
        command: "move",
        words: format!("move {partition} --to {to}"),
        leaves: 0,
        out,
    };
    if let Some(hash) = answers.stored() {
        let stored = PlanStore::new(&context.state_dir()?.value).find(&hash.0)?;
        check_stored(&stored, args, &look)?;
        return run.apply_stored(&stored);
    }
    check_down(&look)?;
    look.ask_cluster(context);
    let to = target(&look, to)?;
    let name = partition.to_string();
    check_named(std::slice::from_ref(partition), |_| {
        look.log_dirs.iter().any(|dir| dir.join(&name).is_dir())
    })?;
    let line = look.run_line(context, "move", Reading::Structure);
    run.with_report(|report| Ok(report.run(&line)?))?;
    let known = look.spec(context);
    let made = make_relocation(
        &RealStorage,
        &RelocationSpec {
            log_dirs: look.log_dirs.clone(),
            partition: partition.clone(),
            to: to.clone(),
            kafka_version: known.kafka_version,
            version_source: known.version_source,
            now: known.now,
            replicas: known.replicas,
        },
    )?;
    if let Some(cause) = refusal(&made.plan) {
        return Err(CliError::refused(format!("{partition}: {cause}")).hint("Nothing was changed."));
    }
    if made.plan.class().is_none() {
        run.note(&format!("{partition} lies in {} already", to.display()))?;
    }
    let kept = run.store(made)?;
    run.show(&look, &kept)
}

/// Returns the log dir that was named, as the broker's configuration writes it.
fn target(look: &Look, named: &str) -> Result<PathBuf, CliError> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let wanted = real(Path::new(named));
    if let Some(dir) = look.log_dirs.iter().find(|dir| real(dir) == wanted) {
        return Ok(dir.clone());
    }
    let error = CliError::usage(format!("{named} is no log dir of this broker"));
    let hints = look.log_dirs.iter();
    Err(hints.fold(error, |error, dir| {
        error.hint(format!("It has {}", dir.display()))
    }))
}

/// Refuses a stored plan that is not the move that was named beside its hash.
fn check_stored(stored: &StoredPlan, args: &MoveArgs, look: &Look) -> Result<(), CliError> {
    let to = args.to.as_deref().unwrap_or_default();
    let wanted = target(look, to)?;
    let named = stored.plan.partitions().any(|log| {
        log.topic_partition.as_ref() == Some(&args.partition)
            && matches!(&log.verdict, Verdict::Move(relocation) if relocation.to == wanted)
    });
    if named && stored.plan.undoes.is_none() {
        return Ok(());
    }
    let short = stored.hash.get(..8).unwrap_or(&stored.hash);
    let words = format!("move {} --to {to}", args.partition);
    Err(
        CliError::usage(format!("{short} is not the plan of {words}")).hint(format!(
            "krescue {words} shows that plan and its hash, if there is something to move."
        )),
    )
}
