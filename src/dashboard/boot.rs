//! Watches the broker's boot beside the screen, in a thread of its own that ends with the boot.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use crate::app::{Event, Level};
use crate::cli::{
    CatchUpWatch, Context, FirstPassWatch, Look, boot_logs, client_ports, loaded_dirs,
};
use crate::engine::{PlanHandle, Reading, start_plan};
use crate::observe::server_log::{BootEnd, BootPhase, LogSource};
use crate::observe::{
    BootReport, BootSigns, BootSources, BootWatch, CatchUp, LoadedDir, MetricsPoll, Origin,
    ProcessLife, SETTLE, SignSources, ToldBy, agents_of_process, is_broker, is_listening,
    log_file_of,
};

use super::look::{News, now};

const PROC: &str = "/proc";
/// How often the sources are looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Looks for a log, until it is taken that there is none.
const LOG_LOOKS: u32 = 4;
/// How often it is looked how far a broker has caught up.
const CATCH_UP: Duration = Duration::from_secs(2);

/// A boot that is watched; it ends with the value.
#[derive(Debug)]
pub(super) struct BootObserver {
    life: ProcessLife,
    stop: Arc<AtomicBool>,
}

impl BootObserver {
    /// Begins to watch the process that was found, if it may be booting.
    pub(super) fn start(
        context: &Arc<Context>,
        look: &Arc<Look>,
        news: &UnboundedSender<News>,
    ) -> Option<Self> {
        let proc = Path::new(PROC);
        // A job of krescue holds the locks too.
        let pid = look.presence.pid().filter(|pid| is_broker(proc, *pid))?;
        let life = ProcessLife::of(proc, pid)?;
        let stop = Arc::new(AtomicBool::new(false));
        let thread = Watching {
            context: Arc::clone(context),
            look: Arc::clone(look),
            news: news.clone(),
            life,
            stop: Arc::clone(&stop),
        };
        std::thread::spawn(move || thread.run());
        Some(Self { life, stop })
    }

    /// Says whether it watches this process.
    pub(super) fn watches(&self, pid: Option<u32>) -> bool {
        let life = pid.and_then(|pid| ProcessLife::of(Path::new(PROC), pid));
        life == Some(self.life)
    }
}

impl Drop for BootObserver {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

struct Watching {
    context: Arc<Context>,
    look: Arc<Look>,
    news: UnboundedSender<News>,
    life: ProcessLife,
    stop: Arc<AtomicBool>,
}

impl Watching {
    fn run(self) {
        let Some(log) = self.wait_for_log() else {
            return;
        };
        let (told_by, logs) = match log {
            Ok(log) => (ToldBy::Log(Box::new(log)), None),
            Err(no_log) => {
                let ports = client_ports(&self.look.candidate.broker);
                // A broker that is up does not boot; without a port nothing would say when it is.
                if ports.is_empty() || is_listening(Path::new(PROC), self.life.pid, &ports) {
                    return;
                }
                let Some(dirs) = self.loaded_dirs() else {
                    return;
                };
                let logs = boot_logs(&dirs);
                let signs = BootSigns::new(SignSources {
                    life: self.life,
                    dirs,
                    ports,
                    no_log,
                });
                (ToldBy::Signs(Box::new(signs)), Some(logs))
            }
        };
        let mut has_logs = logs.is_some();
        let mut watch = BootWatch::new(BootSources {
            process: Some(self.life),
            told_by,
            logs,
            origin: Origin::Own,
            metrics: MetricsPoll::start(
                agents_of_process(Path::new(PROC), self.life.pid).unwrap_or_default(),
            ),
        });
        let mut last: Option<BootReport> = None;
        let mut catch_up = CatchUpWatch::find(&self.look);
        let mut first_pass = FirstPassWatch::start(&self.context, &self.look.candidate);
        while !self.stop.load(Ordering::Relaxed) {
            let look = match watch.look(now(), LOOK) {
                Ok(look) => look,
                Err(error) => {
                    return self.tell(format!("cannot read the broker's log: {error}"));
                }
            };
            let Some(look) = look else { continue };
            // A broker that was up before anybody looked does not boot.
            if last.is_none() && look.end.is_some() {
                return;
            }
            if !has_logs {
                has_logs = true;
                watch.take_logs(self.loaded_dirs().as_deref().map(boot_logs));
                continue;
            }
            let ended = look.end.is_some();
            let mut look = look;
            look.first_pass = first_pass.look();
            if look.phase > BootPhase::Loading {
                let boot = watch.boot();
                let incarnation = boot.and_then(|boot| boot.incarnation.as_deref());
                look.catch_up = catch_up.as_mut().and_then(|of| of.look(incarnation));
            }
            if last.as_ref().is_none_or(|last| changed(last, &look)) {
                let _ = self
                    .news
                    .send(News::Event(Event::Boot(Box::new(look.clone()))));
                last = Some(look);
            }
            if ended {
                break;
            }
        }
        if let Some(last) = last {
            self.after_start(watch, last, catch_up);
        }
    }

