//! What a change of a topic's settings lets go, by the leaders' answers.

use std::collections::{BTreeMap, BTreeSet};

use super::live_facts::sizes;
use crate::client::{AnsweredOffset, Client, ClientError, ClusterMetadata, ConfigEntry, Special};
use crate::plan::{KeyChange, LiveLoss};
use crate::terms::{Offset, Timestamp, TopicPartition};

const POLICY: &str = "cleanup.policy";
const TIERED: &str = "remote.storage.enable";
/// Keys that say how soon or where, not what goes: without tiered storage the local ones mean nothing, with it a segment leaves
/// the disk only once it was copied.
const HARMLESS: [&str; 3] = [
    "file.delete.delay.ms",
    "local.retention.ms",
    "local.retention.bytes",
];

/// What goes of each partition: its first offset, and the first that stays.
pub(super) type Cuts = BTreeMap<TopicPartition, (Offset, Offset)>;

/// What a change lets go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Loss {
    /// On each replica, at most.
    pub(super) amount: LiveLoss,
    /// Where logs are cut; `None` if that is not known.
    pub(super) cuts: Option<Cuts>,
    /// What must be known beside it.
    pub(super) notes: Vec<String>,
}

/// The limits that a change brings to bear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limits {
    /// Nothing goes that would not have gone before.
    Same,
    /// It cannot be told what goes.
    Unknown,
    /// A log keeps less than before.
    Tighter {
        /// Milliseconds.
        time: Option<i64>,
        /// Bytes of each partition.
        size: Option<i64>,
    },
}

/// A topic's settings before a change and after it.
struct Settings<'a> {
    values: &'a BTreeMap<String, ConfigEntry>,
    changes: &'a [KeyChange],
}

impl Settings<'_> {
    fn before(&self, key: &str) -> Option<&str> {
        self.values.get(key)?.value.as_deref()
    }

    /// Returns the value in force after the change; `None` if that is not known.
    fn after(&self, key: &str) -> Option<&str> {
        let Some(change) = self.changes.iter().find(|change| change.key == key) else {
            return self.before(key);
        };
        match (&change.value, &change.before) {
            (Some(value), _) => Some(value),
            (None, Some(_)) => self.values.get(key)?.weaker.as_deref(),
            (None, None) => self.before(key),
        }
    }

    fn is_tiered(&self) -> bool {
        self.before(TIERED) == Some("true")
    }

    fn limits(&self) -> Limits {
        let known = ["retention.ms", "retention.bytes", POLICY];
        let is_known = |key: &str| known.contains(&key) || HARMLESS.contains(&key);
        if self.changes.iter().any(|change| !is_known(&change.key)) {
            return Limits::Unknown;
        }
        let policy = |text: &str| -> BTreeSet<String> {
            let words = text.split(',').map(str::trim);
            words.map(str::to_owned).collect()
        };
        // A broker that tells no policy has the default.
        let before = policy(self.before(POLICY).unwrap_or("delete"));
        let after = match self.after(POLICY) {
            Some(text) => policy(text),
            None if self.before(POLICY).is_none() => before.clone(),
            None => return Limits::Unknown,
        };
        if after.contains("compact") && !before.contains("compact") {
            return Limits::Unknown;
        }
        if !after.contains("delete") {
            return Limits::Same;
        }
        let number = |text: &str| text.trim().parse::<i64>().ok();
        // A limit that is new or tighter; -1 is none.
        let tighter = |key: &str| -> Result<Option<i64>, ()> {
            let is_changed = self.changes.iter().any(|change| change.key == key);
            let deleted = before.contains("delete");
            if !is_changed && deleted {
                return Ok(None);
            }
            let new = self.after(key).and_then(number).ok_or(())?;
            let old = self.before(key).and_then(number);
            let old = old.filter(|old| *old >= 0 && deleted);
            Ok(Some(new).filter(|new| *new >= 0 && old.is_none_or(|old| *new < old)))
        };
        match (tighter("retention.ms"), tighter("retention.bytes")) {
            (Ok(None), Ok(None)) => Limits::Same,
            (Ok(time), Ok(size)) => Limits::Tighter { time, size },
            _ => Limits::Unknown,
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let is_changed = |prefix: &str| {
            let mut changes = self.changes.iter();
            changes.any(|change| change.key.starts_with(prefix))
        };
        if let Some(policy) = self.after(POLICY)
            && !policy.split(',').any(|word| word.trim() == "delete")
            && is_changed("retention.")
        {
            notes.push(format!(
                "cleanup.policy is \"{policy}\": without delete in it retention.* let nothing go"
            ));
        }
        if self.is_tiered() && is_changed("retention.") {
            notes.push(
                "tiered: retention.* count what lies in remote storage too, whose bytes no broker tells; local.retention.* free \
                 this disk and lose nothing"
                    .to_owned(),
            );
        }
        if !self.is_tiered() && is_changed("local.retention.") {
            notes.push(
                "remote.storage.enable is not set: local.retention.* mean nothing".to_owned(),
            );
        }
        notes
    }
}

