//! From looks to rows: lag, rates, the time until in sync, causes.

use std::collections::{BTreeMap, VecDeque};

use super::lag_time::{EndHistory, lag_ms};
use super::pace::Pace;
use super::row::{Cause, InSyncIn, ReplicaRow};
use super::sample::{ClusterSample, ReplicaSample};
use crate::client::PartitionMetadata;
use crate::terms::{Offset, Timestamp, TopicPartition};

/// How long the rates look back, in ms.
const WINDOW_MS: i64 = 15_000;
/// How long something must last before it is called a cause, in ms: longer than `replica.lag.time.max.ms / 2`, after
/// which a leader looks at its ISR anew.
const LASTING_MS: i64 = 20_000;

/// Keeps what looks told of each replica, as far back as the rates look.
#[derive(Debug, Default)]
pub struct ReplicaMeter {
    tracks: BTreeMap<(TopicPartition, i32), Track>,
}

#[derive(Debug, Default)]
struct Track {
    ends: VecDeque<(Timestamp, Offset)>,
    bytes: VecDeque<(Timestamp, u64)>,
    /// Its ends further back than the rates look.
    history: EndHistory,
    /// The bursts in which its records came, and its bytes.
    records_pace: Pace,
    bytes_pace: Pace,
    /// Offsets that its move to another log dir has left.
    left: VecDeque<(Timestamp, i64)>,
    /// Since when its end has not moved.
    still_since: Option<Timestamp>,
    /// Since when it lacks nothing.
    whole_since: Option<Timestamp>,
}

impl ReplicaMeter {
    /// Returns a meter that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a look and returns a row for each replica, in the order of partitions and then of replicas.
    pub fn take(&mut self, sample: &ClusterSample) -> Vec<ReplicaRow> {
        let replicas = sample.metadata.partitions.iter();
        let keys = replicas.flat_map(|(partition, known)| {
            known
                .replicas
                .iter()
                .map(move |broker| (partition.clone(), *broker))
        });
        let keys: Vec<_> = keys.collect();
        let mut tracks = BTreeMap::new();
        for key in &keys {
            let mut track = self.tracks.remove(key).unwrap_or_default();
            if let Some(replica) = sample.replicas.get(key) {
                track.note(replica, sample.at);
            }
            tracks.insert(key.clone(), track);
        }
        self.tracks = tracks;
        let mut rows: Vec<_> = keys
            .iter()
            .filter_map(|key| self.row(sample, key))
            .collect();
        let appended: Vec<_> = rows.iter().map(|row| self.appended_bytes(row)).collect();
        for (row, appended) in rows.iter_mut().zip(appended) {
            let key = (row.partition.clone(), row.broker);
            if let Some(track) = self.tracks.get_mut(&key) {
                let whole = row.lag_records == Some(0);
                track.whole_since = match track.whole_since {
                    Some(since) if whole => Some(since),
                    _ => whole.then_some(sample.at),
                };
                row.causes = causes(row, track, sample);
                row.in_sync_in = in_sync_in(row, track, appended);
            }
        }
        rows
    }

    /// Returns the bytes a second that the leader of a row's partition appends; `None` before there are two looks.
    fn appended_bytes(&self, row: &ReplicaRow) -> Option<f64> {
        let key = (row.partition.clone(), row.leader?);
        rate(&self.tracks.get(&key)?.bytes, i64_of)
    }

