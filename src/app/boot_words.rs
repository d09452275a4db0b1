//! What goes wrong in a boot, in words: a code for programs, a sentence, and what to do next.

use jiff::tz::TimeZone;

use crate::observe::server_log::{BootEnd, BootEvent, BootPhase, BootTrouble};
use crate::observe::{BootReport, BootSource, CatchUp, FirstPass, KernelKill, Span};
use crate::terms::Timestamp;

use super::{boot_remedy, text};

/// How old what says where a boot is must be, in ms, before that is told beside it.
const STALE_MS: i64 = 5000;

/// A trouble as it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The kind, for programs.
    pub code: &'static str,
    /// The log dir, where it is known.
    pub dir: Option<String>,
    /// The partition dir's name, where it is known.
    pub partition: Option<String>,
    /// What happened.
    pub text: String,
    /// What to do next; empty where nothing is to be done.
    pub next: &'static str,
}

const KEEP: &str = "stop the broker before it serves more of it, and see what krescue's quarantine or another replica still has";
const REPAIR: &str = "repair the log dir, then start the broker again";

impl Told {
    /// Returns how `trouble` is told.
    pub fn of(trouble: &BootTrouble) -> Self {
        let mut told = Self::of_event(&trouble.event);
        if let Some(bytes) = trouble.cut_bytes {
            told.text = format!("{}, {} B", told.text, text::count(bytes));
        }
        if let Some(cause) = &trouble.cause {
            told.text = format!("{}: {cause}", told.text);
        }
        if told.next.is_empty() {
            told.next = boot_remedy::remedy(&told.text).unwrap_or_default();
        }
        told
    }

    fn of_event(event: &BootEvent) -> Self {
        let told = |code, text: String, next| Self {
            code,
            dir: None,
            partition: None,
            text,
            next,
        };
        match event {
            BootEvent::Cut {
                log,
                dir,
                base_offset,
                offset,
            } => told(
                "cut",
                format!("cuts segment {base_offset} at offset {offset}"),
                "",
            )
            .at(dir, log),
            BootEvent::InvalidMessages { file, position } => told(
                "invalid_batch",
                format!("{file} is not valid from byte {} on", text::count(position.0)),
                "",
            ),
            BootEvent::EmptyTried {
                log,
                dir,
                base_offset,
            } => told(
                "segment_empty_tried",
                format!(
                    "means to empty segment {base_offset}: its offsets go back or, from 4.0 on, any I/O error met its recovery"
                ),
                "",
            )
            .at(dir, log),
            BootEvent::Emptied {
                log,
                dir,
                base_offset,
            } => told(
                "segment_emptied",
                format!("emptied segment {base_offset}"),
                KEEP,
            )
            .at(dir, log),
            BootEvent::SegmentsDeleted { log, dir, segments } => {
                let bytes = segments.iter().map(|segment| segment.bytes).sum();
                let count = text::plural(segments.len() as u64, "segment", "segments");
                let what = format!("deletes {count} behind a cut, {}", text::bytes(bytes));
                told("segments_deleted", what, KEEP).at(dir, log)
            }
            BootEvent::AllDeleted {
                log,
                dir,
                log_end_offset,
                log_start_offset,
            } => told(
                "all_deleted",
                format!("deletes all segments: the end {log_end_offset} lies below the log start {log_start_offset}"),
                KEEP,
            )
            .at(dir, log),
            BootEvent::Stray { from, to } => told(
                "stray",
                format!("{from} belongs to no partition of this broker and is now {to}"),
                "before it is deleted: check that the metadata log is the right one",
            )
            .in_dir(from),
            BootEvent::DirOffline { dir } => {
                let what = format!("the broker gave up {dir} and serves none of its logs");
                told("dir_offline", what, REPAIR).at(dir, "")
            }
            BootEvent::LogFailed { path, dir, .. } => {
                told("log_failed", format!("{path} could not be loaded"), REPAIR).at(dir, "")
            }
            BootEvent::RecreatedEmpty { log } => told(
                "recreated_empty",
                "is made anew, empty, in another log dir".to_owned(),
                "the next boot fails on the double dir: delete the newer, empty copy",
            )
            .at("", log),
            BootEvent::MetadataNotApplied { what } => told(
                "metadata_not_applied",
                format!("some partitions may not be served: {what}"),
                "repair the checkpoint that the cause names, then start the broker again",
            ),
            BootEvent::CleanerDead => told(
                "cleaner_dead",
                "the log cleaner is dead; compacted topics grow".to_owned(),
                "repair cleaner-offset-checkpoint, then start the broker again",
            ),
            BootEvent::Error(what) => told("error", what.clone(), ""),
            BootEvent::Fatal(what) => told("fatal", what.clone(), ""),
            _ => told("other", String::new(), ""),
        }
    }

    /// Names the log dir and the partition dir of a path.
    fn in_dir(self, path: &str) -> Self {
        match path.rsplit_once('/') {
            Some((dir, log)) => self.at(dir, log),
            None => self,
        }
    }

