//! What the logs of a host that is down end at, and its part in the quorum: what many hosts' lines are compared by.

use crate::cli::look::Look;
use crate::cli::target::Presence;
use crate::disk::RealStorage;
use crate::engine::read_follower_logs;
use crate::format::quorum_state::QuorumState;
use crate::plan::preflight::{BootFacts, SmallFile};
use crate::plan::{HeldEnd, HostVote};
use crate::terms::LeaderEpoch;

/// Returns the ends of this host's logs; `None` while a broker may write to them. Of each log the batch headers behind its
/// last index entry are read.
pub(super) fn ends(look: &Look, facts: &BootFacts) -> Option<Vec<HeldEnd>> {
    if look.presence != Presence::Down {
        return None;
    }
    let image = facts.image.as_ref();
    let logs = read_follower_logs(&RealStorage, &look.log_dirs).into_iter();
    let end = logs.map(|(partition, held)| HeldEnd {
        isr: image
            .and_then(|image| image.partition(&partition))
            .map(|known| known.isr.clone()),
        topic: partition.topic,
        partition: partition.partition,
        dir: held.log_dir.display().to_string(),
        leader_epoch: held.log.epochs.latest().unwrap_or(LeaderEpoch(-1)),
        log_end_offset: held.log.log_end,
        recovered_first: held.is_recovered,
    });
    Some(end.collect())
}

/// Returns this host's part in the quorum of controllers; `None` while its broker runs, or without a metadata log.
pub(super) fn vote(look: &Look, facts: &BootFacts) -> Option<HostVote> {
    if look.presence != Presence::Down {
        return None;
    }
    let image = facts.image.as_ref()?;
    let mut states = facts.dirs.iter().filter_map(|dir| match &dir.quorum_state {
        SmallFile::Bytes(bytes) => QuorumState::parse(bytes).ok(),
        _ => None,
    });
    let state = states.next();
    let in_state = state.as_ref().map(|state| state.current_voters.clone());
    let in_file = || {
        let text = look
            .candidate
            .broker
            .properties
            .get("controller.quorum.voters")?;
        let id = |voter: &str| voter.split_once('@')?.0.trim().parse().ok();
        text.split(',').map(id).collect::<Option<Vec<i32>>>()
    };
    let known = |voters: Option<Vec<i32>>, source: &'static str| {
        let voters = voters.filter(|voters| !voters.is_empty())?;
        Some((voters, source))
    };
    // Once voters can change they are in the log, and no longer in the node's vote.
    let (mut voters, source) = known(Some(image.voters.clone()), "the metadata log")
        .or_else(|| known(in_state, "quorum-state"))
        .or_else(|| known(in_file(), "controller.quorum.voters"))
        .unwrap_or_default();
    voters.sort_unstable();
    Some(HostVote {
        voters,
        voters_source: source.to_owned(),
        quorum_epoch: state.map_or(LeaderEpoch(-1), |state| state.leader_epoch),
        log_epoch: image.epoch,
        log_end_offset: image.next_offset,
    })
}
