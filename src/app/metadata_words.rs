//! What a node's disk says of its cluster, in words.

use std::collections::BTreeMap;

use super::text;
use crate::cluster::NodeMetadata;

/// Returns what the disk says of the cluster: its age and features, who votes and leads, what it was formatted with.
pub fn lines(of: &NodeMetadata) -> Vec<String> {
    let mut lines = vec![match of.as_of {
        Some((offset, at)) => format!(
            "as of offset {} ({}) · {}",
            text::offset(offset),
            at.rfc3339(),
            features(&of.features)
        ),
        None => "the metadata log was not read beside a living broker".to_owned(),
    }];
    let vote = match &of.quorum {
        None => "no quorum-state".to_owned(),
        Some(Err(cause)) => format!("? {cause}"),
        Some(Ok(state)) => {
            let leader = match state.leader_id {
                -1 => "no leader known".to_owned(),
                id => format!("leader {id}"),
            };
            let voted = match state.voted_id {
                -1 => String::new(),
                id => format!(", voted for {id}"),
            };
            format!("{leader} in epoch {}{voted}", state.leader_epoch)
        }
    };
    let voters = of.voters.as_ref().map_or_else(
        || "voters ?".to_owned(),
        |(ids, source)| {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            format!("voters {} ({})", ids.join(", "), source.words())
        },
    );
    lines.push(format!("quorum: {vote} · {voters}"));
    lines.push(match &of.bootstrap {
        None => "formatted with ? (no bootstrap.checkpoint)".to_owned(),
        Some(bootstrap) => match &bootstrap.features {
            Ok(levels) => format!("formatted with {} ({})", features(levels), bootstrap.file),
            Err(error) => format!("formatted with ? ({}: {error})", bootstrap.file),
        },
    });
    lines
}

/// Returns features and their levels, `metadata.version` first.
pub fn features(levels: &BTreeMap<String, i16>) -> String {
    const FIRST: &str = "metadata.version";
    let word = |(name, level): (&String, &i16)| format!("{name} {level}");
    let first = levels.iter().filter(|(name, _)| *name == FIRST).map(word);
    let rest = levels.iter().filter(|(name, _)| *name != FIRST).map(word);
    let words: Vec<String> = first.chain(rest).collect();
    if words.is_empty() {
        "no features".to_owned()
    } else {
        words.join(", ")
    }
}