    fn at(mut self, dir: &str, log: &str) -> Self {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.dir = some(dir);
        self.partition = some(log);
        self
    }
}

/// Returns how a boot ended, as a sentence.
pub fn ended(end: &BootEnd) -> String {
    match end {
        BootEnd::Up => "the broker is up".to_owned(),
        BootEnd::Died { cause } => format!("the boot died: {cause}"),
        BootEnd::Stopped { signal } => {
            format!("{signal} ended the boot; what it had recovered is lost and begins anew")
        }
        BootEnd::Killed => {
            "the process is gone without a word: killed, or out of memory; what it had recovered begins anew"
                .to_owned()
        }
    }
}

/// Returns how a boot ended, with what the kernel said of it.
pub fn ended_by(end: &BootEnd, kernel: Option<&KernelKill>) -> String {
    match kernel {
        Some(kill) => {
            let limit = if kill.by_cgroup {
                "its cgroup's memory limit was met: raise it, or lower the heap (KAFKA_HEAP_OPTS)"
            } else {
                "the host's memory was full: free some, or lower the heap (KAFKA_HEAP_OPTS)"
            };
            format!(
                "the kernel killed process {} for memory, {limit}; what it had recovered begins anew",
                kill.pid
            )
        }
        None => ended(end),
    }
}

/// Returns how far a broker has caught up, with the age of what says so.
pub fn catch_up(seen: &CatchUp, now: Timestamp) -> String {
    let state = match seen.fenced {
        Some(true) => "fenced: no client is let in",
        Some(false) => "registered",
        None => "not registered yet",
    };
    let partitions = text::plural(seen.partitions, "partition", "partitions");
    let first = seen
        .first
        .as_ref()
        .map_or_else(String::new, |first| format!(" ({first} …)"));
    let sync = match seen.not_in_sync {
        _ if seen.fenced.is_none() => format!("{partitions}, in sync ?"),
        0 => format!("all {partitions} in sync"),
        behind => format!(
            "{} of {partitions} not in sync yet{first}",
            text::count(behind)
        ),
    };
    let age = seen
        .as_of
        .map_or_else(|| "?".to_owned(), |at| text::age(at, now));
    format!("{state}, {sync} (metadata log, {age})")
}

/// Returns what the first retention pass of a boot deletes; `None` where it deletes nothing.
pub fn first_pass(pass: &FirstPass) -> Option<String> {
    if pass.segments == 0 {
        return None;
    }
    let named = pass.topics.iter().take(3);
    let mut named: Vec<String> = named
        .map(|(topic, bytes)| format!("{topic} {}", text::bytes(*bytes)))
        .collect();
    if let Some(more) = pass.topics.len().checked_sub(3).filter(|more| *more > 0) {
        named.push(text::plural(more as u64, "topic more", "topics more"));
    }
    Some(format!(
        "30 s after the logs are loaded, retention deletes {}, {}: {}",
        text::plural(pass.segments, "segment", "segments"),
        text::bytes(pass.bytes),
        named.join(", ")
    ))
}

/// Returns the name of a phase.
pub fn phase(phase: BootPhase) -> &'static str {
    match phase {
        BootPhase::Starting => "starting",
        BootPhase::Loading => "loading",
        BootPhase::CatchingUp => "catching up",
        BootPhase::Opening => "opening",
        BootPhase::Ended => "ended",
    }
}

/// Returns how far a boot is, as one line: logs, bytes, rate, end with its spread, the slowest log dir, what is worked on.
pub fn sentence(look: &BootReport, zone: &TimeZone) -> String {
    let mut parts = vec![phase(look.phase).to_owned()];
    let (done, all) = look.logs();
    if all > 0 {
        parts.push(format!("{done} of {}", text::plural(all, "log", "logs")));
    }
    let reads = look.progress.filter(|progress| progress.bytes_total > 0);
    if let Some(progress) = reads {
        let (done, total) = (progress.bytes_done, progress.bytes_total);
        let share = text::percent(done, total).unwrap_or(0);
        parts.push(format!("{} {share} %", text::bytes_of(done, total)));
        if let (Some(per_second), BootPhase::Loading) = (progress.bytes_per_s, look.phase) {
            parts.push(text::rate(per_second));
        }
        if let (Some(left), BootPhase::Loading) = (progress.left, look.phase) {
            parts.push(end(left, look.at, zone));
        }
    }
    if let (Some(dir), BootPhase::Loading) = (look.slowest(), look.phase) {
        parts.push(format!("{} is the slowest", dir.path));
    }
    if let Some(work) = look.works.first() {
        let more = match look.works.len() {
            1 => String::new(),
            all => format!(" and {} more", all - 1),
        };
        parts.push(format!(
            "{} at segment {}{more}",
            work.name, work.base_offset
        ));
    }
    parts.extend(look.catch_up.as_ref().map(|seen| catch_up(seen, look.at)));
    if look.refused > 0 && look.phase < BootPhase::CatchingUp && look.works.is_empty() {
        parts.push("the old session has not expired yet, which is normal".to_owned());
    }
    parts.join(" · ")
}

