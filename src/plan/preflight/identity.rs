//! Who the log dirs belong to: `meta.properties` of each, and all of them together.

use std::collections::BTreeMap;

use super::facts::{BootFacts, DirState, LogDirFacts, SmallFile};
use super::problem::{AtBoot, Fix, Problem, offline, words};
use crate::format::file_name::{DirName, META_PROPERTIES};
use crate::format::meta_properties::{MetaProperties, MetaPropertiesError, MetaPropertiesVersion};
use crate::log::FindingCode;
use crate::plan::Mend;
use crate::terms::Uuid;

fn parsed(dir: &LogDirFacts) -> Option<MetaProperties> {
    MetaProperties::parse(dir.meta.bytes()?).ok()
}

/// Each `meta.properties` that a boot does not take.
pub(super) fn meta_properties(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in facts
        .dirs
        .iter()
        .filter(|dir| dir.state == DirState::Listed)
    {
        let path = dir.path.join(META_PROPERTIES);
        let off = offline(facts, &dir.path);
        let (at_boot, text) = match &dir.meta {
            SmallFile::Missing if facts.config.is_kraft() => (
                AtBoot::Exits,
                format!(
                    "there is no meta.properties: the boot ends with \"No `meta.properties` found in {}\"",
                    dir.path.display()
                ),
            ),
            SmallFile::Missing => continue,
            SmallFile::Unreadable(cause) => (off, format!("{cause}: {}", words(off))),
            SmallFile::Bytes(bytes) => match MetaProperties::parse(bytes) {
                Ok(meta) if meta.node_id.is_none() && facts.config.is_kraft() => {
                    let what = match bytes.len() {
                        0 => "is empty",
                        _ if bytes.iter().all(|byte| *byte == 0) => "holds nothing but zeros",
                        _ => "has no node id",
                    };
                    let text = format!(
                        "{} {what}, as a power loss leaves it: the boot ends with \"Error: node ID not found\"",
                        path.display()
                    );
                    (AtBoot::Exits, text)
                }
                Ok(_) => continue,
                Err(error) => (off, format!("{}: {error}: {}", path.display(), words(off))),
            },
        };
        let line = match &dir.meta {
            SmallFile::Bytes(bytes) => line_of(bytes),
            _ => None,
        };
        let holds_logs = dir.logs().next().is_some();
        let fix = if dir.meta == SmallFile::Missing && !holds_logs {
            None
        } else {
            write_meta(facts, dir)
        };
        let next = match (&fix, &dir.meta) {
            (Some(_), _) => {
                "krescue preflight --fix writes it with the ids of the other log dirs and of the cluster's metadata".to_owned()
            }
            (None, SmallFile::Missing) if dir.entries.is_empty() => {
                "the dir is empty: look whether its volume is mounted; formatting it is the wrong cure".to_owned()
            }
            (None, SmallFile::Missing) => format!(
                "look whether this is the right dir and its volume is mounted; a new disk: {}",
                format_command(facts)
            ),
            (None, _) => format!(
                "no other log dir tells its ids: take cluster.id from meta.properties of another broker; \
                 node.id is that of server.properties; {}",
                format_command(facts)
            ),
        };
        problems.push(
            Problem::new(FindingCode::MetaProperties, at_boot, text)
                .dir(&dir.path)
                .file(META_PROPERTIES)
                .line(line)
                .next(next)
                .fix(fix),
        );
    }
    problems
}

/// Returns the command that formats a new, empty log dir of this broker.
pub(super) fn format_command(facts: &BootFacts) -> String {
    let cluster = facts
        .dirs
        .iter()
        .filter_map(parsed)
        .find_map(|meta| meta.cluster_id)
        .unwrap_or_else(|| "CLUSTER_ID".to_owned());
    let config = facts.config.file.as_ref().map_or_else(
        || "server.properties".to_owned(),
        |file| file.display().to_string(),
    );
    format!("kafka-storage.sh format --ignore-formatted -t {cluster} -c {config}")
}

/// Returns the line of what cannot be read, from 1.
fn line_of(bytes: &[u8]) -> Option<usize> {
    let key = match MetaProperties::parse(bytes) {
        Err(MetaPropertiesError::Version(_)) => "version",
        Err(MetaPropertiesError::NodeId { key, .. }) => key,
        Err(MetaPropertiesError::DirectoryId(_)) => "directory.id",
        _ => return None,
    };
    let properties = crate::format::properties::Properties::parse(bytes).ok()?;
    properties.property(key).map(|property| property.line)
}

/// Returns the change that writes a `meta.properties` from what else is known of this broker.
fn write_meta(facts: &BootFacts, dir: &LogDirFacts) -> Option<Fix> {
    let others: Vec<MetaProperties> = facts
        .dirs
        .iter()
        .filter(|other| other.path != dir.path)
        .filter_map(parsed)
        .collect();
    let cluster_id = agreed(others.iter().filter_map(|meta| meta.cluster_id.clone()))?;
    let node_id = agreed(others.iter().filter_map(|meta| meta.node_id))?;
    if facts.config.node_id.is_some_and(|id| id != node_id) {
        return None;
    }
    let meta = MetaProperties {
        version: MetaPropertiesVersion::V1,
        cluster_id: Some(cluster_id),
        node_id: Some(node_id),
        directory_id: directory_id(facts, dir, node_id, &others),
    };
    let text = String::from_utf8(meta.encode(&facts.now.rfc3339())).ok()?;
    Some(Fix::Dir(Mend::Write {
        file: META_PROPERTIES.to_owned(),
        text,
        replaces: dir.meta.bytes().map(|bytes| bytes.len() as u64),
        reason: "ids of the other log dirs and of the cluster's metadata".to_owned(),
    }))
}

