//! `verify`: every batch and index entry of every segment, below the recovery point too; `--fix` makes wrong indexes again.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::plan_run::{PlanRun, check_act};
use super::preconditions::{check_allowed, check_down};
use super::stored_flags::check_quarantine;
use crate::app::text::{bytes, plural};
use crate::cli::args::VerifyArgs;
use crate::cli::look::{self, BesideBroker, Look};
use crate::cli::report::{
    JsonReport, Line, ProgressReport, Report, Summary, TextReport, VerifiedLine, with_report,
};
use crate::cli::signals::StopWish;
use crate::cli::{CliError, Context, Exit};
use crate::engine::{
    EngineError, JobEvent, LogState, PlanSpec, PlanStore, Reading, VerifiedLog, VerifyStore,
    WrongIndex, is_wrong_index, plan_indexes, start_plan, verify_stamp,
};
use crate::format::file_name::DirName;
use crate::log::{Finding, Severity};
use crate::plan::{PartitionPlan, PlanAct, RecoveryPlan};
use crate::settings::is_writable;
use crate::terms::TopicPartition;

/// How often the counters are looked at.
const TICK: Duration = Duration::from_millis(50);

/// Runs `verify`.
pub(in crate::cli) fn verify(
    context: &Context,
    args: &VerifyArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let answers = &args.answers;
    if answers.apply {
        check_allowed(context, "verify", answers, false)?;
    }
    if let Some(hash) = answers.stored() {
        let stored = PlanStore::new(&context.state_dir()?.value).find(&hash.0)?;
        check_act(&stored, PlanAct::Mend)?;
        check_quarantine(context, &stored)?;
        return plan_run(context, args, out).apply_stored(&stored);
    }
    let look = Look::open(context, BesideBroker::ReadBatches)?;
    let fixes = args.fix || answers.apply;
    if fixes {
        check_down(&look)?;
    }
    let mut run = VerifyRun {
        json: args.json,
        out,
    };
    let line = look.run_line(context, "verify", Reading::Everything);
    run.report(|report| Ok(report.run(&line)?))?;
    let mut structure = look.spec(context);
    structure.reading = Reading::Structure;
    let names = look::make_plan(structure, |_| Ok(()))?.plan;
    look::check_selection(&args.partition, &names)?;
    let mut store = open_store(context, &look, args.resume)?;
    let wanted = wanted(&names, &args.partition);
    let mut left = BTreeSet::new();
    let mut verified: Vec<VerifiedLog> = Vec::new();
    for (dir, log) in &wanted {
        let stamp = verify_stamp(&log.stamps);
        match store
            .as_ref()
            .and_then(|store| store.known(dir, &log.dir_name, &stamp))
        {
            Some(known) => verified.push(known.clone()),
            None => left.extend(log.topic_partition.clone()),
        }
    }
    if !verified.is_empty() {
        run.note(&format!(
            "{} were verified before and are as they were",
            plural(verified.len() as u64, "log", "logs")
        ))?;
    }
    let mut stopped = false;
    if !left.is_empty() {
        let mut spec = look.spec(context);
        spec.reading = Reading::Everything;
        spec.verify = true;
        spec.state_dir = look::overflow_dir(context);
        spec.selection = Some(left);
        let stamps = wanted
            .iter()
            .map(|(dir, log)| ((dir.clone(), log.dir_name.clone()), *log))
            .collect();
        stopped = run.read(spec, &stamps, store.as_mut(), &mut verified)?;
    }
    let exit = run.tell(&mut verified, wanted.len(), stopped)?;
    if fixes && !stopped {
        let wrong = wrong_indexes(&verified);
        if !wrong.is_empty() {
            return mend(
                &mut plan_run(context, args, run.out),
                &look,
                &wrong,
                &verified,
            );
        }
        run.note("no index is to be made again")?;
    }
    run.end(exit)
}

fn plan_run<'a>(context: &'a Context, args: &'a VerifyArgs, out: &'a mut dyn Write) -> PlanRun<'a> {
    PlanRun {
        context,
        answers: &args.answers,
        json: args.json,
        command: "verify",
        words: "verify --fix".to_owned(),
        leaves: 0,
        out,
    }
}

