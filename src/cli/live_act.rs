//! What every command does with an act on a living cluster: shows its plan, asks, carries it out, tells what came of it.

use std::io::Write;

use super::args::Answers;
use super::live::Live;
use super::live_apply::{LiveApply, MoveEnd};
use super::live_plan::make_live_plan;
use super::report::{JsonReport, Line, LivePlanLine, LiveSummaryLine};
use super::{CliError, Context, Exit, confirm};
use crate::app::live_words;
use crate::engine::{Confirmed, LiveStore};
use crate::plan::{Class, LivePlan, LiveWish, ReplicaSize};
use crate::terms::Timestamp;

/// Makes the plan of a wish, shows it, and carries it out if that was asked for and is confirmed.
pub(super) fn run_wish(
    context: &Context,
    (live, wish): (&Live, &LiveWish),
    (answers, json): (&Answers, bool),
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    run_and_keep(context, (live, wish), (answers, json), out).map(|(exit, _)| exit)
}

/// A plan that was carried out just now.
pub(super) struct Carried {
    pub(super) plan: LivePlan,
    /// When.
    pub(super) at: Timestamp,
    /// The replicas just before.
    pub(super) before: Vec<ReplicaSize>,
}

/// As [`run_wish`]; returns the plan too, if it was carried out.
pub(super) fn run_and_keep(
    context: &Context,
    (live, wish): (&Live, &LiveWish),
    (answers, json): (&Answers, bool),
    out: &mut dyn Write,
) -> Result<(Exit, Option<Carried>), CliError> {
    let mut run = LiveRun {
        context,
        live,
        answers,
        json,
        words: wish.words(),
        out,
        carried: None,
    };
    if let Some(exit) = run.stored()? {
        return Ok((exit, run.carried));
    }
    let plan = live.run(make_live_plan(context, &live.client, wish))?;
    let exit = run.show(&plan)?;
    Ok((exit, run.carried))
}

/// One run of a command that acts on a living cluster.
pub(super) struct LiveRun<'a> {
    pub(super) context: &'a Context,
    pub(super) live: &'a Live,
    pub(super) answers: &'a Answers,
    pub(super) json: bool,
    /// The words that make the plan again, `--apply` aside.
    pub(super) words: String,
    pub(super) out: &'a mut dyn Write,
    /// What was carried out.
    pub(super) carried: Option<Carried>,
}

