//! The living cluster as it was told last, and how the table of its replicas is looked at.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::observe::cluster::{InSyncIn, Quorum, ReplicaRow};
use crate::plan::TruncationForecast;
use crate::terms::{Timestamp, TopicPartition};

use super::table::{Direction, Filter, natural};

/// What is known of the living cluster.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClusterView {
    /// What the last look that succeeded found.
    pub facts: Option<ClusterFacts>,
    /// Since when and why there is no answer, if there is none now.
    pub lost: Option<(Timestamp, String)>,
}

/// What one look found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterFacts {
    /// When it began.
    pub at: Timestamp,
    /// How long it took, in ms.
    pub took_ms: u64,
    /// Requests that it took.
    pub requests: u64,
    /// Where the bootstrap list is from.
    pub found_by: String,
    /// This host's broker.
    pub node_id: Option<i32>,
    /// Living brokers, and why one does not answer if it does not.
    pub brokers: Vec<(i32, Option<String>)>,
    /// Replicas by partition, then in the order of their assignment.
    pub rows: Vec<ReplicaRow>,
    /// What this host's replicas will cut, while the cluster does not see its broker.
    #[serde(default, with = "by_partition")]
    pub forecasts: BTreeMap<TopicPartition, ReplicaForecast>,
    /// The controllers; `None` where the cluster has no quorum, or did not tell.
    #[serde(default)]
    pub quorum: Option<Quorum>,
    /// Features that the cluster has finalized; empty where no broker told any.
    #[serde(default)]
    pub features: BTreeMap<String, i16>,
}

/// A map by partition as JSON knows it: a list of pairs.
mod by_partition {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::{ReplicaForecast, TopicPartition};

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<TopicPartition, ReplicaForecast>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<TopicPartition, ReplicaForecast>, D::Error> {
        let pairs = Vec::<(TopicPartition, ReplicaForecast)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}

/// What a replica of this host will cut when it meets its leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaForecast {
    /// What is cut.
    pub forecast: TruncationForecast,
    /// Whether a boot reads the log again first, and may end it earlier.
    pub is_recovered: bool,
}

/// Partitions and replicas that need a look, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClusterSums {
    /// Partitions.
    pub partitions: u64,
    /// Replicas that are not in sync.
    pub out_of_sync: u64,
    /// Partitions below `min.insync.replicas`.
    pub under_min_isr: u64,
    /// Partitions without a leader.
    pub without_leader: u64,
    /// Partitions of which this host holds the only copy in sync.
    pub only_here: u64,
    /// Seconds until the last replica is in sync; `None` if one never is or is unknown.
    pub in_sync_in: Option<u64>,
}

impl ClusterFacts {
    /// Returns what a replica will cut; `None` if nothing is known of that.
    pub fn forecast(&self, row: &ReplicaRow) -> Option<&ReplicaForecast> {
        let is_here = Some(row.broker) == self.node_id;
        self.forecasts.get(&row.partition).filter(|_| is_here)
    }

    /// Returns the sums.
    pub fn sums(&self) -> ClusterSums {
        let mut sums = ClusterSums {
            in_sync_in: Some(0),
            ..ClusterSums::default()
        };
        let mut last: Option<&TopicPartition> = None;
        for row in &self.rows {
            if last != Some(&row.partition) {
                last = Some(&row.partition);
                sums.partitions += 1;
                sums.under_min_isr += u64::from(row.is_under_min_isr() == Some(true));
                sums.without_leader += u64::from(row.leader.is_none());
            }
            sums.only_here += u64::from(row.is_only_in_sync() && Some(row.broker) == self.node_id);
            if !row.is_in_sync() {
                sums.out_of_sync += 1;
                sums.in_sync_in = match row.in_sync_in {
                    InSyncIn::Seconds(seconds) => sums.in_sync_in.map(|most| most.max(seconds)),
                    _ => None,
                };
            }
        }
        sums
    }
}

/// Which replicas are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplicaScope {
    /// All of the cluster.
    #[default]
    Cluster,
    /// Those that this host's broker holds as a follower.
    Following,
    /// Followers of the partitions that this host's broker leads.
    Leading,
}

