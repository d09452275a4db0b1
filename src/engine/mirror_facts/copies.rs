//! The records of copies: who wrote them, and whether the source has their like.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use super::batches::{each_batch, segments_in};
use super::read::{LIVE_RATE, lives};
use crate::disk::{DiskError, Pace, ReadManner, Storage, WindowBuffer};
use crate::format::record::{Records, plain_records};
use crate::format::record_batch::{BatchHeader, HEADER_LEN, TimestampType, crc_matches};
use crate::format::transaction_record::transactional_id;
use crate::mirror::{
    ClusterFacts, CopyFact, CopyLook, CopyProducer, ExcessFact, Facts, LogFacts, TransactionalIds,
    UnlikeFact,
};
use crate::terms::{Offset, TopicPartition};

/// Bytes of a copy that are read, from its end; a source that is longer is not compared.
const MOST_BYTES: u64 = 64 << 20;
/// Records of a log that are remembered.
const MOST_RECORDS: usize = 2_000_000;
/// The most plain bytes of a batch.
const PLAIN_CAP: usize = 64 << 20;
const TRANSACTIONS: &str = "__transaction_state";

/// Looks at the copies that lie on this host, by the facts' dirs; what cannot be read stays absent.
pub fn read_copies(storage: &dyn Storage, looks: &[CopyLook], host: &str, facts: &mut Facts) {
    let mut buffer = WindowBuffer::default();
    let mut with_ids: BTreeSet<&str> = BTreeSet::new();
    for look in looks {
        let dir = |(alias, partition): &(String, TopicPartition)| {
            let cluster = facts.clusters.get(alias)?;
            dir_of(cluster.log(&partition.topic, partition.partition)?, host)
        };
        let Some(copy) = dir(&look.target) else {
            continue;
        };
        let Ok(fact) = one(
            storage,
            look,
            (&copy, dir(&look.source).as_deref()),
            &mut buffer,
        ) else {
            continue;
        };
        let (alias, partition) = &look.target;
        if !fact.producers.is_empty() {
            with_ids.insert(alias);
        }
        if let Some(cluster) = facts.clusters.get_mut(alias) {
            let here = cluster.copies.entry(partition.topic.clone()).or_default();
            here.insert(partition.partition, fact);
        }
    }
    for alias in with_ids {
        if let Some(cluster) = facts.clusters.get_mut(alias) {
            cluster.transactional_ids = transactional_ids(storage, cluster, host, &mut buffer);
        }
    }
}

fn dir_of(log: &LogFacts, host: &str) -> Option<PathBuf> {
    (log.host == host && !log.dir.is_empty()).then(|| PathBuf::from(&log.dir))
}

fn one(
    storage: &dyn Storage,
    look: &CopyLook,
    (copy, source): (&Path, Option<&Path>),
    buffer: &mut WindowBuffer,
) -> Result<CopyFact, DiskError> {
    let (segments, _) = newest_segments(storage, copy)?;
    let mut fact = CopyFact {
        // Of what is too long nothing is looked at.
        from: segments.first().map_or(Offset(i64::MAX), |(base, _)| *base),
        ..CopyFact::default()
    };
    let source = source.filter(|_| look.comparable.is_some());
    let mut records = Remembered {
        wanted: source.is_some() || !look.excesses.is_empty(),
        ..Remembered::default()
    };
    // The broker's clock is in every record then.
    let mut restamped = false;
    let is_whole = read(storage, copy, &segments, buffer, &mut |header, batch| {
        note(&mut fact, header);
        restamped |= header.attributes.timestamp_type() == TimestampType::LogAppendTime;
        records.take(header, batch)
    })?;
    for (before, after) in &look.excesses {
        let (first, second) = (before.downstream, after.downstream);
        if first >= second {
            continue;
        }
        let up = after.upstream.0.saturating_sub(before.upstream.0);
        let markers = records.markers.range(first.plus(1)..=second).count() as u64;
        let excess = second.0.saturating_sub(first.0).saturating_sub(up);
        let excess = excess.saturating_sub(i64::try_from(markers).unwrap_or(i64::MAX));
        if first >= fact.from && is_whole && !records.overflowed() {
            let excess_fact = ExcessFact {
                markers,
                copied_again: records.repeat(second, excess),
            };
            fact.excesses.insert(second.0, excess_fact);
        }
    }
    if let (Some((first, last)), Some(source)) = (look.comparable, source)
        && first >= fact.from
        && is_whole
        && !restamped
        && !records.overflowed()
    {
        fact.unlike = compare(storage, source, &records, (first, last), buffer)?;
    }
    Ok(fact)
}