impl LiveRun<'_> {
    /// Carries out the plan that was shown with the hash of `--yes`; `None` if none was named.
    pub(super) fn stored(&mut self) -> Result<Option<Exit>, CliError> {
        let Some(prefix) = self.answers.stored() else {
            return Ok(None);
        };
        let (hash, plan) = self.store()?.find(&prefix.0)?;
        self.print(&hash, &plan)?;
        self.carry_out(&hash, &plan, Confirmed::ByHash).map(Some)
    }

    /// Shows a plan, and carries it out if that was asked for and is confirmed.
    pub(super) fn show(&mut self, plan: &LivePlan) -> Result<Exit, CliError> {
        let hash = match self.context.forbidden() {
            None => self.store()?.keep(plan)?,
            Some(_) => plan.hash(),
        };
        self.print(&hash, plan)?;
        let short = hash.get(..8).unwrap_or(&hash).to_owned();
        if !self.answers.apply {
            if !self.json {
                let options = reach_options(self.context);
                writeln!(
                    self.out,
                    "carry it out: krescue{options} {} --apply --yes {short}",
                    self.words
                )?;
            }
            return self.end(&hash, plan, Exit::Findings, None);
        }
        let confirmed = if self.answers.yes_to_all {
            Confirmed::YesToAll
        } else {
            if !confirm::can_ask() {
                return Err(
                    CliError::usage("nobody can be asked: the input is no terminal").hint(format!(
                        "Name the plan that was shown: --apply --yes {short}"
                    )),
                );
            }
            self.out.flush()?;
            self.ask(plan)?;
            Confirmed::Typed
        };
        self.carry_out(&hash, plan, confirmed)
    }

    fn ask(&self, plan: &LivePlan) -> Result<(), CliError> {
        match plan.class() {
            Class::A => confirm::ask_yes(),
            Class::B => {
                let object = plan.object();
                confirm::ask_for(&format!("Type  {object}  to go on: "), &object)
            }
            Class::C => {
                let phrase = format!("{} {}", self.context.host, live_words::loss_phrase(plan));
                let question = format!("Good data is lost. Type  {phrase}  to go on: ");
                confirm::ask_for(&question, &phrase)
            }
        }
    }

    fn carry_out(
        &mut self,
        hash: &str,
        plan: &LivePlan,
        confirmed: Confirmed,
    ) -> Result<Exit, CliError> {
        let line = kafka_line(self.context, self.live, plan);
        let apply = LiveApply {
            context: self.context,
            client: &self.live.client,
            hash,
            plan,
            confirmed,
            words: &self.words,
            line: &line,
        };
        let mut told = |left: i64| {
            let _ = writeln!(
                std::io::stderr().lock(),
                "krescue: {left} records are left to copy"
            );
        };
        let done = self.live.run(apply.run(MoveEnd::Follow(&mut told)));
        match done {
            Ok(done) => {
                self.carried = Some(Carried {
                    plan: plan.clone(),
                    at: done.at,
                    before: done.before,
                });
                if !self.json {
                    for line in &done.lines {
                        writeln!(self.out, "done: {line}")?;
                    }
                    for left in &done.left {
                        writeln!(self.out, "left: {left}")?;
                    }
                    if plan.can_be_restored() {
                        let options = reach_options(self.context);
                        let restore = live_words::restore_words(plan);
                        writeln!(self.out, "put it back: krescue{options} {restore} --apply")?;
                    }
                }
                if done.left.is_empty() {
                    self.end(hash, plan, Exit::Ok, None)
                } else {
                    self.end(hash, plan, Exit::Findings, Some(done.left.join("; ")))
                }
            }
            Err(error) if error.exit == Exit::Refused => Err(error),
            Err(error) => {
                let cause = error.to_string();
                let exit = error.exit;
                let _ = error.write(&mut std::io::stderr().lock());
                self.end(hash, plan, exit, Some(cause))
            }
        }
    }

    fn print(&mut self, hash: &str, plan: &LivePlan) -> Result<(), CliError> {
        let line = kafka_line(self.context, self.live, plan);
        if self.json {
            let line = LivePlanLine::of(hash, plan, line);
            JsonReport::new(self.out).line(&Line::LivePlan(Box::new(line)))?;
            return Ok(());
        }
        for text in live_words::plan_lines(hash, plan) {
            writeln!(self.out, "{text}")?;
        }
        writeln!(self.out, "  same as    {line}")?;
        Ok(())
    }

    fn end(
        &mut self,
        hash: &str,
        plan: &LivePlan,
        exit: Exit,
        cause: Option<String>,
    ) -> Result<Exit, CliError> {
        if self.json {
            let line = LiveSummaryLine {
                plan: hash.to_owned(),
                class: plan.class(),
                exit: exit.code(),
                cause,
            };
            JsonReport::new(self.out).line(&Line::LiveSummary(line))?;
        }
        Ok(exit)
    }

    fn store(&self) -> Result<LiveStore, CliError> {
        Ok(LiveStore::new(&self.context.state_dir()?.value))
    }
}

/// Returns Kafka's own line that does what a plan does.
fn kafka_line(context: &Context, live: &Live, plan: &LivePlan) -> String {
    plan.kafka_line(&kafka_options(context, &live.bootstrap()))
}

/// Returns the options with which Kafka's own tools reach the cluster.
pub fn kafka_options(context: &Context, bootstrap: &str) -> String {
    let mut options = format!("--bootstrap-server {bootstrap}");
    if let Some(file) = &context.command_config {
        options = format!("{options} --command-config {}", file.display());
    }
    options
}

/// Returns the options that reach the same cluster again, with a blank before each.
fn reach_options(context: &Context) -> String {
    let mut options = String::new();
    if let Some(list) = &context.bootstrap {
        options = format!(" --bootstrap {list}");
    }
    if let Some(file) = &context.command_config {
        options = format!("{options} --command-config {}", file.display());
    }
    options
}
