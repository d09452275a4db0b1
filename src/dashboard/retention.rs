//! Reads what retention depends on, beside the screen.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use super::live::with_cluster;
use super::look::{News, now, tell_event};
use crate::app::Event;
use crate::app::state::RetentionFacts;
use crate::cli::target::{HostLogs, Presence, read_living_logs};
use crate::cli::{CliError, Context, LivingLogs, Look};

/// Reads all logs of a broker in a thread of its own.
pub(super) fn read_retention(
    context: &Arc<Context>,
    look: &Arc<Look>,
    news: &UnboundedSender<News>,
) {
    let (context, look, listener) = (Arc::clone(context), Arc::clone(look), news.clone());
    tell_event(news, move || {
        let is_wanted = || !listener.is_closed();
        let (living, silence) = match &look.presence {
            Presence::Running { .. } => match ask(&context, &look) {
                Ok(living) => (Some(living), None),
                Err(error) => (None, Some(error.in_one_line())),
            },
            Presence::Down | Presence::Unknown { .. } => (None, None),
        };
        let read = read_living_logs(&context, &look, (None, living.as_ref()), &is_wanted);
        Event::Retention(
            read.map(|mut read| {
                read.sources.silence = silence;
                Arc::new(facts(&context, read))
            })
            .map_err(|error| error.to_string()),
        )
    });
}

/// Asks the brokers what no file of a running broker says as freshly.
fn ask(context: &Context, look: &Look) -> Result<LivingLogs, CliError> {
    with_cluster(context, Some(look.candidate.clone()), async |live| {
        LivingLogs::ask_by(live, look).await
    })
}

fn facts(context: &Context, read: HostLogs) -> RetentionFacts {
    let at = now();
    let mut host = read.host;
    // The clock of a screen that stands for hours is not that of its start.
    if !context.now_given {
        host.now = at;
    }
    let of_logs = host.logs.iter().flat_map(|log| {
        let named = move |finding: &crate::log::Finding| {
            format!("{}: {}", log.facts.dir_name, finding.text)
        };
        log.facts.findings.iter().map(named)
    });
    let notes = read.findings.iter().map(|(dir, finding)| match dir {
        Some(dir) => format!("{}: {}", dir.display(), finding.text),
        None => finding.text.clone(),
    });
    RetentionFacts {
        notes: notes.chain(of_logs).collect(),
        host,
        settings_source: read.settings_source,
        settings: read.settings,
        sources: read.sources,
        at,
    }
}
