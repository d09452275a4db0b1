//! What a boot shows where its log cannot be read: recovery threads begin and end, logs are opened, snapshots are written,
//! a port opens. Told as the events that the log would tell, so that all else goes as with a log.
//!
//! The signs lag behind a log by one look and say nothing of what a boot cuts. Positions inside a segment come from the
//! threads' counters, as ever; where those are hidden whole segments count.

use std::path::Path;

use crate::observe::server_log::{BootEvent, Boots, LineTime, TimedEvent};
use crate::terms::Timestamp;

use super::open_logs::{OpenLogs, listening};
use super::signs_of_log::{LoadedDir, SignsOfLogs};
use super::threads::ProcessLife;

/// Looks between two of the files, and one more for so many logs: what a look costs grows with them.
const LOOKS: usize = 2;
const LOGS_A_LOOK: usize = 1000;

/// What the signs of a boot are taken from.
#[derive(Debug)]
pub struct SignSources {
    /// The process.
    pub life: ProcessLife,
    /// The log dirs, in the order of the broker's settings.
    pub dirs: Vec<LoadedDir>,
    /// The ports at which it will listen for clients.
    pub ports: Vec<u16>,
    /// Why there is no log, as a clause.
    pub no_log: String,
}

/// The signs of one boot.
#[derive(Debug)]
pub struct BootSigns {
    life: ProcessLife,
    began_ms: i64,
    logs: SignsOfLogs,
    open: OpenLogs,
    ports: Vec<u16>,
    /// Sockets that listened there before the broker could.
    others: Vec<u64>,
    no_log: String,
    step: Step,
    /// Looks since the files were looked at.
    looks: usize,
    /// Whether logs were open at the last look, while no thread was seen to load them.
    was_opened: bool,
    /// When a sign was seen last.
    at: Option<Timestamp>,
    /// When the loading was seen to begin.
    loading_since: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Unseen,
    Starting,
    Loading,
    Loaded,
    Up,
}

impl BootSigns {
    /// Begins to look for signs.
    pub fn new(sources: SignSources) -> Self {
        let SignSources {
            life,
            dirs,
            ports,
            no_log,
        } = sources;
        let began_ms = life.began_ms(Path::new("/proc")).unwrap_or(0);
        Self {
            life,
            began_ms,
            logs: SignsOfLogs::new(dirs, began_ms / 1000),
            open: OpenLogs::default(),
            ports,
            others: Vec::new(),
            no_log,
            step: Step::Unseen,
            looks: 0,
            was_opened: false,
            at: None,
            loading_since: Timestamp(began_ms),
        }
    }

    /// Returns why there is no log.
    pub(super) fn no_log(&self) -> &str {
        &self.no_log
    }

    /// Returns when a sign was seen last.
    pub(super) fn at(&self) -> Option<Timestamp> {
        self.at
    }

    /// Looks for signs while the process goes on; `threads` are its recovery threads that are alive.
    pub(super) fn look(&mut self, boots: &mut Boots, threads: usize, now: Timestamp) {
        let mut events = Vec::new();
        if self.step == Step::Unseen {
            boots.take(TimedEvent {
                time: LineTime(self.began_ms),
                event: BootEvent::ProcessStarted,
            });
            self.step = Step::Starting;
        }
        match self.step {
            Step::Unseen | Step::Up => {}
            Step::Starting => self.look_for_load(threads, now, &mut events),
            Step::Loading if threads == 0 => self.end_load(now, &mut events),
            Step::Loading => self.look_at_logs(threads, now, &mut events),
            Step::Loaded => {
                if self.listens() {
                    self.step = Step::Up;
                    events.push(BootEvent::Started);
                }
            }
        }
        if !events.is_empty() {
            self.at = Some(now);
        }
        let time = LineTime(now.0);
        for event in events {
            boots.take(TimedEvent { time, event });
        }
    }

    fn look_for_load(&mut self, threads: usize, now: Timestamp, events: &mut Vec<BootEvent>) {
        self.looks += 1;
        if threads > 0 {
            self.step = Step::Loading;
            self.loading_since = now;
            self.logs.begin(events);
            self.looks = LOOKS;
            return self.look_at_logs(threads, now, events);
        }
        let opened = self.opened();
        let sees_sockets = opened.is_some();
        let opened = opened.is_some_and(|opened| self.logs.has_one_of(&opened));
        if opened && !self.was_opened {
            // A thread may have begun since the threads were looked at; and what was opened is to be told again.
            self.was_opened = true;
            self.open = OpenLogs::default();
        } else if opened || self.is_open(sees_sockets) {
            self.logs.begin(events);
            self.end_load(now, events);
        } else {
            let pid = self.life.pid;
            self.others = listening(Path::new("/proc"), pid, &self.ports);
        }
    }

    fn look_at_logs(&mut self, threads: usize, now: Timestamp, events: &mut Vec<BootEvent>) {
        self.looks += 1;
        if self.looks <= LOOKS + self.logs.left() / LOGS_A_LOOK {
            return;
        }
        self.looks = 0;
        let opened = self.opened();
        self.logs.look(opened.as_deref(), threads, now, events);
    }

    fn end_load(&mut self, now: Timestamp, events: &mut Vec<BootEvent>) {
        self.step = Step::Loaded;
        let took = now.0.saturating_sub(self.loading_since.0);
        events.push(BootEvent::LogsLoaded {
            logs: self.logs.all() as u64,
            took_ms: took.max(0).unsigned_abs(),
        });
    }

    /// Returns the segments that were opened since the last look; `None` where that is hidden.
    fn opened(&mut self) -> Option<Vec<std::path::PathBuf>> {
        self.open.look(Path::new("/proc"), self.life.pid).ok()
    }

    /// Says whether a port for clients is open by now.
    fn listens(&mut self) -> bool {
        let sees_sockets = self.opened().is_some();
        self.is_open(sees_sockets)
    }

    /// Says whether a port for clients is open, as of the last look at the files: that is the last thing a boot does.
    fn is_open(&self, sees_sockets: bool) -> bool {
        let sockets = listening(Path::new("/proc"), self.life.pid, &self.ports);
        sockets.iter().any(|inode| {
            if sees_sockets {
                self.open.has_socket(*inode)
            } else {
                !self.others.contains(inode)
            }
        })
    }
}
