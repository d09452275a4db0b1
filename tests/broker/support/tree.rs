//! Trees of files with holes: copies, and what lies in them.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::{SeekFrom, seek};

/// A file's content: a length, and the bytes up to the last one that is not zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) length: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Content {
    /// Reads `path`, skipping its holes.
    pub(crate) fn read(path: &Path) -> Self {
        let file = File::open(path).unwrap();
        let length = file.metadata().unwrap().len();
        let mut bytes = Vec::new();
        for (begin, end) in data(&file, length) {
            let [begin, end] = [begin, end].map(|at| usize::try_from(at).unwrap());
            bytes.resize(end, 0);
            file.read_exact_at(&mut bytes[begin..], begin as u64)
                .unwrap();
        }
        Self {
            length,
            ..Self::of(&bytes)
        }
    }

    /// Returns the content of a file that holds `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        // Whole blocks first: these tests are not optimized, and most indexes are 10 MiB of zeros.
        let mut used = bytes;
        while let Some((rest, block)) = used.split_last_chunk::<4096>() {
            if block != &[0; 4096] {
                break;
            }
            used = rest;
        }
        let end = used.iter().rposition(|&byte| byte != 0);
        Self {
            length: bytes.len() as u64,
            bytes: used[..end.map_or(0, |last| last + 1)].to_vec(),
        }
    }

    /// Writes the file `path`, with a hole for the zeros at the end.
    pub(crate) fn write(&self, path: &Path) {
        fs::write(path, &self.bytes).unwrap();
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_len(self.length)
            .unwrap();
    }

    /// Returns the whole content, zeros at the end included.
    pub(crate) fn whole(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes.resize(usize::try_from(self.length).unwrap(), 0);
        bytes
    }
}

/// Every file below a folder by its path relative to it.
pub(crate) type Tree = BTreeMap<String, Content>;

/// Reads every file below `folder` whose relative path `wanted` accepts.
pub(crate) fn read(folder: &Path, wanted: impl Fn(&str) -> bool) -> Tree {
    let mut tree = Tree::new();
    walk(folder, "", &mut |path, file| {
        if file.is_file() && wanted(path) {
            tree.insert(path.to_owned(), Content::read(file));
        }
    });
    tree
}

/// Copies `from` to `to`, which is not there yet, with holes, times and modes.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            copy_file(&entry.path(), &target);
        }
    }
    keep_times(from, to);
}

/// Copies one file as [`copy`] does.
pub(crate) fn copy_file(from: &Path, to: &Path) {
    let source = File::open(from).unwrap();
    let metadata = source.metadata().unwrap();
    let target = File::create(to).unwrap();
    target.set_permissions(metadata.permissions()).unwrap();
    target.set_len(metadata.len()).unwrap();
    let mut buffer = Vec::new();
    for (begin, end) in data(&source, metadata.len()) {
        buffer.resize(usize::try_from(end - begin).unwrap(), 0);
        source.read_exact_at(&mut buffer, begin).unwrap();
        target.write_all_at(&buffer, begin).unwrap();
    }
    drop(target);
    keep_times(from, to);
}

fn keep_times(from: &Path, to: &Path) {
    let modified = fs::metadata(from).unwrap().modified().unwrap();
    set_modified(to, modified);
}

/// Sets when `path` was last changed.
pub(crate) fn set_modified(path: &Path, modified: SystemTime) {
    let times = FileTimes::new().set_modified(modified);
    File::open(path).unwrap().set_times(times).unwrap();
}

/// Returns a line for each file and folder below `folder` that tells all but its bytes: what looking must not change.
pub(crate) fn stamps(folder: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    walk(folder, "", &mut |path, file| {
        // A running broker replaces its checkpoints meanwhile.
        let Ok(m) = fs::symlink_metadata(file) else {
            return;
        };
        lines.push(format!(
            "{path} inode {} mode {:o} length {} modified {}.{:09}",
            m.ino(),
            m.mode(),
            m.len(),
            m.mtime(),
            m.mtime_nsec()
        ));
    });
    lines
}

fn walk(folder: &Path, below: &str, visit: &mut impl FnMut(&str, &Path)) {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in names {
        let path = folder.join(&name);
        let relative = format!("{below}{name}");
        visit(&relative, &path);
        if path.is_dir() {
            walk(&path, &format!("{relative}/"), visit);
        }
    }
}

/// Returns where `file` holds data; a file system without holes says everywhere.
fn data(file: &File, length: u64) -> Vec<(u64, u64)> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < length {
        let begin = match seek(file, SeekFrom::Data(at)) {
            Ok(begin) => begin,
            Err(rustix::io::Errno::NXIO) => break,
            Err(error) => panic!("{}", io::Error::from(error)),
        };
        let end = seek(file, SeekFrom::Hole(begin)).unwrap().min(length);
        parts.push((begin, end));
        at = end;
    }
    parts
}
