//! What a rule says: what, where, how bad, what a boot does, and what mends it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::facts::BootFacts;
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::{Mend, Step};

/// What a boot does when it meets a problem; its name in JSON is a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AtBoot {
    /// Nothing.
    Nothing,
    /// It takes longer.
    TakesLonger,
    /// It goes wrong later, when the broker runs.
    FailsLater,
    /// The broker says that it started, and its log cleaner is dead.
    CleanerDies,
    /// The broker says that it started, and serves only some partitions.
    ServesSome,
    /// A log is renamed `-stray` and a new, empty one takes its place.
    MarksStray,
    /// The log dir goes offline; the broker goes on without it.
    DirOffline,
    /// The process ends before the logs are loaded, or in the middle.
    Exits,
    /// Segments are emptied.
    EmptiesSegments,
}

impl AtBoot {
    /// Returns how bad that is.
    pub fn severity(self) -> Severity {
        match self {
            Self::Nothing => Severity::Routine,
            Self::TakesLonger | Self::FailsLater => Severity::Warning,
            Self::MarksStray => Severity::Loss,
            Self::CleanerDies
            | Self::ServesSome
            | Self::DirOffline
            | Self::Exits
            | Self::EmptiesSegments => Severity::Fatal,
        }
    }
}

/// A change that mends something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// A change of the log dir's own names.
    Dir(Mend),
    /// A step in the partition dir of the problem.
    Log(Step),
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The rule that found it.
    pub rule: &'static str,
    /// The log dir; `None` for the host.
    pub dir: Option<PathBuf>,
    /// The partition dir's name; `None` for the log dir itself.
    pub partition: Option<String>,
    /// What, where, how bad.
    pub finding: Finding,
    /// The line of the file, from 1.
    pub line: Option<usize>,
    /// What a boot does.
    pub at_boot: AtBoot,
    /// What mends it, as far as that is safe.
    pub fixes: Vec<Fix>,
}

impl Problem {
    /// Returns a problem of the host; its severity is that of what a boot does.
    pub fn new(code: FindingCode, at_boot: AtBoot, text: impl Into<String>) -> Self {
        Self {
            rule: "",
            dir: None,
            partition: None,
            finding: Finding::new(code, at_boot.severity(), text),
            line: None,
            at_boot,
            fixes: Vec::new(),
        }
    }

    /// Names the log dir.
    #[must_use]
    pub fn dir(mut self, dir: &Path) -> Self {
        self.dir = Some(dir.to_owned());
        self
    }

    /// Names the partition dir.
    #[must_use]
    pub fn partition(mut self, name: &str) -> Self {
        self.partition = Some(name.to_owned());
        self
    }

    /// Names the file.
    #[must_use]
    pub fn file(mut self, name: impl Into<String>) -> Self {
        self.finding = self.finding.file(name);
        self
    }

    /// Names the line, from 1.
    #[must_use]
    pub fn line(mut self, line: Option<usize>) -> Self {
        self.line = line;
        self
    }

    /// Says how bad it is, where what a boot does says too little or too much.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.finding.severity = severity;
        self
    }

    /// Says what is lost: bytes of the log; records are not counted.
    #[must_use]
    pub fn loses(mut self, bytes: u64) -> Self {
        self.finding = self.finding.loses(bytes, None);
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.finding = self.finding.next(next);
        self
    }

    /// Says what mends it.
    #[must_use]
    pub fn fix(mut self, fixes: impl IntoIterator<Item = Fix>) -> Self {
        self.fixes.extend(fixes);
        self
    }
}

/// A rule: a name, and what finds its problems.
#[derive(Clone, Copy)]
pub struct Rule {
    /// The name, for tests and for the report.
    pub name: &'static str,
    /// Returns its problems; none where a fact is missing.
    pub check: fn(&BootFacts) -> Vec<Problem>,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Returns what becomes of a log dir that fails: the process ends with it, or goes on without it.
pub(super) fn offline(facts: &BootFacts, dir: &Path) -> AtBoot {
    if facts.ends_with(dir) {
        AtBoot::Exits
    } else {
        AtBoot::DirOffline
    }
}

/// Returns the words for a boot that fails: of a dir, or of the process.
pub(super) fn words(at_boot: AtBoot) -> &'static str {
    match at_boot {
        AtBoot::DirOffline => "the boot takes this log dir offline and goes on without it",
        AtBoot::Exits => "the boot ends here",
        AtBoot::EmptiesSegments => {
            "the boot empties the segments that it recovers, without naming the cause"
        }
        AtBoot::MarksStray => "the boot renames it -stray and starts an empty log in its place",
        AtBoot::ServesSome => {
            "the broker says that it started and serves only some of its partitions"
        }
        AtBoot::CleanerDies => {
            "the broker says that it started, and its log cleaner is dead: nothing is compacted"
        }
        AtBoot::FailsLater => "the broker starts and fails later",
        AtBoot::TakesLonger => "the boot takes longer",
        AtBoot::Nothing => "a boot does not care",
    }
}
