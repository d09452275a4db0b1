//! One partition dir that a plan has to say something about.

use std::path::PathBuf;

use crate::disk::{EntryKind, FileStat, Listed};
use crate::engine::read::boot_risk::BrokerUser;
use crate::format::file_name::{DirName, FileKind, PartitionFile, segment_file_name};
use crate::plan::recovery::{LogPart, ScanRequest};
use crate::plan::{DirEntry, FileStamp, PartitionPlan, RecoveryInputs, Verdict};
use crate::terms::{Offset, TopicPartition};

/// What krescue's own half-written files end in; Kafka ignores them.
pub(in crate::engine) const OWN_SUFFIX: &str = ".krescue.tmp";

/// A partition dir, its listing, and what decides its recovery.
#[derive(Debug)]
pub(in crate::engine) struct LogTarget {
    /// The number of its log dir.
    pub(in crate::engine) dir_index: usize,
    /// Its log dir.
    pub(in crate::engine) log_dir: PathBuf,
    /// Its name.
    pub(in crate::engine) dir_name: String,
    /// What its name says.
    pub(in crate::engine) parsed: DirName,
    /// What decides, beside its files.
    pub(in crate::engine) inputs: RecoveryInputs,
    /// Its entries, without those of krescue.
    pub(in crate::engine) entries: Vec<DirEntry>,
    /// Files whose names are not UTF-8, as they are shown: Java's `File` does not find them, so that a boot passes them
    /// over.
    pub(in crate::engine) not_utf8: Vec<FileStamp>,
    /// Its segments: base offset and `.log`'s length, in order.
    pub(in crate::engine) segments: Vec<(Offset, u64)>,
    /// Files that an earlier krescue left half-written.
    pub(in crate::engine) own_leftovers: Vec<FileStamp>,
    /// Whether it was never compacted, as far as its dir tells, so that its offsets follow each other.
    pub(in crate::engine) is_gapless: bool,
    /// The user who will boot; `None` if nothing is refused to it.
    pub(in crate::engine) broker_user: Option<BrokerUser>,
    /// The first name that this user cannot change.
    pub(in crate::engine) refused: Option<String>,
    /// Bytes of `.log` files that a boot would read in full, by names and sizes.
    pub(in crate::engine) scan_estimate: u64,
}

impl LogTarget {
    /// Returns the partition dir's path.
    pub(in crate::engine) fn path(&self) -> PathBuf {
        self.log_dir.join(&self.dir_name)
    }

    /// Returns what reads a segment whole, its indexes compared with none on disk.
    pub(in crate::engine) fn scan_of(&self, base_offset: Offset, len: u64) -> ScanRequest {
        ScanRequest {
            base_offset,
            log: LogPart {
                file: segment_file_name(base_offset, FileKind::Log),
                start: 0,
                len,
            },
            offset_index_file: None,
            time_index_file: None,
            limits: self.inputs.config.limits(),
        }
    }

    /// Takes the listing of its dir.
    pub(in crate::engine) fn take_listing(&mut self, dir: Option<&FileStat>, listed: Vec<Listed>) {
        self.refused = self
            .broker_user
            .and_then(|user| user.first_refused(dir, &listed));
        for entry in listed {
            let is_file = entry.stat.kind == EntryKind::File;
            let stamp = FileStamp {
                name: entry.name,
                inode: entry.stat.inode,
                len: entry.stat.len,
                mtime_ns: entry.stat.mtime_ns,
            };
            // Snapshots are listed another way, and a boot dies of such a name.
            if !entry.is_utf8 && !stamp.name.ends_with(".snapshot") {
                self.not_utf8.push(stamp);
                continue;
            }
            if is_file && entry.is_utf8 && stamp.name.ends_with(OWN_SUFFIX) {
                self.own_leftovers.push(stamp);
                continue;
            }
            self.entries.push(DirEntry {
                kind: plan_kind(entry.stat.kind),
                stamp,
            });
        }
        self.segments = self.find_segments();
        self.scan_estimate = self.estimate();
    }

    fn find_segments(&self) -> Vec<(Offset, u64)> {
        let mut segments: Vec<(Offset, u64)> = self
            .entries
            .iter()
            .filter(|entry| entry.kind == crate::plan::EntryKind::File)
            .filter_map(|entry| match PartitionFile::parse(&entry.stamp.name) {
                PartitionFile::Segment {
                    offset,
                    kind: FileKind::Log,
                } => Some((offset, entry.stamp.len)),
                _ => None,
            })
            .collect();
        segments.sort();
        segments
    }

    /// Returns the bytes of all its segments; none of a dir that is to be deleted.
    pub(in crate::engine) fn log_bytes(&self) -> u64 {
        if matches!(self.parsed, DirName::Delete(_)) {
            return 0;
        }
        self.segments.iter().map(|(_, len)| len).sum()
    }

    fn estimate(&self) -> u64 {
        if self.inputs.is_clean() || matches!(self.parsed, DirName::Delete(_)) {
            return 0;
        }
        let segments = &self.segments;
        let point = self.inputs.recovery_point_or_zero();
        let first = segments.iter().rfind(|(base, _)| *base <= point);
        let first = first.map_or(Offset(i64::MIN), |(base, _)| *base);
        segments
            .iter()
            .filter(|(base, _)| *base >= first)
            .map(|(_, len)| len)
            .sum()
    }

    /// Returns a plan that leaves the dir as it is.
    pub(in crate::engine) fn untouched(&self, verdict: Verdict) -> PartitionPlan {
        let partition = self.parsed.partition().cloned();
        PartitionPlan {
            recovery_point: self.inputs.recovery_point,
            high_watermark: self.inputs.high_watermark,
            config: self.inputs.config,
            stamps: self
                .entries
                .iter()
                .map(|entry| entry.stamp.clone())
                .collect(),
            ..PartitionPlan::of(self.dir_name.clone(), partition, verdict)
        }
    }

    /// Returns the partition that the name gives; of a dir that names none, one without a topic.
    pub(in crate::engine) fn partition_of(parsed: &DirName) -> TopicPartition {
        parsed
            .partition()
            .cloned()
            .unwrap_or_else(|| TopicPartition::new("", -1))
    }
}

fn plan_kind(kind: EntryKind) -> crate::plan::EntryKind {
    match kind {
        EntryKind::File => crate::plan::EntryKind::File,
        EntryKind::Dir => crate::plan::EntryKind::Dir,
        EntryKind::Other => crate::plan::EntryKind::Other,
    }
}
