//! Acts on the living cluster beside the screen: plans made, carried out, told.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use crate::app::Event;
use crate::app::state::KeptChange;
use crate::cli::target::Candidate;
use crate::cli::{
    CliError, Context, LiveApply, LiveClient, MoveEnd, kafka_options, live_client, make_live_plan,
};
use crate::engine::{Confirmed, LiveStore};
use crate::plan::{LivePlan, LiveWish};
use crate::terms::Timestamp;

use super::look::{News, tell_event};

/// Makes the plan of a wish in a thread, and keeps it.
pub(super) fn plan_live(
    context: &Arc<Context>,
    candidate: Option<Candidate>,
    wish: LiveWish,
    news: &UnboundedSender<News>,
) {
    let context = Arc::clone(context);
    tell_event(news, move || {
        let made = with_cluster(&context, candidate, async |live| {
            let plan = make_live_plan(&context, &live.client, &wish).await?;
            let hash = match context.forbidden() {
                None => LiveStore::new(&context.state_dir()?.value).keep(&plan)?,
                Some(_) => plan.hash(),
            };
            let line = kafka_line(&context, live, &plan);
            Ok((plan, hash, line))
        });
        match made {
            Ok((plan, hash, line)) => Event::LivePlanned {
                plan: Arc::new(plan),
                hash,
                line,
            },
            Err(error) => Event::LivePlanFailed(one_line(&error)),
        }
    });
}

/// Carries out the plan with this hash in a thread; then tells what waits for its old values.
pub(super) fn apply_live(
    context: &Arc<Context>,
    candidate: Option<Candidate>,
    hash: String,
    news: &UnboundedSender<News>,
) {
    let context = Arc::clone(context);
    let listener = news.clone();
    tell_event(news, move || {
        let result = with_cluster(&context, candidate, async |live| {
            let (hash, plan) = LiveStore::new(&context.state_dir()?.value).find(&hash)?;
            let apply = LiveApply {
                context: &context,
                client: &live.client,
                hash: &hash,
                plan: &plan,
                confirmed: Confirmed::Typed,
                words: "(on screen)",
                line: &kafka_line(&context, live, &plan),
            };
            let done = apply.run(MoveEnd::LeaveRunning).await?;
            let left = done.left.into_iter().map(|left| format!("left: {left}"));
            Ok(done.lines.into_iter().chain(left).collect())
        });
        let kept = News::Event(Event::InForce(kept_changes(&context)));
        let _ = listener.send(kept);
        Event::LiveEnded {
            hash,
            result: result.map_err(|error| one_line(&error)),
        }
    });
}

/// Tells, from a thread, what waits for its old values.
pub(super) fn list_in_force(context: &Arc<Context>, news: &UnboundedSender<News>) {
    let context = Arc::clone(context);
    tell_event(news, move || Event::InForce(kept_changes(&context)));
}

fn kept_changes(context: &Context) -> Vec<KeptChange> {
    let Some(dir) = &context.settings.state_dir else {
        return Vec::new();
    };
    let kept = LiveStore::new(&dir.value).in_force().into_iter();
    kept.map(|kept| KeptChange {
        plan: kept.plan,
        since: Timestamp(kept.since),
    })
    .collect()
}

fn with_cluster<T>(
    context: &Context,
    candidate: Option<Candidate>,
    ask: impl AsyncFnOnce(&LiveClient) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let none = || CliError::usage("no broker is open");
    let live = live_client(context, candidate.ok_or_else(none))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed("cannot start the client").because(&error))?;
    runtime.block_on(ask(&live))
}

fn kafka_line(context: &Context, live: &LiveClient, plan: &LivePlan) -> String {
    let list = live.client.config().bootstrap.iter();
    let list: Vec<_> = list.map(ToString::to_string).collect();
    plan.kafka_line(&kafka_options(context, &list.join(",")))
}

/// Returns an error with its causes and hints in one line.
fn one_line(error: &CliError) -> String {
    let parts = std::iter::once(error.message.clone()).chain(error.causes.iter().cloned());
    let text = parts.collect::<Vec<_>>().join(": ");
    error
        .hints
        .iter()
        .fold(text, |text, hint| format!("{text} ({hint})"))
}