    fn row(&self, sample: &ClusterSample, key: &(TopicPartition, i32)) -> Option<ReplicaRow> {
        let (partition, broker) = key;
        let known = sample.metadata.partitions.get(partition)?;
        let none = ReplicaSample::default();
        let replica = sample.replicas.get(key).unwrap_or(&none);
        let leader_key = known.leader.map(|leader| (partition.clone(), leader));
        let leader = leader_key.as_ref().and_then(|key| sample.replicas.get(key));
        let track = self.tracks.get(key);
        let leader_track = leader_key.as_ref().and_then(|key| self.tracks.get(key));
        let is_leader = known.leader == Some(*broker);
        let lag_of = |end: Option<(Offset, Timestamp)>| {
            let ahead = end?.0.0.saturating_sub(replica.log_end?.0.0);
            Some(u64::try_from(ahead).unwrap_or(0))
        };
        let (lag_records, lag_records_most) = if is_leader {
            let zero = replica.log_end.map(|_| 0);
            (zero, zero)
        } else {
            let after = leader.and_then(|leader| leader.log_end_after.or(leader.log_end));
            (
                lag_of(leader.and_then(|leader| leader.log_end)),
                lag_of(after),
            )
        };
        let (lag_bytes, lag_bytes_exact) = lag_bytes(replica, leader, lag_records);
        let leader_records_per_s = leader_track.and_then(|track| rate(&track.ends, |end| end.0));
        let (lag_ms, lag_ms_exact) = lag_ms(
            leader_track.map(|track| &track.history),
            replica.log_end,
            (lag_records, leader_records_per_s),
        );
        let min_isr = sample.configs.min_isr.get(&partition.topic);
        let min_isr = min_isr.and_then(|least| usize::try_from(*least).ok());
        Some(ReplicaRow {
            partition: partition.clone(),
            broker: *broker,
            leader: known.leader,
            leader_epoch: known.leader_epoch,
            replicas: known.replicas.clone(),
            isr: known.isr.clone(),
            eligible: known.eligible.clone(),
            min_isr: min_isr.map(|least| least.min(known.replicas.len())),
            offline: is_offline(known, *broker),
            log_end: replica.log_end.map(|(end, _)| end),
            log_end_at: replica.log_end.map(|(_, at)| at),
            log_start: replica.log_start,
            bytes: replica.bytes,
            dir: replica.dir.clone(),
            moving: replica.moving.clone(),
            moved_in_s: track.and_then(Track::moved_in),
            lag_records,
            lag_records_most,
            lag_bytes,
            lag_bytes_exact,
            lag_ms,
            lag_ms_exact,
            records_per_s: track.and_then(|track| rate(&track.ends, |end| end.0)),
            bytes_per_s: track.and_then(|track| rate(&track.bytes, i64_of)),
            leader_records_per_s,
            in_sync_in: InSyncIn::Unknown,
            causes: Vec::new(),
        })
    }
}

impl Track {
    fn note(&mut self, replica: &ReplicaSample, at: Timestamp) {
        if let Some((end, at)) = replica.log_end {
            let last = self.ends.back().copied();
            // It was cut: rates over the cut mean nothing.
            if last.is_some_and(|(_, last)| last > end) {
                self.ends.clear();
                self.bytes.clear();
            }
            if last.is_none_or(|(_, last)| last != end) {
                self.still_since = Some(at);
            }
            self.records_pace
                .note(at, u64::try_from(end.0).unwrap_or(0));
            push(&mut self.ends, at, end);
            self.history.note(at, end);
        }
        if let Some(bytes) = replica.bytes {
            // Retention has deleted segments in between.
            if self.bytes.back().is_some_and(|(_, last)| *last > bytes) {
                self.bytes.clear();
            }
            self.bytes_pace.note(at, bytes);
            push(&mut self.bytes, at, bytes);
        }
        match &replica.moving {
            Some((_, left)) => push(&mut self.left, at, *left),
            None => self.left.clear(),
        }
    }

    /// Returns the seconds until its move has nothing left.
    fn moved_in(&self) -> Option<u64> {
        let (_, left) = self.left.back()?;
        seconds(u64::try_from(*left).ok()?, -rate(&self.left, |left| left)?)
    }
}

