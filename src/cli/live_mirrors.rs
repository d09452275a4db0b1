//! What a cut on a mirrored topic takes from its mirrors.

use super::clock;
use super::live_loss::Cuts;
use crate::client::{Client, ClientError};
use crate::mirror::{
    ClusterFacts, CopiedTo, copied_to, hidden_mirrors, may_be_mirrored, unread_syncs,
};
use crate::observe::mirror::read_copied;
use crate::plan::{LiveMirrors, MirrorBelow};

/// Returns the mirrors that are not known to have copied all that `cuts` let go of `topic`, those of whose syncs nothing lies
/// on this cluster too; `None` where it is not known what goes.
///
/// # Errors
///
/// No broker answers.
pub(super) async fn mirrors_below(
    client: &Client,
    topic: &str,
    cuts: Option<&Cuts>,
) -> Result<LiveMirrors, ClientError> {
    if cuts.is_some_and(|cuts| cuts.values().all(|(start, cut)| cut <= start)) {
        return Ok(LiveMirrors::default());
    }
    let facts = read_copied(client, clock::now()).await?;
    let mirrors: Vec<CopiedTo> = copied_to(&facts)
        .into_iter()
        .filter(|mirror| mirror.partitions.contains_key(topic))
        .collect();
    let mut unread = unread(&facts, topic);
    let Some(cuts) = cuts else {
        unread.extend(mirrors.iter().map(|mirror| {
            let mirror = &mirror.mirror;
            format!(
                "{mirror} copies {topic}; whether it has all that goes is as unknown as what goes"
            )
        }));
        return Ok(LiveMirrors {
            below: Vec::new(),
            unread,
        });
    };
    let mut below = Vec::new();
    for mirror in &mirrors {
        for (partition, (start, cut)) in cuts {
            let copied = mirror.copied(partition).flatten();
            let first = copied.map_or(*start, |copied| copied.plus(1).max(*start));
            let uncopied = u64::try_from(cut.0 - first.0).unwrap_or(0);
            if uncopied > 0 {
                below.push(MirrorBelow {
                    mirror: mirror.mirror.clone(),
                    partition: partition.clone(),
                    copied,
                    uncopied,
                    last_sync: mirror.last_sync,
                });
            }
        }
    }
    below.sort();
    Ok(LiveMirrors { below, unread })
}

/// Says which mirrors may copy `topic` and what of their syncs could not be read, or lies elsewhere.
fn unread(facts: &ClusterFacts, topic: &str) -> Vec<String> {
    if !may_be_mirrored(topic) {
        return Vec::new();
    }
    let missing = unread_syncs(facts).into_iter();
    let missing =
        missing.map(|it| format!("{}-{} has no leader that tells", it.topic, it.partition));
    let findings = facts.findings.iter();
    let findings = findings.map(|it| format!("{}: {}", it.place, it.text));
    let hidden = hidden_mirrors(facts).into_iter();
    let hidden = hidden
        .filter(|it| it.may_copy(topic))
        .map(|it| format!("whether {} has all of it: {it}", it.mirror));
    findings.chain(missing).chain(hidden).collect()
}
