//! A partition dir as steps would leave it, beside what lies on disk.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::undo_map::UndoMap;
use super::{Content, FileStamp};
use crate::format::file_name::{FileKind, PartitionFile};
use crate::terms::Offset;

const SNAPSHOT_SUFFIX: &str = ".snapshot";

/// What a name in a dir stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file, or a link to one.
    File,
    /// A directory.
    Dir,
    /// Something else.
    Other,
}

/// One entry of a partition dir's listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// What it is.
    pub kind: EntryKind,
    /// Its name, and what names its present state.
    pub stamp: FileStamp,
}

/// A file of the virtual dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VirtualFile {
    /// Bytes of a file on disk.
    OnDisk {
        /// Its name on disk.
        source: String,
        /// Where in it they begin; other than 0 only for a piece of a segment that is split.
        start: u64,
        /// How many.
        len: u64,
    },
    /// New bytes.
    New(Content),
    /// New zeros, as many as given, without blocks on the volume.
    Zeros(u64),
}

impl VirtualFile {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::OnDisk { len, .. } | Self::Zeros(len) => *len,
            Self::New(content) => content.len,
        }
    }
}

/// A name that is taken by something that is no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotAFile(pub(super) String);

/// The overlay of planned changes over a listing.
#[derive(Debug, Clone, Default)]
pub(super) struct VirtualDir {
    files: UndoMap<String, VirtualFile>,
    /// The names that end as a snapshot's, with their offsets; `None` where there is none.
    snapshots: UndoMap<String, Option<Offset>>,
    taken: BTreeSet<String>,
}

impl VirtualDir {
    pub(super) fn new(listing: &[DirEntry]) -> Self {
        let mut dir = Self::default();
        for entry in listing {
            let name = entry.stamp.name.clone();
            if entry.kind == EntryKind::File {
                let file = VirtualFile::OnDisk {
                    source: name.clone(),
                    start: 0,
                    len: entry.stamp.len,
                };
                dir.put(name, file);
            } else {
                dir.taken.insert(name);
            }
        }
        dir.mark();
        dir
    }

    /// Keeps all changes so far for good.
    pub(super) fn mark(&mut self) {
        self.files.mark();
        self.snapshots.mark();
    }

    /// Takes back all changes since the last mark.
    pub(super) fn roll_back(&mut self) {
        self.files.roll_back();
        self.snapshots.roll_back();
    }

    pub(super) fn get(&self, name: &str) -> Option<&VirtualFile> {
        self.files.get(name)
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Says whether something that is no file has the name.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &VirtualFile)> {
        self.files.iter().map(|(name, file)| (name.as_str(), file))
    }

    /// Returns the files whose names come behind `name`; all of them behind `None`.
    pub(super) fn iter_behind(
        &self,
        name: Option<&str>,
    ) -> impl Iterator<Item = (&str, &VirtualFile)> {
        let from = name.map_or(Bound::Unbounded, Bound::Excluded);
        self.files
            .range::<str, _>((from, Bound::Unbounded))
            .map(|(name, file)| (name.as_str(), file))
    }

    /// Returns the names that end as a snapshot's, with their offsets; `None` where there is none.
    pub(super) fn snapshots(&self) -> impl Iterator<Item = (&str, Option<Offset>)> {
        self.snapshots
            .iter()
            .map(|(name, offset)| (name.as_str(), *offset))
    }

    pub(super) fn remove(&mut self, name: &str) -> bool {
        self.take(name).is_some()
    }

    /// Gives `name` new bytes.
    pub(super) fn write(&mut self, name: &str, content: Content) -> Result<(), NotAFile> {
        self.insert(name, VirtualFile::New(content))
    }

    /// Cuts `name` at `len` bytes, if it is longer.
    pub(super) fn cut(&mut self, name: &str, len: u64) {
        let cut = match self.files.get(name) {
            Some(VirtualFile::OnDisk {
                source,
                start,
                len: known,
            }) if *known > len => VirtualFile::OnDisk {
                source: source.clone(),
                start: *start,
                len,
            },
            Some(VirtualFile::Zeros(known)) if *known > len => VirtualFile::Zeros(len),
            Some(VirtualFile::New(content)) if content.len > len => {
                let bytes = content.bytes.as_deref().unwrap_or_default();
                let cut = bytes
                    .get(..usize::try_from(len).unwrap_or(0))
                    .unwrap_or_default();
                VirtualFile::New(Content::new(cut.to_vec()))
            }
            _ => return,
        };
        self.put(name.to_owned(), cut);
    }

    /// Takes `name` as it lies on disk, with `len` bytes.
    pub(super) fn restore(&mut self, name: &str, len: u64) {
        let file = VirtualFile::OnDisk {
            source: name.to_owned(),
            start: 0,
            len,
        };
        self.put(name.to_owned(), file);
    }

    /// Gives `name` the `len` bytes of `source` on disk from `start` on.
    pub(super) fn take_part(
        &mut self,
        name: &str,
        (source, start, len): (&str, u64, u64),
    ) -> Result<(), NotAFile> {
        let source = source.to_owned();
        self.insert(name, VirtualFile::OnDisk { source, start, len })
    }

    /// Gives `name` as many zeros, without blocks on the volume.
    pub(super) fn allocate(&mut self, name: &str, len: u64) -> Result<(), NotAFile> {
        self.insert(name, VirtualFile::Zeros(len))
    }

    /// Returns the name on disk of the bytes that `name` stands for.
    pub(super) fn source(&self, name: &str) -> Option<&str> {
        match self.files.get(name)? {
            VirtualFile::OnDisk { source, .. } => Some(source),
            VirtualFile::New(_) | VirtualFile::Zeros(_) => None,
        }
    }

    /// Gives a file another name; what had that name is gone.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        if let Some(file) = self.take(from) {
            self.put(to.to_owned(), file);
        }
    }

    fn insert(&mut self, name: &str, file: VirtualFile) -> Result<(), NotAFile> {
        if self.taken.contains(name) {
            return Err(NotAFile(name.to_owned()));
        }
        self.put(name.to_owned(), file);
        Ok(())
    }

    fn put(&mut self, name: String, file: VirtualFile) {
        if name.ends_with(SNAPSHOT_SUFFIX) && !self.snapshots.contains_key(&name) {
            let offset = match PartitionFile::parse(&name) {
                PartitionFile::Segment {
                    offset,
                    kind: FileKind::Snapshot,
                } => Some(offset),
                _ => None,
            };
            self.snapshots.insert(name.clone(), offset);
        }
        self.files.insert(name, file);
    }

    fn take(&mut self, name: &str) -> Option<VirtualFile> {
        let file = self.files.get(name).cloned()?;
        self.files.remove(name.to_owned());
        self.snapshots.remove(name.to_owned());
        Some(file)
    }
}
