//! `mirror failover --apply`: the positions are set on the living target, for groups that have no members.

use std::io::Write;

use super::live::connect;
use super::sources::Known;
use crate::cli::args::{ClusterAt, FailoverArgs, MirrorSources};
use crate::cli::live::Live;
use crate::cli::live_act::LiveRun;
use crate::cli::{CliError, Context, Exit};
use crate::engine::LiveStore;
use crate::mirror::{ClusterFacts, FailoverPosition, Flow};
use crate::plan::{
    GroupPosition, GroupPositions, KeptCommit, LiveAct, LiveLoss, LiveMirrors, LivePlan,
};
use crate::terms::TopicPartition;

/// Shows the plan of setting `positions` on the living target of `flow`, and carries it out if it is confirmed; `None` if
/// there is nothing to set.
pub(super) fn set(
    context: &Context,
    (args, sources, json): (&FailoverArgs, &MirrorSources, bool),
    (known, flow): (&Known, &Flow),
    positions: &[FailoverPosition],
    out: &mut dyn Write,
) -> Result<Option<Exit>, CliError> {
    let (live, address) = target(context, sources, known, flow)?;
    let mut run = LiveRun {
        context,
        live: &live,
        answers: &args.answers,
        json,
        words: words(args, sources),
        out,
        carried: None,
    };
    if let Some(exit) = run.stored()? {
        return Ok(Some(exit));
    }
    let facts = known.facts.clusters.get(&flow.name.target);
    let cluster_id = facts.and_then(|facts| facts.cluster_id.clone());
    let (changes, restores) = if args.restore {
        let (act, hash) = kept(context, flow, cluster_id.as_ref())?;
        (act.changes, Some(hash))
    } else {
        (changes(facts, positions), None)
    };
    if changes.is_empty() {
        if !json {
            writeln!(run.out, "every position that can be set is there already")?;
        }
        return Ok(None);
    }
    let act = LiveAct::GroupPositions(GroupPositions {
        flow: flow.name.to_string(),
        target: format!("{}={address}", flow.name.target),
        changes,
    });
    let plan = LivePlan {
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
        groups: vec![],
        groups_unasked: vec![],
        notes: vec![],
        mirrors: LiveMirrors::default(),
    };
    run.show(&plan).map(Some)
}

/// Returns the living target of a flow.
fn target(
    context: &Context,
    sources: &MirrorSources,
    known: &Known,
    flow: &Flow,
) -> Result<(Live, String), CliError> {
    let alias = &flow.name.target;
    if let Some(cause) = known.facts.unreached.get(alias) {
        return Err(CliError::failed(format!(
            "{alias} does not answer: {cause}"
        )));
    }
    let mut places = sources.cluster.iter().filter(|it| it.alias == *alias);
    let address = places.find_map(|place| match &place.at {
        ClusterAt::Live(address) => Some(address.clone()),
        ClusterAt::LogDirs(_) => None,
    });
    let address = address.ok_or_else(|| {
        CliError::usage(format!("positions are set on the living {alias}"))
            .hint(format!("Name a broker of it: --cluster {alias}=HOST:PORT."))
    })?;
    let live = connect(context, (alias, &address), known.settings.as_ref())?;
    Ok((live, address))
}

/// Returns the positions that are another than what the groups have there, of groups that may be set.
fn changes(target: Option<&ClusterFacts>, positions: &[FailoverPosition]) -> Vec<GroupPosition> {
    let groups = target.and_then(ClusterFacts::groups).unwrap_or_default();
    let mut changes: Vec<GroupPosition> = positions
        .iter()
        .filter(|it| it.can_be_set())
        .filter_map(|it| {
            let group = groups.get(it.group.as_str());
            let commits = group.and_then(|group| group.commits.get(&it.remote_topic));
            let before = commits.and_then(|commits| commits.get(&it.partition));
            let before = before.map(|commit| KeptCommit {
                offset: commit.offset,
                leader_epoch: commit.leader_epoch,
                metadata: commit.metadata.clone(),
            });
            let to = it.position?;
            if before.as_ref().is_some_and(|before| before.offset == to) {
                return None;
            }
            Some(GroupPosition {
                group: it.group.clone(),
                partition: TopicPartition::new(it.remote_topic.clone(), it.partition),
                to: KeptCommit {
                    offset: to,
                    leader_epoch: None,
                    metadata: String::new(),
                },
                before,
            })
        })
        .collect();
    changes.sort();
    changes
}

/// Returns what puts back what krescue set last in this flow, and the hash of that plan.
fn kept(
    context: &Context,
    flow: &Flow,
    cluster_id: Option<&String>,
) -> Result<(GroupPositions, String), CliError> {
    let dir = context.state_dir()?;
    let in_force = LiveStore::new(&dir.value).in_force();
    let flow = flow.name.to_string();
    let of_flow = |act: &LiveAct| matches!(act, LiveAct::GroupPositions(it) if it.flow == flow);
    let last = in_force
        .iter()
        .rfind(|kept| kept.plan.cluster_id.as_ref() == cluster_id && of_flow(&kept.plan.act));
    let found = last.and_then(|last| match last.plan.inverse()? {
        LiveAct::GroupPositions(act) => Some((act, last.hash.clone())),
        _ => None,
    });
    found.ok_or_else(|| {
        CliError::refused(format!("no old position of {flow} is kept here")).hint(
            "krescue keeps what it changed itself, in the state dir of the host where it did.",
        )
    })
}

/// Returns the words that make the plan again.
fn words(args: &FailoverArgs, sources: &MirrorSources) -> String {
    let mut words = vec![format!("mirror failover '{}'", args.flow)];
    words.extend(args.group.iter().map(|group| format!("--group '{group}'")));
    words.push(if args.restore { "--restore" } else { "--set" }.to_owned());
    words.extend(sources.words());
    words.join(" ")
}
