//! What a run of `verify` found, log by log, so that a run that was stopped can go on.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::plan_store::create_dirs;
use crate::disk::{DiskAction, DiskError};
use crate::engine::EngineError;
use crate::log::Finding;
use crate::plan::{FileStamp, hex};

/// What was found in one log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerifiedLog {
    /// Its log dir.
    pub log_dir: PathBuf,
    /// Its dir's name.
    pub dir_name: String,
    /// Names the state of its files when they were read.
    pub stamp: String,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Bytes of its segments.
    pub bytes: u64,
    /// Its segments.
    pub segments: u64,
}

/// The results of the latest run over some log dirs.
#[derive(Debug)]
pub struct VerifyStore {
    path: PathBuf,
    known: HashMap<(PathBuf, String), VerifiedLog>,
    file: Option<File>,
}

impl VerifyStore {
    /// Opens the results over `log_dirs`; without `resume` they begin anew. Lines that do not parse are passed over: a run
    /// that was killed leaves half of one.
    pub fn open(state_dir: &Path, log_dirs: &[PathBuf], resume: bool) -> Result<Self, EngineError> {
        let mut hash = Sha256::new();
        for dir in log_dirs {
            hash.update(dir.as_os_str().as_encoded_bytes());
            hash.update([0]);
        }
        let name = hex(&hash.finalize());
        let folder = state_dir.join("verify");
        create_dirs(&folder)?;
        let path = folder.join(format!("{}.jsonl", name.get(..16).unwrap_or(&name)));
        let mut known = HashMap::new();
        if resume && let Ok(file) = File::open(&path) {
            for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
                if let Ok(log) = serde_json::from_slice::<VerifiedLog>(&line) {
                    known.insert((log.log_dir.clone(), log.dir_name.clone()), log);
                }
            }
        }
        let file = File::options()
            .create(true)
            .write(true)
            .append(resume)
            .truncate(!resume)
            .mode(0o600)
            .open(&path)
            .map_err(DiskError::of(DiskAction::Create, &path))?;
        Ok(Self {
            path,
            known,
            file: Some(file),
        })
    }

    /// Returns what is known of a log whose files are as they were.
    pub fn known(&self, log_dir: &Path, dir_name: &str, stamp: &str) -> Option<&VerifiedLog> {
        let log = self.known.get(&(log_dir.to_owned(), dir_name.to_owned()))?;
        (log.stamp == stamp).then_some(log)
    }

    /// Adds what was found in a log.
    pub fn add(&mut self, log: &VerifiedLog) -> Result<(), EngineError> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        // A half-written line of a run that was killed is ended first.
        let line = serde_json::to_string(log).unwrap_or_default();
        file.write_all(format!("\n{line}\n").as_bytes())
            .map_err(DiskError::of(DiskAction::Write, &self.path))?;
        Ok(())
    }
}

/// Names the state of a log's files.
pub fn verify_stamp(stamps: &[FileStamp]) -> String {
    let mut sorted: Vec<&FileStamp> = stamps.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let mut hash = Sha256::new();
    for stamp in sorted {
        hash.update(format!(
            "{}\0{}\0{}\0{}\n",
            stamp.name, stamp.inode, stamp.len, stamp.mtime_ns
        ));
    }
    hex(&hash.finalize())
}
