//! What the facts of volumes mean.

use std::path::PathBuf;

use serde::Serialize;

use super::{DirProblem, Growth, HeldBytes, UsedSample, VolumeFacts, Written, growth};
use crate::format::quantity::size_text;
use crate::log::{Finding, FindingCode, Severity, Usage, UsageByKind, UsageKind};
use crate::terms::Timestamp;

/// Free bytes below which a boot of Kafka does not come through: its first index page faults.
const BOOT_NEEDS: u64 = 16 << 10;
/// A device that is larger than its file system by more than this share (1/N) can be grown into.
const GROWABLE_SHARE: u64 = 16;
/// Reserved bytes and holes that are worth a line.
const WORTH_TELLING: u64 = 1 << 20;

/// The state of a log dir, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DirState {
    /// It can be used.
    Online,
    /// No new replica is placed on it.
    Cordoned,
    /// Its file system can only be read.
    ReadOnly,
    /// The kernel reports I/O errors.
    Failing,
    /// The broker has given it up.
    Offline,
    /// It cannot be looked at.
    Missing,
    /// Its volume is not mounted.
    NotMounted,
}

impl DirState {
    /// Returns the word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Cordoned => "cordoned",
            Self::ReadOnly => "read-only",
            Self::Failing => "failing",
            Self::Offline => "offline",
            Self::Missing => "missing",
            Self::NotMounted => "not mounted",
        }
    }

    fn of(problems: &[DirProblem]) -> Self {
        let state = |problem: &DirProblem| match problem {
            DirProblem::Missing { .. } => Self::Missing,
            DirProblem::NotMounted { .. } => Self::NotMounted,
            DirProblem::Offline { .. } => Self::Offline,
            DirProblem::ReadOnly => Self::ReadOnly,
            DirProblem::Failing { .. } => Self::Failing,
            DirProblem::Cordoned => Self::Cordoned,
        };
        problems.iter().map(state).max().unwrap_or(Self::Online)
    }
}

/// A log dir and its volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeRow {
    /// What was seen.
    pub facts: VolumeFacts,
    /// Its state.
    pub state: DirState,
    /// The first log dir on the same volume, if this is not the first: their space is the same and counts once.
    pub shares_with: Option<PathBuf>,
    /// What each kind takes.
    pub kinds: UsageByKind,
    /// What is in use on the volume beside the log dirs' own files of Kafka; `None` as long as not all is counted.
    pub foreign: Option<u64>,
    /// The dir's Kafka bytes against the mean of all dirs, in percent; `None` with one dir.
    pub imbalance: Option<i64>,
    /// The rates over 10 minutes and 24 hours.
    pub growth: [Option<Growth>; 2],
    /// When the volume is full at these rates, in seconds from now; `None` where it is not, or nothing says.
    pub full_in: [Option<u64>; 2],
    /// Whether the next new replica lands here, as far as numbers of logs decide it.
    pub takes_next: bool,
}

impl VolumeRow {
    /// Returns the dir's Kafka bytes, allocated.
    pub fn kafka(&self) -> u64 {
        self.kinds.kafka().allocated
    }

    /// Returns what its leftovers take.
    pub fn leftovers(&self) -> Usage {
        self.kinds.sum(UsageKind::is_leftover)
    }

    /// Returns how much larger its indexes look than they are, in bytes.
    pub fn sparse_indexes(&self) -> u64 {
        let logs = self.facts.usage.logs.iter();
        logs.map(|log| log.indexes.len.saturating_sub(log.indexes.allocated))
            .sum()
    }

    /// Returns the bytes of `.log` files that have no block.
    pub fn holes(&self) -> u64 {
        self.facts.usage.logs.iter().map(|log| log.holes).sum()
    }

    /// Returns the bytes of deleted files that are still held.
    pub fn held(&self) -> u64 {
        self.facts.held.iter().map(|held| held.allocated).sum()
    }

    /// Says whether a broker gets no more space on it, or not enough to boot.
    pub fn is_full(&self) -> bool {
        self.facts
            .space
            .is_some_and(|space| space.free < BOOT_NEEDS)
    }
}

