//! The entries of a log dir.

use crate::format::java;
use crate::terms::TopicPartition;

/// Log dir, node and cluster ids.
pub const META_PROPERTIES: &str = "meta.properties";
/// Locked while a broker runs; its presence says nothing.
pub const LOCK: &str = ".lock";
/// The marker of a clean stop.
pub const CLEAN_SHUTDOWN_MARKER: &str = ".kafka_cleanshutdown";
/// The offset checkpoint of recovery points.
pub const RECOVERY_POINT_CHECKPOINT: &str = "recovery-point-offset-checkpoint";
/// The offset checkpoint of log starts.
pub const LOG_START_CHECKPOINT: &str = "log-start-offset-checkpoint";
/// The offset checkpoint of high watermarks.
pub const HIGH_WATERMARK_CHECKPOINT: &str = "replication-offset-checkpoint";
/// The offset checkpoint of the cleaner's first dirty offsets.
pub const CLEANER_CHECKPOINT: &str = "cleaner-offset-checkpoint";
/// The cache of tiered storage, which is no partition dir.
pub const REMOTE_LOG_INDEX_CACHE: &str = "remote-log-index-cache";
/// The topic of KRaft's metadata, whose only partition is 0.
pub const METADATA_TOPIC: &str = "__cluster_metadata";

const DELETE_SUFFIX: &str = "-delete";
const FUTURE_SUFFIX: &str = "-future";
const STRAY_SUFFIX: &str = "-stray";

/// What the name of a dir in a log dir says, by the rules of `LocalLog.parseTopicPartitionName`.
///
/// Kafka does not check the topic's characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DirName {
    /// `topic-partition`.
    Normal(TopicPartition),
    /// `topic-partition.ID-future`: a copy on its way from another log dir.
    Future(TopicPartition),
    /// `topic-partition.ID-delete`: to be deleted. The topic may be cut short.
    Delete(TopicPartition),
    /// `topic-partition.ID-stray`: not in the metadata. The topic may be cut short.
    Stray(TopicPartition),
    /// `remote-log-index-cache`.
    RemoteLogIndexCache,
    /// Any other name: start-up fails.
    Invalid,
}

impl DirName {
    /// Parses a dir's name.
    pub fn parse(name: &str) -> Self {
        if name == REMOTE_LOG_INDEX_CACHE {
            return Self::RemoteLogIndexCache;
        }
        let with_id = |head| before_id(head).and_then(split_partition);
        let parsed = if let Some(head) = name.strip_suffix(DELETE_SUFFIX) {
            with_id(head).map(Self::Delete)
        } else if let Some(head) = name.strip_suffix(FUTURE_SUFFIX) {
            with_id(head).map(Self::Future)
        } else if let Some(head) = name.strip_suffix(STRAY_SUFFIX) {
            with_id(head).map(Self::Stray)
        } else {
            split_partition(name).map(Self::Normal)
        };
        parsed.unwrap_or(Self::Invalid)
    }

    /// Returns the partition that the name gives, for a cut topic too.
    pub fn partition(&self) -> Option<&TopicPartition> {
        match self {
            Self::Normal(partition)
            | Self::Future(partition)
            | Self::Delete(partition)
            | Self::Stray(partition) => Some(partition),
            Self::RemoteLogIndexCache | Self::Invalid => None,
        }
    }

    /// Says whether this is the dir of KRaft's metadata, which the log manager leaves alone.
    pub fn is_cluster_metadata(&self) -> bool {
        self.partition()
            .is_some_and(|it| it.topic == METADATA_TOPIC && it.partition == 0)
    }
}

/// Returns the name of a dir of `partition` that is to be deleted; a name longer than 255 bytes loses the topic's end, as
/// Kafka cuts it.
pub fn delete_dir_name(partition: &TopicPartition, id: &str) -> String {
    const LONGEST: usize = 255;
    let tail = format!("-{}.{id}{DELETE_SUFFIX}", partition.partition);
    let room = LONGEST.saturating_sub(tail.len());
    let end = partition.topic.floor_char_boundary(room);
    format!("{}{tail}", partition.topic.get(..end).unwrap_or_default())
}

/// Returns what stands before the id, if `head` has the form `\S+-\S+\.\S+`.
fn before_id(head: &str) -> Option<&str> {
    if head.contains(java::is_whitespace) {
        return None;
    }
    let first = head.chars().next()?.len_utf8();
    let dash = first + head.get(first..)?.find('-')?;
    let last = head.len() - head.chars().next_back()?.len_utf8();
    let dot = head.get(..last)?.rfind('.')?;
    if dot < dash + 2 {
        return None;
    }
    head.rsplit_once('.').map(|(name, _)| name)
}

fn split_partition(name: &str) -> Option<TopicPartition> {
    let (topic, partition) = name.rsplit_once('-')?;
    if topic.is_empty() {
        return None;
    }
    Some(TopicPartition::new(topic, java::parse_i32(partition)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_partition_stands_behind_the_last_dash() {
        let id = "3f0c1e9ad2b64c1c8a7be6f1a2b3c4d5";
        let t = |topic: &str, partition| TopicPartition::new(topic, partition);
        for (name, want) in [
            ("t-0".to_owned(), DirName::Normal(t("t", 0))),
            ("a-b-12".to_owned(), DirName::Normal(t("a-b", 12))),
            ("t--5".to_owned(), DirName::Normal(t("t-", 5))),
            ("t-+5".to_owned(), DirName::Normal(t("t", 5))),
            (format!("t-9.{id}-delete"), DirName::Delete(t("t", 9))),
            (format!("a.b-9.{id}-future"), DirName::Future(t("a.b", 9))),
            (format!("t-1.{id}-stray"), DirName::Stray(t("t", 1))),
            ("t-1.x-stray".to_owned(), DirName::Stray(t("t", 1))),
            (
                "remote-log-index-cache".to_owned(),
                DirName::RemoteLogIndexCache,
            ),
        ] {
            assert_eq!(DirName::parse(&name), want, "{name}");
        }
    }

    #[test]
    fn names_that_stop_a_boot_are_invalid() {
        for name in [
            "lost+found",
            "",
            "t",
            "-0",
            "t-",
            "t-x",
            "t-2147483648",
            "t-0-delete",
            "t-0.-delete",
            "-0.x-delete",
            "t-x.id-delete",
            "t 1-0.id-delete",
            "t-0.id.x-delete",
            "t.id-delete",
            "-delete",
            "remote-log-index-cache2",
        ] {
            assert_eq!(DirName::parse(name), DirName::Invalid, "{name}");
        }
    }

    #[test]
    fn only_partition_0_holds_the_metadata() {
        assert!(DirName::parse("__cluster_metadata-0").is_cluster_metadata());
        assert!(!DirName::parse("__cluster_metadata-1").is_cluster_metadata());
    }

    proptest! {
        #[test]
        fn names_of_topics_survive(topic in "[A-Za-z0-9._-]{1,30}", partition in 0..i32::MAX) {
            let partition = TopicPartition::new(topic, partition);
            prop_assert_eq!(DirName::parse(&partition.to_string()), DirName::Normal(partition.clone()));
            let name = format!("{partition}.0123456789abcdef0123456789abcdef-delete");
            prop_assert_eq!(DirName::parse(&name), DirName::Delete(partition));
        }

        #[test]
        fn any_name_is_parsed_without_a_panic(name: String) {
            let _ = DirName::parse(&name);
            let _ = DirName::parse(&format!("{name}-delete"));
        }
    }
}
