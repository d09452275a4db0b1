//! What `watch` prints.

use std::io::Write;

use crate::app::boot_words::{self, Told};
use crate::app::crash_loop::{Foresight, foresee_report};
use crate::app::killers::killers;
use crate::app::text::plural;
use crate::cli::report::{
    BootDirLine, BootEndLine, BootFindingLine, BootLine, BootSourceLine, BootThreadLine,
    JsonReport, Line, Report as _, TextReport, phase_name, time,
};
use crate::cli::{CliError, Exit};
use crate::log::Severity;
use crate::observe::server_log::BootTrouble;
use crate::observe::{BootReport, BootSource, FirstPass, History, Span};
use crate::plan::preflight::Problem;
use crate::terms::Timestamp;

/// What is printed.
pub(super) struct Report<'a> {
    out: &'a mut dyn Write,
    json: bool,
    /// What came before, once it was told.
    history: Option<History>,
    /// What was said last of crash loop, kill and advice.
    said: Foresight,
    /// What retention deletes, once that was said.
    pass: Option<FirstPass>,
    /// What was said last of the sources.
    sources: String,
}

impl<'a> Report<'a> {
    pub(super) fn new(out: &'a mut dyn Write, json: bool) -> Self {
        Self {
            out,
            json,
            history: None,
            said: Foresight::default(),
            pass: None,
            sources: String::new(),
        }
    }

    fn line(&mut self, line: &Line<'_>) -> Result<(), CliError> {
        JsonReport::new(self.out).line(line)?;
        Ok(self.out.flush()?)
    }

    /// Prints a sentence, for people only.
    pub(super) fn note(&mut self, text: &str) -> Result<(), CliError> {
        if !self.json {
            writeln!(self.out, "{text}")?;
            self.out.flush()?;
        }
        Ok(())
    }

    pub(super) fn waiting(&mut self) -> Result<(), CliError> {
        self.note("the log says nothing of this boot yet")
    }

    /// Takes what a look says once.
    pub(super) fn once(&mut self, look: &BootReport) -> Result<(), CliError> {
        if let Some(history) = &look.history {
            self.history = Some(history.clone());
            for who in killers(history) {
                self.note(&format!("could end it: {who}"))?;
            }
            for what in &history.supervision.unseen {
                self.note(&format!(
                    "not seen: {what}, which tell who killed boots before"
                ))?;
            }
        }
        if let (Some(pass), None) = (&look.first_pass, &self.pass) {
            self.pass = Some(pass.clone());
            if let Some(text) = boot_words::first_pass(pass) {
                self.note(&format!("then    {text}"))?;
            }
        }
        for trouble in &look.troubles {
            let told = Told::of(trouble);
            if self.json {
                self.line(&Line::BootFinding(finding(trouble, &told)))?;
            } else {
                let place = told.partition.as_ref().map(|name| format!("{name} "));
                let word = if trouble.is_loss() { "LOSS" } else { "note" };
                let text = format!("{word}  {}{}", place.unwrap_or_default(), told.text);
                self.note(&text)?;
            }
        }
        Ok(())
    }

    /// Prints what the files say stands in the way.
    pub(super) fn problems(&mut self, problems: &[Problem]) -> Result<(), CliError> {
        if !problems.is_empty() {
            self.note("by the files, this stands in the way of a boot now:")?;
        }
        for problem in problems {
            if self.json {
                JsonReport::new(self.out).problem(problem)?;
            } else {
                TextReport::new(self.out).problem(problem)?;
            }
        }
        Ok(self.out.flush()?)
    }

    pub(super) fn progress(&mut self, look: &BootReport) -> Result<(), CliError> {
        let history = self.history.clone();
        let foresight = history
            .as_ref()
            .map(|history| foresee_report(look, history, None));
        let foresight = foresight.unwrap_or_default();
        if self.json {
            let line = boot_line(look, history.as_ref(), foresight);
            return self.line(&Line::Boot(Box::new(line)));
        }
        self.foresight(foresight)?;
        let zone = jiff::tz::TimeZone::system();
        let clock = crate::app::text::clock(look.at, &zone);
        self.sources(look)?;
        let mut text = format!("{clock} {}", boot_words::sentence(look, &zone));
        if let Some(stale) = boot_words::stale(look) {
            text = format!("{text} · {stale}");
        }
        self.note(&text)
    }

    /// Says which sources are used, how old each is and what is wrong with it, when it is something else than before.
    fn sources(&mut self, look: &BootReport) -> Result<(), CliError> {
        let state = format!("{:?}", boot_words::source_state(look));
        if state == self.sources {
            return Ok(());
        }
        self.sources = state;
        let text = boot_words::sources(look, look.at);
        if text.is_empty() {
            return Ok(());
        }
        self.note(&format!("from    {text}"))
    }