fn agreed<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut values = values.into_iter();
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

/// Returns the dir's id: the one to which the cluster assigns the partitions that lie here; else the one that the broker
/// registered and no other dir has. Without one a boot writes a new id, and nothing is lost.
fn directory_id(
    facts: &BootFacts,
    dir: &LogDirFacts,
    node_id: i32,
    others: &[MetaProperties],
) -> Option<Uuid> {
    let image = facts.image.as_ref()?;
    let taken = |id: &Uuid| others.iter().any(|meta| meta.directory_id == Some(*id));
    let mut votes: BTreeMap<Uuid, u64> = BTreeMap::new();
    for log in dir.logs() {
        let DirName::Normal(partition) = &log.parsed else {
            continue;
        };
        let Some(of_partition) = image.partition(partition) else {
            continue;
        };
        let at = of_partition.replicas.iter().position(|id| *id == node_id);
        if let Some(id) = at.and_then(|at| of_partition.directories.get(at)) {
            *votes.entry(*id).or_default() += 1;
        }
    }
    let registered: Vec<Uuid> = image
        .broker(node_id)
        .map(|broker| broker.log_dirs.clone())
        .unwrap_or_default();
    let assigned = votes.into_iter().max_by_key(|(_, votes)| *votes);
    assigned
        .map(|(id, _)| id)
        .filter(|id| !taken(id) && registered.contains(id))
        .or_else(|| agreed(registered.into_iter().filter(|id| !taken(id))))
}

/// The ids of all dirs against each other and against the configuration.
pub(super) fn ids(facts: &BootFacts) -> Vec<Problem> {
    let metas: Vec<(&LogDirFacts, MetaProperties)> = facts
        .dirs
        .iter()
        .filter_map(|dir| Some((dir, parsed(dir)?)))
        .collect();
    let table = || {
        let told: Vec<String> = metas
            .iter()
            .map(|(dir, meta)| {
                format!(
                    "{}: cluster {}, node {}",
                    dir.path.display(),
                    meta.cluster_id.as_deref().unwrap_or("?"),
                    meta.node_id
                        .map_or_else(|| "?".to_owned(), |id| id.to_string())
                )
            })
            .collect();
        told.join("; ")
    };
    let mut problems = Vec::new();
    let at = |dir: &LogDirFacts, text: String, next: String, key: &str| {
        let line = dir.meta.bytes().and_then(|bytes| {
            let properties = crate::format::properties::Properties::parse(bytes).ok()?;
            properties.property(key).map(|property| property.line)
        });
        Problem::new(FindingCode::IdentityMismatch, AtBoot::Exits, text)
            .dir(&dir.path)
            .file(META_PROPERTIES)
            .line(line)
            .next(next)
    };
    let mut clusters = metas
        .iter()
        .filter_map(|(dir, meta)| Some((dir, meta.cluster_id.as_ref()?)));
    if let Some((_, first)) = clusters.next() {
        for (dir, id) in clusters.filter(|(_, id)| *id != first) {
            let text = format!(
                "cluster.id is {id} and another log dir has {first}: the boot ends with \"Invalid cluster.id\" ({})",
                table()
            );
            let next =
                "find out which disk belongs to another cluster; the ids are never edited away"
                    .to_owned();
            problems.push(at(dir, text, next, "cluster.id"));
        }
    }
    if let Some(node) = facts.config.node_id {
        for (dir, id) in metas
            .iter()
            .filter_map(|(dir, meta)| Some((dir, meta.node_id?)))
        {
            if id != node {
                let text = format!(
                    "node.id is {id} and server.properties has {node}: the boot ends with \"Stored node id {id} doesn't match \
                     previous node id {node}\" ({})",
                    table()
                );
                let next = "start the broker that these disks belong to, or correct node.id in server.properties".to_owned();
                problems.push(at(dir, text, next, "node.id"));
            }
        }
    }
    let mut seen: BTreeMap<Uuid, &LogDirFacts> = BTreeMap::new();
    for (dir, id) in metas
        .iter()
        .filter_map(|(dir, meta)| Some((dir, meta.directory_id?)))
    {
        if let Some(first) = seen.insert(id, dir) {
            let text = format!(
                "directory.id {id} is that of {} too, as a copied disk has it: the boot ends with \"Duplicate directory ID\"",
                first.path.display()
            );
            let next = format!(
                "if the copy is wanted, take the line directory.id out of {}: a boot writes a new one, nothing is lost",
                dir.path.join(META_PROPERTIES).display()
            );
            problems.push(at(dir, text, next, "directory.id"));
        }
    }
    problems
}
