//! What the bytes of a log dir are for: kinds of dirs and files, by their names alone.

use serde::{Deserialize, Serialize};

use crate::format::file_name::{DirName, PartitionFile};

/// What some bytes of a log dir are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageKind {
    /// Logs of topics.
    Topics,
    /// Logs of internal topics (`__consumer_offsets`, `__transaction_state`, others that begin with `__`).
    Internal,
    /// `__cluster_metadata-0`.
    Metadata,
    /// `-delete` dirs: deleted partitions that a broker removes after its delay, and at each boot.
    DeleteDirs,
    /// `-stray` dirs: partitions that the metadata did not know; no broker ever removes them.
    StrayDirs,
    /// `-future` dirs: copies on their way from another log dir.
    FutureDirs,
    /// `….deleted` files: removed after their delay, and at each boot.
    DeletedFiles,
    /// `….cleaned` files: a compaction that was broken off.
    CleanedFiles,
    /// `….swap` files: a compaction or a split whose last step is to be done at the next boot. Never a leftover.
    SwapFiles,
    /// Files of a log that has no `.log` of their name: a boot removes such indexes.
    OrphanIndexes,
    /// `remote-log-index-cache`.
    IndexCache,
    /// The log dir's own files: checkpoints, `meta.properties`, lock and marker.
    Own,
    /// Files and dirs that are not Kafka's.
    Foreign,
}

impl UsageKind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Self; 13] = [
        Self::Topics,
        Self::DeleteDirs,
        Self::StrayDirs,
        Self::FutureDirs,
        Self::DeletedFiles,
        Self::CleanedFiles,
        Self::SwapFiles,
        Self::OrphanIndexes,
        Self::Internal,
        Self::Metadata,
        Self::IndexCache,
        Self::Own,
        Self::Foreign,
    ];

    /// Returns the kind of a dir in a log dir.
    pub fn of_dir(name: &DirName) -> Self {
        match name {
            name if name.is_cluster_metadata() => Self::Metadata,
            DirName::Normal(partition) if partition.topic.starts_with("__") => Self::Internal,
            DirName::Normal(_) => Self::Topics,
            DirName::Delete(_) => Self::DeleteDirs,
            DirName::Stray(_) => Self::StrayDirs,
            DirName::Future(_) => Self::FutureDirs,
            DirName::RemoteLogIndexCache => Self::IndexCache,
            DirName::Invalid => Self::Foreign,
        }
    }

    /// Returns the kind of a file in a dir of this kind; of a dir that goes as a whole, all of it does.
    #[must_use]
    pub fn of_file(self, file: &PartitionFile) -> Self {
        match (self, file) {
            (
                Self::DeleteDirs
                | Self::StrayDirs
                | Self::FutureDirs
                | Self::IndexCache
                | Self::Foreign,
                _,
            ) => self,
            (_, PartitionFile::Deleted) => Self::DeletedFiles,
            (_, PartitionFile::Cleaned { .. }) => Self::CleanedFiles,
            (_, PartitionFile::Swap { .. }) => Self::SwapFiles,
            (_, PartitionFile::Other | PartitionFile::BadNumber) => Self::Foreign,
            _ => self,
        }
    }

    /// Says whether it is left from something that ended, or that a boot ends.
    pub fn is_leftover(self) -> bool {
        matches!(
            self,
            Self::DeleteDirs
                | Self::StrayDirs
                | Self::FutureDirs
                | Self::DeletedFiles
                | Self::CleanedFiles
                | Self::SwapFiles
                | Self::OrphanIndexes
        )
    }

    /// Returns its name on screens.
    pub fn word(self) -> &'static str {
        match self {
            Self::Topics => "topics",
            Self::Internal => "__*",
            Self::Metadata => "__cluster_metadata",
            Self::DeleteDirs => "-delete",
            Self::StrayDirs => "-stray",
            Self::FutureDirs => "-future",
            Self::DeletedFiles => ".deleted",
            Self::CleanedFiles => ".cleaned",
            Self::SwapFiles => ".swap",
            Self::OrphanIndexes => "orphan indexes",
            Self::IndexCache => "index cache",
            Self::Own => "checkpoints",
            Self::Foreign => "not Kafka",
        }
    }
}