/// All log dirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeReport {
    /// One a log dir, in the order of the configuration.
    pub rows: Vec<VolumeRow>,
    /// When it was looked.
    pub at: Timestamp,
    /// At how much of its size a volume counts as full, in percent.
    pub full_at: u64,
}

impl VolumeReport {
    /// Decides what the facts mean; a volume counts as full at `full_at` percent.
    pub fn of(
        facts: Vec<VolumeFacts>,
        samples: &[UsedSample],
        now: Timestamp,
        full_at: u64,
    ) -> Self {
        let mut rows: Vec<VolumeRow> = facts.into_iter().map(row).collect();
        share(&mut rows);
        balance(&mut rows);
        grow(&mut rows, samples, now, full_at);
        place(&mut rows);
        Self {
            rows,
            at: now,
            full_at,
        }
    }

    /// Says whether all of every dir was looked at.
    pub fn is_whole(&self) -> bool {
        self.rows.iter().all(|row| row.facts.usage.is_whole)
    }

    /// Returns what an operator must know of a row.
    pub fn findings(&self, row: &VolumeRow) -> Vec<Finding> {
        let mut findings: Vec<Finding> = row.facts.problems.iter().map(problem).collect();
        let volume = |severity, text: String| Finding::new(FindingCode::Volume, severity, text);
        if let Some(space) = row.facts.space {
            if row.is_full() {
                findings.push(
                    volume(
                        Severity::Fatal,
                        format!(
                            "the volume is full: {} are free for the broker, and a boot needs at least {}",
                            size_text(space.free),
                            size_text(BOOT_NEEDS)
                        ),
                    )
                    .next("krescue cleanup --free SIZE --on DIR ranks what can go, the safest first."),
                );
            } else if space.used_percent() >= self.full_at {
                findings.push(volume(
                    Severity::Warning,
                    format!("{} % of the volume are in use", space.used_percent()),
                ));
            }
            if space.free_inodes.is_some_and(|free| free < 16) {
                findings.push(
                    volume(
                        Severity::Fatal,
                        format!(
                            "{} inodes are free: a 4.x boot that cannot create a snapshot empties segments",
                            space.free_inodes.unwrap_or_default()
                        ),
                    )
                    .next("Free inodes before the boot: -delete dirs and .deleted files first."),
                );
            }
            if space.reserved() >= WORTH_TELLING {
                findings.push(volume(
                    Severity::Routine,
                    format!("{} are reserved for root", size_text(space.reserved())),
                ));
            }
        }
        if row.facts.options.split(',').any(is_quota) {
            findings.push(volume(
                Severity::Routine,
                "it is mounted with quotas: the broker's user may get less than what is free"
                    .to_owned(),
            ));
        }
        if let Some(first) = &row.shares_with {
            findings.push(volume(
                Severity::Warning,
                format!(
                    "it lies on the volume of {}: their free space is the same, counted once, and one failure takes both",
                    first.display()
                ),
            ));
        }
        findings.extend(Self::of_contents(row));
        findings
    }

