//! The embedded pair of clusters, unpacked.

use std::path::{Path, PathBuf};

use super::tree::{DemoError, DemoTree, about, point_to};
use crate::disk::unpack;

/// Two real clusters and the file of the MirrorMaker 2 that ran between them; `demo-data/README.md` says how it was made.
const MIRROR: &[u8] = include_bytes!("../../demo-data/mirror.tar.zst");

/// Two clusters, of which the first has died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoMirror {
    /// The source's broker.
    pub tree: DemoTree,
    /// The file of MirrorMaker 2.
    pub mm2: PathBuf,
    /// The clusters by alias, each with its log dirs.
    pub clusters: Vec<(String, Vec<PathBuf>)>,
}

/// Unpacks both clusters into `folder`, which is there already and empty.
///
/// # Errors
///
/// The disk's.
pub fn write_mirror(folder: &Path) -> Result<DemoMirror, DemoError> {
    unpack(MIRROR, folder)?;
    let (kafka_version, now) = about(folder)?;
    let dirs = |name: &str| {
        ["data1", "data2"]
            .map(|dir| folder.join(name).join(dir))
            .to_vec()
    };
    let config = folder.join("primary").join("server.properties");
    point_to(&config, &dirs("primary"))?;
    Ok(DemoMirror {
        tree: DemoTree {
            config,
            log_dirs: dirs("primary"),
            kafka_version,
            now,
        },
        mm2: folder.join("mm2.properties"),
        clusters: ["primary", "secondary"]
            .map(|name| (name.to_owned(), dirs(name)))
            .to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clusters_and_the_file_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let demo = write_mirror(folder.path()).unwrap();
        assert!(demo.mm2.is_file() && demo.tree.config.is_file());
        for dir in demo.clusters.iter().flat_map(|(_, dirs)| dirs) {
            assert!(dir.join("meta.properties").is_file(), "{}", dir.display());
        }
    }
}