fn wrong_indexes(verified: &[VerifiedLog]) -> BTreeSet<WrongIndex> {
    let of_log = |log: &VerifiedLog| {
        let wrong = log
            .findings
            .iter()
            .filter(|finding| is_wrong_index(finding));
        let files: Vec<String> = wrong.filter_map(|finding| finding.file.clone()).collect();
        let (log_dir, dir_name) = (log.log_dir.clone(), log.dir_name.clone());
        files.into_iter().map(move |file| WrongIndex {
            log_dir: log_dir.clone(),
            dir_name: dir_name.clone(),
            file,
        })
    };
    verified.iter().flat_map(of_log).collect()
}

/// Plans the indexes anew, and carries that out if it was asked for.
fn mend(
    run: &mut PlanRun<'_>,
    look: &Look,
    wrong: &BTreeSet<WrongIndex>,
    verified: &[VerifiedLog],
) -> Result<Exit, CliError> {
    let mut spec = look.spec(run.context);
    spec.quarantine = run.context.quarantine(&look.log_dirs)?;
    spec.state_dir = look::overflow_dir(run.context);
    let kept = run.store(plan_indexes(&spec, wrong)?)?;
    let findings = verified.iter().flat_map(|log| &log.findings);
    let others = findings.filter(|finding| finding.severity > Severity::Routine);
    run.leaves = others.filter(|finding| !is_wrong_index(finding)).count();
    run.show(look, &kept)
}

fn open_store(
    context: &Context,
    look: &Look,
    resume: bool,
) -> Result<Option<VerifyStore>, CliError> {
    let dir = context.settings.state_dir.as_ref().map(|dir| &dir.value);
    let may = context.forbidden().is_none();
    match dir.filter(|dir| may && is_writable(dir)) {
        Some(dir) => Ok(Some(VerifyStore::open(dir, &look.log_dirs, resume)?)),
        None if resume => Err(CliError::refused("there is no state dir to go on from")
            .hint("Name the one of the run that was stopped with --state-dir DIR.")),
        None => Ok(None),
    }
}

/// Returns the logs to verify: those that a boot loads as such.
fn wanted<'a>(
    plan: &'a RecoveryPlan,
    selected: &[TopicPartition],
) -> Vec<(PathBuf, &'a PartitionPlan)> {
    let is_log = |log: &PartitionPlan| {
        let parsed = DirName::parse(&log.dir_name);
        matches!(parsed, DirName::Normal(_) | DirName::Future(_)) && !parsed.is_cluster_metadata()
    };
    let dirs = plan.log_dirs.iter();
    dirs.flat_map(|dir| dir.partitions.iter().map(|log| (dir.path.clone(), log)))
        .filter(|(_, log)| is_log(log))
        .filter(|(_, log)| {
            let partition = log.topic_partition.as_ref();
            selected.is_empty() || partition.is_some_and(|partition| selected.contains(partition))
        })
        .collect()
}

struct VerifyRun<'a> {
    json: bool,
    out: &'a mut dyn Write,
}

/// The logs by log dir and dir name, as their names were before they were read.
type Named<'a> = HashMap<(PathBuf, String), &'a PartitionPlan>;

