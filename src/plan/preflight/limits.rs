//! Open files and memory maps against the number of segments.

use super::facts::BootFacts;
use super::problem::{AtBoot, Problem, offline, words};
use crate::log::{FindingCode, Severity};

/// Files and sockets of a broker beside its segments, without clients.
const OTHER_FILES: u64 = 150;
/// Maps of a JVM beside indexes.
const OTHER_MAPS: u64 = 500;

/// Heap of a node beside its logs, what a log takes, and each segment behind its first, in bytes: live objects of 4.4.0
/// behind the load of 0, 1500 logs of one segment and 150 logs of ten.
const NODE_HEAP: u64 = 32_000_000;
const LOG_HEAP: u64 = 17_000;
const SEGMENT_HEAP: u64 = 2_200;

struct Counts {
    logs: u64,
    segments: u64,
    /// Segments whose indexes a boot maps: the active one of each log, and those that it reads.
    mapped: u64,
    unclean: bool,
}

fn counts(facts: &BootFacts) -> Counts {
    let mut counts = Counts {
        logs: 0,
        segments: 0,
        mapped: 0,
        unclean: false,
    };
    for dir in &facts.dirs {
        for log in dir.logs() {
            let segments = log.segments().len() as u64;
            counts.logs += 1;
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

/// Heap: logs and segments, and what the log cleaner takes in one piece once all is recovered.
pub(super) fn heap(facts: &BootFacts) -> Vec<Problem> {
    let Some(limit) = &facts.host.heap else {
        return Vec::new();
    };
    let counts = counts(facts);
    let buffer = facts.config.dedupe_buffer.unwrap_or(0);
    let more = counts.segments.saturating_sub(counts.logs);
    let logs = counts.logs * LOG_HEAP + more * SEGMENT_HEAP;
    let needed = NODE_HEAP + logs + buffer;
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let wanted = (needed * 2).div_ceil(1 << 30).max(1);
    let next = format!(
        "KAFKA_HEAP_OPTS=\"-Xmx{wanted}g -Xms{wanted}g\" in the broker's environment, and a container's memory limit with it"
    );
    let what = format!(
        "a boot needs about {} MiB of heap ({} logs, {} segments; {} MiB of it in one piece for the log cleaner, once all is \
         recovered) and has {} MiB ({})",
        mib(needed),
        counts.logs,
        counts.segments,
        mib(buffer),
        mib(limit.value),
        limit.source
    );
    // Old objects have two thirds of a heap, and a young collection needs room too: 208 MiB did not hold 165.
    let problem = if limit.value < needed {
        let text = format!("{what}: it ends in OutOfMemoryError: Java heap space");
        Problem::new(FindingCode::HeapLimit, AtBoot::Exits, text)
    } else if limit.value < needed + needed / 2 {
        let text = format!(
            "{what}: it may end in OutOfMemoryError: Java heap space, as not all of a heap is free for that"
        );
        Problem::new(FindingCode::HeapLimit, AtBoot::Exits, text).severity(Severity::Warning)
    } else {
        return Vec::new();
    };
    vec![problem.next(next)]
}

#[cfg(test)]
mod tests {
    use super::super::facts::Limit;
    use super::super::testing::{facts, log, log_dir};
    use super::*;

    /// Ten logs of four segments, of which a boot after a crash reads two.
    fn ten_logs(is_clean: bool) -> BootFacts {
        let logs = (0..10).map(|number| log(&format!("t-{number}"), 2500, &[100; 4]));
        facts(vec![log_dir("/d", is_clean, logs.collect())])
    }

    #[test]
    fn maps_are_counted_by_what_a_boot_opens_and_by_what_is_open_later() {
        let told = |is_clean, limit| {
            let mut facts = ten_logs(is_clean);
            facts.host.map_count = Some(limit);
            let found = map_count(&facts).into_iter().next();
            found.map(|problem| (problem.at_boot, problem.finding.text))
        };
        // 10 logs, 2 segments each, 2 maps a segment, 500 of Java.
        let (at_boot, text) = told(false, 539).unwrap();
        assert_eq!(at_boot, AtBoot::Exits);
        assert!(
            text.contains("maps about 540 files (indexes of 20 segments)"),
            "{text}"
        );
        let (at_boot, text) = told(false, 540).unwrap();
        assert_eq!(at_boot, AtBoot::FailsLater);
        assert!(
            text.contains("indexes of 40 segments need 580 maps"),
            "{text}"
        );
        assert_eq!(told(false, 580), None);
        // A clean boot maps the active segments alone.
        assert_eq!(told(true, 519).unwrap().0, AtBoot::Exits);
        assert_eq!(told(true, 520).unwrap().0, AtBoot::FailsLater);
        assert_eq!(map_count(&ten_logs(false)), [], "the limit is not known");
    }

    #[test]
    fn open_files_are_one_a_segment() {
        let told = |limit| {
            let mut facts = ten_logs(false);
            facts.host.open_files = Some(Limit {
                value: limit,
                source: "the unit".to_owned(),
            });
            let found = open_files(&facts).into_iter().next();
            found.map(|problem| problem.at_boot)
        };
        assert_eq!(told(189), Some(AtBoot::EmptiesSegments));
        assert_eq!(told(190), Some(AtBoot::FailsLater));
        assert_eq!(told(285), None);
    }

    #[test]
    fn the_heap_holds_the_logs_and_the_cleaner_s_buffer() {
        let told = |limit, buffer| {
            let mut facts = ten_logs(false);
            facts.host.heap = Some(Limit {
                value: limit,
                source: "the unit".to_owned(),
            });
            facts.config.dedupe_buffer = buffer;
            let found = heap(&facts).into_iter().next();
            found.map(|problem| (problem.at_boot, problem.finding.severity))
        };
        // 32 MB, 10 logs, 30 more segments.
        let needed = 32_000_000 + 170_000 + 66_000;
        assert_eq!(
            told(needed - 1, None),
            Some((AtBoot::Exits, Severity::Fatal))
        );
        assert_eq!(told(needed, None), Some((AtBoot::Exits, Severity::Warning)));
        assert_eq!(told(needed * 3 / 2, None), None);
        // As a real 4.4.0 did: 150, 176 and 208 MiB were too few for a node without logs, 256 are enough.
        let buffer = Some(128 << 20);
        assert_eq!(told(150 << 20, buffer).unwrap().1, Severity::Fatal);
        assert_eq!(told(208 << 20, buffer).unwrap().1, Severity::Warning);
        assert_eq!(told(256 << 20, buffer), None);
    }
}
