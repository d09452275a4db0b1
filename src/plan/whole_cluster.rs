//! A cluster whose brokers are all down, by what each host says of its files: who has the newest log of each partition,
//! whether the controllers can elect one, and in which order brokers boot so that nobody leads who lacks records.
//!
//! The newest log is the one with the largest last leader epoch, and of these the longest: the order in which Raft's voters
//! judge a candidate (`KafkaRaftClient.handleVoteRequest`), and in which a replica's log survives a divergence.
//! A controller elects a partition's leader among the living members of its ISR without comparing logs: one that lost its
//! tail in a power cut and boots first makes the others cut theirs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::terms::{LeaderEpoch, Offset, TopicPartition};

/// How new a log is: its last leader epoch, then its end.
type LogAge = (LeaderEpoch, Offset);

/// What a host's files say of one of its logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldEnd {
    /// The topic.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// Its log dir.
    pub dir: String,
    /// The epoch of its last leader; −1 if it knows none.
    pub leader_epoch: LeaderEpoch,
    /// Its log end offset, exclusive, before a boot has read it again.
    pub log_end_offset: Offset,
    /// Whether a boot reads it again, and may find an earlier end.
    pub recovered_first: bool,
    /// Who is in sync, by this host's copy of the metadata; `None` if that is not known.
    pub isr: Option<Vec<i32>>,
}

impl HeldEnd {
    fn age(&self) -> LogAge {
        (self.leader_epoch, self.log_end_offset)
    }

    fn key(&self) -> TopicPartition {
        TopicPartition::new(&self.topic, self.partition)
    }
}

/// What a host's files say of its part in the quorum of controllers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostVote {
    /// The voters' ids; empty if nobody says.
    pub voters: Vec<i32>,
    /// Who says so.
    pub voters_source: String,
    /// The epoch of the quorum that the host has voted in last; −1 if it has in none.
    pub quorum_epoch: LeaderEpoch,
    /// The epoch of the last record of its metadata log.
    pub log_epoch: LeaderEpoch,
    /// The end of its metadata log, exclusive.
    pub log_end_offset: Offset,
}

impl HostVote {
    fn age(&self) -> LogAge {
        (self.log_epoch, self.log_end_offset)
    }
}

/// A host that is down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownHost {
    /// Its name.
    pub host: String,
    /// Its broker's id.
    pub node_id: i32,
    /// Its logs.
    pub ends: Vec<HeldEnd>,
    /// Its part in the quorum; `None` where it has no metadata log.
    pub vote: Option<HostVote>,
}

/// A replica that lacks what another one has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Behind {
    /// The broker.
    pub broker: i32,
    /// The epoch of its last leader.
    pub leader_epoch: LeaderEpoch,
    /// Its log end offset.
    pub log_end_offset: Offset,
    /// Offsets by which it ends before the newest; 0 where only its epoch is older.
    pub records: u64,
    /// Whether it may be elected before the newest one is there: it is in the ISR, or nobody knows.
    pub may_lead: bool,
}

/// A partition with the hosts that have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewestLog {
    /// The topic.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The epoch of the newest log's last leader.
    pub leader_epoch: LeaderEpoch,
    /// Its end.
    pub log_end_offset: Offset,
    /// The brokers that have it, by id.
    pub newest_on: Vec<i32>,
    /// Those that lack some of it, by id; then hosts of the ISR on which it was not found, which lack all.
    pub behind: Vec<Behind>,
    /// Brokers of the ISR that no host told of.
    pub not_told: Vec<i32>,
}

/// Whether a controller can be elected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuorumOutlook {
    /// The voters' ids.
    pub voters: Vec<i32>,
    /// Who says so.
    pub voters_source: String,
    /// Those of whom a host told, the newest metadata first.
    pub present: Vec<i32>,
    /// How many are needed.
    pub needed: usize,
    /// Whether so many are there; `None` where no voter's host told, as controllers have hosts of their own.
    pub can_form: Option<bool>,
    /// The newest metadata among them.
    pub newest_epoch: LeaderEpoch,
    /// Where it ends.
    pub newest_end: Offset,
}

