//! What every command does with a plan: stores it, prints it, asks, carries it out, says what came of it.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::again::{join, named_options};
use super::ask_warning::ask_warning;
use super::preconditions::{check_beside, check_down, check_version};
use crate::cli::apply::{ApplyRequest, apply};
use crate::cli::args::Answers;
use crate::cli::look::{self, BesideBroker, Look};
use crate::cli::report::{
    Detail, JsonReport, Line, Parts, ProgressLine, Reached, Report, Summary, falls_short,
    with_report, write_plan,
};
use crate::cli::state_room::has_room;
use crate::cli::target::Candidate;
use crate::cli::{CliError, Context, Exit, confirm};
use crate::engine::{Confirmed, MadePlan, PlanStore, Reading, StoredPlan};
use crate::log::FindingCode;
use crate::plan::{HandOver, LogDirPlan, PartitionPlan, PlanAct, RecoveryPlan, Verdict};
use crate::settings::{BrokerConfig, Source, Sourced, is_writable};

/// One run of a command that plans and acts.
pub(super) struct PlanRun<'a> {
    pub(super) context: &'a Context,
    pub(super) answers: &'a Answers,
    pub(super) json: bool,
    /// The command's name.
    pub(super) command: &'static str,
    /// The words that make the plan again, `--apply` aside.
    pub(super) words: String,
    /// How many findings no step of the plan mends: with any, what would be an exit of 0 is one of 3.
    pub(super) leaves: usize,
    pub(super) out: &'a mut dyn Write,
}

