//! `cleanup`: frees space, from what costs nothing on.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::plan_run::{Kept, PlanRun};
use super::preconditions::{check_allowed, check_beside, check_target};
use super::stored_flags::check_quarantine;
use crate::app::free_words;
use crate::app::state::FreeOffer;
use crate::app::text::{bytes, plural};
use crate::cli::args::CleanupArgs;
use crate::cli::cleanup_look::{cleanup_asked, dirs_of_volume, only_leftovers, shared_quarantine};
use crate::cli::free_offer::{free_offer, missing};
use crate::cli::look::{BesideBroker, Look};
use crate::cli::report::{
    BootNeedsLine, DoubtLine, JsonReport, Line, freeable_lines, way_lines, write_offer,
};
use crate::cli::target::Presence;
use crate::cli::{CliError, Context, Exit};
use crate::disk::RealStorage;
use crate::engine::{MadeCleanup, PlanStore, Reading, StoredPlan, make_cleanup};
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::PlanAct;
use crate::plan::cleanup::LeftoverProof;

/// Runs `cleanup`.
pub(in crate::cli) fn cleanup(
    context: &Context,
    args: &CleanupArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let answers = &args.answers;
    if answers.apply {
        check_allowed(context, "cleanup", answers, false)?;
        if context.now_given {
            return Err(
                CliError::refused("--now with --apply: retention is judged by the clock")
                    .hint("Leave --apply out to see what would go at another time."),
            );
        }
    }
    let mut run = PlanRun {
        context,
        answers,
        json: args.json,
        command: "cleanup",
        words: args.words(),
        leaves: 0,
        out,
    };
    if let Some(hash) = answers.stored() {
        let stored = PlanStore::new(&context.state_dir()?.value).find(&hash.0)?;
        check_stored(&stored, args)?;
        check_quarantine(context, &stored)?;
        return run.apply_stored(&stored);
    }
    let mut look = Look::open(context, BesideBroker::StructureOnly)?;
    look.read_metadata(context)?;
    look.ask_cluster(context);
    let on = dirs_of_volume(&look, args.on.as_deref())?;
    if args.beside_broker {
        check_beside(&look, &on)?;
    } else if answers.apply {
        check_target(&look)?;
    }
    let line = look.run_line(context, "cleanup", Reading::Structure);
    run.with_report(|report| Ok(report.run(&line)?))?;
    let mut asked = cleanup_asked(context, args, &look, &on)?;
    let mut cleanup = make_cleanup(&RealStorage, &asked.spec)?;
    if let Some(dir) = shared_quarantine(&asked.spec, &on) {
        if context.settings.quarantine.is_some() || !only_leftovers(&cleanup) {
            return Err(CliError::refused(format!(
                "the quarantine {} lies on the volume that is to become free: what is kept there frees nothing",
                dir.display()
            ))
            .hint("--quarantine DIR names a place on another volume.")
            .hint("--quarantine none keeps no copy: what goes is gone for good."));
        }
        // What a boot removes anyway is not worth a copy that keeps its space.
        asked.spec.quarantine = None;
        cleanup = make_cleanup(&RealStorage, &asked.spec)?;
    }
    let dir = args.on.as_deref().or(on.first().map(PathBuf::as_path));
    let place = (dir.unwrap_or(Path::new("")), args.what.free.unwrap_or(0));
    let offer = free_offer(context, &look, place, (&asked, &cleanup));
    tell(&mut run, (&cleanup, &offer), args)?;
    if answers.apply && cleanup.chosen.missing > 0 {
        return Err(CliError::refused(missing(&cleanup))
        .hint(format!("Ask for less: --free {}.", cleanup.chosen.freed))
        .hint("Compacted and internal topics, active segments and what no high watermark covers never go."));
    }
    let is_alive = look.presence != Presence::Down && !args.beside_broker;
    if is_alive {
        let plan = cleanup.made;
        let hash = plan.hash();
        let kept = Kept::Shown {
            plan: Box::new(plan.plan),
            hash,
        };
        return run.show(&look, &kept);
    }
    let kept = run.store(cleanup.made)?;
    run.show(&look, &kept)
}

/// Tells what can go and what was chosen of it, what was left, and what the next boot needs.
fn tell(
    run: &mut PlanRun<'_>,
    (cleanup, offer): (&MadeCleanup, &FreeOffer),
    args: &CleanupArgs,
) -> Result<(), CliError> {
    for leftover in &cleanup.leftovers {
        if let LeftoverProof::Missing(why) = &leftover.proof {
            let text = format!(
                "{} stays: {} of {}; {why}",
                leftover.dir_name,
                bytes(leftover.allocated),
                leftover.kind.word()
            );
            let finding = Finding::new(FindingCode::Leftover, Severity::Routine, text);
            run.with_report(|report| {
                Ok(report.finding(Some(&leftover.log_dir), None, &finding)?)
            })?;
        }
    }
    if args.what.free.is_some() {
        for finding in &offer.costless {
            run.with_report(|report| Ok(report.finding(Some(&offer.dir), None, finding)?))?;
        }
        if run.json {
            let mut report = JsonReport::new(run.out);
            for line in freeable_lines(offer) {
                report.line(&Line::Freeable(Box::new(line)))?;
            }
            for line in way_lines(offer) {
                report.line(&Line::Way(line))?;
            }
        } else {
            write_offer(run.out, offer)?;
        }
    }
    for doubt in &offer.notes {
        if run.json {
            JsonReport::new(run.out).line(&Line::Doubt(DoubtLine { text: doubt }))?;
        } else {
            run.note(doubt)?;
        }
    }
    if run.json {
        JsonReport::new(run.out).line(&Line::BootNeeds(BootNeedsLine {
            free_bytes: offer.boot_free,
            read_bytes: offer.boot_reads,
            seconds: offer.boot_seconds(),
            bytes_per_s: offer.boot_rate,
            measured: false,
        }))?;
    } else {
        run.note(&format!(
            "frees {}; the next boot then {}",
            bytes(cleanup.chosen.freed),
            free_words::boot_needs(offer)
        ))?;
    }
    if cleanup.chosen.choices.is_empty() {
        let dirs = plural(
            cleanup.made.plan.log_dirs.len() as u64,
            "log dir",
            "log dirs",
        );
        run.note(&format!("nothing to delete in {dirs}"))?;
    }
    Ok(())
}

/// Refuses a stored plan that is another command's.
fn check_stored(stored: &StoredPlan, args: &CleanupArgs) -> Result<(), CliError> {
    let is_it = stored.plan.act == PlanAct::CleanUp
        && stored.plan.undoes.is_none()
        && stored.plan.beside_broker == args.beside_broker;
    if is_it {
        return Ok(());
    }
    let short = stored.hash.get(..8).unwrap_or(&stored.hash);
    Err(
        CliError::usage(format!("{short} is not the plan of {}", args.words())).hint(format!(
            "krescue {} shows that plan and its hash, if there is something to delete.",
            args.words()
        )),
    )
}