    fn of_contents(row: &VolumeRow) -> Vec<Finding> {
        let mut findings = Vec::new();
        let volume = |severity, text: String| Finding::new(FindingCode::Volume, severity, text);
        let large = |held: &&HeldBytes| held.allocated >= WORTH_TELLING;
        for held in row.facts.held.iter().filter(large) {
            findings.push(
                volume(
                    Severity::Routine,
                    format!(
                        "process {} ({}) holds {} deleted files, {}, {} among them",
                        held.pid,
                        held.command,
                        held.files,
                        size_text(held.allocated),
                        held.largest.display()
                    ),
                )
                .next("Their space is free once that process closes them or ends."),
            );
        }
        for entry in row
            .facts
            .usage
            .foreign
            .iter()
            .filter(|entry| entry.stops_boot)
        {
            findings.push(
                Finding::new(
                    FindingCode::ForeignName,
                    Severity::Fatal,
                    format!(
                        "dir \"{}\" is no partition dir: the broker does not start",
                        entry.name
                    ),
                )
                .file(entry.name.clone())
                .next("Move it out of the log dir."),
            );
        }
        let elsewhere = row.facts.usage.logs.iter().filter(|log| log.elsewhere);
        for log in elsewhere {
            findings.push(
                volume(
                    Severity::Warning,
                    "it lies on another volume, behind a mount or a link: its bytes are not this volume's".to_owned(),
                )
                .file(log.name.clone()),
            );
        }
        for log in &row.facts.usage.logs {
            if let Some(error) = &log.error {
                findings.push(
                    Finding::new(FindingCode::Unreadable, Severity::Warning, error.clone())
                        .file(log.name.clone()),
                );
            }
            let gaps = log.gaps.findings().into_iter();
            findings.extend(gaps.map(|finding| finding.file(log.name.clone())));
            if log.kind != UsageKind::FutureDirs && log.holes >= WORTH_TELLING {
                findings.push(
                    volume(
                        Severity::Routine,
                        format!(
                            "{} of its .log files have no block: a preallocated end or a hole",
                            size_text(log.holes)
                        ),
                    )
                    .file(log.name.clone()),
                );
            }
        }
        findings
    }

    /// Returns how many bytes the file system can be grown by on its device, as it is now.
    pub fn growable(row: &VolumeRow) -> Option<u64> {
        let (device, space) = (row.facts.device_bytes?, row.facts.space?);
        let beyond = device.checked_sub(space.total)?;
        (beyond > space.total / GROWABLE_SHARE).then_some(beyond)
    }
}

fn is_quota(option: &str) -> bool {
    let name = option.split('=').next().unwrap_or_default();
    !name.starts_with("no") && (name.ends_with("quota") || name.starts_with("usrjquota"))
}

fn row(facts: VolumeFacts) -> VolumeRow {
    VolumeRow {
        state: DirState::of(&facts.problems),
        kinds: facts.usage.by_kind(),
        facts,
        shares_with: None,
        foreign: None,
        imbalance: None,
        growth: [None; 2],
        full_in: [None; 2],
        takes_next: false,
    }
}

/// Finds dirs on one volume, and what of each volume is not Kafka's.
fn share(rows: &mut [VolumeRow]) {
    let seen: Vec<(Option<String>, PathBuf, u64, bool)> = rows
        .iter()
        .map(|row| {
            let usage = &row.facts.usage;
            let is_known = usage.is_whole && !usage.logs.iter().any(|log| log.error.is_some());
            (
                row.facts.volume.clone(),
                row.facts.dir.clone(),
                row.kafka(),
                is_known,
            )
        })
        .collect();
    for (number, row) in rows.iter_mut().enumerate() {
        let Some(volume) = &row.facts.volume else {
            continue;
        };
        let same = || {
            seen.iter()
                .filter(|(other, ..)| other.as_ref() == Some(volume))
        };
        let first = seen
            .iter()
            .position(|(other, ..)| other.as_ref() == Some(volume));
        if let Some(first) = first.filter(|first| *first < number) {
            row.shares_with = seen.get(first).map(|(_, dir, ..)| dir.clone());
        }
        if same().all(|(.., is_known)| *is_known) {
            let kafka: u64 = same().map(|(_, _, kafka, _)| kafka).sum();
            row.foreign = row
                .facts
                .space
                .map(|space| space.used().saturating_sub(kafka));
        }
    }
}

fn balance(rows: &mut [VolumeRow]) {
    let looked: Vec<u64> = rows
        .iter()
        .filter(|row| row.facts.volume.is_some())
        .map(VolumeRow::kafka)
        .collect();
    let (count, sum) = (looked.len() as u64, looked.iter().sum::<u64>());
    if count < 2 || sum == 0 {
        return;
    }
    for row in rows.iter_mut().filter(|row| row.facts.volume.is_some()) {
        let share = u128::from(row.kafka()) * u128::from(count) * 100 / u128::from(sum);
        row.imbalance = i64::try_from(share).ok().map(|share| share - 100);
    }
}