/// Returns how far a boot is, what an operator asks first first: the end.
pub fn situation(look: &BootReport, zone: &TimeZone) -> String {
    let unclean = look.dirs.iter().any(|dir| dir.unclean == Some(true));
    let after = if unclean {
        " after an unclean stop"
    } else {
        ""
    };
    let (done, all) = look.logs();
    let logs = match all {
        0 => "logs ?".to_owned(),
        all => format!("{done} of {}", text::plural(all, "log", "logs")),
    };
    if look.phase != BootPhase::Loading {
        let caught = look.catch_up.as_ref().map(|seen| catch_up(seen, look.at));
        let parts = [Some(phase(look.phase).to_owned()), Some(logs), caught];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        return format!("the broker boots{after}: {}", parts.join(" · "));
    }
    let mut parts = Vec::new();
    let progress = look.progress.filter(|progress| progress.bytes_total > 0);
    let share = progress.and_then(|done| text::percent(done.bytes_done, done.bytes_total));
    parts.push(match share {
        Some(share) => format!("boots{after}: {share} %"),
        None => format!("boots{after}"),
    });
    parts.push(match progress.and_then(|progress| progress.left) {
        Some(left) => end(left, look.at, zone),
        None => "end ?".to_owned(),
    });
    if let Some(progress) = progress {
        parts.push(text::bytes_of(progress.bytes_done, progress.bytes_total));
        parts.extend(progress.bytes_per_s.map(text::rate));
    }
    parts.push(logs);
    parts.extend(
        look.slowest()
            .map(|dir| format!("{} is the slowest", dir.path)),
    );
    parts.join(" · ")
}

/// Returns when something ends, and between which times it may: `~18 min (15 to 24), until 14:20:31`.
pub fn end(left: Span, at: Timestamp, zone: &TimeZone) -> String {
    let until = Timestamp(at.0.saturating_add(left.likely_ms));
    format!("~{}, until {}", spread(left), text::clock(until, zone))
}

/// Returns how long something takes, and between what it may: `18 min (15 min to 24 min)`.
pub fn spread(left: Span) -> String {
    let of = |ms: i64| text::duration(u64::try_from(ms).unwrap_or(0).div_ceil(1000));
    let (least, likely, most) = (of(left.least_ms), of(left.likely_ms), of(left.most_ms));
    if least == most {
        return likely;
    }
    format!("{likely} ({least} to {most})")
}

/// Returns which sources give a report's numbers, which cannot be used and why, and how often the log's file was another:
/// what is told when it changes, and nothing of ages.
pub fn source_state(look: &BootReport) -> Vec<(&'static str, &'static str, Option<&str>, u64)> {
    let told = look.sources.iter();
    told.map(|of| {
        (
            of.source.name(),
            gives(look, of.source),
            of.trouble.as_deref(),
            of.turned,
        )
    })
    .collect()
}

/// Returns the age of what says where a boot is in bytes, once it has said nothing new for a while: `threads 12 s ago`.
pub fn stale(look: &BootReport) -> Option<String> {
    let by = look.bytes_by.filter(|_| look.phase == BootPhase::Loading)?;
    let source = look.sources.iter().find(|of| of.source == by)?;
    let at = source.at?;
    (look.at.0.saturating_sub(at.0) >= STALE_MS)
        .then(|| format!("{} {}", by.name(), text::age(at, look.at)))
}

/// Returns which numbers of a report a source gives, in brackets.
fn gives(look: &BootReport, source: BootSource) -> &'static str {
    let logs = look.dirs.iter().any(|dir| dir.logs_by == Some(source));
    match (look.bytes_by == Some(source), logs) {
        (true, true) => " (bytes, logs)",
        (true, false) => " (bytes)",
        (false, true) => " (logs)",
        (false, false) => "",
    }
}

/// Returns where a report's numbers come from and how old they are: `threads (bytes) now, log (logs) 3 s ago`.
pub fn sources(look: &BootReport, now: Timestamp) -> String {
    let told = look.sources.iter().map(|source| {
        let name = format!("{}{}", source.source.name(), gives(look, source.source));
        let name = match source.turned {
            0 => name,
            1 => format!("{name} read on in a new file"),
            times => format!("{name} read on in a new file {times} times"),
        };
        match (&source.trouble, source.at) {
            (Some(why), None) => format!("{name} ? {why}"),
            (None, None) => format!("{name} ?"),
            (None, Some(at)) => format!("{name} {}", text::age(at, now)),
            (Some(why), Some(at)) => format!("{name} {}: {why}", text::age(at, now)),
        }
    });
    told.collect::<Vec<_>>().join(", ")
}
