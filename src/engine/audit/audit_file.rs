//! The audit of a state dir: JSON lines in `audit.jsonl`, appended and never changed; older ones in `audit.jsonl.1` and so on.
//!
//! A file that is full gets the next name; the oldest is dropped. A kill between two renames leaves a gap in the names and
//! loses nothing. A line is appended under a lock, so jobs side by side neither mix theirs nor rotate twice.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::disk::{DiskAction, DiskError};
use crate::engine::job::job_spec::Confirmed;
use crate::engine::keep::journal::end_torn_line;
use crate::engine::store::plan_store::{create_dirs, sync_dir};
use crate::engine::{EngineError, JobOutcome, Who};
use crate::plan::HandOver;

/// The audit's name in the state dir.
pub const AUDIT_FILE: &str = "audit.jsonl";

/// A file that has this many bytes is full.
const FULL: u64 = 8 << 20;
/// Files at the most.
const FILES: u32 = 8;

/// One line of the audit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When, RFC 3339.
    pub at: String,
    /// Who.
    #[serde(flatten)]
    pub who: AuditWho,
    /// How it was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Confirmed>,
    /// The hash of the plan, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The hash of the plan that this one takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// What.
    #[serde(flatten)]
    pub act: AuditAct,
}

/// Who acted, as a line has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AuditWho {
    /// The user.
    #[serde(rename = "who")]
    pub user: String,
    /// The terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
    /// `SUDO_USER`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sudo_user: Option<String>,
    /// `SSH_CONNECTION`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_connection: Option<String>,
    /// The host.
    #[serde(default)]
    pub host: String,
}

impl From<&Who> for AuditWho {
    fn from(who: &Who) -> Self {
        Self {
            user: who.user.clone(),
            terminal: who.terminal.clone(),
            sudo_user: who.sudo_user.clone(),
            ssh_connection: who.ssh_connection.clone(),
            host: who.host.clone(),
        }
    }
}

/// What was done, or refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum AuditAct {
    /// Steps of one log.
    Log {
        /// The log dir.
        dir: PathBuf,
        /// The partition dir's name.
        partition: String,
        /// Its log start offset at the plan's end.
        log_start_offset: Option<i64>,
        /// Its log end offset at the plan's end.
        log_end_offset: Option<i64>,
        /// What was done, in this order.
        steps: Vec<AuditStep>,
    },
    /// What a log dir was handed over as.
    HandOver {
        /// The log dir.
        dir: PathBuf,
        /// As what.
        hand_over: HandOver,
    },
    /// The end of an apply or an undo.
    End {
        /// How.
        #[serde(flatten)]
        outcome: JobOutcome,
    },
    /// What a plan had kept was removed.
    Purge {
        /// Its folder.
        dir: PathBuf,
        /// Bytes that it held.
        bytes: u64,
    },
    /// Something was changed on a living cluster, through its brokers.
    Live {
        /// The cluster's id.
        cluster_id: Option<String>,
        /// What, in a sentence, with the old values.
        what: String,
        /// The line for Kafka's own tools that does the same.
        line: String,
        /// How it ended.
        outcome: String,
    },
    /// Something was asked for and refused by the host's policy.
    Refused {
        /// What was asked for (`recover`, `undo`, `quarantine purge`).
        what: String,
        /// Why, with file and line.
        cause: String,
    },
}

/// One step that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditStep {
    /// The file.
    pub file: String,
    /// What was done.
    pub action: String,
    /// Length before, in bytes; `None` for a file that was not there.
    pub before: Option<u64>,
    /// Length after, in bytes; `None` for a file that is gone.
    pub after: Option<u64>,
    /// SHA-256 of what was taken away, where it was kept or hashed.
    pub cut_sha256: Option<String>,
    /// Where it is kept.
    pub kept: Option<PathBuf>,
}

/// The audit as it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AuditText {
    /// What it says, oldest first.
    pub entries: Vec<AuditEntry>,
    /// Lines that do not decode: torn by a power cut, or damaged.
    pub damaged: u64,
}

/// The audit of a state dir, for adding to it.
#[derive(Debug)]
pub(in crate::engine) struct AuditFile {
    state_dir: PathBuf,
    full: u64,
    lock: File,
    newest: Mutex<Newest>,
}

/// The newest file, kept open from line to line.
#[derive(Debug)]
struct Newest {
    file: File,
    inode: u64,
    /// Its length behind our last line; 0 before it.
    len: u64,
}

impl AuditFile {
    /// Opens the audit; refuses where it cannot be written.
    pub(in crate::engine) fn open(state_dir: &Path) -> Result<Self, DiskError> {
        create_dirs(state_dir)?;
        let path = lock_path(state_dir);
        let lock = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(DiskError::of(DiskAction::Open, &path))?;
        let newest = locked(&lock, &path, || Newest::open(state_dir))?;
        Ok(Self {
            state_dir: state_dir.to_owned(),
            full: FULL,
            lock,
            newest: Mutex::new(newest),
        })
    }

    /// Adds a line.
    pub(in crate::engine) fn append(&self, entry: &AuditEntry) -> Result<(), DiskError> {
        let path = self.name(0);
        let write = |error| DiskError::new(DiskAction::Write, &path, error);
        let mut bytes = serde_json::to_vec(entry).map_err(|error| write(error.into()))?;
        bytes.push(b'\n');
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        locked(&self.lock, &lock_path(&self.state_dir), || {
            // Another process may have given the file its next name.
            if std::fs::metadata(&path).map_or(true, |now| now.ino() != newest.inode) {
                *newest = Newest::open(&self.state_dir)?;
            }
            let mut len = newest.file.metadata().map_err(write)?.len();
            if len > 0 && len + bytes.len() as u64 > self.full {
                self.rotate()?;
                *newest = Newest::open(&self.state_dir)?;
                len = 0;
            }
            if len != newest.len {
                end_torn_line(&mut newest.file).map_err(write)?;
                len = newest.file.metadata().map_err(write)?.len();
            }
            newest.file.write_all(&bytes).map_err(write)?;
            newest.len = len + bytes.len() as u64;
            Ok(())
        })
    }

