//! Which of a plan's steps a log already has: what a kill left is a prefix of them, and what a power cut left is one too but
//! for the steps between two syncs, of which it may have kept any.
//!
//! The files are followed through the steps, from what the plan saw to its end; the first state that fits what lies on
//! disk is the answer. A file in no state of its own names itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::mend::place;
use super::relocation::moved_steps_done;
use super::stamps::StampError;
use crate::disk::{FileStat, Storage};
use crate::engine::planning::log_target::OWN_SUFFIX;
use crate::engine::read::file_bytes::{hash_range, is_zeros, same_bytes};
use crate::plan::{FileOwner, FileStamp, KeptFile, PartitionPlan, Step, StepAction, Verdict};

/// Whether a file must be the very one that the plan saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Identity {
    /// The same inode.
    Same,
    /// A copy of the same length and time will do, as an undo brings it.
    OrCopy,
}

/// How far a log is on its way through its plan's steps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::engine) struct Progress {
    /// So many steps from the first one on are done.
    pub(in crate::engine) first: usize,
    /// The numbers of those behind the next one that are done too, all in its stage.
    pub(in crate::engine) beyond: BTreeSet<usize>,
}

impl Progress {
    /// Says whether the step of this number is done.
    pub(in crate::engine) fn has(&self, number: usize) -> bool {
        number < self.first || self.beyond.contains(&number)
    }

    /// Says whether no step is done.
    pub(in crate::engine) fn is_none(&self) -> bool {
        self.first == 0 && self.beyond.is_empty()
    }

    /// Returns how many steps are done.
    pub(in crate::engine) fn count(&self) -> usize {
        self.first + self.beyond.len()
    }

    /// Returns the steps that are left.
    pub(in crate::engine) fn left<'a>(&self, steps: &'a [Step]) -> impl Iterator<Item = &'a Step> {
        let numbered = steps.iter().enumerate();
        let left = numbered.filter(|(number, _)| !self.has(*number));
        left.map(|(_, step)| step)
    }
}

impl From<usize> for Progress {
    fn from(first: usize) -> Self {
        Self {
            first,
            beyond: BTreeSet::new(),
        }
    }
}

/// The files of a log's dir by their names.
type Now = BTreeMap<String, FileStat>;

/// What a file must be.
#[derive(Debug, Clone, Copy)]
enum Expected<'a> {
    /// As the plan saw it.
    Stamp(&'a FileStamp),
    /// Cut at a length; where it is longer, what follows must be what was kept.
    Cut {
        len: u64,
        kept: Option<&'a KeptFile>,
    },
    /// New bytes.
    Bytes { len: u64, sha256: &'a str },
    /// Bytes of another file, or zeros.
    Length { len: u64 },
    /// Put back: its length and its time.
    PutBack { len: u64, mtime_ns: i64 },
}

/// A log, its plan, and what was kept of it.
pub(in crate::engine) struct LogSteps<'a> {
    pub(in crate::engine) storage: &'a dyn Storage,
    pub(in crate::engine) dir: PathBuf,
    pub(in crate::engine) plan: &'a PartitionPlan,
    /// By the number of its step.
    pub(in crate::engine) kept: Option<&'a BTreeMap<usize, KeptFile>>,
    /// Its files once all steps were done, if they were.
    pub(in crate::engine) left: Option<&'a [FileStamp]>,
    pub(in crate::engine) identity: Identity,
}

impl<'a> LogSteps<'a> {
    /// Returns which steps are done; an error names a file that fits no state.
    pub(in crate::engine) fn done(&self) -> Result<Progress, StampError> {
        if let Verdict::Move(_) = self.plan.verdict {
            return moved_steps_done(self.storage, &self.dir, self.plan).map(Progress::from);
        }
        let listed = match self.storage.list(&self.dir) {
            // The last step removes the dir itself.
            Err(error) if error.is_not_found() && self.removes_dir() => {
                return Ok(self.plan.steps.len().into());
            }
            listed => listed.map_err(StampError::Disk)?,
        };
        let now: Now = listed
            .into_iter()
            .filter(|entry| !entry.name.ends_with(OWN_SUFFIX))
            .map(|entry| (entry.name, entry.stat))
            .collect();
        match self.prefix(&now)? {
            Ok(done) => Ok(done.into()),
            Err(text) => self.prefix_and_part(&now)?.ok_or(StampError::Changed(text)),
        }
    }

    /// Returns what the plan saw.
    fn planned(&self) -> BTreeMap<&'a str, Expected<'a>> {
        let stamps = self.plan.stamps.iter();
        stamps
            .filter(|stamp| !stamp.name.ends_with(OWN_SUFFIX))
            .map(|stamp| (stamp.name.as_str(), Expected::Stamp(stamp)))
            .collect()
    }