/// How much some files take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// How many files.
    pub files: u64,
    /// The sum of their lengths, in bytes.
    pub len: u64,
    /// Bytes on the volume.
    pub allocated: u64,
}

impl Usage {
    /// Adds another.
    pub fn add(&mut self, other: Self) {
        self.files = self.files.saturating_add(other.files);
        self.len = self.len.saturating_add(other.len);
        self.allocated = self.allocated.saturating_add(other.allocated);
    }
}

/// Usage by kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageByKind([Usage; UsageKind::ALL.len()]);

impl UsageByKind {
    /// Adds to a kind.
    pub fn add(&mut self, kind: UsageKind, usage: Usage) {
        if let Some(slot) = self.0.get_mut(kind as usize) {
            slot.add(usage);
        }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        for (slot, usage) in self.0.iter_mut().zip(other.0) {
            slot.add(usage);
        }
    }

    /// Returns what a kind takes.
    pub fn of(&self, kind: UsageKind) -> Usage {
        self.0.get(kind as usize).copied().unwrap_or_default()
    }

    /// Returns the kinds that take anything, in the order in which they are shown.
    pub fn kinds(&self) -> impl Iterator<Item = (UsageKind, Usage)> + '_ {
        let all = UsageKind::ALL.into_iter().map(|kind| (kind, self.of(kind)));
        all.filter(|(_, usage)| *usage != Usage::default())
    }

    /// Returns what the kinds that `wanted` picks take together.
    pub fn sum(&self, wanted: impl Fn(UsageKind) -> bool) -> Usage {
        let mut sum = Usage::default();
        for (kind, usage) in self.kinds() {
            if wanted(kind) {
                sum.add(usage);
            }
        }
        sum
    }

    /// Returns what Kafka's files take.
    pub fn kafka(&self) -> Usage {
        self.sum(|kind| kind != UsageKind::Foreign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_bytes_are_for() {
        let id = "3f0c1e9ad2b64c1c8a7be6f1a2b3c4d5";
        for (dir, file, want) in [
            ("t-0", "00000000000000000000.log", UsageKind::Topics),
            ("t-0", "leader-epoch-checkpoint", UsageKind::Topics),
            (
                "t-0",
                "00000000000000000000.log.deleted",
                UsageKind::DeletedFiles,
            ),
            ("t-0", "00000000000000000000.log.swap", UsageKind::SwapFiles),
            (
                "t-0",
                "00000000000000000000.index.cleaned",
                UsageKind::CleanedFiles,
            ),
            ("t-0", "java_pid7.hprof", UsageKind::Foreign),
            (
                "__consumer_offsets-3",
                "00000000000000000000.log",
                UsageKind::Internal,
            ),
            ("__cluster_metadata-0", "quorum-state", UsageKind::Metadata),
            (
                &format!("t-0.{id}-delete"),
                "x.log.deleted",
                UsageKind::DeleteDirs,
            ),
            (
                &format!("t-0.{id}-stray"),
                "00000000000000000000.log",
                UsageKind::StrayDirs,
            ),
            (
                &format!("t-0.{id}-future"),
                "00000000000000000000.log",
                UsageKind::FutureDirs,
            ),
            ("remote-log-index-cache", "a.index", UsageKind::IndexCache),
            ("lost+found", "#12", UsageKind::Foreign),
        ] {
            let dir = UsageKind::of_dir(&DirName::parse(dir));
            assert_eq!(dir.of_file(&PartitionFile::parse(file)), want, "{file}");
        }
    }

    #[test]
    fn each_kind_has_a_place_of_its_own() {
        let mut usage = UsageByKind::default();
        for (files, kind) in (1..).zip(UsageKind::ALL) {
            usage.add(
                kind,
                Usage {
                    files,
                    len: 1,
                    allocated: 4096,
                },
            );
        }
        for (files, kind) in (1..).zip(UsageKind::ALL) {
            assert_eq!(usage.of(kind).files, files);
        }
        assert_eq!(usage.kafka().len, 12);
    }
}
