//! What fills a log dir: by kind, topic, log and segment.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::log::{Usage, UsageKind};
use crate::plan::volumes::{FileUsage, LogUsage, VolumeRow};
use crate::terms::Timestamp;

use super::table::natural;

/// Names something on the way from a log dir to its segments.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UsageKey {
    /// A kind.
    Kind(UsageKind),
    /// A topic.
    Topic(String),
    /// A dir of the log dir.
    Log(String),
    /// Something that is not Kafka's.
    Entry(String),
    /// A segment, by its base offset.
    Segment(i64),
    /// Another file of a dir.
    File(String),
}

/// What fills a part of a log dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageItem {
    /// Its name.
    pub key: UsageKey,
    /// What it takes.
    pub usage: Usage,
    /// Dirs that it has a share of.
    pub logs: u64,
    /// Their `.log` files.
    pub segments: u64,
    /// When a broker last wrote to it.
    pub written_at: Option<Timestamp>,
    /// Why it could not be looked at, or what else is to be known.
    pub note: Option<String>,
}

/// The files of a dir, or why they could not be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesOfLog {
    /// Its log dir.
    pub dir: PathBuf,
    /// Its name.
    pub name: String,
    /// The files.
    pub files: Result<Arc<[FileUsage]>, String>,
}

impl UsageItem {
    /// Returns its name on screens.
    pub fn name(&self) -> String {
        match &self.key {
            UsageKey::Kind(kind) => kind.word().to_owned(),
            UsageKey::Topic(name)
            | UsageKey::Log(name)
            | UsageKey::Entry(name)
            | UsageKey::File(name) => name.clone(),
            UsageKey::Segment(base) => format!("{base:020}"),
        }
    }

    pub(super) fn order(&self, other: &Self) -> std::cmp::Ordering {
        natural(&self.name(), &other.name()).then_with(|| self.key.cmp(&other.key))
    }

    fn new(key: UsageKey) -> Self {
        Self {
            key,
            usage: Usage::default(),
            logs: 0,
            segments: 0,
            written_at: None,
            note: None,
        }
    }

    fn add_log(&mut self, log: &LogUsage, usage: Usage) {
        self.usage.add(usage);
        self.logs += 1;
        self.segments += log.segments;
        self.written_at = self.written_at.max(log.written_at);
    }
}

/// Returns what fills the place at the end of `path` in a log dir, in any order.
pub(super) fn items_of(
    row: &VolumeRow,
    path: &[UsageKey],
    files: Option<&FilesOfLog>,
) -> Vec<UsageItem> {
    let usage = &row.facts.usage;
    // What lies on another volume takes nothing of this one.
    let logs = || usage.logs.iter().filter(|log| !log.elsewhere);
    let of_kind = |kind: UsageKind| {
        logs().filter_map(move |log| {
            let used = log.usage.of(kind);
            (used != Usage::default()).then_some((log, used))
        })
    };
    match path {
        [] => row
            .kinds
            .kinds()
            .map(|(kind, used)| {
                let mut item = UsageItem::new(UsageKey::Kind(kind));
                for (log, used) in of_kind(kind) {
                    item.add_log(log, used);
                }
                item.usage = used;
                item
            })
            .collect(),
        [UsageKey::Kind(UsageKind::Foreign)] => {
            let entries = usage.foreign.iter().map(|entry| UsageItem {
                usage: entry.usage,
                note: entry
                    .stops_boot
                    .then(|| "no partition dir: the broker does not start".to_owned()),
                ..UsageItem::new(UsageKey::Entry(entry.name.clone()))
            });
            entries
                .chain(of_kind(UsageKind::Foreign).map(|(log, used)| of_log(log, used)))
                .collect()
        }
        [UsageKey::Kind(kind)] => {
            let mut topics: BTreeMap<String, UsageItem> = BTreeMap::new();
            for (log, used) in of_kind(*kind) {
                let topic = log.topic().unwrap_or_else(|| log.name.clone());
                topics
                    .entry(topic.clone())
                    .or_insert_with(|| UsageItem::new(UsageKey::Topic(topic)))
                    .add_log(log, used);
            }
            topics.into_values().collect()
        }
        [UsageKey::Kind(kind), UsageKey::Topic(topic)] => of_kind(*kind)
            .filter(|(log, _)| log.topic().as_ref().unwrap_or(&log.name) == topic)
            .map(|(log, used)| of_log(log, used))
            .collect(),
        [UsageKey::Kind(kind), .., UsageKey::Log(name)] => {
            let is_it = |of: &&FilesOfLog| of.dir == row.facts.dir && of.name == *name;
            match files.filter(is_it).map(|of| &of.files) {
                Some(Ok(files)) => of_files(files, *kind),
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

fn of_log(log: &LogUsage, used: Usage) -> UsageItem {
    let mut item = UsageItem::new(UsageKey::Log(log.name.clone()));
    item.add_log(log, used);
    item.note.clone_from(&log.error);
    item
}

/// Sums files by segment; those of no segment stand alone.
fn of_files(files: &[FileUsage], kind: UsageKind) -> Vec<UsageItem> {
    let mut items: BTreeMap<UsageKey, UsageItem> = BTreeMap::new();
    let mut of_kind: Vec<&FileUsage> = files.iter().filter(|file| file.kind == kind).collect();
    of_kind.sort_by_key(|file| Reverse(file.usage.allocated));
    for file in of_kind {
        let key = match file.base_offset {
            Some(base) => UsageKey::Segment(base),
            None => UsageKey::File(file.name.clone()),
        };
        let item = items
            .entry(key.clone())
            .or_insert_with(|| UsageItem::new(key));
        item.usage.add(file.usage);
        item.written_at = item.written_at.max(Some(file.written_at));
        item.segments += u64::from(file.is_log);
    }
    items.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_summed_by_segment() {
        let file = |name: &str, base_offset, is_log, allocated| FileUsage {
            name: name.to_owned(),
            kind: UsageKind::Topics,
            base_offset,
            is_log,
            usage: Usage {
                files: 1,
                len: allocated,
                allocated,
            },
            written_at: Timestamp(5),
        };
        let files = [
            file("00000000000000000007.log", Some(7), true, 10),
            file("00000000000000000007.index", Some(7), false, 3),
            file("partition.metadata", None, false, 1),
        ];
        let items = of_files(&files, UsageKind::Topics);
        let said: Vec<(String, u64, u64)> = items
            .iter()
            .map(|item| (item.name(), item.usage.allocated, item.usage.files))
            .collect();
        assert_eq!(
            said,
            [
                ("00000000000000000007".to_owned(), 13, 2),
                ("partition.metadata".to_owned(), 1, 1)
            ]
        );
        assert!(of_files(&files, UsageKind::DeletedFiles).is_empty());
    }
}
