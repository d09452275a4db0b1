//! Settings of a topic: set, taken away, put back.

use std::collections::BTreeMap;

use crate::cli::live_facts::{key_change, topic_values};
use crate::cli::live_groups_below::groups_below;
use crate::cli::live_loss::loss_of;
use crate::cli::live_mirrors::mirrors_below;
use crate::cli::{CliError, Context, clock};
use crate::client::{Client, ConfigEntry};
use crate::engine::{InForce, LiveStore};
use crate::plan::{KeyChange, LiveAct, LivePlan};

/// Plans to set and to take away keys.
pub(super) async fn set(
    client: &Client,
    topic: &str,
    set: &[(String, String)],
    reset: &[String],
) -> Result<LivePlan, CliError> {
    let values = topic_values(client, topic).await?;
    let set = set
        .iter()
        .map(|(key, value)| key_change(&values, key, Some(value.clone())));
    let reset = reset.iter().map(|key| key_change(&values, key, None));
    plan(client, topic, (&values, set.chain(reset).collect()), None).await
}

/// Plans to put back what krescue changed last.
pub(super) async fn restore(
    context: &Context,
    client: &Client,
    topic: &str,
) -> Result<LivePlan, CliError> {
    let kept = kept_of(context, topic);
    let cluster_id = client.metadata(Some(&[])).await?.cluster_id;
    // The newest first: what it had changed is what is in force.
    let last = kept.iter().rfind(|kept| kept.plan.cluster_id == cluster_id);
    let last = last.ok_or_else(|| {
        CliError::refused(format!("no old value of topic {topic} is kept here")).hint(
            "krescue keeps what it changed itself, in the state dir of the host where it did.",
        )
    })?;
    let Some(LiveAct::TopicConfigs { changes, .. }) = last.plan.inverse() else {
        return Err(CliError::failed("the kept plan has no inverse"));
    };
    let values = topic_values(client, topic).await?;
    let changes = changes
        .into_iter()
        .map(|change| key_change(&values, &change.key, change.value));
    let hash = Some(last.hash.clone());
    plan(client, topic, (&values, changes.collect()), hash).await
}

async fn plan(
    client: &Client,
    topic: &str,
    (values, changes): (&BTreeMap<String, ConfigEntry>, Vec<KeyChange>),
    restores: Option<String>,
) -> Result<LivePlan, CliError> {
    let metadata = client.metadata(Some(&[topic.to_owned()])).await?;
    twice(&changes)?;
    let lost = loss_of(client, &metadata, (values, &changes), clock::now()).await?;
    let mirrors = mirrors_below(client, topic, lost.cuts.as_ref()).await?;
    let groups = groups_below(client, lost.cuts.as_ref()).await?;
    Ok(LivePlan {
        schema: 1,
        topic_id: None,
        made_anew: false,
        cluster_id: metadata.cluster_id,
        act: LiveAct::TopicConfigs {
            topic: topic.to_owned(),
            changes,
        },
        restores,
        loss: lost.amount,
        groups: groups.below,
        groups_unasked: groups.unasked,
        notes: lost.notes,
        mirrors,
    })
}

/// Returns the changes of a topic whose old values are kept, oldest first.
pub(in crate::cli) fn kept_of(context: &Context, topic: &str) -> Vec<InForce> {
    let Some(dir) = &context.settings.state_dir else {
        return Vec::new();
    };
    let mut kept = LiveStore::new(&dir.value).in_force();
    kept.retain(
        |kept| matches!(&kept.plan.act, LiveAct::TopicConfigs { topic: of, .. } if of == topic),
    );
    kept
}

fn twice(changes: &[KeyChange]) -> Result<(), CliError> {
    let mut seen = std::collections::BTreeSet::new();
    match changes.iter().find(|change| !seen.insert(&change.key)) {
        Some(change) => Err(CliError::usage(format!("{} is named twice", change.key))),
        None => Ok(()),
    }
}