fn i64_of(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn push<T>(values: &mut VecDeque<(Timestamp, T)>, at: Timestamp, value: T) {
    values.push_back((at, value));
    while values.len() > 2
        && values
            .front()
            .is_some_and(|(first, _)| at.0 - first.0 > WINDOW_MS)
    {
        values.pop_front();
    }
}

/// Returns the change a second over the window; `None` before there are two looks.
#[expect(
    clippy::cast_precision_loss,
    reason = "a rate is shown with two digits"
)]
fn rate<T: Copy>(values: &VecDeque<(Timestamp, T)>, number: impl Fn(T) -> i64) -> Option<f64> {
    let ((begin, first), (end, last)) = (values.front()?, values.back()?);
    let ms = end.0.saturating_sub(begin.0);
    let change = number(*last).saturating_sub(number(*first));
    (ms > 0).then(|| change as f64 * 1000.0 / ms as f64)
}

fn is_offline(known: &PartitionMetadata, broker: i32) -> bool {
    known.offline.contains(&broker)
}

/// Returns the bytes behind the leader: the difference of the sizes where both logs begin at one offset, else the records
/// by the leader's average. Says whether it is the former.
fn lag_bytes(
    replica: &ReplicaSample,
    leader: Option<&ReplicaSample>,
    lag_records: Option<u64>,
) -> (Option<u64>, bool) {
    let Some((leader, lag)) = leader.zip(lag_records) else {
        return (None, false);
    };
    if lag == 0 {
        return (Some(0), true);
    }
    let (own, its) = (replica.bytes, leader.bytes);
    if let (Some(own), Some(its), Some(start)) = (own, its, replica.log_start)
        && leader.log_start == Some(start)
        && own <= its
    {
        return (Some(its - own), true);
    }
    let records = leader
        .log_end
        .zip(leader.log_start)
        .map(|((end, _), start)| end.0 - start.0);
    let records = records
        .and_then(|records| u128::try_from(records).ok())
        .filter(|records| *records > 0);
    let average = its.zip(records).map(|(bytes, records)| {
        let scaled = u128::from(bytes) * u128::from(lag) / records;
        u64::try_from(scaled).unwrap_or(u64::MAX)
    });
    (average, false)
}

fn in_sync_in(row: &ReplicaRow, track: &Track, appended_bytes: Option<f64>) -> InSyncIn {
    if row.is_in_sync() {
        return InSyncIn::Now;
    }
    let stuck = row.offline || row.leader.is_none();
    let (Some(lag), false) = (row.lag_records, stuck) else {
        return InSyncIn::Unknown;
    };
    let Some((takes, appends)) = row.records_per_s.zip(row.leader_records_per_s) else {
        return InSyncIn::Unknown;
    };
    if lag == 0 {
        let lasts = row
            .causes
            .iter()
            .any(|cause| matches!(cause, Cause::NotTakenIn { .. }));
        return if lasts {
            InSyncIn::Never
        } else {
            InSyncIn::Seconds(0)
        };
    }
    // A throttle counts bytes; where both logs do not begin at one offset only records are known.
    let bytes = row.lag_bytes.filter(|_| row.lag_bytes_exact);
    let by_bytes = bytes.zip(appended_bytes);
    if let Some(at) = row.log_end_at {
        let bursts = match by_bytes {
            Some((left, appended)) => track.bytes_pace.ends_in(left, appended, at),
            None => track.records_pace.ends_in(lag, appends, at),
        };
        if let Some(told) = bursts {
            return told;
        }
    }
    // What flows again counts from when it did.
    let since = track.records_pace.flows_since();
    let takes = since
        .and_then(|since| rate_since(&track.ends, since))
        .unwrap_or(takes);
    seconds(lag, takes - appends).map_or(InSyncIn::Never, InSyncIn::Seconds)
}

/// Returns the change a second over the part of the window behind `since`.
fn rate_since(values: &VecDeque<(Timestamp, Offset)>, since: Timestamp) -> Option<f64> {
    let newer = values.iter().filter(|(at, _)| *at >= since);
    rate(&newer.copied().collect(), |end: Offset| end.0)
}

/// Returns how long `left` takes at `per_second`; `None` if it never ends.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates; it is an estimate"
)]
fn seconds(left: u64, per_second: f64) -> Option<u64> {
    (per_second > 0.0).then(|| (left as f64 / per_second).ceil() as u64)
}

