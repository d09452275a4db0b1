//! `watch`: a line a second of a booting broker, until the boot ends.

mod broker;
mod source;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use broker::Broker;
use source::Source;

use crate::app::boot_words::{self, Told};
use crate::app::text::{bytes_of, clock as clock_text, duration, percent, plural, rate};
use crate::cli::args::WatchArgs;
use crate::cli::report::{BootEndLine, BootFindingLine, BootLine, JsonReport, Line, time};
use crate::cli::{CliError, Context, Exit, clock};
use crate::log::Severity;
use crate::observe::server_log::{Boot, BootEnd, BootPhase, BootTrouble, Boots, LineTime};
use crate::observe::{BootMeter, BootProgress};
use crate::terms::Timestamp;

/// How often a line is written.
const LINE: Duration = Duration::from_secs(1);
/// How often log and counters are looked at.
const TICK: Duration = Duration::from_millis(100);
/// How often a process is looked for.
const SEARCH: Duration = Duration::from_millis(500);
/// How far a clock may have been set since the process began.
const CLOCK_SLACK_MS: i64 = 5000;

/// Runs `watch`.
pub(in crate::cli) fn watch(
    context: &Context,
    args: &WatchArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let mut report = Report {
        out,
        json: args.json,
        told: (None, 0),
    };
    let named = args.log.as_deref();
    let (broker, source) = match named {
        Some(path) if path == Path::new("-") => (None, Source::input()),
        // A log file may be of another host, or an old one: then it alone is what there is.
        Some(path) => {
            let broker = Broker::find(context).ok();
            let broker = broker.filter(|broker| broker.logs_to(path));
            (broker, Source::file(path)?)
        }
        None => {
            let (broker, file) = wait_for_log(context, &mut report)?;
            (Some(broker), Source::file(&file)?)
        }
    };
    let reads = match broker.as_ref().map(|broker| broker.boot_reads(context)) {
        // The log that was named is told without bytes then.
        Some(Err(_)) if named.is_some() => None,
        reads => reads.transpose()?,
    };
    Watch {
        meter: reads.map(BootMeter::new),
        sight: Sight {
            broker,
            source,
            boots: Boots::default(),
        },
        report,
    }
    .run()
}

/// Waits until the broker's process is there and has opened its log, which a young one has not.
fn wait_for_log(context: &Context, report: &mut Report<'_>) -> Result<(Broker, PathBuf), CliError> {
    let mut broker = Broker::find(context)?;
    let mut said = false;
    loop {
        if broker.lives() {
            if let Some(file) = broker.log_file()? {
                return Ok((broker, file));
            }
            if broker.locks() {
                return Err(CliError::usage("the broker logs to no file that can be read here")
                    .hint("Pipe its log in: journalctl -fu UNIT | krescue watch --log -, or kubectl logs -f POD | …"));
            }
        }
        if !said {
            report.note("waiting for the broker to start")?;
            said = true;
        }
        std::thread::sleep(SEARCH);
        broker.look_again();
    }
}

/// What is seen of the broker.
struct Sight {
    broker: Option<Broker>,
    source: Source,
    boots: Boots,
}

impl Sight {
    /// Returns the boot that is watched: the newest of the log, unless it is one from before the process.
    fn boot(&self) -> Option<&Boot> {
        let boot = self.boots.last()?;
        let process = self.broker.as_ref().and_then(|broker| broker.began_ms);
        match (process, boot.began, self.source.zone_ms()) {
            (Some(process), Some(began), Some(zone)) => {
                (began.0 - zone >= process - CLOCK_SLACK_MS).then_some(boot)
            }
            _ => Some(boot),
        }
    }

    /// Returns how the boot ended, once all that was said of it is read; `lives` was seen before that.
    fn end(&mut self, lives: Option<bool>) -> Option<BootEnd> {
        let gone = lives == Some(false) || (lives.is_none() && self.source.is_at_end());
        if gone {
            self.source.finish(&mut self.boots);
        }
        let told = self.boot().and_then(|boot| boot.end.clone());
        told.or_else(|| gone.then_some(BootEnd::Killed))
    }
}

struct Watch<'a> {
    sight: Sight,
    meter: Option<BootMeter>,
    report: Report<'a>,
}

impl Watch<'_> {
    fn run(mut self) -> Result<Exit, CliError> {
        let mut last: Option<Instant> = None;
        loop {
            // Seen before the log is read to its end: what a process says last is read after it.
            let lives = self.sight.broker.as_ref().map(Broker::lives);
            let more = self.sight.source.take(&mut self.sight.boots, TICK)?;
            if more {
                continue;
            }
            let end = self.sight.end(lives);
            if last.is_none_or(|last| last.elapsed() >= LINE) || end.is_some() {
                last = Some(Instant::now());
                self.line()?;
            }
            if let Some(end) = end {
                return self.finish(&end);
            }
        }
    }

    fn line(&mut self) -> Result<(), CliError> {
        let reads = self.sight.broker.as_ref().and_then(Broker::reads);
        let now = clock::now();
        let Some(boot) = self.sight.boot() else {
            return self.report.waiting();
        };
        let meter = self.meter.as_mut();
        let progress = meter.map(|meter| meter.measure(boot, reads, now.0));
        self.report.troubles(boot)?;
        self.report.progress(boot, progress, now)
    }

    fn finish(mut self, end: &BootEnd) -> Result<Exit, CliError> {
        if self.sight.source.is_foreign() {
            return Err(CliError::usage("this is no broker's log: no line has a time and a level")
                .hint("Name the broker's log with --log FILE; krescue reads Kafka's own layouts and the journal's."));
        }
        let boot = self.sight.boot();
        let lost = boot.map_or(0, |boot| boot.losses().count() as u64);
        let exit = match end {
            BootEnd::Up if lost == 0 => Exit::Ok,
            BootEnd::Up => Exit::Findings,
            _ => Exit::Failed,
        };
        self.report.end(end, lost, exit)?;
        Ok(exit)
    }
}