    /// Says what is foreseen, when it is something else than before.
    fn foresight(&mut self, now: Foresight) -> Result<(), CliError> {
        if let Some(text) = &now.crash_loop
            && self.said.crash_loop.is_none()
        {
            self.note(text)?;
        }
        if let (Some(kill), None) = (&now.killed, &self.said.killed) {
            let zone = jiff::tz::TimeZone::system();
            let at = crate::app::text::clock(kill.at, &zone);
            self.note(&format!(
                "WILL BE KILLED at {at} by {}; raise {}",
                kill.who, kill.raise
            ))?;
        }
        let word = |advice: &Option<String>| {
            advice
                .as_ref()
                .and_then(|text| text.split([':', ',']).next().map(str::to_owned))
        };
        if let Some(text) = &now.advice
            && word(&now.advice) != word(&self.said.advice)
        {
            self.note(&format!("advice  {text}"))?;
        }
        self.said = now;
        Ok(())
    }

    pub(super) fn end(
        &mut self,
        at: Timestamp,
        how: &str,
        next: Option<&str>,
        (lost, exit): (u64, Exit),
    ) -> Result<(), CliError> {
        let mut text = how.to_owned();
        if lost > 0 {
            let losses = plural(lost, "loss is", "losses are");
            text = format!("{text}; {losses} told above");
        }
        if self.json {
            return self.line(&Line::BootEnd(BootEndLine {
                at: time(at),
                text: &text,
                next,
                losses: lost,
                exit: exit.code(),
            }));
        }
        if let Some(next) = next {
            self.note(&format!("next    {next}"))?;
        }
        self.note(&text)
    }
}

fn boot_line<'a>(
    look: &'a BootReport,
    history: Option<&'a History>,
    foresight: Foresight,
) -> BootLine<'a> {
    let kill = foresight.killed;
    let (logs_done, logs_total) = look.logs();
    let progress = look.progress;
    let left = progress.and_then(|progress| progress.left);
    let at = |of: fn(&Span) -> i64| {
        let ms = of(&left?);
        time(Timestamp(look.at.0.saturating_add(ms)))
    };
    BootLine {
        at: time(look.at),
        phase: phase_name(look.phase),
        bytes_done: progress.map(|progress| progress.bytes_done),
        bytes_total: progress.map(|progress| progress.bytes_total),
        logs_done,
        logs_total,
        segments_done: look.segments_done,
        bytes_per_s: progress.and_then(|progress| progress.bytes_per_s),
        bytes_source: look.bytes_by.map(BootSource::name),
        end_time: at(|span| span.likely_ms),
        end_time_least: at(|span| span.least_ms),
        end_time_most: at(|span| span.most_ms),
        slowest_dir: look.slowest().map(|dir| dir.path.as_str()),
        refused: look.refused,
        failed_boots: history.map(|history| history.failed.len() as u64),
        could_end_it: history.map(killers).unwrap_or_default(),
        not_seen: history.map_or(&[], |history| &history.supervision.unseen),
        crash_loop: foresight.crash_loop,
        killed_at: kill.as_ref().and_then(|kill| time(kill.at)),
        killed_by: kill.as_ref().map(|kill| kill.who.clone()),
        raise: kill.map(|kill| kill.raise),
        fenced: look.catch_up.as_ref().and_then(|seen| seen.fenced),
        partitions: look.catch_up.as_ref().map(|seen| seen.partitions),
        partitions_not_in_sync: look.catch_up.as_ref().and_then(|seen| {
            // What the metadata log says of the run before is no news.
            seen.fenced.map(|_| seen.not_in_sync)
        }),
        retention_segments: look.first_pass.as_ref().map(|pass| pass.segments),
        retention_bytes: look.first_pass.as_ref().map(|pass| pass.bytes),
        advice: foresight.advice,
        dirs: look
            .dirs
            .iter()
            .map(|dir| BootDirLine {
                dir: &dir.path,
                unclean: dir.unclean,
                offline: dir.offline,
                bytes_done: dir.progress.map(|progress| progress.bytes_done),
                bytes_total: dir.progress.map(|progress| progress.bytes_total),
                bytes_per_s: dir.progress.and_then(|progress| progress.bytes_per_s),
                logs_done: dir.logs_done,
                logs_total: dir.logs_total,
                logs_source: dir.logs_by.map(BootSource::name),
                left_ms: dir
                    .progress
                    .and_then(|progress| Some(progress.left?.likely_ms)),
            })
            .collect(),
        threads: look
            .works
            .iter()
            .filter_map(|work| {
                Some(BootThreadLine {
                    dir: &look.dirs.get(work.dir)?.path,
                    thread: work.thread,
                    partition: &work.name,
                    base_offset: work.base_offset.0,
                    segments_done: work.segments_done,
                    segments_total: work.segments,
                    bytes_done: work.bytes_total.map(|_| work.bytes_done),
                    bytes_total: work.bytes_total,
                })
            })
            .collect(),
        sources: look
            .sources
            .iter()
            .map(|source| BootSourceLine {
                source: source.source.name(),
                at: source.at.and_then(time),
                trouble: source.trouble.as_deref(),
                turned: source.turned,
            })
            .collect(),
    }
}

fn finding<'a>(trouble: &BootTrouble, told: &'a Told) -> BootFindingLine<'a> {
    BootFindingLine {
        code: told.code,
        severity: if trouble.is_loss() {
            Severity::Loss
        } else {
            Severity::Routine
        },
        dir: told.dir.as_deref(),
        partition: told.partition.as_deref(),
        lost_bytes: trouble.cut_bytes,
        text: &told.text,
        next: told.next,
    }
}
