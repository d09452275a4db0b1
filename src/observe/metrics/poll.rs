//! Asks a broker's agents again and again, beside whoever wants to know.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::agent::{AgentKind, MetricsAgent};
use super::sample::BootMetrics;
use super::{http, jolokia, prometheus};

/// The time between an answer and the next question: a scrape may cost a busy broker a second.
const PAUSE: Duration = Duration::from_secs(5);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// What an agent said last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsAnswer {
    /// Its number, from 1: another one is a new answer.
    pub number: u64,
    /// What it said, or why it said nothing, a clause.
    pub said: Result<BootMetrics, String>,
}

/// A thread that asks; it ends with the value.
#[derive(Debug)]
pub struct MetricsPoll {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<Polled>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Polled {
    answer: Option<MetricsAnswer>,
    stop: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Polled> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MetricsPoll {
    /// Begins to ask `agents`, the first that answers each time; `None` if there are none.
    pub fn start(agents: Vec<MetricsAgent>) -> Option<Self> {
        if agents.is_empty() {
            return None;
        }
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        std::thread::spawn(move || run(&agents, &of_thread));
        Some(Self { shared })
    }

    /// Returns what was said last; `None` before the first answer.
    pub fn answer(&self) -> Option<MetricsAnswer> {
        self.shared.lock().answer.clone()
    }
}

impl Drop for MetricsPoll {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_all();
    }
}

fn run(agents: &[MetricsAgent], shared: &Shared) {
    let mut number = 0;
    loop {
        let said = ask(agents);
        number += 1;
        let mut state = shared.lock();
        state.answer = Some(MetricsAnswer { number, said });
        let waited = shared
            .changed
            .wait_timeout_while(state, PAUSE, |state| !state.stop);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.stop {
            return;
        }
    }
}

/// Returns what the first agent that answers says; why the first did not, if none does.
fn ask(agents: &[MetricsAgent]) -> Result<BootMetrics, String> {
    let mut trouble = None;
    for agent in agents {
        match ask_one(agent) {
            Ok(said) => return Ok(said),
            Err(why) => trouble = trouble.or(Some(why)),
        }
    }
    Err(trouble.unwrap_or_else(|| "there is no agent".to_owned()))
}

fn ask_one(agent: &MetricsAgent) -> Result<BootMetrics, String> {
    match agent.kind {
        AgentKind::JmxExporter => {
            let text = http::get(agent, &agent.path, PATIENCE)?;
            Ok(prometheus::parse(&String::from_utf8_lossy(&text)))
        }
        AgentKind::Jolokia => {
            let path = format!("{}{}", agent.path, jolokia::REQUEST);
            jolokia::parse(&http::get(agent, &path, PATIENCE)?)
        }
    }
}
