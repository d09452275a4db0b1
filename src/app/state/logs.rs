//! The log dirs and their logs, as rows that are known by a number.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use super::boot::BootRow;
use crate::app::facts::LogDirFacts;
use crate::engine::{DirProgress, JobEvent, LogState};
use crate::log::{Finding, Severity};
use crate::plan::{HandOver, OnLoss, PartitionPlan, RecoveryPlan, StepAction, StopState, Verdict};

/// A log's number for this session: its log dir and its dir's name, whatever its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogId(pub u32);

/// What the operator chose for an ASK on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// Nothing yet.
    #[default]
    Open,
    /// To leave it as it is.
    Leave,
}

/// Whether the newest listing has a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It has.
    Listed,
    /// It has not; the number stays taken.
    Gone,
}

/// One log dir.
#[derive(Debug, Clone, PartialEq)]
pub struct DirRow {
    /// Its path.
    pub path: PathBuf,
    /// The shortest end of its path that names it among the others.
    pub label: String,
    /// How its broker stopped; `None` where nobody knows.
    pub stop: Option<StopState>,
    /// Why it is taken for that.
    pub why: String,
    /// What was seen beside the partition dirs.
    pub findings: Vec<Finding>,
    /// Its newest counters, from the scan or job that ran last.
    pub progress: Option<DirProgress>,
    /// What a plan hands it over as.
    pub hand_over: Option<HandOver>,
}

/// One partition dir.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRow {
    /// Its number.
    pub id: LogId,
    /// Its log dir's index.
    pub dir: usize,
    /// Its dir's name.
    pub dir_name: String,
    /// `.log` files, where counted.
    pub segments: Option<u64>,
    /// Their bytes.
    pub bytes: Option<u64>,
    /// Bytes of them that a boot reads.
    pub boot_reads: Option<u64>,
    /// Where a scan or job stands with it; `None` before the first.
    pub state: Option<LogState>,
    /// Segments read by the scan that runs.
    pub segments_read: u64,
    /// Bytes read by the scan that runs.
    pub bytes_read: u64,
    /// What was decided.
    pub verdict: Option<Verdict>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Where its plan lies in the newest plan: log dir, partition.
    pub plan: Option<(usize, usize)>,
    /// Whether its plan shortens the log.
    pub cuts: bool,
    /// Whether the operator chose to leave an ASK as it is.
    pub choice: Choice,
    /// What the broker's boot does with it.
    pub boot: Option<BootRow>,
    /// Whether the newest listing has it.
    pub place: Place,
}