fn causes(row: &ReplicaRow, track: &Track, sample: &ClusterSample) -> Vec<Cause> {
    let mut causes = Vec::new();
    if row.leader.is_none() {
        causes.push(Cause::NoLeader);
    }
    let lives = sample
        .metadata
        .brokers
        .iter()
        .any(|broker| broker.id == row.broker);
    let itself = sample.brokers.get(&row.broker);
    if !lives {
        causes.push(Cause::BrokerGone);
    } else if let Some(failure) = itself.and_then(|broker| broker.failure.clone()) {
        causes.push(Cause::NoAnswer { failure });
    } else if row.offline {
        let dirs = itself.and_then(|broker| broker.log_dirs.as_ref());
        let mut gone = dirs.into_iter().flatten().filter(|dir| dir.error.is_some());
        let dir = gone.next().filter(|_| gone.next().is_none());
        causes.push(Cause::DirOffline {
            dir: dir.map(|dir| dir.path.clone()),
        });
    } else if row.log_end.is_none()
        && let Some(error) = sample
            .replicas
            .get(&(row.partition.clone(), row.broker))
            .and_then(|replica| replica.error)
    {
        causes.push(Cause::Refused { error });
    }
    let leader_silent = row.leader.is_some_and(|leader| {
        leader != row.broker
            && sample
                .brokers
                .get(&leader)
                .is_some_and(|broker| broker.failure.is_some())
    });
    if leader_silent {
        causes.push(Cause::LeaderSilent);
    }
    if row.is_leader() || (row.is_in_sync() && row.lag_records == Some(0)) {
        return causes;
    }
    let is_exposed = !row.is_in_sync() && row.isr.len() <= 1;
    if is_exposed && sample.configs.unclean.contains(&row.partition.topic) {
        causes.push(Cause::UncleanElection);
    }
    if let Some(records) = ahead(row, sample) {
        causes.push(Cause::AheadOfLeader { records });
    }
    if !row.is_in_sync()
        && let Some(rate) = throttle(row, sample)
    {
        causes.push(Cause::Throttled { rate });
    }
    let since = |since: Option<Timestamp>| {
        let ms = sample.at.0.saturating_sub(since?.0);
        (ms >= LASTING_MS).then(|| u64::try_from(ms / 1000).unwrap_or(0))
    };
    let lags = row.lag_records.is_some_and(|lag| lag > 0);
    let standing = since(track.still_since).filter(|_| lags && row.log_end_at >= Some(sample.at));
    if let Some(seconds) = standing {
        causes.push(Cause::StandsStill { seconds });
    } else if let (true, false, Some(takes), Some(appends)) = (
        lags,
        row.is_in_sync(),
        row.records_per_s,
        row.leader_records_per_s,
    ) && takes > 0.0
        && takes <= appends
    {
        causes.push(Cause::SlowerThanLeader { takes, appends });
    }
    if !row.is_in_sync()
        && !row.offline
        && row.lag_records == Some(0)
        && let Some(seconds) = since(track.whole_since)
    {
        causes.push(Cause::NotTakenIn { seconds });
    }
    causes
}

/// Returns how many records of a follower lie behind its leader's end, by the leader's later answer.
fn ahead(row: &ReplicaRow, sample: &ClusterSample) -> Option<u64> {
    let leader = sample.replicas.get(&(row.partition.clone(), row.leader?))?;
    let (end, _) = leader.log_end_after.or(leader.log_end)?;
    let more = row.log_end?.0.checked_sub(end.0)?;
    u64::try_from(more).ok().filter(|more| *more > 0)
}

