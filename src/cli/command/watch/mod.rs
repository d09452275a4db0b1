//! `watch`: a line a second of a booting broker, until the boot ends.

mod broker;
mod causes;
mod told;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use broker::Broker;
use causes::causes;
use told::Report;

use crate::app::recording::Fact;
use crate::app::{boot_remedy, boot_words};
use crate::cli::args::WatchArgs;
use crate::cli::boot_logs::boot_logs;
use crate::cli::target::{Candidate, Presence, presence_of};
use crate::cli::{CatchUpWatch, CliError, Context, Exit, FirstPassWatch, Recorder, clock};
use crate::observe::server_log::{BootEnd, BootPhase, LogSource};
use crate::observe::{
    BootReport, BootSources, BootWatch, CatchUp, KernelKill, MetricsAgent, MetricsPoll, Origin,
    SETTLE, ToldBy,
};

/// How often a line is written.
const LINE: Duration = Duration::from_secs(1);
/// How often log and counters are looked at.
const TICK: Duration = Duration::from_millis(100);
/// How often a process is looked for.
const SEARCH: Duration = Duration::from_millis(500);
/// How long a metadata log may be unreadable, as its files are deleted while they are read.
const METADATA_PATIENCE: Duration = Duration::from_secs(10);

/// Runs `watch`.
pub(in crate::cli) fn watch(
    context: &Context,
    args: &WatchArgs,
    record: Option<&Path>,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let mut report = Report::new(out, args.json);
    let named = args.log.as_deref();
    let url = args.metrics.as_deref().map(metrics_at).transpose()?;
    // The broker of the settings is judged when the boot of a named log ends badly, though it may not be its process'.
    let mut candidate = None;
    let (broker, log) = match named {
        // What is piped in may be of another host; it is of this one if it names the same log dirs.
        Some(path) if path == Path::new("-") => {
            (Broker::find(context).ok(), Ok(LogSource::input()))
        }
        // A log file may be of another host, or an old one: then it alone is what there is.
        Some(path) => {
            let broker = Broker::find(context).ok();
            candidate = broker.as_ref().map(Broker::candidate);
            let broker = broker.filter(|broker| broker.logs_to(path));
            (broker, Ok(open_log(path)?))
        }
        None => {
            let (broker, log) = wait_for_log(context, &mut report)?;
            (Some(broker), log)
        }
    };
    let dirs = match broker.as_ref().map(|broker| broker.loaded_dirs(context)) {
        // The log that was named is told without bytes then.
        Some(Err(_)) if named.is_some() => None,
        dirs => dirs.transpose()?,
    };
    let logs = dirs.as_deref().map(boot_logs);
    let told_by = match log {
        Ok(log) => ToldBy::Log(Box::new(log)),
        Err(why) if broker.as_ref().is_none_or(|broker| !broker.has_ports()) => {
            let text = format!(
                "no log: {why}; and no port for clients is known, so nothing tells when the boot ends"
            );
            return Err(CliError::usage(text).hint(
                "Pipe its log in: journalctl -fu UNIT | krescue watch --log -, or kubectl logs -f POD | ...",
            ));
        }
        Err(why) => {
            report.note(&format!(
                "no log: {why}; told by threads, open files and log dirs, which show no cut and no cause (a log is piped in \
                 by journalctl -fu UNIT | krescue watch --log -, or kubectl logs -f POD | ...)"
            ))?;
            let signs = broker
                .as_ref()
                .and_then(|broker| broker.signs(dirs.unwrap_or_default(), why));
            ToldBy::Signs(Box::new(signs.ok_or_else(ended_meanwhile)?))
        }
    };
    let recorder = match record {
        Some(file) => Some(begin_recording(context, file, broker.as_ref())?),
        None => None,
    };
    let origin = match named {
        Some(path) if path == Path::new("-") => Origin::Perhaps,
        _ => Origin::Own,
    };
    let agents = || broker.as_ref().map(Broker::agents).unwrap_or_default();
    let agents = url.map_or_else(agents, |url| vec![url]);
    let watch = BootWatch::new(BootSources {
        process: broker.as_ref().and_then(Broker::process),
        told_by,
        logs,
        origin,
        metrics: MetricsPoll::start(agents),
    });
    let mut follow = Follow {
        context,
        candidate: broker.as_ref().map(Broker::candidate).or(candidate),
        by_locks: false,
        watch,
        report,
        recorder,
        catch_up: broker.as_ref().and_then(Broker::catch_up),
        first_pass: broker
            .as_ref()
            .map(|broker| FirstPassWatch::start(context, &broker.candidate())),
    };
    follow.run(args.until_in_sync)
}

fn metrics_at(url: &str) -> Result<MetricsAgent, CliError> {
    MetricsAgent::parse_url(url).map_err(|why| {
        CliError::usage(format!("--metrics {url}: {why}"))
            .hint("jmx_exporter answers at http://HOST:PORT/metrics, Jolokia at http://HOST:8778/jolokia.")
    })
}