/// A broker's place in the order of boots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BootPlace {
    /// The broker.
    pub broker: i32,
    /// Its host.
    pub host: String,
    /// Whether the quorum needs it.
    pub is_voter: bool,
    /// Partitions of which it has the newest log.
    pub newest_of: u64,
    /// Partitions of which it has an older one.
    pub behind_in: u64,
    /// Partitions that it may lead, and cut, since who has more boots behind it or did not tell: no order is better.
    pub endangers: Vec<String>,
}

/// What the hosts come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeCluster {
    /// Every partition, by name.
    pub partitions: Vec<NewestLog>,
    /// The quorum; `None` if no host has metadata.
    pub quorum: Option<QuorumOutlook>,
    /// The order of boots.
    pub order: Vec<BootPlace>,
}

/// Puts together what the hosts of one cluster that are all down said, each with an id of its own.
pub fn plan_cold_start(hosts: &[DownHost]) -> WholeCluster {
    let hosts: BTreeMap<i32, &DownHost> = hosts.iter().map(|host| (host.node_id, host)).collect();
    let mut held: BTreeMap<TopicPartition, Vec<(i32, &HeldEnd)>> = BTreeMap::new();
    for (id, host) in &hosts {
        for end in &host.ends {
            held.entry(end.key()).or_default().push((*id, end));
        }
    }
    let partitions: Vec<NewestLog> = held
        .iter()
        .filter_map(|(partition, held)| newest(&hosts, partition, held))
        .collect();
    let quorum = quorum(&hosts);
    let order = order(&hosts, &partitions, quorum.as_ref());
    WholeCluster {
        partitions,
        quorum,
        order,
    }
}

fn newest(
    hosts: &BTreeMap<i32, &DownHost>,
    partition: &TopicPartition,
    held: &[(i32, &HeldEnd)],
) -> Option<NewestLog> {
    let best = held.iter().map(|(_, end)| end.age()).max()?;
    // Of several copies of the metadata the newest one knows who is in sync.
    let knows = |(id, _): &&(i32, &HeldEnd)| {
        let vote = hosts.get(id).and_then(|host| host.vote.as_ref());
        vote.map(HostVote::age)
    };
    let told = held.iter().filter(|(_, end)| end.isr.is_some());
    let isr = told.max_by_key(knows).and_then(|(_, end)| end.isr.clone());
    let may_lead = |id: &i32| isr.as_ref().is_none_or(|isr| isr.contains(id));
    let is_newest = |end: &HeldEnd| end.age() == best;
    let behind = held.iter().filter(|(_, end)| !is_newest(end));
    let behind = behind.map(|(id, end)| Behind {
        broker: *id,
        leader_epoch: end.leader_epoch,
        log_end_offset: end.log_end_offset,
        records: u64::try_from(best.1.0.saturating_sub(end.log_end_offset.0)).unwrap_or(0),
        may_lead: may_lead(id),
    });
    let newest_on = held.iter().filter(|(_, end)| is_newest(end));
    // A host in sync whose log is gone or cannot be read may lead with an empty one.
    let is_held = |id: &i32| held.iter().any(|(of, _)| of == id);
    let members = || isr.iter().flatten().copied();
    let without = members().filter(|id| hosts.contains_key(id) && !is_held(id));
    let without = without.map(|broker| Behind {
        broker,
        leader_epoch: LeaderEpoch(-1),
        log_end_offset: Offset::ZERO,
        records: u64::try_from(best.1.0).unwrap_or(0),
        may_lead: true,
    });
    let not_told = members().filter(|id| !hosts.contains_key(id));
    Some(NewestLog {
        topic: partition.topic.clone(),
        partition: partition.partition,
        leader_epoch: best.0,
        log_end_offset: best.1,
        newest_on: newest_on.map(|(id, _)| *id).collect(),
        behind: behind.chain(without).collect(),
        not_told: not_told.collect(),
    })
}