    /// Follows a broker that has started: its log a while, and until all its partitions are in sync.
    fn after_start(
        &self,
        mut watch: BootWatch,
        mut last: BootReport,
        mut catch_up: Option<CatchUpWatch>,
    ) {
        let begin = Instant::now();
        while last.end == Some(BootEnd::Up)
            && (last.catch_up.as_ref().is_some_and(CatchUp::is_behind)
                || (watch.may_tell_more() && begin.elapsed() < SETTLE))
            && watch.lives()
            && !self.stop.load(Ordering::Relaxed)
        {
            std::thread::sleep(CATCH_UP);
            let Ok(Some(mut look)) = watch.look(now(), Duration::ZERO) else {
                return;
            };
            let boot = watch.boot();
            let incarnation = boot.and_then(|boot| boot.incarnation.as_deref());
            look.catch_up = catch_up.as_mut().and_then(|of| of.look(incarnation));
            look.first_pass.clone_from(&last.first_pass);
            if changed(&last, &look) {
                let _ = self
                    .news
                    .send(News::Event(Event::Boot(Box::new(look.clone()))));
            }
            last = look;
        }
    }

    /// Waits until the process has opened its log, which a young one has not; returns it, or why there is none. `None` if
    /// the process is gone.
    fn wait_for_log(&self) -> Option<Result<LogSource, String>> {
        let proc = Path::new(PROC);
        let mut looks = 0;
        while !self.stop.load(Ordering::Relaxed) && self.life.goes_on(proc) {
            match log_file_of(proc, self.life.pid) {
                Ok(Some(file)) => {
                    let log = LogSource::file(&file);
                    return Some(log.map_err(|error| format!("{}: {error}", file.display())));
                }
                // It locks its log dirs before it was found here: soon after it must have a log, if it has one.
                Ok(None) if looks >= LOG_LOOKS => {
                    return Some(Err("it logs to no file that can be read here".to_owned()));
                }
                Ok(None) => {}
                Err(error) => return Some(Err(format!("its open files are hidden: {error}"))),
            }
            looks += 1;
            std::thread::sleep(LOOK);
        }
        None
    }

    /// Returns what the boot loads, by names and sizes.
    fn loaded_dirs(&self) -> Option<Vec<LoadedDir>> {
        let mut spec = self.look.spec(&self.context);
        spec.reading = Reading::Structure;
        let made = start_plan(spec).and_then(PlanHandle::join).ok()?;
        Some(loaded_dirs(&made.plan))
    }

    fn tell(&self, text: String) {
        let level = Level::Warn;
        let _ = self.news.send(News::Event(Event::Notice { level, text }));
    }
}

/// Says whether a look says anything that the one before did not.
fn changed(before: &BootReport, now: &BootReport) -> bool {
    let mut same = before.clone();
    same.at = now.at;
    same.finished.clear();
    same.troubles.clear();
    same != *now
}
