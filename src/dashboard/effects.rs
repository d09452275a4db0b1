//! Carries out what the state wants done.

use std::path::PathBuf;

use crate::app::effect::{PlanRequest, Scope};
use crate::app::recording::Fact;
use crate::app::state::WorkKind;
use crate::app::{Effect, Event, Level};
use crate::cli::Recorder;
use crate::cli::command::read_mirror;
use crate::engine::{Confirmed, JobSpec, start_job};
use crate::tui::to_text;

use super::bytes::read_bytes;
use super::cleanup::{clean_up, offer};
use super::cluster::ClusterWatch;
use super::live::{apply_live, list_in_force, plan_live};
use super::log_view;
use super::look::{Purpose, at_present, look_at, now, tell_event};
use super::preflight::preflight;
use super::retention::read_retention;
use super::run::Dashboard;
use super::undo::{list_kept, plan_to_undo};
use super::volumes::{list_files, read_volumes};
use super::work::{RunningScan, WatchedJob, kind, mend};

impl Dashboard {
    /// Does one thing; what comes of it returns as news or as an event.
    pub(super) fn carry_out(&mut self, effect: Effect) {
        if self.replay.is_some() && !is_of_the_screen(&effect) {
            return;
        }
        match effect {
            Effect::OpenBroker(index) => {
                self.chosen = index;
                self.look(Purpose::First);
                list_in_force(&self.context, &self.news);
            }
            Effect::List => self.look(Purpose::Again),
            Effect::ReadRetention => self.read_retention(),
            Effect::ReadVolumes => self.read_volumes(),
            Effect::ListFiles { dir, name } => list_files(dir, name, &self.news),
            Effect::OfferFree { dir, target } => self.offer_free(dir, target),
            Effect::Plan(request) => self.plan(request),
            Effect::Preflight => match self.candidates.get(self.chosen).cloned() {
                Some(candidate) => {
                    let kind = WorkKind::Preflight;
                    self.update(Event::WorkStarted { kind, at: now() });
                    self.preflight = preflight(&self.context, candidate, &self.news);
                }
                None => self.tell(Level::Warn, "no broker is open".to_owned()),
            },
            Effect::ListKept => list_kept(&self.context, &self.news),
            Effect::CancelPlan => {
                if let Some(scan) = &self.scan {
                    scan.cancel();
                }
                self.preflight.stop();
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
                tell_event(&self.news, move || {
                    let view = read_bytes(file, position);
                    Event::Bytes { log, view }
                });
            }
            Effect::WatchCluster(looks) => self.watch_cluster(looks),
            Effect::AskCluster => {
                if let Some(cluster) = &self.cluster {
                    cluster.at_once();
                }
            }
            Effect::PlanLive(wish) => {
                let candidate = self.candidates.get(self.chosen).cloned();
                plan_live(&self.context, candidate, wish, &self.news);
            }
            Effect::ApplyLive { hash } => {
                let candidate = self.candidates.get(self.chosen).cloned();
                apply_live(&self.context, candidate, hash, &self.news);
            }
            Effect::ReadMirror => self.read_mirror(),
            Effect::SaveScreen => self.save_screen(),
            Effect::Record { file, known } => self.record(file, known),
            Effect::DrainInput => self.wishes.drain = true,
            Effect::Log {
                target,
                level,
                text,
            } => log_view::log(target, level, &text),
            Effect::Quit => self.wishes.quit = true,
        }
    }

    /// Asks the cluster while somebody looks.
    fn watch_cluster(&mut self, looks: bool) {
        let candidate = self.candidates.get(self.chosen).cloned();
        let start = || ClusterWatch::start(&self.context, candidate, &self.news);
        self.cluster.get_or_insert_with(start).set(looks);
    }