impl ReplicaScope {
    /// Returns the next one.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Cluster => Self::Following,
            Self::Following => Self::Leading,
            Self::Leading => Self::Cluster,
        }
    }

    fn holds(self, row: &ReplicaRow, node_id: Option<i32>) -> bool {
        match self {
            Self::Cluster => true,
            Self::Following => Some(row.broker) == node_id && !row.is_leader(),
            Self::Leading => row.leader.is_some() && row.leader == node_id && !row.is_leader(),
        }
    }
}

/// A column of the table of replicas, from left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReplicaColumn {
    /// The partition.
    Partition,
    /// Its leader.
    Leader,
    /// Its ISR.
    Isr,
    /// The broker that holds the replica.
    Replica,
    /// Records behind.
    LagRecords,
    /// Bytes behind.
    LagBytes,
    /// Bytes a second.
    Rate,
    /// When it is in sync.
    InSyncIn,
    /// What is to be known.
    Note,
}

impl ReplicaColumn {
    /// All columns, from left to right.
    pub const ALL: [Self; 9] = [
        Self::Partition,
        Self::Leader,
        Self::Isr,
        Self::Replica,
        Self::LagRecords,
        Self::LagBytes,
        Self::Rate,
        Self::InSyncIn,
        Self::Note,
    ];

    /// Returns the column's heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Partition => "PARTITION",
            Self::Leader => "LEADER",
            Self::Isr => "ISR",
            Self::Replica => "REPLICA",
            Self::LagRecords => "LAG msgs",
            Self::LagBytes => "LAG bytes",
            Self::Rate => "RATE",
            Self::InSyncIn => "IN ISR IN",
            Self::Note => "NOTE",
        }
    }

    /// Says whether its natural order goes down.
    pub fn descends(self) -> bool {
        matches!(
            self,
            Self::LagRecords | Self::LagBytes | Self::Rate | Self::InSyncIn | Self::Note
        )
    }

    /// Returns the column that `name` begins, whatever its case.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let fits = |column: &Self| column.title().to_ascii_lowercase().starts_with(&name);
        let found = Self::ALL.into_iter().find(fits);
        found.filter(|_| !name.is_empty())
    }

    fn beside(self, step: isize) -> Self {
        let at = Self::ALL
            .iter()
            .position(|&column| column == self)
            .unwrap_or(0);
        let next = (at.cast_signed() + step).rem_euclid(Self::ALL.len().cast_signed());
        Self::ALL
            .get(next.cast_unsigned())
            .copied()
            .unwrap_or(Self::Partition)
    }
}

/// What names a replica.
pub type ReplicaKey = (TopicPartition, i32);

/// The table of replicas as it is looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaTable {
    /// Which replicas are shown.
    pub scope: ReplicaScope,
    /// The column that decides the order.
    pub sort: ReplicaColumn,
    /// Which way.
    pub direction: Direction,
    /// What hides rows.
    pub filter: Filter,
    selected: Option<ReplicaKey>,
    /// Indexes of the shown rows.
    order: Vec<usize>,
    stale: bool,
}

impl Default for ReplicaTable {
    fn default() -> Self {
        Self {
            scope: ReplicaScope::default(),
            // Who needs a look comes first.
            sort: ReplicaColumn::Note,
            direction: Direction::Natural,
            filter: Filter::default(),
            selected: None,
            order: Vec::new(),
            stale: true,
        }
    }
}

impl ReplicaTable {
    /// Notes that rows changed; the order is made anew before the next look.
    pub fn touch(&mut self) {
        self.stale = true;
    }

    /// Returns the shown rows' indexes in their order.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns the row under the cursor, by its place on screen and its index.
    pub fn cursor(&self, facts: &ClusterFacts) -> Option<(usize, usize)> {
        let (partition, broker) = self.selected.as_ref()?;
        let is_it = |index: &usize| {
            let row = facts.rows.get(*index);
            row.is_some_and(|row| row.partition == *partition && row.broker == *broker)
        };
        let place = self.order.iter().position(is_it)?;
        Some((place, *self.order.get(place)?))
    }

