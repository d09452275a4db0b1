//! Open files and memory maps against the number of segments.

use super::facts::BootFacts;
use super::problem::{AtBoot, Problem, offline, words};
use crate::log::{FindingCode, Severity};

/// Files and sockets of a broker beside its segments, without clients.
const OTHER_FILES: u64 = 150;
/// Maps of a JVM beside indexes.
const OTHER_MAPS: u64 = 500;

struct Counts {
    segments: u64,
    /// Segments whose indexes a boot maps: the active one of each log, and those that it reads.
    mapped: u64,
    unclean: bool,
}

fn counts(facts: &BootFacts) -> Counts {
    let mut counts = Counts {
        segments: 0,
        mapped: 0,
        unclean: false,
    };
    for dir in &facts.dirs {
        for log in dir.logs() {
            let segments = log.segments().len() as u64;
            counts.segments += segments;
            counts.mapped += if dir.is_clean() {
                segments.min(1)
            } else {
                log.scanned().len() as u64
            };
        }
        counts.unclean |= !dir.is_clean() && dir.logs().next().is_some();
    }
    counts
}

/// Open files: one a segment.
pub(super) fn open_files(facts: &BootFacts) -> Vec<Problem> {
    let Some(limit) = &facts.host.open_files else {
        return Vec::new();
    };
    let counts = counts(facts);
    let needed = counts.segments + OTHER_FILES;
    let wanted = (needed * 2).max(100_000);
    let next = format!(
        "LimitNOFILE={wanted} in the broker's unit (systemctl edit), ulimit -n {wanted} where a shell starts it"
    );
    let (at_boot, text) = if limit.value < needed {
        let dir = facts.dirs.iter().find(|dir| dir.has_logs);
        let at_boot = match dir {
            Some(_) if facts.empties_on_io_error() && counts.unclean => AtBoot::EmptiesSegments,
            Some(dir) => offline(facts, &dir.path),
            None => return Vec::new(),
        };
        let text = format!(
            "a boot opens about {needed} files ({} segments) and {} are allowed ({}): {}",
            counts.segments,
            limit.value,
            limit.source,
            words(at_boot)
        );
        (at_boot, text)
    } else if limit.value < needed + needed / 2 {
        let text = format!(
            "a boot opens about {needed} files ({} segments) and {} are allowed ({}): clients and new segments will not fit",
            counts.segments, limit.value, limit.source
        );
        (AtBoot::FailsLater, text)
    } else {
        return Vec::new();
    };
    vec![Problem::new(FindingCode::OpenFilesLimit, at_boot, text).next(next)]
}

/// Memory maps: two a segment whose indexes are in use.
pub(super) fn map_count(facts: &BootFacts) -> Vec<Problem> {
    let Some(limit) = facts.host.map_count else {
        return Vec::new();
    };
    let counts = counts(facts);
    let boot = counts.mapped * 2 + OTHER_MAPS;
    let later = counts.segments * 2 + OTHER_MAPS;
    let next = format!(
        "sysctl -w vm.max_map_count={0}; echo vm.max_map_count={0} > /etc/sysctl.d/90-kafka.conf",
        (later * 2).max(262_144)
    );
    let problem = if limit < boot {
        Problem::new(
            FindingCode::MapCountLimit,
            AtBoot::Exits,
            format!(
                "a boot maps about {boot} files (indexes of {} segments) and vm.max_map_count is {limit}: maps fail, the \
                 load crawls and ends in OutOfMemoryError: Map failed",
                counts.mapped
            ),
        )
    } else if limit < later {
        Problem::new(
            FindingCode::MapCountLimit,
            AtBoot::FailsLater,
            format!(
                "the indexes of {} segments need {later} maps once all are read, and vm.max_map_count is {limit}: the boot \
                 passes, and the broker fails later with OutOfMemoryError: Map failed",
                counts.segments
            ),
        )
        .severity(Severity::Warning)
    } else {
        return Vec::new();
    };
    vec![problem.next(next)]
}