impl LogRow {
    /// Returns the word of its state; words, not colours, carry the meaning.
    pub fn word(&self) -> &'static str {
        if let Some(word) = self.boot.as_ref().and_then(|boot| boot.word) {
            return word;
        }
        match (self.state, &self.verdict) {
            (None, _) => "not read",
            (Some(LogState::Waiting), _) => "waiting",
            (Some(LogState::Scanning), _) => "scanning",
            (Some(LogState::Applying), _) => "applying",
            (Some(LogState::Done), Some(Verdict::Recover)) if self.cuts => "cut",
            (Some(LogState::Done), Some(Verdict::Ask(ask))) if ask.accepted => match ask.decided {
                OnLoss::Leave => "kept",
                OnLoss::SetAside => "aside",
                _ => "cut",
            },
            (Some(LogState::Done), Some(Verdict::Truncate(_))) => "truncated",
            (Some(LogState::Done), Some(Verdict::Delete(_))) => "deleted",
            (Some(LogState::Done), _) => "done",
            (Some(_), Some(verdict)) => self.planned_word(verdict),
            (Some(LogState::Left), None) => "left",
            (Some(LogState::Planned), None) => "read",
        }
    }

    fn planned_word(&self, verdict: &Verdict) -> &'static str {
        match verdict {
            Verdict::Nothing => "no change",
            Verdict::Recover if self.cuts => "would cut",
            Verdict::Recover => "rebuild",
            Verdict::Mend => "mend",
            Verdict::TakeBack => "take back",
            Verdict::Truncate(_) => "truncate",
            Verdict::Delete(_) => "delete",
            Verdict::Move(_) => "move",
            Verdict::Ask(ask) if ask.accepted => match ask.decided {
                OnLoss::Leave => "would keep",
                OnLoss::SetAside => "set aside",
                _ => "would cut",
            },
            Verdict::Ask(_) if self.choice == Choice::Leave => "ASK: left",
            Verdict::Ask(_) => "ASK",
            Verdict::Refused { .. } => "REFUSED",
            Verdict::Unreadable { .. } => "UNREADABLE",
            Verdict::Skipped { .. } => "skipped",
        }
    }

    /// Returns how soon a person should look at it; 0 first.
    pub fn rank(&self) -> u8 {
        match self.word() {
            "ASK" => 0,
            "REFUSED" => 1,
            "UNREADABLE" => 2,
            "LOST" | "EMPTIED" | "FAILED" | "STRAY" | "RE-CREATED" => 3,
            "ASK: left" => 4,
            "applying" => 5,
            "scanning" => 6,
            "would cut" | "would keep" | "set aside" => 7,
            "cut" | "kept" | "aside" => 8,
            "rebuild" | "take back" => 9,
            "waiting" => 10,
            "not read" | "read" => 11,
            "left" | "done" => 12,
            "skipped" => 14,
            _ => 13,
        }
    }

    /// Returns the worst of its findings; the first of equals.
    pub fn worst(&self) -> Option<&Finding> {
        self.findings.iter().reduce(|worst, finding| {
            if finding.severity > worst.severity {
                finding
            } else {
                worst
            }
        })
    }

    /// Returns how bad its worst finding is.
    pub fn severity(&self) -> Option<Severity> {
        self.worst().map(|finding| finding.severity)
    }

    /// Says whether its ASK is decided, and that is all that was done so far.
    pub fn is_decided_only(&self) -> bool {
        let decided = matches!(&self.verdict, Some(Verdict::Ask(ask)) if ask.accepted);
        decided && self.state != Some(LogState::Done)
    }

    /// Returns the undecided ASK, if that is its verdict.
    pub fn open_ask(&self) -> Option<&crate::plan::Ask> {
        match &self.verdict {
            Some(Verdict::Ask(ask)) if !ask.accepted && self.state != Some(LogState::Done) => {
                Some(ask)
            }
            _ => None,
        }
    }
}

/// All log dirs and logs of the broker.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Logs {
    /// The log dirs, in the order of `log.dirs`.
    pub dirs: Vec<DirRow>,
    rows: Vec<LogRow>,
    longest_name: usize,
    by_name: HashMap<(usize, String), LogId>,
}

impl Logs {
    /// Returns all logs, in the order of their numbers.
    pub fn rows(&self) -> impl Iterator<Item = &LogRow> + Clone {
        self.rows.iter().filter(|row| row.place == Place::Listed)
    }

    /// Returns how many logs there are.
    pub fn len(&self) -> u64 {
        self.rows().count() as u64
    }

    /// Returns how many characters the longest name has.
    pub fn longest_name(&self) -> usize {
        self.longest_name
    }

