//! The one way to a plan.

use super::{configs, cordon, kept_of, moves, quotas, records};
use crate::cli::live_apply::config_changes_of;
use crate::cli::{CliError, Context};
use crate::client::{Alter, Client, ClientError};
use crate::plan::{LiveAct, LiveLoss, LiveMirrors, LivePlan, LiveWish};

/// Makes the plan of a wish. What brokers would not take is refused here: they check a change of settings first.
///
/// # Errors
///
/// No broker answers; the wish cannot be met, with the reason.
pub async fn make_live_plan(
    context: &Context,
    client: &Client,
    wish: &LiveWish,
) -> Result<LivePlan, CliError> {
    let mut plan = match wish {
        LiveWish::Configs { topic, set, reset } => configs::set(client, topic, set, reset).await?,
        LiveWish::Restore { topic } => configs::restore(context, client, topic).await?,
        LiveWish::DeleteRecords { partition, to } => records::plan(client, partition, *to).await?,
        LiveWish::Move {
            partition,
            broker,
            to,
        } => moves::plan(client, partition, *broker, to.as_deref()).await?,
        LiveWish::Quota { client_id, cap } => {
            quotas::plan(context, client, client_id.as_deref(), *cap).await?
        }
        LiveWish::Cordon { broker, dir, on } => cordon::plan(client, *broker, dir, *on).await?,
    };
    if let Some(topic) = plan.topic().map(str::to_owned) {
        let id = topic_id(client, &topic).await?;
        // The old values are those of a topic that is gone where another id stands beside them.
        let kept = kept_of(context, &topic).into_iter();
        let mut kept = kept.filter(|kept| Some(&kept.hash) == plan.restores.as_ref());
        plan.made_anew = kept.any(|kept| is_another(&kept.plan, id.as_ref()));
        plan.topic_id = id;
    }
    if let Some((resource, changes)) = config_changes_of(&plan.act) {
        let checked = client
            .alter_configs(&resource, &changes, Alter::Validate)
            .await;
        checked.map_err(|error| match error {
            ClientError::Refused { .. } => CliError::refused(error.in_one_line())
                .hint("The broker does not take this change; nothing was changed."),
            other => other.into(),
        })?;
    }
    Ok(plan)
}

/// Returns a topic's id; `None` where brokers do not tell it.
pub(in crate::cli) async fn topic_id(
    client: &Client,
    topic: &str,
) -> Result<Option<String>, ClientError> {
    let metadata = client.metadata(Some(&[topic.to_owned()])).await?;
    Ok(metadata.topic_ids.get(topic).map(ToString::to_string))
}

/// Says whether the topic of this id is not the one that a plan was made for, though it has its name.
pub(in crate::cli) fn is_another(plan: &LivePlan, id: Option<&String>) -> bool {
    plan.topic_id
        .as_ref()
        .zip(id)
        .is_some_and(|(then, now)| then != now)
}

/// Returns a plan by which nothing goes.
pub(super) fn harmless(
    cluster_id: Option<String>,
    act: LiveAct,
    restores: Option<String>,
) -> LivePlan {
    LivePlan {
        schema: 1,
        topic_id: None,
        made_anew: false,
        cluster_id,
        act,
        restores,
        loss: LiveLoss {
            bytes: Some(0),
            records: Some(0),
        },
        groups: Vec::new(),
        groups_unasked: Vec::new(),
        notes: Vec::new(),
        mirrors: LiveMirrors::default(),
    }
}