/// Returns what a change of settings lets go at most; `values` are those of the topic before it.
///
/// # Errors
///
/// A leader does not answer.
pub(super) async fn loss_of(
    client: &Client,
    metadata: &ClusterMetadata,
    (values, changes): (&BTreeMap<String, ConfigEntry>, &[KeyChange]),
    now: Timestamp,
) -> Result<Loss, ClientError> {
    let settings = Settings { values, changes };
    let mut found = Loss {
        notes: settings.notes(),
        ..Loss::default()
    };
    let (time, size) = match settings.limits() {
        // The size of what lies in remote storage is not told.
        Limits::Tighter { size: Some(_), .. } if settings.is_tiered() => return Ok(found),
        Limits::Unknown => return Ok(found),
        Limits::Same => (None, None),
        Limits::Tighter { time, size } => (time, size),
    };
    let mut cuts = Cuts::new();
    let mut sum = LiveLoss {
        bytes: Some(0),
        records: Some(0),
    };
    if time.is_some() || size.is_some() {
        let limits = (time.map(|ms| now.0 - ms), size);
        for (leader, partitions) in by_leader(metadata) {
            let answers = Answers::ask(client, leader, &partitions, limits.0, settings.is_tiered());
            let answers = answers.await?;
            for partition in &partitions {
                let Some(gone) = answers.gone(partition, limits) else {
                    return Ok(found);
                };
                let cut = Offset(gone.start.0.saturating_add_unsigned(gone.records));
                cuts.insert(partition.clone(), (gone.start, cut));
                let add = |a: u64, b: u64| a.saturating_add(b);
                sum.bytes = sum.bytes.zip(gone.bytes).map(|(a, b)| add(a, b));
                sum.records = sum.records.map(|records| add(records, gone.records));
            }
        }
        let mut leaderless = metadata.partitions.values();
        if leaderless.any(|known| known.leader.is_none()) {
            // What goes of them goes once they are led again.
            return Ok(found);
        }
    }
    found.amount = sum;
    found.cuts = Some(cuts);
    Ok(found)
}

/// What a leader says of partitions.
struct Answers {
    ends: BTreeMap<TopicPartition, AnsweredOffset>,
    starts: BTreeMap<TopicPartition, AnsweredOffset>,
    /// The first offsets that are young enough.
    firsts: BTreeMap<TopicPartition, AnsweredOffset>,
    sizes: BTreeMap<TopicPartition, u64>,
    is_tiered: bool,
}

/// What goes of a partition.
struct Gone {
    start: Offset,
    records: u64,
    /// `None` where they do not lie on the leader's disk alone.
    bytes: Option<u64>,
}

impl Answers {
    async fn ask(
        client: &Client,
        leader: i32,
        partitions: &[TopicPartition],
        since: Option<i64>,
        is_tiered: bool,
    ) -> Result<Self, ClientError> {
        let start = if is_tiered {
            Special::LogStart
        } else {
            Special::LocalLogStart
        };
        let firsts = match since {
            Some(since) => {
                client
                    .offsets(leader, Special::Since(since), partitions)
                    .await?
            }
            None => BTreeMap::new(),
        };
        Ok(Self {
            ends: client.offsets(leader, Special::LogEnd, partitions).await?,
            starts: client.offsets(leader, start, partitions).await?,
            firsts,
            sizes: sizes(client, leader).await?,
            is_tiered,
        })
    }

    /// Returns what goes of a partition by the limits, a time of which records behind it stay and a size; `None` if that is not
    /// known.
    fn gone(&self, partition: &TopicPartition, limits: (Option<i64>, Option<i64>)) -> Option<Gone> {
        let offset = |answers: &BTreeMap<TopicPartition, AnsweredOffset>| {
            let answer = answers.get(partition)?;
            answer.ok().flatten()
        };
        let (end, start) = (offset(&self.ends)?, offset(&self.starts)?);
        let records = u64::try_from(end.0 - start.0).unwrap_or(0);
        let bytes = *self.sizes.get(partition)?;
        let by_time = match limits.0 {
            Some(_) => {
                // No record is as young: all go.
                let first = self.firsts.get(partition)?.ok()?.unwrap_or(end);
                u64::try_from(first.0 - start.0).unwrap_or(0)
            }
            None => 0,
        };
        let over = limits.1.map_or(0, |most| {
            bytes.saturating_sub(u64::try_from(most).unwrap_or(0))
        });
        let part = |of: u64, share: u64, whole: u64| {
            let scaled = u128::from(of) * u128::from(share) / u128::from(whole.max(1));
            u64::try_from(scaled).unwrap_or(u64::MAX)
        };
        let on_disk = part(bytes, by_time, records).max(over);
        Some(Gone {
            start,
            records: by_time.max(part(records, over, bytes)),
            bytes: (!self.is_tiered).then_some(on_disk),
        })
    }
}

