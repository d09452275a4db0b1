//! Acts on the living cluster beside the screen: plans made, carried out, told.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use crate::app::state::{Freeing, KeptChange};
use crate::app::{Event, Level};
use crate::cli::target::Candidate;
use crate::cli::{
    BesideBroker, CliError, Context, FreedWatch, LiveApply, LiveClient, LivingLogs, Look, MoveEnd,
    kafka_options, live_client, make_live_plan,
};
use crate::engine::{Confirmed, LiveStore};
use crate::plan::{LivePlan, LiveWish, ReplicaSize};
use crate::terms::Timestamp;

use super::look::{News, at_present, tell_event};

/// How long from one look at what was freed to the next.
const PAUSE: Duration = Duration::from_secs(2);

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
        let asked = candidate.clone();
        let result = with_cluster(&context, asked, async |live| {
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
            let left = done.left.iter().map(|left| format!("left: {left}"));
            let lines: Vec<String> = done.lines.iter().cloned().chain(left).collect();
            Ok((hash, plan, lines, done))
        });
        let kept = News::Event(Event::InForce(kept_changes(&context)));
        let _ = listener.send(kept);
        let result = result.map(|(hash, plan, lines, done)| {
            let change = Change {
                hash,
                plan: Arc::new(plan),
                done: lines.clone(),
                since: done.at,
                before: done.before,
            };
            follow_freed(&context, candidate, change, &listener);
            lines
        });
        Event::LiveEnded {
            hash,
            result: result.map_err(|error| one_line(&error)),
        }
    });
}

/// A change that was made just now.
struct Change {
    hash: String,
    plan: Arc<LivePlan>,
    done: Vec<String>,
    since: Timestamp,
    before: Vec<ReplicaSize>,
}

/// Follows in a thread what a change frees, until it is over; then tells why the rest stays.
fn follow_freed(
    context: &Arc<Context>,
    candidate: Option<Candidate>,
    change: Change,
    news: &UnboundedSender<News>,
) {
    if change.before.is_empty() || change.plan.frees().is_none() {
        return;
    }
    let (context, news) = (Arc::clone(context), news.clone());
    std::thread::spawn(move || {
        let own = candidate.clone();
        let followed = with_cluster(&context, candidate, async |live| {
            let begun = (change.since, change.before.as_slice());
            let watch = FreedWatch::begin(&live.client, &change.plan, begun).await?;
            let Some(watch) = watch else { return Ok(()) };
            loop {
                let so_far = watch.look(&live.client).await;
                let stays = if so_far.is_over() {
                    Some(why_the_rest_stays(&context, live, (&watch, own.clone())).await)
                } else {
                    None
                };
                let is_over = stays.is_some();
                let told = Event::Freed(Box::new(Freeing {
                    hash: change.hash.clone(),
                    plan: Arc::clone(&change.plan),
                    done: change.done.clone(),
                    so_far,
                    stays,
                }));
                // Nobody listens once the screen is gone.
                if news.send(News::Event(told)).is_err() || is_over {
                    return Ok(());
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
        if let Err(error) = followed {
            let text = format!("what was freed is not known: {}", one_line(&error));
            let level = Level::Warn;
            let _ = news.send(News::Event(Event::Notice { level, text }));
        }
    });
}

/// Returns why segments stay, by what the brokers tell.
async fn why_the_rest_stays(
    context: &Context,
    live: &LiveClient,
    (watch, own): (&FreedWatch, Option<Candidate>),
) -> Vec<String> {
    let context = at_present(context);
    let look = own.and_then(|own| Look::of(&context, own, BesideBroker::StructureOnly).ok());
    let told = match &look {
        Some(look) => LivingLogs::ask_by(live, look).await.ok(),
        None => None,
    };
    let stays = watch.why_the_rest_stays(&context, (look.as_ref(), told.as_ref()));
    stays.unwrap_or_else(|error| vec![error.to_string()])
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

/// Runs `ask` with a client of the cluster, of the broker that is open.
pub(super) fn with_cluster<T>(
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
    let text = error.in_one_line();
    error
        .hints
        .iter()
        .fold(text, |text, hint| format!("{text} ({hint})"))
}