impl PlanRun<'_> {
    /// Carries out a stored plan that was shown before.
    pub(super) fn apply_stored(&mut self, stored: &StoredPlan) -> Result<Exit, CliError> {
        let look = self.look_for(&stored.plan)?;
        if stored.plan.beside_broker {
            check_beside(&look, &dirs_of(&stored.plan))?;
        } else {
            check_down(&look)?;
        }
        let needs_release = !matches!(stored.plan.act, PlanAct::Mend | PlanAct::Move);
        if stored.plan.undoes.is_none() && needs_release {
            check_version(&look, &stored.plan)?;
        }
        self.begin(&look, &stored.plan)?;
        self.print(&look, &stored.plan)?;
        self.with_report(|report| Ok(report.plan(&stored.plan, Some((&stored.hash, true)))?))?;
        self.apply(&look, stored, Confirmed::ByHash)
    }

    /// Prints the first line of a run over a plan that is there already.
    pub(super) fn begin(&mut self, look: &Look, plan: &RecoveryPlan) -> Result<(), CliError> {
        let mut run = look.run_line(self.context, self.command, Reading::AsBoot);
        run.kafka_version = plan.kafka_version.to_string();
        run.version_source.clone_from(&plan.version_source);
        run.now = plan.now.rfc3339();
        self.with_report(|report| Ok(report.run(&run)?))
    }

    /// Prints a plan that was stored or only shown, and carries it out if that was asked for.
    pub(super) fn show(&mut self, look: &Look, kept: &Kept) -> Result<Exit, CliError> {
        self.print(look, kept.plan())?;
        match kept {
            Kept::Stored(stored) if self.answers.apply => self.confirm_and_apply(look, stored),
            _ => self.end_of_plan(look, kept),
        }
    }

    /// Finds the broker of a stored plan; its log dirs alone, if the search gives others.
    pub(super) fn look_for(&self, plan: &RecoveryPlan) -> Result<Look, CliError> {
        let dirs = dirs_of(plan);
        let settings = &self.context.settings;
        let named = settings.config.is_some() || settings.log_dirs.is_some();
        match Look::open(self.context, BesideBroker::StructureOnly) {
            Ok(look) if fits(&look.log_dirs, plan) => Ok(look),
            Err(error) if named => Err(error),
            Ok(look) if named => Err(CliError::refused("the plan is for other log dirs")
                .hint(format!("Its log dirs: {}", join(&dirs)))
                .hint(format!("Named now: {}", join(&look.log_dirs)))),
            _ => {
                let source = Source::Flag { name: "--yes" };
                let broker = BrokerConfig::of_log_dirs(Sourced::new(dirs, source));
                Look::of(
                    self.context,
                    Candidate::new("the plan's log dirs", broker),
                    BesideBroker::StructureOnly,
                )
            }
        }
    }

    /// Keeps the plan under its hash, so that `--yes HASH` can name it.
    pub(super) fn store(&self, made: MadePlan) -> Result<Kept, CliError> {
        let state_dir = match &self.context.settings.state_dir {
            Some(dir)
                if self.context.forbidden().is_none()
                    && is_writable(&dir.value)
                    && has_room(&dir.value) =>
            {
                dir
            }
            _ => {
                let hash = made.hash();
                return Ok(Kept::Shown {
                    plan: Box::new(made.plan),
                    hash,
                });
            }
        };
        Ok(Kept::Stored(Box::new(
            PlanStore::new(&state_dir.value).save(made)?,
        )))
    }

    fn confirm_and_apply(&mut self, look: &Look, stored: &StoredPlan) -> Result<Exit, CliError> {
        self.with_report(|report| Ok(report.plan(&stored.plan, Some((&stored.hash, true)))?))?;
        if !has_work(&stored.plan) {
            let exit = if is_whole(look, &stored.plan) {
                Exit::Ok
            } else {
                Exit::Findings
            };
            // Text has shown them already, and nothing has come of them since.
            if self.json {
                self.print_partitions(&stored.plan, |_, log| Reached::without_job(log))?;
            }
            let exit = self.end(
                &stored.plan,
                &Summary {
                    plan: Some(stored.hash.clone()),
                    stored: true,
                    exit,
                    ..Summary::of_nothing()
                },
            )?;
            self.warn_of_asks(&stored.plan)?;
            return Ok(exit);
        }
        if self.answers.yes_to_all {
            return self.apply(look, stored, Confirmed::YesToAll);
        }
        self.out.flush()?;
        confirm::ask(&stored.plan, &self.context.host)?;
        self.apply(look, stored, Confirmed::Typed)
    }

    fn apply(
        &mut self,
        look: &Look,
        stored: &StoredPlan,
        confirmed: Confirmed,
    ) -> Result<Exit, CliError> {
        self.out.flush()?;
        let state_dir = self.context.state_dir()?.value.clone();
        // Beside a broker the locks of its other dirs are its own.
        let planned = dirs_of(&stored.plan);
        let request = ApplyRequest {
            state_dir: &std::path::absolute(&state_dir).unwrap_or(state_dir),
            log_dirs: if stored.plan.beside_broker {
                &planned
            } else {
                &look.guarded
            },
            who: self.context.who(),
            confirmed,
            threads: self
                .context
                .settings
                .threads
                .as_ref()
                .map(|threads| threads.value.get()),
        };
        let applied = apply(&request, stored, |line| self.progress_line(line))?;
        // The job knows nothing of a log dir that cannot be looked at.
        let exit = match applied.exit {
            Exit::Ok if !look.broken.is_empty() => Exit::Findings,
            exit => exit,
        };
        let plan = &stored.plan;
        self.print_partitions(plan, |dir, log| applied.reached(dir, log))?;
        if let Some(unit) = &look.candidate.unit {
            self.note(&format!(
                "then: systemctl unmask --runtime {unit}; systemctl start {unit}"
            ))?;
        }
        if plan.undoes.is_none() && plan.quarantine.is_some() && applied.began {
            let short = stored.hash.get(..8).unwrap_or(&stored.hash);
            let named = named_options(self.context);
            self.note(&format!("take it back: krescue{named} undo {short}"))?;
        }
        if let Some((log, dir)) = moved(plan).filter(|_| exit == Exit::Ok) {
            let (named, dir) = (named_options(self.context), dir.display());
            self.note(&format!(
                "move it back: krescue{named} move {log} --to {dir}"
            ))?;
        }
        let exit = self.end(
            plan,
            &Summary {
                plan: Some(stored.hash.clone()),
                stored: true,
                exit,
                job: Some(applied.job),
                cause: applied.cause,
            },
        )?;
        self.warn_of_asks(plan)?;
        Ok(exit)
    }

    /// Says what came of each partition.
    fn print_partitions(
        &mut self,
        plan: &RecoveryPlan,
        reached: impl Fn(&LogDirPlan, &PartitionPlan) -> Reached,
    ) -> Result<(), CliError> {
        self.with_report(|report| Ok(write_plan(report, plan, Parts::Partitions, &reached)?))
    }

    /// As long as a log asks, the last line says what a boot would do to it.
    fn warn_of_asks(&mut self, plan: &RecoveryPlan) -> Result<(), CliError> {
        match ask_warning(plan, self.context) {
            Some(warning) => self.note(&warning),
            None => Ok(()),
        }
    }

    /// Prints what was found and planned.
    fn print(&mut self, look: &Look, plan: &RecoveryPlan) -> Result<(), CliError> {
        let parts = if self.answers.apply && self.json {
            Parts::Steps
        } else {
            Parts::All(Detail::Steps)
        };
        self.with_report(|report| {
            for (dir, finding) in look.findings() {
                report.finding(dir.as_deref(), None, &finding)?;
            }
            write_plan(report, plan, parts, &|_, _| Reached::Planned)?;
            Ok(())
        })?;
        if let Some(unit) = &look.candidate.unit {
            self.note(&format!(
                "{unit} would start the broker meanwhile; hold it with: systemctl mask --runtime {unit}"
            ))?;
        }
        if let Some(warning) = self
            .context
            .settings
            .state_dir
            .as_ref()
            .and_then(|dir| crate::settings::state_dir_warning(&dir.value))
        {
            self.note(&format!("warning: {warning}"))?;
        }
        Ok(())
    }

    /// Ends a run that only looked.
    fn end_of_plan(&mut self, look: &Look, kept: &Kept) -> Result<Exit, CliError> {
        let (plan, hash, stored) = match kept {
            Kept::Stored(stored) => (&stored.plan, &stored.hash, true),
            Kept::Shown { plan, hash } => (&**plan, hash, false),
        };
        let dirs = plan.log_dirs.iter().flat_map(|dir| &dir.findings);
        let logs = plan.partitions().flat_map(|log| &log.findings);
        let quiet = plan.undoes.is_none()
            && is_whole(look, plan)
            && !has_steps(plan)
            && !look::beyond_routine(dirs.chain(logs));
        let exit = if quiet { Exit::Ok } else { Exit::Findings };
        self.with_report(|report| Ok(report.plan(plan, Some((hash, stored)))?))?;
        let exit = self.end(
            plan,
            &Summary {
                plan: Some(hash.clone()),
                stored,
                exit,
                ..Summary::of_nothing()
            },
        )?;
        if has_work(plan) && stored {
            let short = hash.get(..8).unwrap_or(hash);
            let named = named_options(self.context);
            self.note(&format!(
                "carry it out: krescue{named} {} --apply --yes {short}",
                self.words
            ))?;
        }
        self.warn_of_asks(plan)?;
        Ok(exit)
    }

    fn end(&mut self, plan: &RecoveryPlan, summary: &Summary) -> Result<Exit, CliError> {
        let exit = match summary.exit {
            Exit::Ok if self.leaves > 0 => Exit::Findings,
            exit => exit,
        };
        let summary = &Summary {
            exit,
            ..summary.clone()
        };
        if let (Exit::Refused | Exit::Failed | Exit::Stopped, Some(cause)) = (exit, &summary.cause)
        {
            let error = CliError::new(exit, cause.clone());
            let _ = error.write(&mut std::io::stderr().lock());
        }
        self.with_report(|report| Ok(report.summary(plan, summary)?))?;
        Ok(exit)
    }

    pub(super) fn note(&mut self, text: &str) -> Result<(), CliError> {
        self.with_report(|report| Ok(report.note(text)?))
    }

    pub(super) fn progress_line(&mut self, line: ProgressLine) -> Result<(), CliError> {
        if self.json {
            JsonReport::new(self.out).line(&Line::Progress(line))?;
        }
        Ok(())
    }

    pub(super) fn with_report(
        &mut self,
        f: impl FnOnce(&mut dyn Report) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        with_report(self.json, self.out, f)
    }
}

