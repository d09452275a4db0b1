//! Looks at volumes and what fills them, beside the screen.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use super::look::{News, now, tell_event};
use crate::app::Event;
use crate::app::state::VolumesFacts;
use crate::cli::volumes_look::{self, FailureLog};
use crate::cli::{Context, Look};
use crate::disk::RealStorage;
use crate::engine::{SurveyEvent, log_files, survey};
use crate::plan::volumes::{DirProblem, UsedSample, VolumeFacts, VolumeReport};
use crate::terms::Timestamp;

/// The least time between two tellings of what was seen so far.
const EVERY: Duration = Duration::from_millis(150);

/// Looks at all volumes in a thread of its own, and tells what was seen as it goes.
pub(super) fn read_volumes(
    context: &Arc<Context>,
    look: &Arc<Look>,
    known: &Arc<Mutex<FailureLog>>,
    news: &UnboundedSender<News>,
) {
    let (context, look, news) = (Arc::clone(context), Arc::clone(look), news.clone());
    let known = Arc::clone(known);
    std::thread::spawn(move || {
        let at = if context.now_given {
            context.now
        } else {
            now()
        };
        let facts = {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            volumes_look::volumes_again(&look, &mut known)
        };
        let dirs = volumes_look::listable(&facts);
        let samples = volumes_look::samples(&context, &facts, at);
        let mut seen = Seen {
            facts,
            samples,
            at,
            done: 0,
            total: 0,
            told: Instant::now(),
        };
        seen.tell(&news);
        let stop = AtomicBool::new(false);
        survey(&RealStorage, &dirs, at, &stop, |event| {
            seen.take(&dirs, event);
            if seen.told.elapsed() >= EVERY {
                seen.tell(&news);
            }
            // Nobody listens once the screen is gone.
            if news.is_closed() {
                stop.store(true, Ordering::Relaxed);
            }
        });
        for facts in &mut seen.facts {
            facts.usage.is_whole = true;
        }
        seen.tell(&news);
    });
}

/// What was seen so far.
struct Seen {
    facts: Vec<VolumeFacts>,
    samples: Vec<UsedSample>,
    at: Timestamp,
    done: u64,
    total: u64,
    told: Instant,
}

impl Seen {
    fn take(&mut self, dirs: &[PathBuf], event: SurveyEvent) {
        let (number, event) = match event {
            SurveyEvent::Begun { dir, usage, logs } => {
                self.total += logs as u64;
                (dir, Some(Ok(usage)))
            }
            SurveyEvent::Failed { dir, cause } => (dir, Some(Err(cause))),
            SurveyEvent::Log { dir, usage } => {
                self.done += 1;
                if let Some(facts) = dirs.get(dir).and_then(|dir| self.of(dir)) {
                    facts.usage.logs.push(*usage);
                }
                (dir, None)
            }
        };
        let (Some(event), Some(dir)) = (event, dirs.get(number)) else {
            return;
        };
        let Some(facts) = self.of(dir) else { return };
        match event {
            Ok(usage) => facts.usage = usage,
            Err(cause) => facts.problems.push(DirProblem::Missing { cause }),
        }
    }

    fn of(&mut self, dir: &Path) -> Option<&mut VolumeFacts> {
        self.facts.iter_mut().find(|facts| facts.dir == dir)
    }

    fn tell(&mut self, news: &UnboundedSender<News>) {
        let begun = Instant::now();
        let report = VolumeReport::of(self.facts.clone(), &self.samples, self.at, 100);
        let facts = VolumesFacts {
            report,
            dirs_done: self.done,
            dirs_total: self.total,
            at: now(),
        };
        let _ = news.send(News::Event(Event::Volumes(Ok(Arc::new(facts)))));
        // What takes long to tell of is told less often.
        self.told = Instant::now() + begun.elapsed() * 4;
    }
}

/// Lists the files of a dir in a thread of its own.
pub(super) fn list_files(dir: PathBuf, name: String, news: &UnboundedSender<News>) {
    tell_event(news, move || {
        let files = log_files(&RealStorage, &dir, &name);
        Event::Files { dir, name, files }
    });
}
