//! The second half of a boot: which partitions of this broker are not in sync yet, by its own `__cluster_metadata-0`, which
//! carries the changes of all partitions and needs no network.

use std::path::{Path, PathBuf};

use crate::cluster::{FollowedDir, MetadataImage};
use crate::disk::RealStorage;
use crate::engine::follow_metadata_dir;
use crate::observe::CatchUp;
use crate::terms::Timestamp;

use super::look::Look;

/// The metadata log's dir.
const METADATA: &str = "__cluster_metadata-0";

/// Follows the metadata log of a broker.
#[derive(Debug)]
pub(crate) struct CatchUpWatch {
    dir: PathBuf,
    broker: i32,
    /// Names and sizes of its files when it was folded last.
    seen: Vec<(String, u64)>,
    followed: FollowedDir,
    /// The run of the broker for which `last` was made.
    incarnation: Option<String>,
    last: Option<CatchUp>,
}

impl CatchUpWatch {
    /// Finds the metadata log of a broker.
    pub(crate) fn find(look: &Look) -> Option<Self> {
        let broker = look.node_id()?;
        let own = look.candidate.broker.metadata_log_dir.as_ref();
        let dirs = own.map(|dir| &dir.value).into_iter();
        let dir = dirs
            .chain(&look.log_dirs)
            .map(|dir| dir.join(METADATA))
            .find(|dir| dir.is_dir())?;
        Some(Self {
            dir,
            broker,
            seen: Vec::new(),
            followed: FollowedDir::default(),
            incarnation: None,
            last: None,
        })
    }

    /// Returns how far the broker has caught up; what was written since the last look is read. Until the metadata log names
    /// `incarnation`, the run of the broker, that run is not registered; `None` takes any run.
    pub(crate) fn look(&mut self, incarnation: Option<&str>) -> Option<CatchUp> {
        let seen = sizes(&self.dir);
        if seen != self.seen || self.incarnation.as_deref() != incarnation {
            let has_shrunk = self.seen.iter().any(|(name, size)| {
                let mut now = seen.iter();
                now.any(|(other, now)| other == name && now < size)
            });
            if has_shrunk {
                self.followed = FollowedDir::default();
            }
            let image = follow_metadata_dir(&RealStorage, &self.dir, &mut self.followed);
            // What the node deletes meanwhile is read at the next look.
            if let Ok(image) = image {
                self.last = image.map(|image| of_image(image, self.broker, incarnation));
                self.seen = seen;
                self.incarnation = incarnation.map(str::to_owned);
            }
        }
        self.last.clone()
    }
}

fn sizes(dir: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut sizes: Vec<(String, u64)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let tells = [".log", ".checkpoint"]
                .iter()
                .any(|end| name.ends_with(end));
            tells.then_some((name, entry.metadata().ok()?.len()))
        })
        .collect();
    sizes.sort();
    sizes
}

fn of_image(image: &MetadataImage, broker: i32, incarnation: Option<&str>) -> CatchUp {
    let registered = image.broker(broker).filter(|broker| {
        incarnation.is_none_or(|wanted| broker.incarnation_id.to_string() == wanted)
    });
    let mut seen = CatchUp {
        fenced: registered.map(|broker| broker.fenced),
        as_of: (image.timestamp != Timestamp::NONE).then_some(image.timestamp),
        ..CatchUp::default()
    };
    for (topic, of_topic) in image.topics() {
        for (number, partition) in &of_topic.partitions {
            if !partition.replicas.contains(&broker) {
                continue;
            }
            seen.partitions += 1;
            if partition.isr.contains(&broker) {
                continue;
            }
            seen.not_in_sync += 1;
            if seen.first.is_none() {
                seen.first = Some(format!("{topic}-{number}"));
            }
        }
    }
    seen
}