    /// Makes the order anew if anything changed it; the selection stays on its replica.
    pub fn refresh(&mut self, cluster: &ClusterView) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let Some(facts) = &cluster.facts else {
            self.order.clear();
            return;
        };
        let mut order: Vec<usize> = (0..facts.rows.len())
            .filter(|index| {
                facts
                    .rows
                    .get(*index)
                    .is_some_and(|row| self.shows(row, facts))
            })
            .collect();
        order.sort_by(|a, b| {
            let (Some(a), Some(b)) = (facts.rows.get(*a), facts.rows.get(*b)) else {
                return std::cmp::Ordering::Equal;
            };
            let mut by = compare(self.sort, a, b);
            if self.direction == Direction::Turned {
                by = by.reverse();
            }
            let names = natural(&a.partition.topic, &b.partition.topic);
            by.then(names)
                .then((a.partition.partition, a.broker).cmp(&(b.partition.partition, b.broker)))
        });
        self.order = order;
        if self.cursor(facts).is_none() {
            self.selected = self.key_at(facts, 0);
        }
    }

    fn shows(&self, row: &ReplicaRow, facts: &ClusterFacts) -> bool {
        let name = row.partition.to_string();
        self.scope.holds(row, facts.node_id)
            && self.filter.lets_pass(std::iter::once(name.as_str()))
    }

    fn key_at(&self, facts: &ClusterFacts, place: usize) -> Option<ReplicaKey> {
        let row = facts.rows.get(*self.order.get(place)?)?;
        Some((row.partition.clone(), row.broker))
    }

    /// Moves the cursor by `rows`, and stops at both ends.
    pub fn move_by(&mut self, cluster: &ClusterView, rows: isize) {
        let Some(facts) = &cluster.facts else {
            return;
        };
        let place = self.cursor(facts).map_or(0, |(place, _)| place);
        let place = place
            .saturating_add_signed(rows)
            .min(self.order.len().saturating_sub(1));
        self.selected = self.key_at(facts, place);
    }

    /// Sorts by the column so many places to the right.
    pub fn sort_beside(&mut self, step: isize) {
        self.sort = self.sort.beside(step);
        self.touch();
    }
}

fn compare(column: ReplicaColumn, a: &ReplicaRow, b: &ReplicaRow) -> std::cmp::Ordering {
    match column {
        ReplicaColumn::Partition => std::cmp::Ordering::Equal,
        ReplicaColumn::Leader => a.leader.cmp(&b.leader),
        // The fewest in sync first.
        ReplicaColumn::Isr => a.isr.len().cmp(&b.isr.len()),
        ReplicaColumn::Replica => a.broker.cmp(&b.broker),
        // Unknown is the worst lag.
        ReplicaColumn::LagRecords => known(b.lag_records).cmp(&known(a.lag_records)),
        ReplicaColumn::LagBytes => known(b.lag_bytes).cmp(&known(a.lag_bytes)),
        ReplicaColumn::Rate => {
            let rate = |row: &ReplicaRow| row.bytes_per_s.unwrap_or(-1.0);
            rate(b).total_cmp(&rate(a))
        }
        ReplicaColumn::InSyncIn => rank(b).cmp(&rank(a)),
        ReplicaColumn::Note => severity(b)
            .cmp(&severity(a))
            .then(known(b.lag_records).cmp(&known(a.lag_records))),
    }
}

fn known(number: Option<u64>) -> u64 {
    number.unwrap_or(u64::MAX)
}

fn rank(row: &ReplicaRow) -> u64 {
    match row.in_sync_in {
        InSyncIn::Now => 0,
        InSyncIn::Seconds(seconds) => seconds.saturating_add(1),
        InSyncIn::Unknown => u64::MAX - 1,
        InSyncIn::Never => u64::MAX,
    }
}

