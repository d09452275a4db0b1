//! The JSON lines of `watch`. Field names are a contract; an unknown value is `null`, and times are RFC 3339.

use serde::Serialize;

use crate::log::Severity;
use crate::observe::server_log::BootPhase;

/// Returns the name of a phase in these lines.
pub(crate) fn phase_name(phase: BootPhase) -> &'static str {
    match phase {
        BootPhase::Starting => "starting",
        BootPhase::Loading => "loading",
        BootPhase::CatchingUp => "catching_up",
        BootPhase::Opening => "opening",
        BootPhase::Ended => "ended",
    }
}

/// A boot in a status line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct StatusBoot {
    /// As in the lines of `watch`.
    pub(crate) phase: &'static str,
    pub(crate) bytes_done: Option<u64>,
    pub(crate) bytes_total: Option<u64>,
    pub(crate) bytes_per_s: Option<u64>,
    pub(crate) logs_done: u64,
    pub(crate) logs_total: u64,
    /// When the logs will be loaded, RFC 3339; `null` before there is a rate.
    pub(crate) end_time: Option<String>,
    /// The same in seconds since 1970, for the collector's file.
    #[serde(skip)]
    pub(crate) end_s: Option<i64>,
}

/// How far a boot is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BootLine<'a> {
    pub(crate) at: Option<String>,
    /// `starting`, `loading`, `catching_up`, `opening` or `ended`.
    pub(crate) phase: &'static str,
    /// `null` where the log dirs are not known.
    pub(crate) bytes_done: Option<u64>,
    pub(crate) bytes_total: Option<u64>,
    pub(crate) logs_done: u64,
    pub(crate) logs_total: u64,
    pub(crate) segments_done: u64,
    pub(crate) bytes_per_s: Option<u64>,
    /// Which source says where the bytes are, of `sources`.
    pub(crate) bytes_source: Option<&'static str>,
    /// When the logs will be loaded, as it goes now.
    pub(crate) end_time: Option<String>,
    /// The same if it goes at its best, and at its worst.
    pub(crate) end_time_least: Option<String>,
    pub(crate) end_time_most: Option<String>,
    /// The log dir that decides about the end, of several.
    pub(crate) slowest_dir: Option<&'a str>,
    /// How often the controller has not taken the broker yet.
    pub(crate) refused: u64,
    /// Boots before this one that failed since the broker was up last; `null` before the log told.
    pub(crate) failed_boots: Option<u64>,
    /// Who could end it, a clause each.
    pub(crate) could_end_it: Vec<String>,
    /// Who could end it and could not be looked at, a clause each.
    pub(crate) not_seen: &'a [String],
    /// The crash loop as a sentence, if there is one.
    pub(crate) crash_loop: Option<String>,
    /// When something will end this boot before it is done, what does it, and what to raise.
    pub(crate) killed_at: Option<String>,
    pub(crate) killed_by: Option<String>,
    pub(crate) raise: Option<String>,
    /// Whether the controller keeps clients from the broker; `null` before the logs are loaded, or if nobody knows.
    pub(crate) fenced: Option<bool>,
    /// Partitions that have a replica here, and those whose replica here is not in sync.
    pub(crate) partitions: Option<u64>,
    pub(crate) partitions_not_in_sync: Option<u64>,
    /// What the first retention pass deletes, 30 s after the logs are loaded; `null` before that is known.
    pub(crate) retention_segments: Option<u64>,
    pub(crate) retention_bytes: Option<u64>,
    /// Whether to wait, or to stop and recover offline.
    pub(crate) advice: Option<String>,
    pub(crate) dirs: Vec<BootDirLine<'a>>,
    pub(crate) threads: Vec<BootThreadLine<'a>>,
    pub(crate) sources: Vec<BootSourceLine<'a>>,
}

/// How far one log dir is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BootDirLine<'a> {
    pub(crate) dir: &'a str,
    pub(crate) unclean: Option<bool>,
    pub(crate) offline: bool,
    pub(crate) bytes_done: Option<u64>,
    pub(crate) bytes_total: Option<u64>,
    pub(crate) bytes_per_s: Option<u64>,
    pub(crate) logs_done: u64,
    pub(crate) logs_total: Option<u64>,
    /// Which source says how many logs are done.
    pub(crate) logs_source: Option<&'static str>,
    pub(crate) left_ms: Option<i64>,
}

/// What one recovery thread works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BootThreadLine<'a> {
    pub(crate) dir: &'a str,
    pub(crate) thread: usize,
    /// The partition dir's name.
    pub(crate) partition: &'a str,
    pub(crate) base_offset: i64,
    pub(crate) segments_done: u64,
    pub(crate) segments_total: Option<u64>,
    pub(crate) bytes_done: Option<u64>,
    pub(crate) bytes_total: Option<u64>,
}

/// Where numbers come from, and when that last said something new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BootSourceLine<'a> {
    pub(crate) source: &'static str,
    pub(crate) at: Option<String>,
    pub(crate) trouble: Option<&'a str>,
    /// How often a log's file was renamed or cut, and the log read on in the new one.
    pub(crate) turned: u64,
}

/// What a boot met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BootFindingLine<'a> {
    pub(crate) code: &'static str,
    pub(crate) severity: Severity,
    pub(crate) dir: Option<&'a str>,
    /// The partition dir's name.
    pub(crate) partition: Option<&'a str>,
    /// Bytes that were cut from a segment; `null` where nobody knows, or nothing was cut.
    pub(crate) lost_bytes: Option<u64>,
    pub(crate) text: &'a str,
    pub(crate) next: &'static str,
}

/// How a boot ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BootEndLine<'a> {
    pub(crate) at: Option<String>,
    pub(crate) text: &'a str,
    /// What mends it; absent where the boot has come up, or nothing is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<&'a str>,
    pub(crate) losses: u64,
    pub(crate) exit: u8,
}
