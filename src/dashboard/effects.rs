//! Carries out what the state wants done.

use std::path::PathBuf;

use crate::app::effect::PlanRequest;
use crate::app::state::WorkKind;
use crate::app::{Effect, Event, Level};
use crate::engine::{Confirmed, JobSpec, start_job};
use crate::tui::to_text;

use super::bytes::read_bytes;
use super::log_view;
use super::look::{News, Purpose, look_at, now};
use super::run::Dashboard;
use super::work::{RunningScan, WatchedJob, kind};

impl Dashboard {
    /// Does one thing; what comes of it returns as news or as an event.
    pub(super) fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::OpenBroker(index) => {
                self.chosen = index;
                self.look(Purpose::First);
            }
            Effect::List => self.look(Purpose::Again),
            Effect::Plan(request) => self.plan(request),
            Effect::CancelPlan => {
                if let Some(scan) = &self.scan {
                    scan.cancel();
                }
            }
            Effect::Apply { plan } => self.apply(&plan),
            Effect::StopJob { .. } => {
                let stopped = self.job.as_ref().map(WatchedJob::stop);
                if let Some(Err(error)) = stopped {
                    self.tell(Level::Error, error.sentence());
                }
            }
            Effect::ReadBytes {
                log,
                file,
                position,
            } => {
                let news = self.news.clone();
                std::thread::spawn(move || {
                    let view = read_bytes(file, position);
                    let _ = news.send(News::Event(Event::Bytes { log, view }));
                });
            }
            Effect::SaveScreen => self.save_screen(),
            Effect::DrainInput => self.wishes.drain = true,
            Effect::Log {
                target,
                level,
                text,
            } => log_view::log(target, level, &text),
            Effect::Quit => self.wishes.quit = true,
        }
    }

    /// Tells something in passing.
    pub(super) fn tell(&mut self, level: Level, text: String) {
        self.update(Event::Notice { level, text });
    }

    /// Looks at the broker in a thread.
    pub(super) fn look(&mut self, purpose: Purpose) {
        if let Some(candidate) = self.candidates.get(self.chosen) {
            look_at(&self.context, candidate.clone(), purpose, &self.news);
        }
    }

    /// Looks who uses the dirs before batches are read: it decides how fast that may be.
    fn plan(&mut self, request: PlanRequest) {
        if !std::mem::replace(&mut self.wishes.plan, true) {
            self.look(Purpose::Plan(request));
        }
    }

    /// Reads batches for a plan, now that it is known who uses the dirs.
    pub(super) fn plan_now(&mut self, request: PlanRequest) {
        self.wishes.plan = false;
        let Some(look) = self.look.clone() else {
            return self.update(Event::PlanFailed("no broker is open".to_owned()));
        };
        match RunningScan::start(&self.context, &look, request) {
            Ok(scan) => {
                self.scan = Some(scan);
                self.update(Event::WorkStarted {
                    kind: WorkKind::Scan,
                    at: now(),
                });
            }
            Err(cause) => self.update(Event::PlanFailed(cause)),
        }
    }

    fn apply(&mut self, plan: &str) {
        match self.start_job(plan) {
            Ok(job) => {
                let kind = kind(job.id(), plan);
                self.job = Some(job);
                self.update(Event::WorkStarted { kind, at: now() });
            }
            Err(cause) => self.update(Event::ApplyFailed(cause)),
        }
    }

    fn start_job(&self, plan: &str) -> Result<WatchedJob, String> {
        if let Some(why) = self.context.forbidden() {
            return Err(why);
        }
        let look = self.look.as_ref().ok_or("no broker is open")?;
        let state_dir = self
            .context
            .state_dir()
            .map_err(|error| error.to_string())?;
        let state_dir = absolute(&state_dir.value);
        let threads = self.context.settings.threads.as_ref();
        let spec = JobSpec {
            plan: plan.to_owned(),
            also_locked: look.log_dirs.clone(),
            started_at: now(),
            who: self.context.who(),
            confirmed: Confirmed::Typed,
            threads: threads.map(|threads| threads.value.get()),
            undoes: None,
        };
        let handle = start_job(&state_dir, &spec).map_err(|error| error.sentence())?;
        Ok(WatchedJob::new(handle))
    }

    fn save_screen(&mut self) {
        let text = to_text(&self.drawn);
        let place = self.screen_file();
        let written = place.as_ref().map(|path| std::fs::write(path, text));
        match (place, written) {
            (Some(path), Some(Ok(()))) => {
                self.tell(Level::Note, format!("saved as {}", path.display()));
            }
            (Some(path), Some(Err(error))) => {
                self.tell(
                    Level::Warn,
                    format!("not saved: {}: {error}", path.display()),
                );
            }
            _ => self.tell(
                Level::Warn,
                "not saved: there is no state dir that can be written".to_owned(),
            ),
        }
    }

    /// Returns a new file's name in the state dir; never one in a log dir.
    fn screen_file(&self) -> Option<PathBuf> {
        let dir = &self.context.settings.state_dir.as_ref()?.value;
        let dir = dir.join("screens");
        std::fs::create_dir_all(&dir).ok()?;
        let time: String = now()
            .rfc3339()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        Some(dir.join(format!("{time}.txt")))
    }
}

fn absolute(path: &std::path::Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