/// How much a row wants to be looked at; a leader in sync says nothing that its followers do not.
fn severity(row: &ReplicaRow) -> u8 {
    let under = row.is_under_min_isr() == Some(true);
    match row {
        _ if row.leader.is_none() => 5,
        _ if !row.is_in_sync() && row.isr.len() <= 1 => 4,
        _ if !row.is_in_sync() && under => 3,
        _ if !row.is_in_sync() => 2,
        _ if under || !row.causes.is_empty() => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(topic: &str, partition: i32, broker: i32, isr: &[i32]) -> ReplicaRow {
        ReplicaRow {
            partition: TopicPartition::new(topic, partition),
            broker,
            leader: Some(1),
            leader_epoch: None,
            replicas: vec![1, 2, 3],
            isr: isr.to_vec(),
            eligible: None,
            min_isr: Some(2),
            offline: false,
            log_end: None,
            log_end_at: None,
            log_start: None,
            bytes: None,
            dir: None,
            moving: None,
            moved_in_s: None,
            lag_records: None,
            lag_records_most: None,
            lag_bytes: None,
            lag_bytes_exact: false,
            lag_ms: None,
            lag_ms_exact: false,
            records_per_s: None,
            bytes_per_s: None,
            leader_records_per_s: None,
            in_sync_in: InSyncIn::Unknown,
            causes: Vec::new(),
        }
    }

    fn view(rows: Vec<ReplicaRow>) -> ClusterView {
        ClusterView {
            facts: Some(ClusterFacts {
                at: Timestamp(0),
                took_ms: 1,
                requests: 1,
                found_by: String::new(),
                node_id: Some(2),
                brokers: Vec::new(),
                rows,
                forecasts: BTreeMap::new(),
                quorum: None,
                features: BTreeMap::new(),
            }),
            lost: None,
        }
    }

    fn shown(table: &ReplicaTable, view: &ClusterView) -> Vec<String> {
        let facts = view.facts.as_ref().unwrap();
        let name = |index: &usize| {
            let row = &facts.rows[*index];
            format!("{}:{}", row.partition, row.broker)
        };
        table.order().iter().map(name).collect()
    }

    #[test]
    fn the_selection_stays_on_its_replica_when_rows_move() {
        let all = [1, 2, 3];
        let mut cluster = view(vec![
            row("a", 0, 1, &all),
            row("a", 0, 2, &all),
            row("b", 0, 2, &all),
        ]);
        let mut table = ReplicaTable::default();
        table.refresh(&cluster);
        table.move_by(&cluster, 2);
        let facts = cluster.facts.as_mut().unwrap();
        facts.rows[2].isr = vec![1];
        table.touch();
        table.refresh(&cluster);
        assert_eq!(shown(&table, &cluster), ["b-0:2", "a-0:1", "a-0:2"]);
        assert_eq!(table.cursor(cluster.facts.as_ref().unwrap()), Some((0, 2)));
    }

    #[test]
    fn the_host_is_seen_as_follower_and_as_leader() {
        let all = [1, 2, 3];
        let mut led = row("b", 0, 3, &all);
        led.leader = Some(2);
        let cluster = view(vec![row("a", 0, 2, &all), row("a", 0, 3, &all), led]);
        let mut table = ReplicaTable::default();
        for (scope, want) in [
            (ReplicaScope::Following, &["a-0:2"][..]),
            (ReplicaScope::Leading, &["b-0:3"]),
            (ReplicaScope::Cluster, &["a-0:2", "a-0:3", "b-0:3"]),
        ] {
            table.scope = scope;
            table.touch();
            table.refresh(&cluster);
            assert_eq!(shown(&table, &cluster), want, "{scope:?}");
        }
    }

    #[test]
    fn sums_count_partitions_once() {
        let cluster = view(vec![
            row("a", 0, 1, &[2]),
            row("a", 0, 2, &[2]),
            row("a", 0, 3, &[2]),
        ]);
        let sums = cluster.facts.unwrap().sums();
        assert_eq!((sums.partitions, sums.out_of_sync), (1, 2));
        assert_eq!(
            (sums.under_min_isr, sums.only_here, sums.in_sync_in),
            (1, 1, None)
        );
    }
}
