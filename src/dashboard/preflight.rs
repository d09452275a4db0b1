//! Looks what stands in the way of a boot, in a thread of its own that tells how far it is.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use crate::app::Event;
use crate::cli::boot_facts::{Ports, boot_facts_counted, boot_problems};
use crate::cli::target::{Candidate, Presence};
use crate::cli::{BesideBroker, Context, Look};
use crate::engine::{BootDirsRead, DirProgress, Progress};
use crate::log::Severity;
use crate::plan::preflight::{BootFacts, Problem};

use super::listing::add_problems;
use super::look::{News, list, now};

/// How often it is told how far it is.
const TICK: Duration = Duration::from_millis(200);

/// Starts to look, over a running broker at its next boot; what is returned says how far it is, and can stop it.
pub(super) fn preflight(
    context: &Arc<Context>,
    candidate: Candidate,
    news: &UnboundedSender<News>,
) -> Arc<BootDirsRead> {
    let read = Arc::new(BootDirsRead::default());
    let preflight = Preflight {
        context: Arc::clone(context),
        news: news.clone(),
        read: Arc::clone(&read),
    };
    std::thread::spawn(move || preflight.run(candidate));
    read
}

struct Preflight {
    context: Arc<Context>,
    news: UnboundedSender<News>,
    read: Arc<BootDirsRead>,
}

impl Preflight {
    fn run(&self, candidate: Candidate) {
        let beside = BesideBroker::StructureOnly;
        let look = match Look::whatever_is_there(&self.context, candidate, beside) {
            Ok(look) => look,
            Err(error) => return self.tell(Event::PlanFailed(error.to_string())),
        };
        let facts = self.facts(&look);
        if self.read.is_stopped() {
            return self.tell(Event::PlanCancelled);
        }
        let problems = boot_problems(&look, &facts);
        match list(&self.context, &look) {
            Ok(mut listed) => {
                add_problems(&mut listed, &problems);
                self.tell(Event::Listed(listed));
            }
            Err(error) => self.tell(Event::ListFailed(error.sentence())),
        }
        let count = |severity| {
            let is_of_it = |problem: &&Problem| problem.finding.severity == severity;
            problems.iter().filter(is_of_it).count() as u64
        };
        self.tell(Event::Preflight(
            [Severity::Fatal, Severity::Loss, Severity::Warning].map(count),
        ));
    }

    /// Gathers what the rules look at, and tells meanwhile how far it is.
    fn facts(&self, look: &Look) -> BootFacts {
        let ports = match look.presence {
            Presence::Down => Ports::Try,
            _ => Ports::Leave,
        };
        std::thread::scope(|scope| {
            let gathering =
                scope.spawn(|| boot_facts_counted(&self.context, look, ports, &self.read));
            while !gathering.is_finished() {
                self.tell_progress();
                std::thread::sleep(TICK);
            }
            self.tell_progress();
            match gathering.join() {
                Ok(facts) => facts,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    fn tell_progress(&self) {
        let (logs_done, logs_total) = self.read.logs();
        let all = DirProgress {
            logs_done,
            logs_total,
            ..DirProgress::default()
        };
        self.tell(Event::Progress {
            progress: Progress {
                dirs: vec![all],
                ..Progress::default()
            },
            at: now(),
        });
    }

    /// Nobody listens once the screen is gone.
    fn tell(&self, event: Event) {
        let _ = self.news.send(News::Event(event));
    }
}
