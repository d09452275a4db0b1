//! The journal of a plan's apply, `STATE/journals/HASH.jsonl`: what was kept of each file before the first step, and how
//! each dir was left. An undo and a rerun of the same plan read it.
//!
//! JSON lines, appended; a last line without its end is what a power cut leaves, and counts as not written. What a line
//! speaks of is durable before the line is needed: all that was kept is synced, then the journal, then comes the first
//! step.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::disk::{DiskAction, DiskError};
use crate::engine::job::job_spec::{JobSpec, Who};
use crate::engine::store::plan_store::{create_dirs, sync_dir, write_synced};
use crate::engine::{EngineError, JobOutcome, StoredPlan};
use crate::plan::{FileStamp, KeptFile};
use crate::terms::Timestamp;

/// The layout of a journal.
const SCHEMA: u32 = 1;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(in crate::engine) enum JournalLine {
    /// An apply began.
    Begin(Begin),
    /// What was kept of a log, by the number of its step.
    Log {
        dir: PathBuf,
        partition: String,
        kept: Vec<(usize, KeptFile)>,
    },
    /// What was kept of a log dir's own files.
    Dir { dir: PathBuf, kept: DirKept },
    /// A log's files once its steps were done.
    LogLeft {
        dir: PathBuf,
        partition: String,
        stamps: Vec<FileStamp>,
    },
    /// A log dir's own files once it was handed over.
    DirLeft {
        dir: PathBuf,
        stamps: Vec<FileStamp>,
    },
    /// The apply ended.
    End { outcome: JobOutcome },
    /// Another plan begins to take this one back.
    Undoing { by: String, at: Timestamp },
    /// Another plan took this one back.
    Undone { by: String, at: Timestamp },
    /// What was kept is gone.
    Purged { at: Timestamp, who: Who },
}

/// The beginning of an apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct Begin {
    pub(in crate::engine) schema: u32,
    pub(in crate::engine) at: Timestamp,
    pub(in crate::engine) who: Who,
    /// The folder in which things are kept; `None` for nowhere.
    pub(in crate::engine) quarantine: Option<PathBuf>,
    pub(in crate::engine) log_dirs: Vec<PathBuf>,
    /// The logs with a step.
    pub(in crate::engine) partitions: Vec<String>,
    pub(in crate::engine) undoes: Option<String>,
}

/// What was kept of a log dir's own files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(in crate::engine) struct DirKept {
    /// The marker that is taken away.
    pub(in crate::engine) marker: Option<KeptFile>,
    /// The checkpoints that are written.
    pub(in crate::engine) checkpoints: Vec<CheckpointKept>,
}

/// A checkpoint that the hand-over writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct CheckpointKept {
    /// Its name.
    pub(in crate::engine) name: String,
    /// What was there; `None` for nothing.
    pub(in crate::engine) kept: Option<KeptFile>,
    /// SHA-256 of what is written.
    pub(in crate::engine) sha256: String,
    /// Its length.
    pub(in crate::engine) len: u64,
}

/// The writing end.
#[derive(Debug)]
pub(in crate::engine) struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

impl Journal {
    /// Opens a plan's journal and tells that an apply begins.
    pub(in crate::engine) fn begin(
        state_dir: &Path,
        stored: &StoredPlan,
        spec: &JobSpec,
        quarantine: Option<&Path>,
    ) -> Result<Self, DiskError> {
        let this = Self::append_to(state_dir, &stored.hash)?;
        let plan = &stored.plan;
        let changed = plan
            .partitions()
            .filter(|log| log.verdict.is_applied() && !log.steps.is_empty());
        this.write(&JournalLine::Begin(Begin {
            schema: SCHEMA,
            at: spec.started_at,
            who: spec.who.clone(),
            quarantine: quarantine.map(Path::to_owned),
            log_dirs: plan.log_dirs.iter().map(|dir| dir.path.clone()).collect(),
            partitions: changed.map(|log| log.dir_name.clone()).collect(),
            undoes: plan.undoes.clone(),
        }))?;
        Ok(this)
    }

