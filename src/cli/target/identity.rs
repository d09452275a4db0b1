//! Who the log dirs say they belong to: `meta.properties`.

use std::path::{Path, PathBuf};

use crate::disk::{DiskAction, DiskError, RealStorage, Storage as _};
use crate::format::file_name::META_PROPERTIES;
use crate::format::meta_properties::MetaProperties;

/// The largest `meta.properties` that is read, in bytes.
const MAX_LEN: u64 = 1 << 20;

/// A broker's identity by its log dirs; what they do not say, or say differently, is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// `node.id`, or `broker.id` of a ZooKeeper broker.
    pub node_id: Option<i32>,
    /// `cluster.id`.
    pub cluster_id: Option<String>,
}

impl Identity {
    /// Reads the identity of `log_dirs`. A dir without one, or one that cannot be read, says nothing here: the scan has it
    /// as a finding.
    pub fn read(log_dirs: &[PathBuf]) -> Self {
        let metas: Vec<MetaProperties> = log_dirs.iter().filter_map(|dir| read_meta(dir)).collect();
        Self {
            node_id: agreed(metas.iter().filter_map(|meta| meta.node_id)),
            cluster_id: agreed(metas.into_iter().filter_map(|meta| meta.cluster_id)),
        }
    }
}

/// Returns the one value that all agree on.
fn agreed<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut values = values.into_iter();
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

/// Returns what the `meta.properties` of a log dir says, if it can be read.
pub(super) fn read_meta(log_dir: &Path) -> Option<MetaProperties> {
    let bytes = read_small(&log_dir.join(META_PROPERTIES)).ok()?;
    MetaProperties::parse(&bytes).ok()
}

/// Reads a small file whole.
fn read_small(path: &Path) -> Result<Vec<u8>, DiskError> {
    let error = |source| DiskError::new(DiskAction::Read, path, source);
    let file = RealStorage.open(path)?;
    let len = file.file_len().map_err(error)?.min(MAX_LEN);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    let read = file.read_at(&mut bytes, 0).map_err(error)?;
    bytes.truncate(read);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirs_that_disagree_have_no_identity() {
        let tmp = tempfile::tempdir().unwrap();
        let dirs: Vec<PathBuf> = [("a", 1), ("b", 1), ("c", 2)]
            .iter()
            .map(|(name, node)| {
                let dir = tmp.path().join(name);
                std::fs::create_dir(&dir).unwrap();
                let text = format!("version=1\nnode.id={node}\ncluster.id=X\n");
                std::fs::write(dir.join("meta.properties"), text).unwrap();
                dir
            })
            .collect();
        assert_eq!(Identity::read(&dirs[..2]).node_id, Some(1));
        let all = Identity::read(&dirs);
        assert_eq!((all.node_id, all.cluster_id.as_deref()), (None, Some("X")));
        assert_eq!(
            Identity::read(&[tmp.path().to_owned()]),
            Identity::default()
        );
    }
}