/// Notes who wrote a batch, and how.
fn note(fact: &mut CopyFact, header: &BatchHeader) {
    if header.attributes.is_control() {
        return;
    }
    if let Ok(codec) = header.attributes.compression() {
        fact.codecs.insert(codec.to_string());
    }
    if header.producer_id.0 >= 0 {
        let known = fact
            .producers
            .entry(header.producer_id.0)
            .or_insert(CopyProducer {
                first_offset: header.base_offset,
                last_offset: header.last_offset(),
                last_timestamp: header.max_timestamp,
            });
        known.last_offset = header.last_offset();
        known.last_timestamp = header.max_timestamp;
    }
}

/// The records of a log, each as one number.
#[derive(Default)]
struct Remembered {
    wanted: bool,
    hashes: BTreeMap<Offset, u64>,
    markers: BTreeSet<Offset>,
}

impl Remembered {
    /// Says whether there are more than can be remembered.
    fn overflowed(&self) -> bool {
        self.hashes.len() > MOST_RECORDS
    }

    fn take(&mut self, header: &BatchHeader, batch: &[u8]) -> Result<(), String> {
        if !self.wanted || self.overflowed() {
            return Ok(());
        }
        if header.attributes.is_control() {
            self.markers.insert(header.base_offset);
            return Ok(());
        }
        let Some(payload) = batch.get(HEADER_LEN..) else {
            return Ok(());
        };
        let plain = plain_records(header, payload, PLAIN_CAP).map_err(|error| error.to_string())?;
        for record in Records::new(header, &plain) {
            let record = record.map_err(|error| error.to_string())?;
            let mut hasher = DefaultHasher::new();
            (record.timestamp.0, record.key, record.value).hash(&mut hasher);
            self.hashes.insert(record.offset, hasher.finish());
        }
        Ok(())
    }

    /// Says whether the `count` records before `offset` are the same as those from it on.
    fn repeat(&self, offset: Offset, count: i64) -> bool {
        let count = usize::try_from(count).unwrap_or(0);
        let before = self.hashes.range(..offset).rev().take(count);
        let mut before: Vec<u64> = before.map(|(_, hash)| *hash).collect();
        before.reverse();
        let from = self.hashes.range(offset..).take(count);
        count > 0 && before.len() == count && from.map(|(_, hash)| *hash).eq(before)
    }
}

/// Compares the records from `first` to `last` of a copy with the whole source; `None` where that is too long.
fn compare(
    storage: &dyn Storage,
    source: &Path,
    copy: &Remembered,
    (first, last): (Offset, Offset),
    buffer: &mut WindowBuffer,
) -> Result<Option<UnlikeFact>, DiskError> {
    let (segments, is_whole) = newest_segments(storage, source)?;
    if !is_whole {
        return Ok(None);
    }
    let mut records = Remembered {
        wanted: true,
        ..Remembered::default()
    };
    let is_whole = read(storage, source, &segments, buffer, &mut |header, batch| {
        records.take(header, batch)
    })?;
    if !is_whole || records.overflowed() || first > last {
        return Ok(None);
    }
    let there: HashSet<u64> = records.hashes.into_values().collect();
    let mut fact = UnlikeFact {
        compared: 0,
        unlike: 0,
        first: None,
    };
    for (offset, hash) in copy.hashes.range(first..=last) {
        fact.compared += 1;
        if !there.contains(hash) {
            fact.unlike += 1;
            fact.first.get_or_insert(*offset);
        }
    }
    Ok(Some(fact))
}