    /// Opens a plan's journal to add to it.
    pub(in crate::engine) fn append_to(state_dir: &Path, hash: &str) -> Result<Self, DiskError> {
        let dir = journals(state_dir);
        create_dirs(&dir)?;
        sync_dir(state_dir)?;
        let path = journal_path(state_dir, hash);
        let mut file = File::options()
            .append(true)
            .create(true)
            .read(true)
            .mode(0o600)
            .open(&path)
            .map_err(DiskError::of(DiskAction::Open, &path))?;
        end_torn_line(&mut file).map_err(DiskError::of(DiskAction::Write, &path))?;
        sync_dir(&dir)?;
        Ok(Self {
            path,
            file: Mutex::new(file),
        })
    }

    /// Adds a line.
    pub(in crate::engine) fn write(&self, line: &JournalLine) -> Result<(), DiskError> {
        let write = |error| DiskError::new(DiskAction::Write, &self.path, error);
        let mut bytes = serde_json::to_vec(line).map_err(|error| write(error.into()))?;
        bytes.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&bytes).map_err(write)
    }

    /// Makes all lines durable.
    pub(in crate::engine) fn sync(&self) -> Result<(), DiskError> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.sync_data()
            .map_err(DiskError::of(DiskAction::Sync, &self.path))
    }
}

/// What a journal says of one log.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::engine) struct LogNotes {
    /// What was kept, by the number of its step.
    pub(in crate::engine) kept: BTreeMap<usize, KeptFile>,
    /// Its files once all steps were done.
    pub(in crate::engine) left: Option<Vec<FileStamp>>,
}

/// What a journal says of one log dir's own files.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::engine) struct DirNotes {
    /// What was kept.
    pub(in crate::engine) kept: DirKept,
    /// They once the dir was handed over.
    pub(in crate::engine) left: Option<Vec<FileStamp>>,
}

/// A journal as it was read.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::engine) struct JournalText {
    /// The newest apply.
    pub(in crate::engine) begin: Begin,
    /// By log dir and dir name.
    pub(in crate::engine) logs: HashMap<(PathBuf, String), LogNotes>,
    /// By log dir.
    pub(in crate::engine) dirs: HashMap<PathBuf, DirNotes>,
    /// How the newest apply ended; `None` if it did not say.
    pub(in crate::engine) ended: Option<JobOutcome>,
    /// Whether another plan began to take it back.
    pub(in crate::engine) undoing: bool,
    /// The plan that took it back, and when.
    pub(in crate::engine) undone: Option<(String, Timestamp)>,
    /// When what was kept was removed.
    pub(in crate::engine) purged: Option<Timestamp>,
}

