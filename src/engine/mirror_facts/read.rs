//! One cluster's facts from the log dirs of one of its hosts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use super::log_end::log_end;
use super::records::RecordReader;
use crate::cluster::MetadataImage;
use crate::disk::{
    DiskError, EntryKind, LockState, LogDirListing, Pace, ReadManner, Storage, SubDir,
    WindowBuffer, look_at_lock,
};
use crate::engine::read::dir_facts::read_whole;
use crate::engine::read_metadata_dir;
use crate::format::file_name::{
    CLEANER_CHECKPOINT, DirName, FileKind, LEADER_EPOCH_CHECKPOINT, LOG_START_CHECKPOINT,
    META_PROPERTIES, PartitionFile,
};
use crate::format::meta_properties::MetaProperties;
use crate::format::offset_checkpoint::OffsetCheckpoint;
use crate::format::{leader_epoch_checkpoint, txn_index};
use crate::mirror::{
    ClusterFacts, ClusterMetadata, CommittedRecords, Content, FactFinding, FactSource,
    InternalTopic, LogFacts, Thinning, TopicMetadata, tells_what_is_copied,
};
use crate::terms::{Offset, Timestamp, TopicPartition};

/// The largest checkpoint, index or properties file that is read.
const MAX_SMALL_FILE: u64 = 256 << 20;
/// A longer topic of heartbeats is somebody else's.
const MAX_HEARTBEATS: u64 = 64 << 20;
/// Bytes a second beside a running broker.
pub(super) const LIVE_RATE: u64 = 50 << 20;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct FactsRequest<'a> {
    /// The log dirs.
    pub log_dirs: &'a [PathBuf],
    /// The host's name.
    pub host: &'a str,
    /// The clock.
    pub now: Timestamp,
    /// How syncs thin out.
    pub thinning: Thinning,
    /// Counts the bytes read.
    pub counter: &'a AtomicU64,
}

/// Reads what the log dirs of a host say of its cluster.
///
/// Beside a running broker it reads at 50 MiB/s and leaves the page cache as it is. A partition that cannot be read is a
/// finding.
///
/// # Errors
///
/// A log dir that cannot be listed.
pub fn read_cluster_facts(
    storage: &dyn Storage,
    request: FactsRequest<'_>,
) -> Result<ClusterFacts, DiskError> {
    read_facts(storage, request, &|_| true)
}

/// Reads how far mirrors have copied the cluster, for [`crate::mirror::copied_to`]: the few topics that tell it, nothing else.
///
/// # Errors
///
/// A log dir that cannot be listed.
pub fn read_copied_facts(
    storage: &dyn Storage,
    request: FactsRequest<'_>,
    image: Option<&MetadataImage>,
) -> Result<ClusterFacts, DiskError> {
    let tells = |sub: &SubDir| matches!(&sub.parsed, DirName::Normal(partition) if tells_what_is_copied(&partition.topic));
    let mut facts = read_facts(storage, request, &tells)?;
    facts.metadata = image.map(metadata);
    Ok(facts)
}

/// Reads what the partition dirs that `is_wanted` picks say.
pub(super) fn read_facts(
    storage: &dyn Storage,
    request: FactsRequest<'_>,
    is_wanted: &dyn Fn(&SubDir) -> bool,
) -> Result<ClusterFacts, DiskError> {
    let lives = request.log_dirs.iter().any(|dir| lives(dir));
    let pace = Pace::limited(lives.then_some(LIVE_RATE));
    let mut facts = ClusterFacts {
        sources: vec![FactSource {
            host: request.host.to_owned(),
            places: request
                .log_dirs
                .iter()
                .map(|dir| dir.display().to_string())
                .collect(),
            node_id: None,
            read_at: request.now,
            live: false,
        }],
        ..ClusterFacts::default()
    };
    let mut buffer = WindowBuffer::default();
    for path in request.log_dirs {
        let listing = LogDirListing::read(storage, path)?;
        let mut dir = Dir {
            storage,
            path,
            request,
            manner: ReadManner {
                pace: &pace,
                keeps_cache: lives,
                counter: request.counter,
            },
            buffer: &mut buffer,
            log_starts: checkpoint(storage, &path.join(LOG_START_CHECKPOINT)),
            first_dirty: checkpoint(storage, &path.join(CLEANER_CHECKPOINT)),
            facts: &mut facts,
        };
        dir.meta_properties();
        for sub in listing.sub_dirs().filter(is_wanted) {
            dir.sub_dir(&sub);
        }
    }
    Ok(facts)
}