fn open_log(path: &Path) -> Result<LogSource, CliError> {
    LogSource::file(path).map_err(|error| cannot_read(&path.display().to_string(), &error))
}

fn cannot_read(log: &str, error: &std::io::Error) -> CliError {
    CliError::usage(format!("cannot read the log {log}"))
        .because(error)
        .hint("Name the broker's log with --log FILE, or pipe it in with --log -.")
}

fn ended_meanwhile() -> CliError {
    CliError::failed("the broker's process has ended before its boot could be looked at")
}

/// Waits until the broker's process is there and has opened its log, which a young one has not; returns the log, or why
/// there is none.
fn wait_for_log(
    context: &Context,
    report: &mut Report<'_>,
) -> Result<(Broker, Result<LogSource, String>), CliError> {
    let mut broker = Broker::find(context)?;
    let mut said = false;
    loop {
        if broker.lives() {
            match broker.log_file() {
                Ok(Some(file)) => {
                    let log = LogSource::file(&file);
                    let log = log.map_err(|error| format!("{}: {error}", file.display()));
                    return Ok((broker, log));
                }
                Ok(None) if broker.locks() => {
                    let why = "the broker logs to no file that can be read here";
                    return Ok((broker, Err(why.to_owned())));
                }
                Ok(None) => {}
                Err(error) => {
                    let why = format!("the broker's open files are hidden: {error}");
                    return Ok((broker, Err(why)));
                }
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

/// Begins a recording with what is known of the broker.
fn begin_recording(
    context: &Context,
    file: &Path,
    broker: Option<&Broker>,
) -> Result<Recorder, CliError> {
    let now = clock::now();
    let log_dirs = broker.map_or(&[][..], Broker::log_dirs);
    let mut recorder = Recorder::create(file, &context.host, now, log_dirs)?;
    if let Some(broker) = broker {
        for fact in broker.facts(context)? {
            let taken = recorder.take(now, fact);
            taken.map_err(|error| CliError::failed("cannot record").because(&error))?;
        }
    }
    Ok(recorder)
}

/// What became of a broker that had started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// Nothing that is known: it serves.
    Nothing,
    /// Its process has ended.
    Gone,
    /// Nobody tells whether it is in sync.
    SyncUnknown,
}

/// What is followed, and what is told of it.
struct Follow<'a> {
    context: &'a Context,
    /// The broker whose log dirs are looked at when the boot ends badly.
    candidate: Option<Candidate>,
    /// Whether the locks of its log dirs showed that it is gone.
    by_locks: bool,
    watch: BootWatch,
    report: Report<'a>,
    recorder: Option<Recorder>,
    catch_up: Option<CatchUpWatch>,
    first_pass: Option<FirstPassWatch>,
}

impl Follow<'_> {
    /// Writes a line a second until the boot has ended, or the broker is in sync.
    fn run(&mut self, until_in_sync: bool) -> Result<Exit, CliError> {
        let mut last: Option<Instant> = None;
        loop {
            // Counters are to be read often; a log tells by itself when there is more of it.
            let patience = if self.watch.has_process() { TICK } else { LINE };
            let look = self.watch.look(clock::now(), patience);
            let look = look.map_err(|error| cannot_read("of the broker", &error))?;
            let is_due = last.is_none_or(|last| last.elapsed() >= LINE);
            let Some(mut look) = look else {
                if is_due {
                    last = Some(Instant::now());
                    self.report.waiting()?;
                }
                continue;
            };
            let ended = look.end.clone();
            let is_ours = self.watch.is_ours();
            if is_ours {
                look.first_pass = self.first_pass.as_mut().and_then(FirstPassWatch::look);
            }
            if is_ours && look.phase > BootPhase::Loading && (is_due || ended.is_some()) {
                look.catch_up = self.look_at_metadata();
            }
            self.record(&look)?;
            self.report.once(&look)?;
            if is_due || ended.is_some() {
                last = Some(Instant::now());
                self.report.progress(&look)?;
                self.look_at_locks();
            }
            match ended {
                None => {}
                Some(BootEnd::Up) if until_in_sync => {
                    let then = self.wait_for_sync(look)?;
                    return self.finish(&BootEnd::Up, then, None);
                }
                Some(BootEnd::Up) => {
                    let then = self.settle()?;
                    return self.finish(&BootEnd::Up, then, None);
                }
                Some(end) => return self.finish(&end, Then::Nothing, look.kernel_kill.as_ref()),
            }
        }
    }

    /// Gives up a boot of which a file alone tells, once it has begun to load log dirs of this host and nobody holds them:
    /// a broker has their locks until it ends, whoever runs it.
    fn look_at_locks(&mut self) {
        if !self.watch.is_by_file_alone() || self.by_locks {
            return;
        }
        let (Some(candidate), Some(boot)) = (&self.candidate, self.watch.boot()) else {
            return;
        };
        let ours = &candidate.broker.log_dirs.value;
        let is_ours = |path: &str| ours.iter().any(|dir| dir.to_str() == Some(path));
        let is_here = !boot.dirs.is_empty() && boot.dirs.iter().all(|dir| is_ours(&dir.path));
        if is_here && presence_of(candidate, ours) == Presence::Down {
            self.by_locks = true;
            self.watch.give_up();
        }
    }

    /// Looks once more at a boot that has ended; tells and records what is new.
    fn look_again(&mut self, patience: Duration) -> Result<Option<BootReport>, CliError> {
        let look = self.watch.look(clock::now(), patience);
        let Some(mut look) = look.map_err(|error| cannot_read("of the broker", &error))? else {
            return Ok(None);
        };
        if self.watch.is_ours() {
            look.catch_up = self.look_at_metadata();
        }
        self.record(&look)?;
        self.report.once(&look)?;
        Ok(Some(look))
    }

    fn record(&mut self, look: &BootReport) -> Result<(), CliError> {
        let Some(recorder) = &mut self.recorder else {
            return Ok(());
        };
        let taken = recorder.take(look.at, Fact::Boot(Box::new(look.clone())));
        taken.map_err(|error| CliError::failed("cannot record").because(&error))
    }

    fn look_at_metadata(&mut self) -> Option<CatchUp> {
        let boot = self.watch.boot();
        let incarnation = boot.and_then(|boot| boot.incarnation.as_deref());
        self.catch_up.as_mut()?.look(incarnation)
    }

    /// Reads on in the log of a broker that has just started.
    fn settle(&mut self) -> Result<Then, CliError> {
        let begin = Instant::now();
        let had_process = self.watch.has_process();
        while self.watch.may_tell_more() {
            let Some(left) = SETTLE.checked_sub(begin.elapsed()) else {
                break;
            };
            self.look_again(left.min(TICK))?;
        }
        let is_gone = had_process && self.watch.has_process() && !self.watch.lives();
        Ok(if is_gone { Then::Gone } else { Then::Nothing })
    }

    /// Writes a line a second until all partitions are in sync, or the broker is gone.
    fn wait_for_sync(&mut self, mut look: BootReport) -> Result<Then, CliError> {
        let mut seen = Instant::now();
        let mut last = Instant::now();
        loop {
            match &look.catch_up {
                Some(of) if !of.is_behind() => {
                    self.report.progress(&look)?;
                    return self.settle();
                }
                Some(_) => seen = Instant::now(),
                None if self.catch_up.is_none() || seen.elapsed() >= METADATA_PATIENCE => {
                    return Ok(Then::SyncUnknown);
                }
                None => {}
            }
            if self.watch.has_process() && !self.watch.lives() {
                return Ok(Then::Gone);
            }
            // Without a process only its log tells that it goes on.
            if !self.watch.has_process() && !self.watch.may_tell_more() {
                return Ok(Then::SyncUnknown);
            }
            if let Some(next) = self.look_again(LINE)? {
                look = next;
            }
            if last.elapsed() >= LINE {
                last = Instant::now();
                self.report.progress(&look)?;
            }
        }
    }

    fn finish(
        &mut self,
        end: &BootEnd,
        then: Then,
        kernel: Option<&KernelKill>,
    ) -> Result<Exit, CliError> {
        if self.watch.is_foreign() {
            return Err(CliError::usage("this is no broker's log: no line has a time and a level")
                .hint("Name the broker's log with --log FILE; krescue reads Kafka's own layouts and the journal's."));
        }
        let lost = self
            .watch
            .boot()
            .map_or(0, |boot| boot.losses().count() as u64);
        let exit = match (end, then) {
            (BootEnd::Up, Then::Nothing) if lost == 0 => Exit::Ok,
            (BootEnd::Up, Then::Nothing | Then::SyncUnknown) => Exit::Findings,
            _ => Exit::Failed,
        };
        if exit != Exit::Ok
            && let (Some(candidate), Some(boot)) = (&self.candidate, self.watch.boot())
        {
            self.report
                .problems(&causes(self.context, candidate, boot))?;
        }
        let mut text = boot_words::ended_by(end, kernel);
        if *end == BootEnd::Up && self.watch.no_log().is_some() {
            text.push_str("; what it cut, only its log tells");
        }
        text.push_str(match (end, self.by_locks) {
            (BootEnd::Killed, true) => "; nobody holds the locks of its log dirs",
            (BootEnd::Killed, false) if self.watch.is_by_file_alone() => {
                "; this is by the log alone, which breaks off and is old: no process of it is known here"
            }
            _ => "",
        });
        text.push_str(match then {
            Then::Nothing => "",
            Then::Gone => ", and its process has ended since",
            Then::SyncUnknown => {
                "; whether it is in sync is not known: its metadata log cannot be read here (krescue replicas asks the cluster)"
            }
        });
        let boot = self.watch.boot().filter(|_| exit == Exit::Failed);
        let next = boot.and_then(boot_remedy::after);
        self.report.end(clock::now(), &text, next, (lost, exit))?;
        Ok(exit)
    }
}