/// Returns the log that a plan moves, and where it lay.
fn moved(plan: &RecoveryPlan) -> Option<(&str, &Path)> {
    plan.log_dirs.iter().find_map(|dir| {
        let mut logs = dir.partitions.iter();
        let log = logs.find(|log| matches!(log.verdict, Verdict::Move(_)))?;
        Some((log.dir_name.as_str(), dir.path.as_path()))
    })
}

/// Refuses a stored plan of another command than the one that named it.
pub(super) fn check_act(stored: &StoredPlan, act: PlanAct) -> Result<(), CliError> {
    let (what, command) = match stored.plan.act {
        is if is == act => return Ok(()),
        PlanAct::Recover => ("a recovery", "recover"),
        PlanAct::Truncate => ("a truncation", "truncate"),
        PlanAct::Mend => ("fixes", "preflight --fix"),
        PlanAct::CleanUp => ("a cleanup", "cleanup"),
        PlanAct::Move => ("a move", "move"),
    };
    let short = stored.hash.get(..8).unwrap_or(&stored.hash);
    Err(
        CliError::usage(format!("{short} is the plan of {what}")).hint(format!(
            "krescue {command} carries it out, or krescue undo what takes it back."
        )),
    )
}

/// Says whether a plan is for these log dirs, in whatever order; an undo leaves out those that its plan could not list.
fn fits(log_dirs: &[PathBuf], plan: &RecoveryPlan) -> bool {
    let planned = |dir: &PathBuf| plan.log_dirs.iter().any(|of| of.path == *dir);
    let known = plan.log_dirs.iter().all(|of| log_dirs.contains(&of.path));
    known && (plan.undoes.is_some() || plan.beside_broker || log_dirs.iter().all(planned))
}