fn quorum(hosts: &BTreeMap<i32, &DownHost>) -> Option<QuorumOutlook> {
    let votes = hosts.iter();
    let votes = votes.filter_map(|(id, host)| Some((*id, host.vote.as_ref()?)));
    let (_, newest) = votes
        .clone()
        .filter(|(_, vote)| !vote.voters.is_empty())
        .max_by_key(|(_, vote)| vote.age())?;
    let mut present: Vec<(i32, &HostVote)> =
        votes.filter(|(id, _)| newest.voters.contains(id)).collect();
    present.sort_by_key(|(id, vote)| (std::cmp::Reverse(vote.age()), *id));
    let needed = newest.voters.len() / 2 + 1;
    let best = present.first().map(|(_, vote)| vote.age());
    let (newest_epoch, newest_end) = best.unwrap_or(newest.age());
    Some(QuorumOutlook {
        voters: newest.voters.clone(),
        voters_source: newest.voters_source.clone(),
        can_form: (!present.is_empty()).then_some(present.len() >= needed),
        present: present.iter().map(|(id, _)| *id).collect(),
        needed,
        newest_epoch,
        newest_end,
    })
}

/// Puts the brokers in an order: always the one next that endangers the fewest records which only those that wait have; of
/// equals the one that lacks the fewest, then the one with the newest metadata.
fn order(
    hosts: &BTreeMap<i32, &DownHost>,
    partitions: &[NewestLog],
    quorum: Option<&QuorumOutlook>,
) -> Vec<BootPlace> {
    let mut waiting: BTreeSet<i32> = hosts.keys().copied().collect();
    let mut places = Vec::new();
    let rank = |id: i32| {
        let mut voters = quorum.iter().flat_map(|quorum| &quorum.present);
        voters.position(|voter| *voter == id).unwrap_or(usize::MAX)
    };
    while !waiting.is_empty() {
        let danger = |id: i32| {
            let all = partitions.iter();
            let mine = all.filter(|of| is_endangered(of, id, &waiting));
            mine.flat_map(|of| &of.behind)
                .filter(|behind| behind.broker == id)
                .map(|behind| behind.records.max(1))
                .sum::<u64>()
        };
        let lacks = |id: i32| {
            let behind = partitions.iter().flat_map(|of| &of.behind);
            let mine = behind.filter(|behind| behind.broker == id && behind.may_lead);
            mine.map(|behind| behind.records.max(1)).sum::<u64>()
        };
        let next = waiting.iter().copied();
        let Some(next) = next.min_by_key(|id| (danger(*id), lacks(*id), rank(*id), *id)) else {
            break;
        };
        let endangers = partitions.iter();
        let endangers = endangers.filter(|of| is_endangered(of, next, &waiting));
        let count = |wanted: &dyn Fn(&NewestLog) -> bool| {
            partitions.iter().filter(|of| wanted(of)).count() as u64
        };
        places.push(BootPlace {
            broker: next,
            host: hosts
                .get(&next)
                .map_or_else(String::new, |host| host.host.clone()),
            is_voter: rank(next) != usize::MAX,
            newest_of: count(&|of| of.newest_on.contains(&next)),
            behind_in: count(&|of| of.behind.iter().any(|behind| behind.broker == next)),
            endangers: endangers
                .map(|of| format!("{}-{}", of.topic, of.partition))
                .collect(),
        });
        waiting.remove(&next);
    }
    places
}

