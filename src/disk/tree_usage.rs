//! How much everything below a path takes, for what is not Kafka's.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How deep and how much is looked at: what is not Kafka's may be anything.
const MAX_ENTRIES: u64 = 1_000_000;

/// What everything below a path takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeUsage {
    /// Files.
    pub files: u64,
    /// The sum of their lengths, in bytes.
    pub len: u64,
    /// Bytes on the volume, those of dirs among them.
    pub allocated: u64,
    /// Whether something was not counted: it may not be looked at, or there is too much of it.
    pub is_partial: bool,
}

/// Adds up everything below `path` that lies on the same device; links are not followed, hard links count once.
pub fn tree_usage(path: &Path) -> TreeUsage {
    let mut usage = TreeUsage::default();
    let Ok(top) = std::fs::symlink_metadata(path) else {
        usage.is_partial = true;
        return usage;
    };
    let mut linked = BTreeSet::new();
    let mut dirs: Vec<PathBuf> = Vec::new();
    let mut entries = 0_u64;
    let mut take = |path: PathBuf, metadata: &std::fs::Metadata, dirs: &mut Vec<PathBuf>| {
        if metadata.dev() != top.dev() {
            return;
        }
        if metadata.nlink() > 1 && !metadata.is_dir() && !linked.insert(metadata.ino()) {
            return;
        }
        usage.allocated = usage
            .allocated
            .saturating_add(metadata.blocks().saturating_mul(512));
        if metadata.is_dir() {
            dirs.push(path);
        } else {
            usage.files += 1;
            usage.len = usage.len.saturating_add(metadata.len());
        }
    };
    take(path.to_owned(), &top, &mut dirs);
    let mut is_partial = false;
    while let Some(dir) = dirs.pop() {
        let Ok(listed) = std::fs::read_dir(&dir) else {
            is_partial = true;
            continue;
        };
        for entry in listed.flatten() {
            entries += 1;
            if entries > MAX_ENTRIES {
                usage.is_partial = true;
                return usage;
            }
            match entry.metadata() {
                Ok(metadata) => take(entry.path(), &metadata, &mut dirs),
                Err(error) => is_partial |= error.kind() != std::io::ErrorKind::NotFound,
            }
        }
    }
    usage.is_partial = is_partial;
    usage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_count_once_and_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("tree");
        std::fs::create_dir_all(root.join("below")).unwrap();
        std::fs::write(root.join("below/one"), vec![1; 5000]).unwrap();
        std::fs::hard_link(root.join("below/one"), root.join("two")).unwrap();
        std::fs::write(dir.path().join("outside"), vec![1; 9000]).unwrap();
        std::os::unix::fs::symlink(dir.path(), root.join("link")).unwrap();
        let usage = tree_usage(&root);
        assert_eq!(usage.files, 2);
        assert!((8192..40960).contains(&usage.allocated));
        assert!(!usage.is_partial);
        assert!(tree_usage(&dir.path().join("none")).is_partial);
    }
}