    /// Makes all lines durable.
    pub(in crate::engine) fn sync(&self) -> Result<(), DiskError> {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let synced = newest.file.sync_all();
        synced.map_err(DiskError::of(DiskAction::Sync, &self.name(0)))?;
        sync_dir(&self.state_dir)
    }

    fn rotate(&self) -> Result<(), DiskError> {
        for number in (0..FILES - 1).rev() {
            let from = self.name(number);
            match std::fs::rename(&from, self.name(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(DiskError::new(DiskAction::Rename, &from, error));
                }
                _ => {}
            }
        }
        sync_dir(&self.state_dir)
    }

    fn name(&self, number: u32) -> PathBuf {
        file_name(&self.state_dir, number)
    }
}

impl Newest {
    fn open(state_dir: &Path) -> Result<Self, DiskError> {
        let path = file_name(state_dir, 0);
        let open = || {
            let file = File::options()
                .append(true)
                .read(true)
                .create(true)
                .mode(0o600)
                .open(&path)?;
            let inode = file.metadata()?.ino();
            Ok((file, inode))
        };
        let (file, inode) = open().map_err(DiskError::of(DiskAction::Open, &path))?;
        Ok(Self {
            file,
            inode,
            len: 0,
        })
    }
}

/// Does `work` while no other process appends.
fn locked<T>(
    lock: &File,
    path: &Path,
    work: impl FnOnce() -> Result<T, DiskError>,
) -> Result<T, DiskError> {
    use rustix::fs::{FlockOperation, flock};

    let failed = |error: rustix::io::Errno| DiskError::new(DiskAction::Lock, path, error.into());
    flock(lock.as_fd(), FlockOperation::LockExclusive).map_err(failed)?;
    let done = work();
    flock(lock.as_fd(), FlockOperation::Unlock).map_err(failed)?;
    done
}

fn lock_path(state_dir: &Path) -> PathBuf {
    state_dir.join("audit.lock")
}

fn file_name(state_dir: &Path, number: u32) -> PathBuf {
    match number {
        0 => state_dir.join(AUDIT_FILE),
        older => state_dir.join(format!("{AUDIT_FILE}.{older}")),
    }
}

/// Reads the audit of a state dir.
pub fn read_audit(state_dir: &Path) -> Result<AuditText, EngineError> {
    let mut text = AuditText::default();
    for number in (0..FILES).rev() {
        let path = file_name(state_dir, number);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(DiskError::new(DiskAction::Read, &path, error).into()),
        };
        let lines = bytes.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(entry) => text.entries.push(entry),
                Err(_) => text.damaged += 1,
            }
        }
    }
    Ok(text)
}

/// Adds one line that belongs to no job, durably.
pub(in crate::engine) fn audit_line(
    state_dir: &Path,
    entry: &AuditEntry,
) -> Result<(), EngineError> {
    let file = AuditFile::open(state_dir)?;
    file.append(entry)?;
    Ok(file.sync()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u32) -> AuditEntry {
        AuditEntry {
            at: "2026-11-30T10:15:00Z".to_owned(),
            who: AuditWho {
                user: "root".to_owned(),
                sudo_user: Some("anna".to_owned()),
                ..AuditWho::default()
            },
            confirmed: Some(Confirmed::Typed),
            plan: Some(format!("{number:064}")),
            undoes: None,
            act: AuditAct::End {
                outcome: JobOutcome::DoneButLeft { left: 3 },
            },
        }
    }

    #[test]
    fn growth_is_bounded_and_the_newest_lines_stay_in_order() {
        let state = tempfile::tempdir().unwrap();
        let mut file = AuditFile::open(state.path()).unwrap();
        file.full = 2000;
        for number in 0..500 {
            file.append(&entry(number)).unwrap();
        }
        let names = std::fs::read_dir(state.path()).unwrap().count();
        assert_eq!(names, 9, "eight files and the lock");
        for number in 0..FILES {
            let len = std::fs::metadata(file.name(number)).unwrap().len();
            assert!(len <= 2000);
        }
        let text = read_audit(state.path()).unwrap();
        assert_eq!(text.damaged, 0);
        let first = 500 - u32::try_from(text.entries.len()).unwrap();
        assert!(first > 0);
        let want: Vec<AuditEntry> = (first..500).map(entry).collect();
        assert_eq!(text.entries, want);
    }

    #[test]
    fn a_torn_line_and_a_rotation_that_was_cut_short_lose_nothing_else() {
        let state = tempfile::tempdir().unwrap();
        let mut file = AuditFile::open(state.path()).unwrap();
        file.append(&entry(1)).unwrap();
        let path = file.name(0);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend_from_slice(b"{\"at\":\"20");
        std::fs::write(&path, &bytes).unwrap();
        file.append(&entry(2)).unwrap();
        let text = read_audit(state.path()).unwrap();
        assert_eq!((text.entries, text.damaged), (vec![entry(1), entry(2)], 1));
        // Killed behind the first rename: .1 is missing.
        std::fs::rename(file.name(0), file.name(2)).unwrap();
        file.full = 10;
        file.append(&entry(3)).unwrap();
        file.append(&entry(4)).unwrap();
        let text = read_audit(state.path()).unwrap();
        assert_eq!(text.entries, [1, 2, 3, 4].map(entry));
    }
}
