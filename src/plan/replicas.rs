//! Who else has a partition.

use serde::{Deserialize, Serialize};

use crate::log::{Finding, FindingCode, Severity};
use crate::terms::{Offset, Timestamp};

/// Where evidence is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceSource {
    /// The metadata log on this host, as far as it got before the broker died.
    #[default]
    Disk,
    /// The other brokers, asked while this one is down.
    Cluster,
}

/// Who else has a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaEvidence {
    /// This broker's id; `None` if it is not known.
    pub broker: Option<i32>,
    /// The brokers that are in sync.
    pub isr: Vec<i32>,
    /// The leader.
    pub leader: Option<i32>,
    /// How old the evidence is: the time of the last metadata record, or of the answer.
    pub as_of: Timestamp,
    /// Where it is from.
    #[serde(default)]
    pub source: EvidenceSource,
    /// Brokers and where the replica's log ends on each (exclusive), by its own answer; without those that did not answer.
    /// Pairs, as a tagged value of JSON has no numbers for keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<(i32, Offset)>,
}

impl ReplicaEvidence {
    /// Returns the in-sync brokers beside this one.
    pub fn others(&self) -> impl Iterator<Item = i32> + '_ {
        self.isr
            .iter()
            .copied()
            .filter(|id| self.broker != Some(*id))
    }

    /// Returns where the evidence is from, with its age.
    pub fn source(&self, now: Timestamp) -> String {
        let age = now.0.saturating_sub(self.as_of.0).max(0) / 1000;
        let source = match self.source {
            EvidenceSource::Disk => "this host's metadata",
            EvidenceSource::Cluster => "the living cluster",
        };
        format!("by {source} of {} ({age} s ago)", self.as_of.rfc3339())
    }

    /// Returns the in-sync brokers beside this one in words, with the ends of their logs where they are known; `None` if there is
    /// none.
    pub fn others_in_words(&self) -> Option<String> {
        let word = |id: i32| match self.ends.iter().find(|(broker, _)| *broker == id) {
            Some((_, end)) => format!("{id} (its log ends at {end})"),
            None => id.to_string(),
        };
        let others: Vec<String> = self.others().map(word).collect();
        match others.as_slice() {
            [] => None,
            [one] => Some(format!("broker {one}")),
            _ => Some(format!("brokers {}", others.join(", "))),
        }
    }

    /// Returns why the replica cannot be set aside, to be fetched again from another one; `None` if it can.
    ///
    /// A controller lets any broker of the ISR lead. As long as this one is in it, it may lead again with an empty log, and
    /// the others are emptied as well: all it takes is that all brokers went down. A broker that is down does not come into
    /// the ISR.
    pub fn forbids_set_aside(&self, now: Timestamp) -> Option<String> {
        let Some(broker) = self.broker else {
            return Some("nothing says which broker this is".to_owned());
        };
        let source = self.source(now);
        if self.others().next().is_none() {
            return Some(format!(
                "this may be the last copy: no other replica is in sync {source}"
            ));
        }
        if self.isr.contains(&broker) {
            let ask = match self.source {
                EvidenceSource::Disk => "; --bootstrap HOST:PORT asks the living cluster",
                EvidenceSource::Cluster => "",
            };
            return Some(format!(
                "this broker is in sync as well, so it may be the first to lead again, and empty: {source}{ask}"
            ));
        }
        (self.source == EvidenceSource::Cluster && self.leader.is_none())
            .then(|| format!("no broker leads it {source}"))
    }

    /// Returns which other broker has the partition, and how old that is, in a few words.
    pub fn elsewhere(&self, now: Timestamp) -> String {
        let others = self
            .others_in_words()
            .unwrap_or_else(|| "no other broker".to_owned());
        format!("{others} in sync {}; not verified there", self.source(now))
    }

    /// Returns what the evidence says of a replica that is cut.
    pub fn finding(&self, now: Timestamp) -> Finding {
        let source = self.source(now);
        let Some(others) = self.others_in_words() else {
            return Finding::new(
                FindingCode::LastInSyncCopy,
                Severity::Loss,
                format!("no other replica is in sync {source}: what is cut here is nowhere else"),
            )
            .next("keep the quarantine until the partition is whole again");
        };
        let leader = self
            .leader
            .map_or_else(|| "none".to_owned(), |id| id.to_string());
        Finding::new(
            FindingCode::OtherReplicas,
            Severity::Warning,
            format!(
                "in sync {source}: {others}, leader {leader}; if this broker leads again before it has caught up, they are \
                 cut as well"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_named_with_the_ends_of_their_logs() {
        let mut evidence = ReplicaEvidence {
            broker: Some(1),
            isr: vec![3, 1, 2],
            leader: Some(2),
            as_of: Timestamp(0),
            source: EvidenceSource::Cluster,
            ends: vec![(1, Offset(9)), (2, Offset(700))],
        };
        let words = evidence.others_in_words().unwrap();
        assert_eq!(words, "brokers 3, 2 (its log ends at 700)");
        evidence.isr = vec![1];
        assert_eq!(evidence.others_in_words(), None);
    }
}