/// Returns the log dirs of a plan.
fn dirs_of(plan: &RecoveryPlan) -> Vec<PathBuf> {
    plan.log_dirs.iter().map(|dir| dir.path.clone()).collect()
}

/// A plan that was shown.
pub(super) enum Kept {
    /// In the store.
    Stored(Box<StoredPlan>),
    /// Not stored: nothing may be written, or there is no state dir with room.
    Shown {
        /// The plan.
        plan: Box<RecoveryPlan>,
        /// Its hash.
        hash: String,
    },
}

impl Kept {
    /// Returns the plan.
    pub(super) fn plan(&self) -> &RecoveryPlan {
        match self {
            Self::Stored(stored) => &stored.plan,
            Self::Shown { plan, .. } => plan,
        }
    }
}

/// Says whether every log that was selected, and every log dir, comes to its planned end.
fn is_whole(look: &Look, plan: &RecoveryPlan) -> bool {
    let failed = |dir: &LogDirPlan| {
        dir.partitions.is_empty()
            && dir
                .findings
                .iter()
                .any(|finding| finding.code == FindingCode::LogDir)
    };
    look.broken.is_empty()
        && !plan.partitions().any(|log| log.verdict.is_left())
        && !plan
            .log_dirs
            .iter()
            .any(|dir| failed(dir) || falls_short(plan, dir))
}

fn has_steps(plan: &RecoveryPlan) -> bool {
    plan.partitions()
        .any(|log| log.verdict.is_applied() && !log.steps.is_empty())
        || plan.log_dirs.iter().any(|dir| !dir.mends.is_empty())
}

/// Says whether an apply would do anything.
fn has_work(plan: &RecoveryPlan) -> bool {
    has_steps(plan)
        || plan.log_dirs.iter().any(|dir| {
            dir.recovery_points.is_some()
                || dir.hand_over == HandOver::Clean
                || dir.undo.is_some()
                || !dir.mends.is_empty()
        })
}