/// What is printed.
struct Report<'a> {
    out: &'a mut dyn Write,
    json: bool,
    /// When the boot began whose troubles are told, and how many were.
    told: (Option<LineTime>, usize),
}

impl Report<'_> {
    fn line(&mut self, line: &Line<'_>) -> Result<(), CliError> {
        JsonReport::new(self.out).line(line)?;
        Ok(self.out.flush()?)
    }

    fn note(&mut self, text: &str) -> Result<(), CliError> {
        if !self.json {
            writeln!(self.out, "{text}")?;
            self.out.flush()?;
        }
        Ok(())
    }

    fn waiting(&mut self) -> Result<(), CliError> {
        self.note("the log says nothing of this boot yet")
    }

    fn troubles(&mut self, boot: &Boot) -> Result<(), CliError> {
        if self.told.0 != boot.began {
            self.told = (boot.began, 0);
        }
        for trouble in boot.troubles.iter().skip(self.told.1) {
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
        self.told.1 = boot.troubles.len();
        Ok(())
    }

    fn progress(
        &mut self,
        boot: &Boot,
        progress: Option<BootProgress>,
        now: Timestamp,
    ) -> Result<(), CliError> {
        if self.json {
            return self.line(&Line::Boot(boot_line(boot, progress, now)));
        }
        let text = sentence(boot, progress, now);
        self.note(&text)
    }

    fn end(&mut self, end: &BootEnd, lost: u64, exit: Exit) -> Result<(), CliError> {
        let mut text = boot_words::ended(end);
        if lost > 0 {
            text = format!(
                "{text}; {} told above",
                plural(lost, "loss is", "losses are")
            );
        }
        if self.json {
            return self.line(&Line::BootEnd(BootEndLine {
                text: &text,
                losses: lost,
                exit: exit.code(),
            }));
        }
        self.note(&text)
    }
}

fn phase(boot: &Boot) -> &'static str {
    match boot.phase {
        BootPhase::Starting => "starting",
        BootPhase::Loading => "loading",
        BootPhase::CatchingUp => "catching_up",
        BootPhase::Opening => "opening",
        BootPhase::Ended => "ended",
    }
}

fn end_time(progress: BootProgress, now: Timestamp) -> Option<Timestamp> {
    let left = progress.left_ms?;
    Some(Timestamp(now.0.saturating_add(left)))
}

fn boot_line(boot: &Boot, progress: Option<BootProgress>, now: Timestamp) -> BootLine {
    let (logs_done, logs_total) = boot.logs();
    BootLine {
        phase: phase(boot),
        bytes_done: progress.map(|progress| progress.bytes_done),
        bytes_total: progress.map(|progress| progress.bytes_total),
        logs_done,
        logs_total,
        segments_done: boot.segments_done,
        bytes_per_s: progress.and_then(|progress| progress.bytes_per_s),
        end_time: progress
            .and_then(|progress| end_time(progress, now))
            .and_then(time),
        refused: boot.refused,
    }
}

fn sentence(boot: &Boot, progress: Option<BootProgress>, now: Timestamp) -> String {
    let zone = jiff::tz::TimeZone::system();
    let (done, all) = boot.logs();
    let mut text = format!(
        "{} {}",
        clock_text(now, &zone),
        phase(boot).replace('_', " ")
    );
    if all > 0 {
        text = format!("{text} · {done} of {}", plural(all, "log", "logs"));
    }
    if let Some(progress) = progress.filter(|progress| progress.bytes_total > 0) {
        let (done, total) = (progress.bytes_done, progress.bytes_total);
        let share = percent(done, total).unwrap_or(0);
        text = format!("{text} · {} {share} %", bytes_of(done, total));
        if let (Some(per_second), true) = (progress.bytes_per_s, boot.phase == BootPhase::Loading) {
            text = format!("{text} · {}", rate(per_second));
            if let (Some(left), Some(end)) = (progress.left_ms, end_time(progress, now)) {
                let seconds = u64::try_from(left / 1000).unwrap_or(0);
                let end = clock_text(end, &zone);
                text = format!("{text} · ~{}, until {end}", duration(seconds));
            }
        }
    }
    if let Some((name, work)) = boot.working.iter().next() {
        text = format!("{text} · {name} at segment {}", work.base_offset);
    }
    if boot.refused > 0 && boot.phase < BootPhase::CatchingUp && boot.working.is_empty() {
        text = format!("{text} · the old session has not expired yet, which is normal");
    }
    text
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
        text: &told.text,
        next: told.next,
    }
}