fn grow(rows: &mut [VolumeRow], samples: &[UsedSample], now: Timestamp, full_at: u64) {
    let written: Vec<(Option<String>, bool, Written)> = rows
        .iter()
        .map(|row| {
            let mut sum = Written::default();
            for log in row.facts.usage.logs.iter().filter(|log| !log.elsewhere) {
                sum.minutes = sum.minutes.saturating_add(log.written.minutes);
                sum.day = sum.day.saturating_add(log.written.day);
            }
            (row.facts.volume.clone(), row.facts.usage.is_whole, sum)
        })
        .collect();
    for row in rows {
        let (Some(volume), Some(space)) = (&row.facts.volume, row.facts.space) else {
            continue;
        };
        let same = || {
            written
                .iter()
                .filter(|(other, ..)| other.as_ref() == Some(volume))
        };
        let all = same().all(|(_, whole, _)| *whole).then(|| {
            same().fold(Written::default(), |sum, (.., of)| Written {
                minutes: sum.minutes.saturating_add(of.minutes),
                day: sum.day.saturating_add(of.day),
            })
        });
        // Full at less than all: what lies above that share is not counted as free.
        let whole = space.used().saturating_add(space.free);
        let kept = u128::from(whole) * u128::from(100 - full_at.min(100)) / 100;
        let free = space
            .free
            .saturating_sub(u64::try_from(kept).unwrap_or(u64::MAX));
        for (window, (growth_of, full_in)) in
            row.growth.iter_mut().zip(&mut row.full_in).enumerate()
        {
            *growth_of = growth(samples, (volume, space.used(), now), all, window);
            let rate = growth_of.and_then(|growth| u64::try_from(growth.bytes_per_s).ok());
            *full_in = match rate.filter(|rate| *rate > 0) {
                _ if free == 0 => Some(0),
                rate => rate.map(|rate| free / rate),
            };
        }
    }
}

/// Kafka places a new replica on the dir with the fewest logs, current and future ones; where all are cordoned, on the first.
fn place(rows: &mut [VolumeRow]) {
    let logs = |row: &VolumeRow| {
        let counted = row.facts.usage.logs.iter().filter(|log| {
            matches!(
                log.kind,
                UsageKind::Topics | UsageKind::Internal | UsageKind::FutureDirs
            )
        });
        counted.count()
    };
    let can_take = |row: &VolumeRow| row.state == DirState::Online && row.facts.usage.is_whole;
    let offered = rows.iter().enumerate().filter(|(_, row)| can_take(row));
    if rows.len() < 2 {
        return;
    }
    let fewest = offered
        .min_by_key(|(_, row)| logs(row))
        .map(|(number, _)| number);
    let first = || rows.iter().position(|row| row.state == DirState::Cordoned);
    if let Some(row) = fewest
        .or_else(first)
        .and_then(|number| rows.get_mut(number))
    {
        row.takes_next = true;
    }
}