/// Returns the newest segments of a log that are not too much together, and whether they are all of them.
fn newest_segments(
    storage: &dyn Storage,
    dir: &Path,
) -> Result<(Vec<(Offset, String)>, bool), DiskError> {
    let mut segments = segments_in(storage, dir)?;
    let mut bytes = 0_u64;
    let mut first = segments.len();
    for (index, (_, _, len)) in segments.iter().enumerate().rev() {
        bytes = bytes.saturating_add(*len);
        if bytes > MOST_BYTES {
            break;
        }
        first = index;
    }
    let taken = segments.drain(first..);
    let taken: Vec<_> = taken.map(|(base, name, _)| (base, name)).collect();
    Ok((taken, segments.is_empty()))
}

/// Takes a batch that checks with its header, or says what is wrong with it.
type OnChecked<'a> = dyn FnMut(&BatchHeader, &[u8]) -> Result<(), String> + 'a;

/// Reads the batches of magic 2 whose checksums fit; says whether there are no others, and all were taken.
fn read(
    storage: &dyn Storage,
    dir: &Path,
    segments: &[(Offset, String)],
    buffer: &mut WindowBuffer,
    on_batch: &mut OnChecked<'_>,
) -> Result<bool, DiskError> {
    let lives = dir.parent().is_some_and(lives);
    let pace = Pace::limited(lives.then_some(LIVE_RATE));
    let counter = AtomicU64::new(0);
    let manner = ReadManner {
        pace: &pace,
        keeps_cache: lives,
        counter: &counter,
    };
    let mut is_whole = true;
    for (_, name) in segments {
        let path = dir.join(name);
        each_batch(
            storage,
            &path,
            (manner, buffer),
            &mut |framed, batch| match BatchHeader::decode(batch) {
                Some(header) if !framed.is_legacy() && crc_matches(batch) => {
                    let taken = on_batch(&header, batch);
                    is_whole &= taken.is_ok();
                    taken
                }
                _ => {
                    is_whole = false;
                    Ok(())
                }
            },
        )?;
    }
    Ok(is_whole)
}

/// Reads which transactional id each producer has; `None` where no partition of it lies here.
fn transactional_ids(
    storage: &dyn Storage,
    cluster: &ClusterFacts,
    host: &str,
    buffer: &mut WindowBuffer,
) -> Option<TransactionalIds> {
    let Some(logs) = cluster.logs.get(TRANSACTIONS) else {
        // A cluster makes that topic with its first transactional id.
        let has_none = cluster.metadata.is_some() && cluster.topic(TRANSACTIONS).is_none();
        return has_none.then(|| TransactionalIds {
            complete: true,
            ..TransactionalIds::default()
        });
    };
    let mut by_id: BTreeMap<String, i64> = BTreeMap::new();
    let mut is_complete = cluster.partitions(TRANSACTIONS).len() == logs.len();
    for log in logs.values() {
        let dir = dir_of(log, host)?;
        let (segments, is_whole) = newest_segments(storage, &dir).ok()?;
        is_complete &= is_whole;
        let done = read(storage, &dir, &segments, buffer, &mut |header, batch| {
            if header.attributes.is_control() {
                return Ok(());
            }
            let payload = batch.get(HEADER_LEN..).unwrap_or_default();
            let plain =
                plain_records(header, payload, PLAIN_CAP).map_err(|error| error.to_string())?;
            for record in Records::new(header, &plain) {
                let record = record.map_err(|error| error.to_string())?;
                match transactional_id(record.key.unwrap_or_default(), record.value) {
                    Ok(Some((id, Some(producer)))) => {
                        by_id.insert(id.to_owned(), producer.0);
                    }
                    Ok(Some((id, None))) => {
                        by_id.remove(id);
                    }
                    Ok(None) | Err(_) => {}
                }
            }
            Ok(())
        });
        is_complete &= done.ok()?;
    }
    let by_producer = by_id.into_iter().map(|(id, producer)| (producer, id));
    Some(TransactionalIds {
        by_producer: by_producer.collect(),
        complete: is_complete && metadata_tells(cluster),
    })
}

/// Says whether the metadata tells how many partitions there are.
fn metadata_tells(cluster: &ClusterFacts) -> bool {
    cluster.topic(TRANSACTIONS).is_some()
}
