//! A partition dir as steps would leave it, beside what lies on disk.

use std::collections::{BTreeMap, BTreeSet};

use super::{Content, FileStamp};

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
    /// The first `len` bytes of a file on disk.
    OnDisk {
        /// Its name on disk.
        source: String,
        /// How many of its bytes.
        len: u64,
    },
    /// New bytes.
    New(Content),
}

impl VirtualFile {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::OnDisk { len, .. } => *len,
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
    files: BTreeMap<String, VirtualFile>,
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
                    len: entry.stamp.len,
                };
                dir.files.insert(name, file);
            } else {
                dir.taken.insert(name);
            }
        }
        dir
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

    pub(super) fn remove(&mut self, name: &str) -> bool {
        self.files.remove(name).is_some()
    }

    /// Gives `name` new bytes.
    pub(super) fn write(&mut self, name: &str, content: Content) -> Result<(), NotAFile> {
        self.insert(name, VirtualFile::New(content))
    }

    /// Cuts `name` at `len` bytes, if it is longer.
    pub(super) fn cut(&mut self, name: &str, len: u64) {
        match self.files.get_mut(name) {
            Some(VirtualFile::OnDisk { len: known, .. }) => *known = len.min(*known),
            Some(VirtualFile::New(content)) if content.len > len => {
                let bytes = content.bytes.as_deref().unwrap_or_default();
                let cut = bytes
                    .get(..usize::try_from(len).unwrap_or(0))
                    .unwrap_or_default();
                *content = Content::new(cut.to_vec());
            }
            _ => {}
        }
    }

    /// Takes `name` as it lies on disk, with `len` bytes.
    pub(super) fn restore(&mut self, name: &str, len: u64) {
        let file = VirtualFile::OnDisk {
            source: name.to_owned(),
            len,
        };
        self.files.insert(name.to_owned(), file);
    }

    /// Returns the name on disk of the bytes that `name` stands for.
    pub(super) fn source(&self, name: &str) -> Option<&str> {
        match self.files.get(name)? {
            VirtualFile::OnDisk { source, .. } => Some(source),
            VirtualFile::New(_) => None,
        }
    }

    /// Gives a file another name; what had that name is gone.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        if let Some(file) = self.files.remove(from) {
            self.files.insert(to.to_owned(), file);
        }
    }

    fn insert(&mut self, name: &str, file: VirtualFile) -> Result<(), NotAFile> {
        if self.taken.contains(name) {
            return Err(NotAFile(name.to_owned()));
        }
        self.files.insert(name.to_owned(), file);
        Ok(())
    }
}