impl VerifyRun<'_> {
    /// Reads what is left; what was found in a log is kept as soon as the log is through. Returns whether it was stopped.
    fn read(
        &mut self,
        spec: PlanSpec,
        named: &Named<'_>,
        mut store: Option<&mut VerifyStore>,
        verified: &mut Vec<VerifiedLog>,
    ) -> Result<bool, CliError> {
        let wish = StopWish::on_signals();
        let handle = start_plan(spec)?;
        let mut progress = ProgressReport::start();
        let mut findings: HashMap<(PathBuf, String), Vec<Finding>> = HashMap::new();
        loop {
            match handle.events().recv_timeout(TICK) {
                Ok(JobEvent::Finding {
                    log_dir,
                    dir_name: Some(dir_name),
                    finding,
                }) => findings
                    .entry((log_dir, dir_name))
                    .or_default()
                    .push(finding),
                Ok(JobEvent::Log {
                    log_dir,
                    dir_name,
                    state: LogState::Planned | LogState::Left,
                    ..
                }) => {
                    let key = (log_dir, dir_name);
                    if let (Some(store), Some(log)) = (store.as_deref_mut(), named.get(&key)) {
                        let found = findings.get(&key).cloned().unwrap_or_default();
                        store.add(&verified_log(&key.0, log, found))?;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
            if wish.is_made() {
                handle.cancel();
            }
            if let Some(line) = progress.tick(&handle.progress())
                && self.json
            {
                JsonReport::new(self.out).line(&Line::Progress(line))?;
            }
        }
        progress.end();
        let made = match handle.join() {
            Ok(made) => made,
            Err(EngineError::Cancelled) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        // By their names, not by their verdicts: beside a living broker every log is left alone, and read all the same.
        let before: BTreeSet<(PathBuf, String)> = verified
            .iter()
            .map(|log| (log.log_dir.clone(), log.dir_name.clone()))
            .collect();
        for dir in &made.plan.log_dirs {
            for log in &dir.partitions {
                let key = (dir.path.clone(), log.dir_name.clone());
                if named.contains_key(&key) && !before.contains(&key) {
                    verified.push(verified_log(&dir.path, log, log.findings.clone()));
                }
            }
        }
        Ok(false)
    }

    /// Prints what was found, in order.
    fn tell(
        &mut self,
        verified: &mut [VerifiedLog],
        wanted: usize,
        stopped: bool,
    ) -> Result<Exit, CliError> {
        verified.sort_by(|a, b| (&a.log_dir, &a.dir_name).cmp(&(&b.log_dir, &b.dir_name)));
        let is_bad = |log: &VerifiedLog| look::beyond_routine(&log.findings);
        let (mut bad, mut all) = (0_u64, 0_u64);
        for log in verified.iter() {
            bad += u64::from(is_bad(log));
            all += log.bytes;
            self.log(log, is_bad(log))?;
        }
        let text = format!(
            "{} of {wanted} verified, {}, {bad} with findings{}",
            plural(verified.len() as u64, "log", "logs"),
            bytes(all),
            if stopped {
                "; stopped: krescue verify --resume goes on"
            } else {
                ""
            }
        );
        self.note(&text)?;
        Ok(match (stopped, bad) {
            (true, _) => Exit::Stopped,
            (false, 0) => Exit::Ok,
            (false, _) => Exit::Findings,
        })
    }

    fn end(&mut self, exit: Exit) -> Result<Exit, CliError> {
        if self.json {
            JsonReport::new(self.out).end(&Summary {
                exit,
                ..Summary::of_nothing()
            })?;
        }
        Ok(exit)
    }

    fn log(&mut self, log: &VerifiedLog, is_bad: bool) -> Result<(), CliError> {
        if self.json {
            let partition = DirName::parse(&log.dir_name);
            let named = partition.partition();
            let mut report = JsonReport::new(self.out);
            report.line(&Line::Verified(VerifiedLine {
                dir: log.log_dir.display().to_string(),
                dir_name: &log.dir_name,
                topic: named.map(|partition| partition.topic.as_str()),
                partition: named.map(|partition| partition.partition),
                segments: log.segments,
                bytes: log.bytes,
                findings: log.findings.len() as u64,
                good: !is_bad,
            }))?;
            for finding in &log.findings {
                report.log_finding(&log.log_dir, &log.dir_name, finding)?;
            }
            return Ok(());
        }
        if !is_bad {
            return Ok(());
        }
        let place = log.log_dir.join(&log.dir_name);
        writeln!(
            self.out,
            "{}: {} in {}",
            place.display(),
            bytes(log.bytes),
            plural(log.segments, "segment", "segments")
        )?;
        let mut report = TextReport::new(self.out);
        let told = log
            .findings
            .iter()
            .filter(|finding| finding.severity > Severity::Routine);
        for finding in told {
            report.finding(Some(Path::new(&place)), None, finding)?;
        }
        Ok(())
    }

    fn note(&mut self, text: &str) -> Result<(), CliError> {
        self.report(|report| Ok(report.note(text)?))
    }

    fn report(
        &mut self,
        f: impl FnOnce(&mut dyn Report) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        with_report(self.json, self.out, f)
    }
}

fn verified_log(log_dir: &Path, log: &PartitionPlan, findings: Vec<Finding>) -> VerifiedLog {
    VerifiedLog {
        log_dir: log_dir.to_owned(),
        dir_name: log.dir_name.clone(),
        stamp: verify_stamp(&log.stamps),
        findings,
        bytes: log.segments.iter().map(|segment| segment.bytes).sum(),
        segments: log.segments.len() as u64,
    }
}