    /// Says whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows().next().is_none()
    }

    /// Returns the log of a number.
    pub fn row(&self, id: LogId) -> Option<&LogRow> {
        self.rows.get(usize::try_from(id.0).ok()?)
    }

    /// Returns the log of a number, to be changed.
    pub fn row_mut(&mut self, id: LogId) -> Option<&mut LogRow> {
        self.rows.get_mut(usize::try_from(id.0).ok()?)
    }

    /// Returns the log dir of a log.
    pub fn dir_of(&self, row: &LogRow) -> Option<&DirRow> {
        self.dirs.get(row.dir)
    }

    /// Returns the index of the log dir at `path`.
    pub fn dir_at(&self, path: &Path) -> Option<usize> {
        self.dirs.iter().position(|dir| dir.path == path)
    }

    /// Returns the number of the log `dir_name` in the log dir `dir`.
    pub fn id(&self, dir: usize, dir_name: &str) -> Option<LogId> {
        self.by_name.get(&(dir, dir_name.to_owned())).copied()
    }

    /// Takes a new listing: logs that are gone lose their row, others keep their number and what is known of them.
    pub fn on_listed(&mut self, listing: &[LogDirFacts]) {
        for row in &mut self.rows {
            row.place = Place::Gone;
        }
        for facts in listing {
            let dir = self.dir_at(&facts.path).unwrap_or_else(|| {
                self.dirs.push(DirRow {
                    path: facts.path.clone(),
                    label: String::new(),
                    stop: None,
                    why: String::new(),
                    findings: Vec::new(),
                    progress: None,
                    hand_over: None,
                });
                self.dirs.len() - 1
            });
            if let Some(row) = self.dirs.get_mut(dir) {
                row.stop = facts.stop;
                row.why.clone_from(&facts.why);
                row.findings.clone_from(&facts.findings);
            }
            for partition in &facts.partitions {
                let id = match self.id(dir, &partition.dir_name) {
                    Some(id) => id,
                    None => self.add(dir, &partition.dir_name),
                };
                if let Some(row) = self.row_mut(id) {
                    row.place = Place::Listed;
                    row.segments = Some(partition.segments);
                    row.bytes = Some(partition.bytes);
                    row.boot_reads = partition.boot_reads;
                    if row.state.is_none() {
                        row.findings.clone_from(&partition.findings);
                    }
                }
            }
        }
        self.name_dirs();
    }

    /// Forgets what a scan or a plan said: a new one begins.
    pub fn on_scan_started(&mut self) {
        for row in &mut self.rows {
            row.state = Some(LogState::Waiting);
            row.boot = None;
            (row.segments_read, row.bytes_read) = (0, 0);
            (row.verdict, row.plan, row.cuts) = (None, None, false);
            row.findings.clear();
        }
        for dir in &mut self.dirs {
            dir.progress = None;
        }
    }

    /// Returns all rows, to be changed.
    pub(super) fn rows_mut(&mut self) -> impl Iterator<Item = &mut LogRow> {
        self.rows.iter_mut()
    }

    /// Lets the logs of the newest plan wait for its steps.
    pub fn on_apply_started(&mut self) {
        for row in &mut self.rows {
            if row.verdict.as_ref().is_some_and(Verdict::is_applied) {
                row.state = Some(LogState::Waiting);
            }
        }
    }

    /// Takes one event of a scan or of a job; says whether a row's place in the table may have changed.
    pub fn on_event(&mut self, event: &JobEvent) -> bool {
        match event {
            JobEvent::Log {
                log_dir,
                dir_name,
                state,
                verdict,
            } => {
                if let Some(row) = self.find_or_add(log_dir, dir_name) {
                    if *state == LogState::Scanning && row.state != Some(LogState::Scanning) {
                        (row.segments_read, row.bytes_read) = (0, 0);
                    }
                    row.state = Some(*state);
                    if verdict.is_some() {
                        row.verdict.clone_from(verdict);
                    }
                }
                true
            }
            JobEvent::Segment {
                log_dir,
                dir_name,
                bytes,
                ..
            } => {
                if let Some(row) = self.find_or_add(log_dir, dir_name) {
                    row.segments_read += 1;
                    row.bytes_read += bytes;
                }
                false
            }
            JobEvent::Finding {
                log_dir,
                dir_name,
                finding,
            } => {
                match dir_name {
                    Some(name) => {
                        if let Some(row) = self.find_or_add(log_dir, name)
                            && !row.findings.contains(finding)
                        {
                            // The steps come with the plan; that bytes go is known before.
                            row.cuts |= finding.lost_bytes > 0;
                            row.findings.push(finding.clone());
                        }
                    }
                    None => {
                        if let Some(dir) = self.dir_at(log_dir).and_then(|at| self.dirs.get_mut(at))
                            && !dir.findings.contains(finding)
                        {
                            dir.findings.push(finding.clone());
                        }
                    }
                }
                true
            }
            _ => false,
        }
    }

    /// Takes the counters of a scan or job.
    pub fn on_progress(&mut self, dirs: &[DirProgress]) {
        for progress in dirs {
            if let Some(dir) = self
                .dir_at(&progress.log_dir)
                .and_then(|at| self.dirs.get_mut(at))
            {
                dir.progress = Some(progress.clone());
            }
        }
    }

    /// Takes a plan: each log of it gets its verdict, its findings and its place in the plan.
    pub fn on_plan(&mut self, plan: &RecoveryPlan) {
        for row in &mut self.rows {
            row.plan = None;
        }
        for (dir_index, planned) in plan.log_dirs.iter().enumerate() {
            if let Some(dir) = self
                .dir_at(&planned.path)
                .and_then(|at| self.dirs.get_mut(at))
            {
                dir.stop = Some(planned.stop);
                dir.hand_over = Some(planned.hand_over);
                dir.findings.clone_from(&planned.findings);
            }
            for (index, partition) in planned.partitions.iter().enumerate() {
                let Some(row) = self.find_or_add(&planned.path, &partition.dir_name) else {
                    continue;
                };
                if matches!(partition.verdict, Verdict::Skipped { .. }) && row.verdict.is_some() {
                    continue;
                }
                row.state = Some(LogState::Planned);
                row.plan = Some((dir_index, index));
                row.verdict = Some(partition.verdict.clone());
                row.findings.clone_from(&partition.findings);
                row.cuts = shortens(partition);
                row.segments = Some(partition.segments.len() as u64);
                row.bytes = Some(partition.segments.iter().map(|s| s.bytes).sum());
                row.boot_reads = Some(partition.scan_bytes);
                row.segments_read = partition.segments.iter().filter(|s| s.scanned).count() as u64;
            }
        }
    }

    fn find_or_add(&mut self, log_dir: &Path, dir_name: &str) -> Option<&mut LogRow> {
        let dir = self.dir_at(log_dir)?;
        let id = match self.id(dir, dir_name) {
            Some(id) => id,
            None => self.add(dir, dir_name),
        };
        let row = self.row_mut(id)?;
        row.place = Place::Listed;
        Some(row)
    }

    fn add(&mut self, dir: usize, dir_name: &str) -> LogId {
        let id = LogId(u32::try_from(self.rows.len()).unwrap_or(u32::MAX));
        self.rows.push(LogRow {
            id,
            dir,
            dir_name: dir_name.to_owned(),
            segments: None,
            bytes: None,
            boot_reads: None,
            state: None,
            segments_read: 0,
            bytes_read: 0,
            verdict: None,
            findings: Vec::new(),
            plan: None,
            cuts: false,
            choice: Choice::Open,
            boot: None,
            place: Place::Listed,
        });
        self.longest_name = self.longest_name.max(dir_name.chars().count());
        self.by_name.insert((dir, dir_name.to_owned()), id);
        id
    }

    /// Gives each log dir the shortest end of its path that no other has.
    fn name_dirs(&mut self) {
        let ends = |path: &Path, parts: usize| -> String {
            let names = path.components().map(Component::as_os_str);
            let names: Vec<_> = names.map(std::ffi::OsStr::to_string_lossy).collect();
            let shown = names.get(names.len().saturating_sub(parts)..);
            shown.unwrap_or_default().join("/").replace("//", "/")
        };
        let paths: Vec<PathBuf> = self.dirs.iter().map(|dir| dir.path.clone()).collect();
        for (index, dir) in self.dirs.iter_mut().enumerate() {
            let longest = dir.path.components().count().max(1);
            dir.label = (1..=longest)
                .map(|parts| ends(&dir.path, parts))
                .find(|label| {
                    paths.iter().enumerate().all(|(other, path)| {
                        other == index || ends(path, label.split('/').count()) != *label
                    })
                })
                .unwrap_or_else(|| dir.path.display().to_string());
        }
    }
}

/// Says whether a plan's steps take bytes off a `.log`.
pub fn shortens(plan: &PartitionPlan) -> bool {
    plan.steps.iter().any(|step| {
        is_log(&step.file)
            && matches!(
                step.action,
                StepAction::Remove { .. } | StepAction::SetLen { .. }
            )
    })
}

/// Says whether a name is that of a segment's records.
pub fn is_log(file: &str) -> bool {
    file.strip_suffix(".log").is_some()
}