impl JournalText {
    /// Reads a plan's journal; `None` if the plan was never applied.
    pub(in crate::engine) fn read(
        state_dir: &Path,
        hash: &str,
    ) -> Result<Option<Self>, EngineError> {
        let path = journal_path(state_dir, hash);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(DiskError::new(DiskAction::Read, &path, error).into()),
        };
        let mut text: Option<Self> = None;
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        for (number, line) in lines.iter().enumerate() {
            let Some(line) = line.strip_suffix(b"\n") else {
                break;
            };
            match serde_json::from_slice(line) {
                Ok(JournalLine::Begin(begin)) => match &mut text {
                    Some(text) => text.begin_again(begin),
                    None => text = Some(Self::of(begin)),
                },
                Ok(line) => {
                    if let Some(text) = &mut text {
                        text.add(line);
                    }
                }
                // A torn line that a later apply ended, so as to go on behind it.
                Err(_) if line.is_empty() || line.ends_with(b" ") => {}
                Err(error) => {
                    let cause = format!("line {}: {error}", number + 1);
                    return Err(EngineError::damaged(&path, &cause));
                }
            }
        }
        Ok(text)
    }

    fn of(begin: Begin) -> Self {
        Self {
            begin,
            logs: HashMap::new(),
            dirs: HashMap::new(),
            ended: None,
            undoing: false,
            undone: None,
            purged: None,
        }
    }

    /// A rerun goes on with what an interrupted apply kept; one that was taken back kept nothing that is still needed.
    fn begin_again(&mut self, begin: Begin) {
        if self.undone.is_some() || self.purged.is_some() {
            *self = Self::of(begin);
        } else {
            self.begin = begin;
            self.ended = None;
        }
    }

    fn add(&mut self, line: JournalLine) {
        match line {
            JournalLine::Begin(_) => {}
            JournalLine::Log {
                dir,
                partition,
                kept,
            } => {
                let log = self.logs.entry((dir, partition)).or_default();
                log.kept.extend(kept);
            }
            JournalLine::Dir { dir, kept } => {
                // The first one saw the files as they were.
                self.dirs
                    .entry(dir)
                    .or_insert(DirNotes { kept, left: None });
            }
            JournalLine::LogLeft {
                dir,
                partition,
                stamps,
            } => self.logs.entry((dir, partition)).or_default().left = Some(stamps),
            JournalLine::DirLeft { dir, stamps } => {
                self.dirs.entry(dir).or_default().left = Some(stamps);
            }
            JournalLine::End { outcome } => self.ended = Some(outcome),
            JournalLine::Undoing { .. } => self.undoing = true,
            JournalLine::Undone { by, at } => self.undone = Some((by, at)),
            JournalLine::Purged { at, .. } => self.purged = Some(at),
        }
    }

    /// Says whether the newest apply broke off: a rerun of the plan goes on.
    pub(in crate::engine) fn is_interrupted(&self) -> bool {
        self.undone.is_none()
            && matches!(
                self.ended,
                None | Some(JobOutcome::Stopped | JobOutcome::Failed { .. })
            )
    }

    /// Returns why what was done cannot be taken back, as far as the journal tells.
    pub(in crate::engine) fn why_not(&self) -> Option<String> {
        if let Some((by, at)) = &self.undone {
            let by = by.get(..8).unwrap_or(by);
            return Some(format!("it was taken back at {} by {by}", at.rfc3339()));
        }
        if let Some(at) = self.purged {
            return Some(format!("what it kept was purged at {}", at.rfc3339()));
        }
        let none = "it was carried out without a quarantine, so nothing was kept";
        self.begin.quarantine.is_none().then(|| none.to_owned())
    }

    /// Returns what the journal says of a log.
    pub(in crate::engine) fn log(&self, dir: &Path, partition: &str) -> Option<&LogNotes> {
        self.logs.get(&(dir.to_owned(), partition.to_owned()))
    }
}

/// Returns the hashes of the plans that have a journal, sorted.
pub(in crate::engine) fn journal_hashes(state_dir: &Path) -> Result<Vec<String>, EngineError> {
    let dir = journals(state_dir);
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(DiskError::new(DiskAction::List, &dir, error).into()),
    };
    let mut hashes: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned))
        .collect();
    hashes.sort();
    Ok(hashes)
}

/// Replaces a journal by its beginning and the news that what was kept is gone, whole or not at all.
pub(in crate::engine) fn forget_kept(
    state_dir: &Path,
    hash: &str,
    text: &JournalText,
    purged: JournalLine,
) -> Result<(), EngineError> {
    let path = journal_path(state_dir, hash);
    let half = path.with_extension("tmp");
    let mut lines = vec![JournalLine::Begin(text.begin.clone())];
    lines.extend(
        text.ended
            .clone()
            .map(|outcome| JournalLine::End { outcome }),
    );
    let undone = text.undone.clone();
    lines.extend(undone.map(|(by, at)| JournalLine::Undone { by, at }));
    lines.push(purged);
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, &line)
            .map_err(|error| EngineError::damaged(&path, &error))?;
        bytes.push(b'\n');
    }
    write_synced(&half, &bytes)?;
    std::fs::rename(&half, &path).map_err(DiskError::of(DiskAction::Rename, &half))?;
    Ok(sync_dir(&journals(state_dir))?)
}

fn journals(state_dir: &Path) -> PathBuf {
    state_dir.join("journals")
}

fn journal_path(state_dir: &Path, hash: &str) -> PathBuf {
    journals(state_dir).join(format!("{hash}.jsonl"))
}

/// Ends a line that a power cut tore, by a blank that tells it from damage.
pub(in crate::engine) fn end_torn_line(file: &mut File) -> std::io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    let len = file.metadata()?.len();
    let mut last = [b'\n'];
    if len > 0 {
        file.read_exact_at(&mut last, len - 1)?;
    }
    if last != [b'\n'] {
        file.write_all(b" \n")?;
    }
    Ok(())
}