    /// Returns how many steps from the first one on are done if no other one is; else the file that stands in the way.
    fn prefix(&self, now: &Now) -> Result<Result<usize, String>, StampError> {
        let mut expected = self.planned();
        let mut wrong: BTreeMap<String, String> = BTreeMap::new();
        let compare =
            |name: &str, expected: Option<&Expected<'a>>, wrong: &mut BTreeMap<String, String>| {
                match self.fault(name, expected, now.get(name))? {
                    Some(how) => wrong.insert(name.to_owned(), how),
                    None => wrong.remove(name),
                };
                Ok::<(), StampError>(())
            };
        for name in now
            .keys()
            .map(String::as_str)
            .chain(expected.keys().copied())
        {
            compare(name, expected.get(name), &mut wrong)?;
        }
        let mut nearest: Option<(usize, String)> = None;
        for done in 0..=self.plan.steps.len() {
            let Some((name, how)) = wrong.first_key_value() else {
                self.check_bytes(&expected)?;
                return Ok(Ok(done + self.given_away(done)));
            };
            if nearest
                .as_ref()
                .is_none_or(|(count, _)| wrong.len() < *count)
            {
                let text = format!("{} {how}", self.dir.join(name).display());
                nearest = Some((wrong.len(), text));
            }
            if let Some(step) = self.plan.steps.get(done) {
                for name in self.advance(done, step, &mut expected) {
                    compare(name, expected.get(name), &mut wrong)?;
                }
            }
        }
        Ok(Err(nearest.map_or_else(String::new, |(_, text)| text)))
    }

    /// Returns which steps are done where those of one stage are done in part, and none behind it.
    fn prefix_and_part(&self, now: &Now) -> Result<Option<Progress>, StampError> {
        let mut expected = self.planned();
        let mut first = 0;
        for stage in self.plan.steps.chunk_by(|_, next| !next.after_sync) {
            if stage.len() > 1
                && let Some(progress) = self.part_of((first, stage), &expected, now)?
            {
                return Ok(Some(progress));
            }
            for (number, step) in (first..).zip(stage) {
                self.advance(number, step, &mut expected);
            }
            first += stage.len();
        }
        Ok(None)
    }

    /// Returns which steps of a stage are done, if all files are as they then must be. Each step shows on its own files;
    /// where one does not, the stage is not looked into.
    fn part_of(
        &self,
        (first, stage): (usize, &'a [Step]),
        before: &BTreeMap<&'a str, Expected<'a>>,
        now: &Now,
    ) -> Result<Option<Progress>, StampError> {
        let mut expected = before.clone();
        let mut done = BTreeSet::new();
        let fit = |names: &[&str], expected: &BTreeMap<&str, Expected<'_>>| {
            for name in names {
                if self
                    .fault(name, expected.get(name), now.get(*name))?
                    .is_some()
                {
                    return Ok(false);
                }
            }
            Ok::<bool, StampError>(true)
        };
        for (number, step) in (first..).zip(stage) {
            let mut next = expected.clone();
            let touched = self.advance(number, step, &mut next);
            if touched.is_empty() {
                return Ok(None);
            }
            if !fit(&touched, &expected)? {
                expected = next;
                done.insert(number);
            }
        }
        let known = expected.keys().copied();
        let names: Vec<&str> = known.chain(now.keys().map(String::as_str)).collect();
        if !fit(&names, &expected)? {
            return Ok(None);
        }
        match self.check_bytes(&expected) {
            Err(StampError::Changed(_)) => return Ok(None),
            checked => checked?,
        }
        let numbers = first..first + stage.len();
        let leading = numbers.take_while(|number| done.contains(number));
        let first = first + leading.count();
        done.retain(|number| *number >= first);
        Ok(Some(Progress {
            first,
            beyond: done,
        }))
    }

    fn removes_dir(&self) -> bool {
        let last = self.plan.steps.last();
        last.is_some_and(|step| step.action == StepAction::RemoveDir)
    }

    /// Returns how many steps from `done` on give away what has that owner already.
    fn given_away(&self, done: usize) -> usize {
        let left = self.plan.steps.get(done..).unwrap_or_default().iter();
        left.take_while(|step| match &step.action {
            StepAction::SetOwner { to, .. } => self
                .storage
                .stat(&place(&self.dir, &step.file))
                .is_ok_and(|now| has_owner(&now, to)),
            _ => false,
        })
        .count()
    }

    /// Does a step on what is expected; returns the names that it touched.
    fn advance(
        &self,
        number: usize,
        step: &'a Step,
        expected: &mut BTreeMap<&'a str, Expected<'a>>,
    ) -> Vec<&'a str> {
        let file = step.file.as_str();
        let new = match &step.action {
            StepAction::Remove { .. } => {
                expected.remove(file);
                return vec![file];
            }
            // No stamp shows it.
            StepAction::RemoveDir
            | StepAction::SetOwner { .. }
            | StepAction::CopyOut { .. }
            | StepAction::MoveDir { .. } => return Vec::new(),
            StepAction::Rename { to } => {
                if let Some(known) = expected.remove(file) {
                    expected.insert(to, known);
                }
                return vec![file, to];
            }
            StepAction::SetLen { to, .. } => Expected::Cut {
                len: *to,
                kept: self.kept.and_then(|kept| kept.get(&number)),
            },
            StepAction::Write { content, .. } => Expected::Bytes {
                len: content.len,
                sha256: &content.sha256,
            },
            StepAction::CopyPart { len, .. } | StepAction::Allocate { len, .. } => {
                Expected::Length { len: *len }
            }
            StepAction::Restore { kept, .. } => Expected::PutBack {
                len: kept.len,
                mtime_ns: kept.mtime_ns,
            },
            StepAction::Append { to, kept, .. } => Expected::PutBack {
                len: *to,
                mtime_ns: kept.mtime_ns,
            },
        };
        expected.insert(file, new);
        vec![file]
    }

    /// Says in what a file is not as expected.
    fn fault(
        &self,
        name: &str,
        expected: Option<&Expected<'_>>,
        now: Option<&FileStat>,
    ) -> Result<Option<String>, StampError> {
        let (expected, now) = match (expected, now) {
            (None, None) => return Ok(None),
            (None, Some(_)) => return Ok(Some("is new".to_owned())),
            (Some(_), None) => return Ok(Some("is gone".to_owned())),
            (Some(expected), Some(now)) => (*expected, now),
        };
        let (len, mtime_ns) = match expected {
            Expected::Stamp(stamp) => {
                if self.identity == Identity::Same && stamp.inode != now.inode {
                    return Ok(Some("is another file".to_owned()));
                }
                (stamp.len, Some(stamp.mtime_ns))
            }
            Expected::Cut { len, kept } => {
                if let Some(kept) = kept
                    && self.is_half_back(name, (len, len + kept.len), now.len, kept)?
                {
                    return Ok(None);
                }
                // A file that is cut in two steps had another time between them.
                let left = self.left.and_then(|left| {
                    let is_it = |left: &&FileStamp| left.name == name && left.len == len;
                    left.iter().find(is_it)
                });
                (len, left.map(|left| left.mtime_ns))
            }
            Expected::Bytes { len, .. } | Expected::Length { len } => (len, None),
            Expected::PutBack { len, mtime_ns } => (len, Some(mtime_ns)),
        };
        if let Some((kept, to)) = self.appended_behind(name, len)
            && self.is_half_back(name, (len, to), now.len, kept)?
        {
            return Ok(None);
        }
        if now.len != len {
            return Ok(Some(format!("has {} bytes, not {len}", now.len)));
        }
        let written = mtime_ns.is_some_and(|mtime_ns| mtime_ns != now.mtime_ns);
        Ok(written.then(|| "was written to".to_owned()))
    }

    /// Returns what an undo puts behind `len` bytes of a file, and up to where.
    fn appended_behind(&self, name: &str, len: u64) -> Option<(&'a KeptFile, u64)> {
        self.plan.steps.iter().find_map(|step| match &step.action {
            StepAction::Append { from, to, kept } if step.file == name && *from == len => {
                Some((&**kept, *to))
            }
            _ => None,
        })
    }

    /// Says whether a file has, behind where it was cut, a beginning of what was kept, or all of it.
    fn is_half_back(
        &self,
        name: &str,
        (from, to): (u64, u64),
        len: u64,
        kept: &KeptFile,
    ) -> Result<bool, StampError> {
        if len <= from || len > to {
            return Ok(false);
        }
        let ours = self.dir.join(name);
        let same = match &kept.path {
            None => is_zeros(self.storage, &ours, from, len),
            Some(path) => same_bytes(self.storage, (&ours, from), (path, 0), len - from),
        };
        same.map_err(StampError::Disk)
    }

    /// Reads the files that steps wrote: their length alone says little.
    fn check_bytes(&self, expected: &BTreeMap<&str, Expected<'_>>) -> Result<(), StampError> {
        for (name, expected) in expected {
            if let Expected::Bytes { len, sha256 } = expected {
                let path = self.dir.join(name);
                let found = hash_range(self.storage, &path, 0, *len).map_err(StampError::Disk)?;
                if found != *sha256 {
                    let text = format!("{} was written to", path.display());
                    return Err(StampError::Changed(text));
                }
            }
        }
        Ok(())
    }
}
/// Says whether a file has this owner and mode.
pub(in crate::engine) fn has_owner(now: &FileStat, owner: &FileOwner) -> bool {
    (now.uid, now.gid) == (owner.uid, owner.gid) && now.mode & 0o7777 == owner.mode & 0o7777
}