/// Says whether a broker holds a log dir.
pub(super) fn lives(dir: &Path) -> bool {
    matches!(look_at_lock(dir), Ok(LockState::Held { .. }))
}

fn checkpoint(storage: &dyn Storage, path: &Path) -> OffsetCheckpoint {
    let bytes = read_whole(storage, path, MAX_SMALL_FILE).unwrap_or_default();
    OffsetCheckpoint::parse(&bytes).unwrap_or_default()
}

struct Dir<'a> {
    storage: &'a dyn Storage,
    path: &'a Path,
    request: FactsRequest<'a>,
    manner: ReadManner<'a>,
    buffer: &'a mut WindowBuffer,
    log_starts: OffsetCheckpoint,
    first_dirty: OffsetCheckpoint,
    facts: &'a mut ClusterFacts,
}

impl Dir<'_> {
    fn meta_properties(&mut self) {
        let path = self.path.join(META_PROPERTIES);
        let Ok(bytes) = read_whole(self.storage, &path, MAX_SMALL_FILE) else {
            return self.finding(
                path.display().to_string(),
                "missing: whose dir this is cannot be told",
            );
        };
        if let Ok(meta) = MetaProperties::parse(&bytes) {
            if let Some(source) = self.facts.sources.first_mut() {
                source.node_id = source.node_id.or(meta.node_id);
            }
            let known = self.facts.cluster_id.clone();
            if known.is_some() && known != meta.cluster_id {
                let text = "it belongs to another cluster than the dirs before it";
                self.finding(path.display().to_string(), text);
            }
            self.facts.cluster_id = known.or(meta.cluster_id);
        }
    }

    fn sub_dir(&mut self, sub: &SubDir) {
        let path = self.path.join(&sub.name);
        if sub.parsed.is_cluster_metadata() {
            match read_metadata_dir(self.storage, &path, None) {
                Ok(Some(folded)) => self.facts.metadata = Some(metadata(&folded.image)),
                Ok(None) => {}
                Err(error) => self.finding(path.display().to_string(), error.sentence()),
            }
            return;
        }
        let DirName::Normal(partition) = &sub.parsed else {
            return;
        };
        match self.log(&path, partition) {
            Ok(Some(log)) => self.facts.put(&partition.topic, partition.partition, log),
            Ok(None) => {}
            Err(error) => self.finding(path.display().to_string(), error.sentence()),
        }
    }

    /// Reads one log; `None` where it has no segment.
    fn log(
        &mut self,
        path: &Path,
        partition: &TopicPartition,
    ) -> Result<Option<LogFacts>, DiskError> {
        let mut segments = vec![];
        let mut txn_indexes = vec![];
        let mut bytes = 0;
        for entry in self.storage.list(path)? {
            if entry.stat.kind != EntryKind::File || !entry.is_utf8 {
                continue;
            }
            match PartitionFile::parse(&entry.name) {
                PartitionFile::Segment {
                    offset,
                    kind: FileKind::Log,
                } => {
                    bytes += entry.stat.len;
                    segments.push((offset, entry.name));
                }
                PartitionFile::Segment {
                    kind: FileKind::TxnIndex,
                    ..
                } => {
                    txn_indexes.push(entry.name);
                }
                _ => {}
            }
        }
        segments.sort_unstable();
        let Some((first, _)) = segments.first() else {
            return Ok(None);
        };
        let topic = InternalTopic::of(&partition.topic)
            .filter(|topic| *topic != InternalTopic::Heartbeats || bytes <= MAX_HEARTBEATS);
        let mut log = LogFacts {
            host: self.request.host.to_owned(),
            dir: path.display().to_string(),
            leader_epoch: self.last_epoch(path),
            log_start_offset: self
                .log_starts
                .get(partition)
                .map_or(*first, |it| it.max(*first)),
            log_end_offset: *first,
            newest_timestamp: None,
            content: None,
        };
        if let Some(topic) = topic {
            self.content(
                &mut log,
                (path, partition),
                topic,
                (&segments, &txn_indexes),
            )?;
        } else if let Some((base, name)) = segments.last() {
            let end = log_end(self.storage, (path, *base, name), self.manner, self.buffer)?;
            log.log_end_offset = end.log_end_offset;
            log.newest_timestamp = end.newest_timestamp;
        }
        // A log start beyond its end leaves a log empty there.
        log.log_end_offset = log.log_end_offset.max(log.log_start_offset);
        Ok(Some(log))
    }

    fn content(
        &mut self,
        log: &mut LogFacts,
        (path, partition): (&Path, &TopicPartition),
        topic: InternalTopic,
        (segments, txn_indexes): (&[(Offset, String)], &[String]),
    ) -> Result<(), DiskError> {
        let mut aborted = vec![];
        for name in txn_indexes {
            let bytes = read_whole(self.storage, &path.join(name), MAX_SMALL_FILE)?;
            aborted.extend(txn_index::decode(&bytes));
        }
        let first_dirty = self.first_dirty.get(partition).unwrap_or(Offset::ZERO);
        let mut content = Content::new(topic, self.request.thinning);
        let start = log.log_start_offset;
        let read = RecordReader {
            storage: self.storage,
            manner: self.manner,
            buffer: self.buffer,
            records: CommittedRecords::on_disk(aborted, first_dirty),
        }
        .read(path, segments, &mut |record| {
            if record.offset >= start {
                content.push(record);
            }
        })?;
        log.log_end_offset = read.log_end_offset.unwrap_or(log.log_start_offset);
        log.newest_timestamp = read.newest_timestamp;
        for (file, text) in read.findings {
            self.finding(path.join(file).display().to_string(), text);
        }
        if let Some(error) = &content.first_error {
            let text = format!(
                "{} of {} records are not understood; the first: {error}",
                content.undecodable, content.records
            );
            // A topic of that name that holds something else entirely is somebody's own.
            if topic != InternalTopic::Heartbeats {
                self.finding(path.display().to_string(), text);
            }
        }
        log.content = Some(content);
        Ok(())
    }

    fn last_epoch(&self, path: &Path) -> Option<crate::terms::LeaderEpoch> {
        let path = path.join(LEADER_EPOCH_CHECKPOINT);
        let bytes = read_whole(self.storage, &path, MAX_SMALL_FILE).ok()?;
        let entries = leader_epoch_checkpoint::parse(&bytes).ok()?;
        entries.last().map(|entry| entry.epoch)
    }

    fn finding(&mut self, place: String, text: impl Into<String>) {
        self.facts.findings.push(FactFinding {
            place,
            text: text.into(),
        });
    }
}

fn metadata(image: &MetadataImage) -> ClusterMetadata {
    let topics = image.topics().map(|(name, topic)| {
        let replicas = topic
            .partitions
            .iter()
            .map(|(partition, it)| (*partition, it.replicas.clone()))
            .collect();
        let configs: BTreeMap<String, String> = image
            .topic_configs(name)
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        (
            name.to_owned(),
            TopicMetadata {
                replicas,
                configs,
                ..TopicMetadata::default()
            },
        )
    });
    ClusterMetadata {
        timestamp: Some(image.timestamp).filter(|at| at.0 >= 0),
        brokers: image
            .brokers()
            .map(|(id, broker)| (id, broker.rack.clone()))
            .collect(),
        topics: topics.collect(),
    }
}