fn by_leader(metadata: &ClusterMetadata) -> BTreeMap<i32, Vec<TopicPartition>> {
    let mut leaders: BTreeMap<i32, Vec<_>> = BTreeMap::new();
    for (partition, known) in &metadata.partitions {
        if let Some(leader) = known.leader {
            leaders.entry(leader).or_default().push(partition.clone());
        }
    }
    leaders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::live_facts::key_change;
    use crate::client::ConfigOrigin;

    fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, ConfigEntry> {
        let entry = |(key, value): &(&str, &str)| {
            let entry = ConfigEntry {
                value: Some((*value).to_owned()),
                origin: ConfigOrigin::Topic,
                read_only: false,
                weaker: (*key == "retention.ms").then(|| "604800000".to_owned()),
            };
            ((*key).to_owned(), entry)
        };
        pairs.iter().map(entry).collect()
    }

    fn limits(values: &BTreeMap<String, ConfigEntry>, changes: &[(&str, Option<&str>)]) -> Limits {
        let change =
            |(key, value): &(&str, Option<&str>)| key_change(values, key, value.map(str::to_owned));
        let changes: Vec<_> = changes.iter().map(change).collect();
        let settings = Settings {
            values,
            changes: &changes,
        };
        settings.limits()
    }

    const TIME: Limits = Limits::Tighter {
        time: Some(5),
        size: None,
    };

    #[test]
    fn what_is_kept_longer_lets_nothing_go() {
        let topic = values(&[
            ("cleanup.policy", "delete"),
            ("retention.ms", "9"),
            ("retention.bytes", "-1"),
        ]);
        assert_eq!(limits(&topic, &[("retention.ms", Some("5"))]), TIME);
        for same in ["9", "10", "-1"] {
            assert_eq!(
                limits(&topic, &[("retention.ms", Some(same))]),
                Limits::Same
            );
        }
        // What was set on the topic is taken away: a week counts again.
        assert_eq!(limits(&topic, &[("retention.ms", None)]), Limits::Same);
        // No broker says what counts then.
        assert_eq!(
            limits(&topic, &[("retention.bytes", None)]),
            Limits::Unknown
        );
        assert_eq!(
            limits(&topic, &[("segment.ms", Some("5"))]),
            Limits::Unknown
        );
    }

    #[test]
    fn a_topic_that_is_compacted_only_loses_nothing_by_retention() {
        let topic = values(&[
            ("cleanup.policy", "compact"),
            ("retention.ms", "5"),
            ("retention.bytes", "-1"),
        ]);
        let both = [("retention.ms", Some("1")), ("retention.bytes", Some("0"))];
        assert_eq!(limits(&topic, &both), Limits::Same);
        // With delete in the policy what is old goes at once, by the limit that was there all along.
        for policy in ["compact,delete", "delete"] {
            let found = limits(&topic, &[("cleanup.policy", Some(policy))]);
            assert_eq!(found, TIME, "{policy}");
        }
        let kept = limits(
            &topic,
            &[
                ("cleanup.policy", Some("delete")),
                ("retention.ms", Some("-1")),
            ],
        );
        assert_eq!(kept, Limits::Same);
    }

    #[test]
    fn what_compaction_takes_is_not_foretold() {
        let topic = values(&[("cleanup.policy", "delete"), ("retention.ms", "9")]);
        for (policy, want) in [
            ("compact", Limits::Unknown),
            ("compact,delete", Limits::Unknown),
            ("delete", Limits::Same),
        ] {
            assert_eq!(limits(&topic, &[("cleanup.policy", Some(policy))]), want);
        }
    }

    #[test]
    fn local_limits_of_tiered_topics_lose_nothing() {
        let topic = values(&[
            ("cleanup.policy", "delete"),
            ("remote.storage.enable", "true"),
        ]);
        let local = [("local.retention.ms", Some("1"))];
        assert_eq!(limits(&topic, &local), Limits::Same);
        let changes = [key_change(&topic, "retention.ms", Some("1".to_owned()))];
        let settings = Settings {
            values: &topic,
            changes: &changes,
        };
        assert!(settings.notes()[0].starts_with("tiered"));
    }
}
