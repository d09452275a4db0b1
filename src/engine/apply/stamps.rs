//! Compares a dir with what a plan saw there.

use std::collections::BTreeMap;
use std::path::Path;

use crate::disk::{DiskError, LogDirListing, Storage};
use crate::engine::planning::log_target::OWN_SUFFIX;
use crate::format::file_name::DirName;
use crate::plan::FileStamp;

/// Why a plan does not fit a dir any more.
#[derive(Debug)]
pub(in crate::engine) enum StampError {
    /// It cannot be looked at.
    Disk(DiskError),
    /// Something changed; the sentence names the file.
    Changed(String),
}

impl StampError {
    /// Returns the error in one line.
    pub(in crate::engine) fn sentence(&self) -> String {
        match self {
            Self::Disk(error) => error.sentence(),
            Self::Changed(text) => text.clone(),
        }
    }
}

/// Lists a partition dir and compares every entry with the plan's stamps; krescue's own half-written files do not count.
pub(in crate::engine) fn check_partition(
    storage: &dyn Storage,
    dir: &Path,
    stamps: &[FileStamp],
) -> Result<(), StampError> {
    let listed = match storage.list(dir) {
        // A dir that an undo brings back.
        Err(error) if error.is_not_found() && stamps.is_empty() => Vec::new(),
        listed => listed.map_err(StampError::Disk)?,
    };
    let mut known: BTreeMap<&str, &FileStamp> = stamps
        .iter()
        .filter(|stamp| !stamp.name.ends_with(OWN_SUFFIX))
        .map(|stamp| (stamp.name.as_str(), stamp))
        .collect();
    for entry in listed
        .iter()
        .filter(|entry| !entry.name.ends_with(OWN_SUFFIX))
    {
        let Some(stamp) = known.remove(entry.name.as_str()) else {
            return Err(changed(dir, &entry.name, "is new"));
        };
        compare(
            dir,
            stamp,
            entry.stat.inode,
            entry.stat.len,
            entry.stat.mtime_ns,
        )?;
    }
    match known.keys().next() {
        Some(name) => Err(changed(dir, name, "is gone")),
        None => Ok(()),
    }
}

/// Checks that every partition dir is known.
pub(in crate::engine) fn check_names(
    listing: &LogDirListing,
    known: impl Fn(&str) -> bool,
) -> Result<(), StampError> {
    for dir in listing.sub_dirs() {
        let matters = !matches!(dir.parsed, DirName::Invalid | DirName::RemoteLogIndexCache);
        if matters && !known(&dir.name) {
            return Err(changed(&listing.path, &dir.name, "is new"));
        }
    }
    Ok(())
}

/// Compares a log dir's own files with the plan's stamps.
pub(in crate::engine) fn check_log_dir(
    dir: &Path,
    planned: &[FileStamp],
    now: &[FileStamp],
) -> Result<(), StampError> {
    let find =
        |stamps: &[FileStamp], name: &str| stamps.iter().find(|stamp| stamp.name == name).cloned();
    for stamp in planned {
        let Some(found) = find(now, &stamp.name) else {
            return Err(changed(dir, &stamp.name, "is gone"));
        };
        compare(dir, stamp, found.inode, found.len, found.mtime_ns)?;
    }
    match now
        .iter()
        .find(|stamp| find(planned, &stamp.name).is_none())
    {
        Some(stamp) => Err(changed(dir, &stamp.name, "is new")),
        None => Ok(()),
    }
}

fn compare(
    dir: &Path,
    stamp: &FileStamp,
    inode: u64,
    len: u64,
    mtime_ns: i64,
) -> Result<(), StampError> {
    if stamp.inode != inode {
        return Err(changed(dir, &stamp.name, "is another file"));
    }
    if stamp.len != len {
        let text = format!("has {len} bytes, not {}", stamp.len);
        return Err(changed(dir, &stamp.name, &text));
    }
    if stamp.mtime_ns != mtime_ns {
        return Err(changed(dir, &stamp.name, "was written to"));
    }
    Ok(())
}

/// Returns the error of a file that is not as it was.
pub(in crate::engine) fn changed(dir: &Path, name: &str, how: &str) -> StampError {
    StampError::Changed(format!(
        "{} {how} since the plan was made",
        dir.join(name).display()
    ))
}
