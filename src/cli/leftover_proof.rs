//! Whether a stray or a future dir is proved to be one, by the metadata of this host.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Look;
use crate::cluster::MetadataImage;
use crate::disk::{LogDirListing, RealStorage, Storage as _};
use crate::format::file_name::{DirName, META_PROPERTIES};
use crate::format::meta_properties::MetaProperties;
use crate::plan::cleanup::LeftoverProof;
use crate::terms::{TopicPartition, Uuid};

/// The largest `meta.properties` that is read.
const MAX_LEN: u64 = 64 << 10;

/// What decides.
#[derive(Debug, Clone)]
pub(crate) struct LeftoverJudge {
    image: Option<Arc<MetadataImage>>,
    broker: Option<i32>,
    log_dirs: Vec<PathBuf>,
    /// By log dir.
    ids: BTreeMap<PathBuf, Uuid>,
    /// Whether the metadata knows any of the partitions that lie here.
    knows_any: bool,
}

impl LeftoverJudge {
    /// Collects what decides.
    pub(crate) fn of(look: &Look) -> Self {
        let image = look.topics.image.clone();
        let configured = look.candidate.broker.node_id.as_ref().map(|id| id.value);
        let knows = |partition: &TopicPartition| {
            image
                .as_ref()
                .is_some_and(|image| image.partition(partition).is_some())
        };
        let listings = look.log_dirs.iter();
        let knows_any = listings
            .filter_map(|dir| LogDirListing::read(&RealStorage, dir).ok())
            .any(|listing| {
                listing.sub_dirs().any(|sub_dir| match &sub_dir.parsed {
                    DirName::Normal(partition) => knows(partition),
                    _ => false,
                })
            });
        Self {
            broker: configured.or(look.identity.node_id),
            ids: look
                .log_dirs
                .iter()
                .filter_map(|dir| Some((dir.clone(), directory_id(dir)?)))
                .collect(),
            log_dirs: look.log_dirs.clone(),
            knows_any,
            image,
        }
    }

    /// Says whether the dir `name` of `log_dir` is what its name says, for a partition whose topic has `topic_id`.
    pub(crate) fn proof(
        &self,
        log_dir: &Path,
        name: &DirName,
        topic_id: Option<Uuid>,
    ) -> LeftoverProof {
        let missing = |why: &str| LeftoverProof::Missing(why.to_owned());
        let (Some(image), Some(broker)) = (&self.image, self.broker) else {
            return missing("no metadata on this host says whose it is");
        };
        if !self.knows_any {
            return missing(
                "the metadata of this host knows none of the partitions here: it may be another cluster's",
            );
        }
        match name {
            DirName::Stray(partition) => {
                let Some(id) = topic_id else {
                    return missing("its partition.metadata gives no topic id");
                };
                let Some(topic) = image.topic_name(id) else {
                    return LeftoverProof::Proved;
                };
                let number = partition.partition;
                let placed = image.partition(&TopicPartition::new(topic, number));
                match placed {
                    Some(of) if of.replicas.contains(&broker) => {
                        missing("the metadata places this replica on this broker")
                    }
                    _ => LeftoverProof::Proved,
                }
            }
            DirName::Future(partition) => self.of_future(image, broker, (log_dir, partition)),
            _ => LeftoverProof::Proved,
        }
    }

    fn of_future(
        &self,
        image: &MetadataImage,
        broker: i32,
        (log_dir, partition): (&Path, &TopicPartition),
    ) -> LeftoverProof {
        let missing = |why: &str| LeftoverProof::Missing(why.to_owned());
        let has_current = self
            .log_dirs
            .iter()
            .filter(|dir| *dir != log_dir)
            .any(|dir| dir.join(partition.to_string()).is_dir());
        if !has_current {
            return missing("no current replica lies in another log dir: it may be the only copy");
        }
        let assigned = image.partition(partition).and_then(|of| {
            let place = of.replicas.iter().position(|id| *id == broker)?;
            of.directories.get(place).copied()
        });
        match (assigned, self.ids.get(log_dir)) {
            (Some(assigned), Some(id)) if assigned == *id => missing(
                "the metadata assigns the replica to this dir: a boot makes it the current one",
            ),
            (Some(_), Some(_)) => LeftoverProof::Proved,
            _ => missing("the metadata does not say which dir the replica is assigned to"),
        }
    }
}

/// Reads a log dir's id.
fn directory_id(dir: &Path) -> Option<Uuid> {
    let file = RealStorage.open(&dir.join(META_PROPERTIES)).ok()?;
    let len = file.file_len().ok()?.min(MAX_LEN);
    let mut bytes = vec![0; usize::try_from(len).ok()?];
    let read = file.fill(&mut bytes, 0).ok()?;
    MetaProperties::parse(bytes.get(..read)?).ok()?.directory_id
}