fn problem(problem: &DirProblem) -> Finding {
    let dir = |severity, text: String| Finding::new(FindingCode::LogDir, severity, text);
    match problem {
        DirProblem::Missing { cause } => dir(Severity::Fatal, cause.clone())
            .next("Mount or repair it, or take it out of log.dirs."),
        DirProblem::NotMounted { mount_point } => dir(
            Severity::Fatal,
            format!("{} is in /etc/fstab and is not mounted", mount_point.display()),
        )
        .next(format!("mount {}", mount_point.display())),
        DirProblem::Offline { since, cause } => dir(
            Severity::Loss,
            format!(
                "the broker has given it up{}{}",
                since.map_or_else(String::new, |since| format!(" at {}", since.rfc3339())),
                cause.as_ref().map_or_else(
                    || "; its lock is free while others are held".to_owned(),
                    |cause| format!(": {cause}")
                )
            ),
        )
        .next("Mend the cause; only a restart of the broker takes it back."),
        DirProblem::ReadOnly => dir(
            Severity::Fatal,
            "its file system can only be read: a boot loses the dir, and if it holds the metadata does not start"
                .to_owned(),
        )
        .next("Look for the kernel's reason (dmesg), mend the file system, mount it for writing."),
        DirProblem::Failing { errors, last } => dir(
            Severity::Loss,
            format!("the kernel reports {errors} I/O errors of its device, the last: {last}"),
        )
        .next("Do not boot 4.x over it: an I/O error in recovery empties segments. Replace the device."),
        DirProblem::Cordoned => dir(
            Severity::Routine,
            "it is cordoned: no new replica is placed on it".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::volumes::{DirUsage, SpaceFacts};

    const GIB: u64 = 1 << 30;

    fn facts(dir: &str, problems: Vec<DirProblem>) -> VolumeFacts {
        VolumeFacts {
            dir: dir.into(),
            volume: Some(dir.to_owned()),
            mount_point: Some(dir.into()),
            fs_type: Some("xfs".to_owned()),
            source: None,
            options: "rw".to_owned(),
            space: Some(SpaceFacts {
                total: 100 * GIB,
                free: 20 * GIB,
                free_root: 20 * GIB,
                inodes: None,
                free_inodes: None,
            }),
            device_bytes: None,
            problems,
            usage: DirUsage {
                is_whole: true,
                ..DirUsage::default()
            },
            held: vec![],
        }
    }

    /// Each state with its finding; of several the worst names the state, and each is told.
    #[test]
    fn a_dir_is_as_bad_as_the_worst_that_is_known_of_it() {
        let missing = || DirProblem::Missing {
            cause: "no such dir".to_owned(),
        };
        let not_mounted = || DirProblem::NotMounted {
            mount_point: "/var/lib/k2".into(),
        };
        let failing = || DirProblem::Failing {
            errors: 3,
            last: "sector 8 of sdb".to_owned(),
        };
        let offline = || DirProblem::Offline {
            since: Some(Timestamp(0)),
            cause: Some("No space left on device".to_owned()),
        };
        for (problems, state, severity, words) in [
            (vec![], DirState::Online, None, ""),
            (
                vec![missing()],
                DirState::Missing,
                Some(Severity::Fatal),
                "no such dir",
            ),
            (
                vec![not_mounted(), missing()],
                DirState::NotMounted,
                Some(Severity::Fatal),
                "/var/lib/k2 is in /etc/fstab and is not mounted",
            ),
            (
                vec![failing()],
                DirState::Failing,
                Some(Severity::Loss),
                "the kernel reports 3 I/O errors of its device, the last: sector 8 of sdb",
            ),
            (
                vec![failing(), offline()],
                DirState::Offline,
                Some(Severity::Loss),
                ": No space left on device",
            ),
            (
                vec![DirProblem::ReadOnly, DirProblem::Cordoned],
                DirState::ReadOnly,
                Some(Severity::Fatal),
                "can only be read",
            ),
        ] {
            let count = problems.len();
            let report = VolumeReport::of(vec![facts("/a", problems)], &[], Timestamp(0), 100);
            let row = &report.rows[0];
            assert_eq!(row.state, state);
            let findings = report.findings(row);
            assert_eq!(findings.len(), count, "{findings:?}");
            let worst = findings.iter().map(|finding| finding.severity).max();
            assert_eq!(worst, severity);
            let told = findings.iter().any(|finding| finding.text.contains(words));
            assert!(told || words.is_empty(), "{findings:?}");
        }
    }

    #[test]
    fn a_volume_counts_as_full_at_the_share_that_is_asked_for() {
        let sample = |at, used: u64| UsedSample {
            at: Timestamp(at),
            volume: "/a".to_owned(),
            used: used * GIB,
        };
        // 6 GiB in the last 10 minutes: 80 GiB of 100 are used now.
        let now = Timestamp(600_000);
        let samples = [sample(0, 74)];
        let row = |full_at| {
            let report = VolumeReport::of(vec![facts("/a", vec![])], &samples, now, full_at);
            let told = report.findings(&report.rows[0]);
            (report.rows[0].full_in[0], told.len())
        };
        assert_eq!(row(100), (Some(2000), 0));
        assert_eq!(row(90), (Some(1000), 0));
        assert_eq!(row(80), (Some(0), 1));
        assert_eq!(row(50), (Some(0), 1));
    }
}