/// Returns the rate that holds a replica back, if one is set for it on either side.
fn throttle(row: &ReplicaRow, sample: &ClusterSample) -> Option<u64> {
    let (leaders, followers) = sample.configs.throttled.get(&row.partition.topic)?;
    let named = |list: &str, broker: i32| {
        let entry = format!("{}:{broker}", row.partition.partition);
        list.split(',')
            .map(str::trim)
            .any(|item| item == "*" || item == entry)
    };
    let of = |broker: i32| {
        sample
            .configs
            .throttles
            .get(&broker)
            .copied()
            .unwrap_or_default()
    };
    let follower = named(followers, row.broker).then(|| of(row.broker).follower);
    let leader = row
        .leader
        .filter(|leader| named(leaders, *leader))
        .map(|leader| of(leader).leader);
    // A list without a rate holds nobody back.
    follower.into_iter().chain(leader).flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Address, BrokerNode, ClusterMetadata};
    use crate::observe::cluster::{BrokerSample, Configs, Throttle};
    use crate::terms::LeaderEpoch;

    /// A look at second `s`: broker 1 leads and ends at `leader`, 2 follows and ends at `follower`.
    fn look(s: i64, leader: i64, follower: i64, isr: &[i32]) -> ClusterSample {
        let at = Timestamp(s * 1000);
        let partition = TopicPartition::new("orders", 7);
        let node = |id| BrokerNode {
            id,
            address: Address::parse("h:1").unwrap(),
            rack: None,
        };
        let replica = |end: i64| ReplicaSample {
            log_end: Some((Offset(end), at)),
            log_end_after: Some((Offset(end), at)),
            log_start: Some(Offset(0)),
            bytes: Some(u64::try_from(end).unwrap() * 100),
            ..ReplicaSample::default()
        };
        let known = PartitionMetadata {
            leader: Some(1),
            leader_epoch: Some(LeaderEpoch(3)),
            replicas: vec![1, 2],
            isr: isr.to_vec(),
            ..PartitionMetadata::default()
        };
        ClusterSample {
            metadata: ClusterMetadata {
                brokers: vec![node(1), node(2)],
                partitions: BTreeMap::from([(partition.clone(), known)]),
                ..ClusterMetadata::default()
            },
            brokers: BTreeMap::from([(1, BrokerSample::default()), (2, BrokerSample::default())]),
            replicas: BTreeMap::from([
                ((partition.clone(), 1), replica(leader)),
                ((partition, 2), replica(follower)),
            ]),
            configs: Configs {
                min_isr: BTreeMap::from([("orders".to_owned(), 2)]),
                ..Configs::default()
            },
            ..ClusterSample::new(at)
        }
    }

    fn follower(meter: &mut ReplicaMeter, sample: &ClusterSample) -> ReplicaRow {
        meter
            .take(sample)
            .into_iter()
            .find(|row| row.broker == 2)
            .unwrap()
    }

    #[test]
    fn a_follower_that_comes_nearer_has_an_end_time() {
        let mut meter = ReplicaMeter::new();
        let first = follower(&mut meter, &look(0, 1000, 100, &[1]));
        assert_eq!(
            (first.lag_records, first.lag_bytes),
            (Some(900), Some(90_000))
        );
        assert!(first.lag_bytes_exact);
        assert_eq!(first.in_sync_in, InSyncIn::Unknown, "one look has no rate");
        let second = follower(&mut meter, &look(10, 1100, 400, &[1]));
        // 30 a second taken, 10 appended, 700 behind.
        assert_eq!(second.in_sync_in, InSyncIn::Seconds(35));
        assert_eq!(second.bytes_per_s, Some(3000.0));
        assert_eq!(second.is_under_min_isr(), Some(true));
        assert!(second.causes.is_empty(), "{:?}", second.causes);
    }

    #[test]
    fn a_follower_that_is_slower_than_its_leader_never_comes() {
        let mut meter = ReplicaMeter::new();
        meter.take(&look(0, 1000, 100, &[1]));
        let row = follower(&mut meter, &look(10, 2000, 200, &[1]));
        assert_eq!(row.in_sync_in, InSyncIn::Never);
        assert_eq!(
            row.causes,
            [Cause::SlowerThanLeader {
                takes: 10.0,
                appends: 100.0
            }]
        );
    }

    #[test]
    fn one_that_stands_still_is_told_after_a_while_only() {
        let mut meter = ReplicaMeter::new();
        meter.take(&look(0, 1000, 100, &[1]));
        let row = follower(&mut meter, &look(10, 1000, 100, &[1]));
        assert_eq!((row.in_sync_in, row.causes), (InSyncIn::Never, vec![]));
        let row = follower(&mut meter, &look(20, 1000, 100, &[1]));
        assert_eq!(row.causes, [Cause::StandsStill { seconds: 20 }]);
    }

    #[test]
    fn one_that_has_all_and_is_not_taken_in_is_told() {
        let mut meter = ReplicaMeter::new();
        let row = follower(&mut meter, &look(0, 100, 100, &[1]));
        assert_eq!(row.in_sync_in, InSyncIn::Unknown);
        let row = follower(&mut meter, &look(10, 100, 100, &[1]));
        assert_eq!((row.in_sync_in, row.causes), (InSyncIn::Seconds(0), vec![]));
        let row = follower(&mut meter, &look(30, 100, 100, &[1]));
        assert_eq!(row.in_sync_in, InSyncIn::Never);
        assert_eq!(row.causes, [Cause::NotTakenIn { seconds: 30 }]);
    }

    #[test]
    fn a_cut_starts_the_rates_anew() {
        let mut meter = ReplicaMeter::new();
        meter.take(&look(0, 1000, 900, &[1]));
        let row = follower(&mut meter, &look(5, 800, 900, &[1]));
        assert_eq!(row.causes, [Cause::AheadOfLeader { records: 100 }]);
        let row = follower(&mut meter, &look(10, 800, 800, &[1]));
        assert_eq!(row.records_per_s, None);
        assert_eq!(row.lag_records, Some(0));
    }

    #[test]
    fn unknown_is_not_zero() {
        let mut sample = look(0, 1000, 900, &[1, 2]);
        sample.replicas.retain(|(_, broker), _| *broker == 1);
        let failure = "it did not answer".to_owned();
        sample.brokers.get_mut(&2).unwrap().failure = Some(failure.clone());
        let row = follower(&mut ReplicaMeter::new(), &sample);
        assert_eq!(
            (row.log_end, row.lag_records, row.lag_bytes),
            (None, None, None)
        );
        assert_eq!(row.causes, [Cause::NoAnswer { failure }]);
        sample.replicas.clear();
        let rows = ReplicaMeter::new().take(&sample);
        assert!(rows.iter().all(|row| row.lag_records.is_none()));
    }

    #[test]
    fn a_throttle_counts_where_its_list_names_the_replica() {
        let mut sample = look(0, 1000, 900, &[1]);
        let lists = |followers: &str| (String::new(), followers.to_owned());
        let throttle = Throttle {
            follower: Some(1000),
            leader: None,
        };
        sample.configs.throttles.insert(2, throttle);
        for (list, told) in [
            ("7:2", true),
            ("0:2,7:2", true),
            ("*", true),
            ("7:1", false),
            ("17:2", false),
        ] {
            sample
                .configs
                .throttled
                .insert("orders".to_owned(), lists(list));
            let row = follower(&mut ReplicaMeter::new(), &sample);
            let causes = if told {
                vec![Cause::Throttled { rate: 1000 }]
            } else {
                vec![]
            };
            assert_eq!(row.causes, causes, "{list}");
        }
    }

    #[test]
    fn bytes_behind_are_averaged_where_the_logs_begin_apart() {
        let mut sample = look(0, 1000, 900, &[1]);
        for ((_, broker), replica) in &mut sample.replicas {
            if *broker == 2 {
                replica.log_start = Some(Offset(500));
            }
        }
        let row = follower(&mut ReplicaMeter::new(), &sample);
        assert_eq!((row.lag_bytes, row.lag_bytes_exact), (Some(10_000), false));
    }
}
