//! What lies in a log dir.

use std::path::{Path, PathBuf};

use super::error::DiskError;
use super::storage::{EntryKind, FileStat, Listed, Storage};
use crate::format::file_name::{CLEAN_SHUTDOWN_MARKER, DirName, META_PROPERTIES};

/// The names in a log dir at one moment.
#[derive(Debug, Clone)]
pub struct LogDirListing {
    /// The log dir, as the operator named it.
    pub path: PathBuf,
    entries: Vec<Listed>,
    has_marker: bool,
}

/// A dir in a log dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubDir {
    /// Its name, with U+FFFD where it is not UTF-8.
    pub name: String,
    /// Whether the name is UTF-8.
    pub is_utf8: bool,
    /// What the name says.
    pub parsed: DirName,
}

impl LogDirListing {
    /// Lists a log dir.
    pub fn read(storage: &dyn Storage, path: &Path) -> Result<Self, DiskError> {
        let entries = storage.list(path)?;
        // Java does not see a link to nowhere.
        let marker = entries
            .iter()
            .find(|entry| entry.name == CLEAN_SHUTDOWN_MARKER);
        let has_marker = marker.is_some_and(|marker| match marker.stat.kind {
            EntryKind::File | EntryKind::Dir => true,
            EntryKind::Other => storage.stat(&path.join(&marker.name)).is_ok(),
        });
        Ok(Self {
            path: path.to_owned(),
            entries,
            has_marker,
        })
    }

    /// Says whether the marker of a clean stop lies there; any kind of thing under its name counts, as in
    /// Kafka, but for a link to nowhere.
    pub fn has_marker(&self) -> bool {
        self.has_marker
    }

    /// Says whether there is a `meta.properties`.
    pub fn has_meta_properties(&self) -> bool {
        self.file(META_PROPERTIES).is_some()
    }

    /// Says whether nothing lies there.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the state of what has this name.
    pub fn entry(&self, name: &str) -> Option<&FileStat> {
        self.entries
            .iter()
            .find(|entry| entry.is_utf8 && entry.name == name)
            .map(|entry| &entry.stat)
    }

    /// Returns the state of the plain file of this name.
    pub fn file(&self, name: &str) -> Option<&FileStat> {
        self.entry(name).filter(|stat| stat.kind == EntryKind::File)
    }

    /// Returns the dirs, sorted by name; links to dirs count, as in Java.
    pub fn sub_dirs(&self) -> impl Iterator<Item = SubDir> {
        self.entries
            .iter()
            .filter(|entry| entry.stat.kind == EntryKind::Dir)
            .map(|entry| SubDir {
                name: entry.name.clone(),
                is_utf8: entry.is_utf8,
                parsed: DirName::parse(&entry.name),
            })
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::super::storage::RealStorage;
    use super::*;

    #[test]
    fn dirs_links_to_dirs_and_strange_names_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("t-0")).unwrap();
        std::fs::create_dir(dir.path().join("lost+found")).unwrap();
        std::fs::create_dir(dir.path().join(OsStr::from_bytes(b"t\xff-1"))).unwrap();
        std::fs::write(dir.path().join("t-2"), b"a file").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("t-3")).unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("t-4")).unwrap();
        std::fs::write(dir.path().join(CLEAN_SHUTDOWN_MARKER), b"").unwrap();
        let listing = LogDirListing::read(&RealStorage, dir.path()).unwrap();
        let names: Vec<(String, bool, bool)> = listing
            .sub_dirs()
            .map(|sub| (sub.name, sub.is_utf8, sub.parsed == DirName::Invalid))
            .collect();
        let want = |name: &str, utf8, invalid| (name.to_owned(), utf8, invalid);
        assert_eq!(
            names,
            [
                want("lost+found", true, true),
                want("t-0", true, false),
                want("t-3", true, false),
                want("t\u{fffd}-1", false, false),
            ]
        );
        assert!(listing.has_marker());
        assert!(!listing.has_meta_properties());
        let marker = dir.path().join(CLEAN_SHUTDOWN_MARKER);
        std::fs::remove_file(&marker).unwrap();
        std::os::unix::fs::symlink("nowhere", marker).unwrap();
        let dangling = LogDirListing::read(&RealStorage, dir.path()).unwrap();
        assert!(!dangling.has_marker());
    }
}