/// Says whether `id`, if it boots now, may lead a partition of which only brokers that still wait have more.
fn is_endangered(of: &NewestLog, id: i32, waiting: &BTreeSet<i32>) -> bool {
    let mut behind = of.behind.iter();
    let lacks = behind.any(|behind| behind.broker == id && behind.may_lead);
    lacks && of.newest_on.iter().all(|newest| waiting.contains(newest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(partition: i32, epoch: i32, end: i64, isr: &[i32]) -> HeldEnd {
        HeldEnd {
            topic: "orders".to_owned(),
            partition,
            dir: "/d1".to_owned(),
            leader_epoch: LeaderEpoch(epoch),
            log_end_offset: Offset(end),
            recovered_first: true,
            isr: Some(isr.to_vec()),
        }
    }

    fn host(node_id: i32, ends: Vec<HeldEnd>, log_end: i64) -> DownHost {
        DownHost {
            host: format!("k{node_id}"),
            node_id,
            ends,
            vote: Some(HostVote {
                voters: vec![1, 2, 3],
                voters_source: "quorum-state".to_owned(),
                quorum_epoch: LeaderEpoch(6),
                log_epoch: LeaderEpoch(6),
                log_end_offset: Offset(log_end),
            }),
        }
    }

    fn ids(places: &[BootPlace]) -> Vec<i32> {
        places.iter().map(|place| place.broker).collect()
    }

    #[test]
    fn the_largest_epoch_counts_before_the_length() {
        let hosts = [
            host(1, vec![end(0, 4, 900, &[1, 2, 3])], 80),
            host(2, vec![end(0, 5, 700, &[1, 2, 3])], 90),
        ];
        let found = plan_cold_start(&hosts);
        let of = &found.partitions[0];
        assert_eq!(
            (of.newest_on.as_slice(), of.not_told.as_slice()),
            (&[2][..], &[3][..])
        );
        assert_eq!((of.behind[0].broker, of.behind[0].records), (1, 0));
        assert_eq!(ids(&found.order), [2, 1]);
    }

    #[test]
    fn one_that_lost_its_tail_and_is_in_sync_boots_behind_those_that_have_it() {
        let isr = [1, 2, 3];
        let hosts = [
            host(1, vec![end(0, 5, 700, &isr)], 90),
            host(2, vec![end(0, 5, 900, &isr)], 80),
            host(3, vec![end(0, 5, 900, &isr)], 85),
        ];
        let found = plan_cold_start(&hosts);
        assert_eq!(
            ids(&found.order),
            [3, 2, 1],
            "the newest metadata decides among equals"
        );
        assert!(found.order.iter().all(|place| place.endangers.is_empty()));
        let quorum = found.quorum.unwrap();
        assert_eq!(quorum.can_form, Some(true));
        assert_eq!(
            (quorum.present.as_slice(), quorum.needed),
            (&[1, 3, 2][..], 2)
        );
        assert_eq!(
            (quorum.newest_epoch, quorum.newest_end),
            (LeaderEpoch(6), Offset(90))
        );
    }

    #[test]
    fn one_that_is_not_in_sync_endangers_nothing_and_its_own_metadata_may_be_old() {
        // Broker 1 died first: by its own copy all were in sync.
        let hosts = [
            host(1, vec![end(0, 4, 700, &[1, 2])], 60),
            host(2, vec![end(0, 5, 900, &[2])], 90),
        ];
        let found = plan_cold_start(&hosts);
        let behind = found.partitions[0].behind[0];
        assert_eq!((behind.broker, behind.may_lead), (1, false));
        assert!(found.order[1].endangers.is_empty());
    }

    #[test]
    fn a_host_in_sync_on_which_the_log_is_not_found_lacks_all_of_it() {
        let hosts = [
            host(1, vec![], 90),
            host(2, vec![end(0, 5, 900, &[1, 2])], 80),
        ];
        let found = plan_cold_start(&hosts);
        let behind = found.partitions[0].behind[0];
        assert_eq!(
            (behind.broker, behind.records, behind.may_lead),
            (1, 900, true)
        );
        assert_eq!(ids(&found.order), [2, 1]);
        assert!(found.order.iter().all(|place| place.endangers.is_empty()));
    }

    #[test]
    fn where_each_has_what_the_other_lacks_no_order_is_safe_and_that_is_told() {
        let isr = [1, 2];
        let hosts = [
            host(1, vec![end(0, 5, 900, &isr), end(1, 5, 100, &isr)], 90),
            host(2, vec![end(0, 5, 880, &isr), end(1, 5, 400, &isr)], 90),
        ];
        let found = plan_cold_start(&hosts);
        assert_eq!(ids(&found.order), [2, 1], "20 records are fewer than 300");
        assert_eq!(found.order[0].endangers, ["orders-0"]);
        assert!(found.order[1].endangers.is_empty());
    }

    #[test]
    fn a_minority_of_voters_elects_nobody() {
        let found = plan_cold_start(&[host(2, vec![], 90)]);
        let quorum = found.quorum.unwrap();
        assert_eq!(quorum.can_form, Some(false));
        assert_eq!((quorum.present, quorum.needed), (vec![2], 2));
        let mut blind = host(2, vec![], 90);
        blind.vote = None;
        assert_eq!(plan_cold_start(&[blind]).quorum, None);
        assert_eq!(plan_cold_start(&[]).order, []);
    }
}