    /// Reads what was named of MirrorMaker 2, else this broker's log dirs, in a thread.
    fn read_mirror(&self) {
        let dirs = self.look.as_ref().map(|look| look.log_dirs.clone());
        let context = at_present(&self.context);
        tell_event(&self.news, move || {
            let read = read_mirror(&context, dirs.as_deref().unwrap_or_default());
            let read = read.map_err(|error| error.to_string());
            Event::Mirror(read.map(std::sync::Arc::new))
        });
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

    /// Reads what retention depends on, in a thread.
    fn read_retention(&mut self) {
        let Some(look) = self.look.clone() else {
            let cause = "no broker is open".to_owned();
            return self.update(Event::Retention(Err(cause)));
        };
        read_retention(&self.context, &look, &self.news);
    }

    /// Looks at the volumes, in a thread.
    fn read_volumes(&mut self) {
        let Some(look) = self.look.clone() else {
            let cause = "no broker is open".to_owned();
            return self.update(Event::Volumes(Err(cause)));
        };
        read_volumes(&self.context, &look, &self.failures, &self.news);
    }

    /// Looks what can go, in a thread.
    fn offer_free(&mut self, dir: PathBuf, target: u64) {
        let Some(look) = self.look.clone() else {
            let cause = "no broker is open".to_owned();
            return self.update(Event::FreeOffer(Err(cause)));
        };
        offer(&self.context, &look, (dir, target), &self.news);
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
        if request.undoes.is_some() {
            return plan_to_undo(&self.context, &look, request, &self.news);
        }
        match &request.scope {
            Scope::Mends => return mend(&self.context, &look, request, &self.news),
            Scope::Cleanup(cleanup) => {
                let cleanup = cleanup.clone();
                return clean_up(&self.context, &look, (cleanup, request), &self.news);
            }
            Scope::All | Scope::Logs(_) => {}
        }
        match RunningScan::start(&self.context, &look, request) {
            Ok(scan) => {
                let kind = scan.kind();
                self.scan = Some(scan);
                self.update(Event::WorkStarted { kind, at: now() });
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
        let shown = self.state.world.plan.as_ref();
        let shown = shown.filter(|shown| shown.hash == plan);
        let spec = JobSpec {
            plan: plan.to_owned(),
            also_locked: look.guarded.clone(),
            started_at: now(),
            who: self.context.who(),
            confirmed: Confirmed::Typed,
            threads: threads.map(|threads| threads.value.get()),
            undoes: shown.and_then(|shown| shown.plan.undoes.clone()),
        };
        let handle = start_job(&state_dir, &spec).map_err(|error| error.sentence())?;
        Ok(WatchedJob::new(handle))
    }

    /// Begins a recording that starts with what is known, or ends the one that runs.
    pub(super) fn record(&mut self, file: Option<PathBuf>, known: Vec<Fact>) {
        if let Some(recorder) = self.recorder.take() {
            let text = format!("the recording {} has ended", recorder.path().display());
            return self.tell(Level::Note, text);
        }
        let Some(file) = file.or_else(|| self.state_file("recordings", "jsonl")) else {
            let text = "not recorded: there is no state dir that can be written; name a file";
            return self.tell(Level::Warn, text.to_owned());
        };
        let log_dirs = self.candidates.get(self.chosen);
        let log_dirs = log_dirs.map_or(Vec::new(), |broker| broker.broker.log_dirs.value.clone());
        match Recorder::create(&file, &self.context.host, now(), &log_dirs) {
            Ok(recorder) => {
                let text = format!(
                    "recording to {}; :record ends it",
                    recorder.path().display()
                );
                self.recorder = Some(recorder);
                for fact in known {
                    self.write_down(fact);
                }
                self.tell(Level::Note, text);
            }
            Err(error) => self.tell(Level::Warn, error.to_string()),
        }
    }

    /// Writes to the recording what an event says of the host.
    pub(super) fn take_down(&mut self, event: &Event) {
        if self.recorder.is_some()
            && let Some(fact) = Fact::of(event)
        {
            self.write_down(fact);
        }
    }

    fn write_down(&mut self, fact: Fact) {
        let written = self
            .recorder
            .as_mut()
            .map(|recorder| recorder.take(now(), fact));
        if let Some(Err(error)) = written {
            self.recorder = None;
            self.tell(Level::Error, format!("the recording ends here: {error}"));
        }
    }

    fn save_screen(&mut self) {
        let text = to_text(&self.drawn);
        let place = self.state_file("screens", "txt");
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
    fn state_file(&self, folder: &str, ending: &str) -> Option<PathBuf> {
        let dir = &self.context.settings.state_dir.as_ref()?.value;
        let dir = dir.join(folder);
        std::fs::create_dir_all(&dir).ok()?;
        let time: String = now()
            .rfc3339()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        Some(dir.join(format!("{time}.{ending}")))
    }
}

/// Says whether an effect concerns the screen alone, which a recording has too.
fn is_of_the_screen(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::SaveScreen | Effect::DrainInput | Effect::Log { .. } | Effect::Quit
    )
}

fn absolute(path: &std::path::Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
