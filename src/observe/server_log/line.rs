//! One line of a broker's log, whatever layout its operator chose.
//!
//! ```text
//! [2026-11-30 07:51:11,146] INFO message (logger)            Kafka's own
//! 2026-11-30 07:51:11,146 INFO message (logger) [thread]     operators for containers
//! 2026-11-30T07:51:11.146 INFO  [thread] logger - message    others
//! PREFIX one of the above                                    the journal, a container's runtime
//! ```
//!
//! A line without a time and a level belongs to the event before it.

use std::fmt;

use jiff::civil::{Date, DateTime};
use serde::{Deserialize, Serialize};

/// How far into a line its time may begin: the journal and container runtimes put their own words before it.
const PREFIX_CAP: usize = 200;
/// A quarter of an hour.
const QUARTER_MS: i64 = 15 * 60 * 1000;
/// The bytes of `2026-11-30 07:51:11,146`.
const TIME_LEN: usize = 23;

/// A line's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// `TRACE`.
    Trace,
    /// `DEBUG`.
    Debug,
    /// `INFO`.
    Info,
    /// `WARN`.
    Warn,
    /// `ERROR`.
    Error,
    /// `FATAL`, of releases before 4.0.
    Fatal,
}

impl Level {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "TRACE" => Self::Trace,
            "DEBUG" => Self::Debug,
            "INFO" => Self::Info,
            "WARN" => Self::Warn,
            "ERROR" => Self::Error,
            "FATAL" => Self::Fatal,
            _ => return None,
        })
    }
}

/// A line's time in ms, on the clock of the broker's time zone, which no line names: only differences mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LineTime(pub i64);

impl LineTime {
    /// Parses `2026-11-30 07:51:11,146`; between date and time may stand a `T`, and a `.` before the ms.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let marks = [
            (4, b"--"),
            (7, b"--"),
            (10, b" T"),
            (13, b"::"),
            (16, b"::"),
            (19, b",."),
        ];
        if bytes.len() < TIME_LEN
            || !marks
                .iter()
                .all(|(at, of)| bytes.get(*at).is_some_and(|byte| of.contains(byte)))
        {
            return None;
        }
        let number = |from: usize, to: usize| -> Option<i64> {
            bytes.get(from..to)?.iter().try_fold(0, |sum, byte| {
                byte.is_ascii_digit()
                    .then(|| sum * 10 + i64::from(byte - b'0'))
            })
        };
        let small = |from: usize, to: usize| i8::try_from(number(from, to)?).ok();
        let date = Date::new(
            i16::try_from(number(0, 4)?).ok()?,
            small(5, 7)?,
            small(8, 10)?,
        )
        .ok()?;
        let days = i64::from(date.since(Date::constant(1970, 1, 1)).ok()?.get_days());
        let (hours, minutes, seconds) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        if hours > 23 || minutes > 59 || seconds > 60 {
            return None;
        }
        let seconds = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
        Some(Self(seconds * 1000 + number(20, 23)?))
    }
}

impl LineTime {
    /// Returns how far the clock of a log is ahead of UTC, in ms: its last line was written when its file was, and zones
    /// lie a quarter of an hour apart.
    pub fn zone_of(last: Self, written_at: i64) -> i64 {
        (last.0 - written_at + QUARTER_MS / 2).div_euclid(QUARTER_MS) * QUARTER_MS
    }
}

impl fmt::Display for LineTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or_default();
        let time: DateTime = time.to_zoned(jiff::tz::TimeZone::UTC).datetime();
        write!(f, "{}", time.strftime("%Y-%m-%d %H:%M:%S,%3f"))
    }
}

/// The parts of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLine<'a> {
    /// The time, as text; see [`LineTime::parse`].
    pub time: &'a str,
    /// The level.
    pub level: Level,
    /// What is said.
    pub message: &'a str,
    /// Who says it; empty where the layout does not tell.
    pub logger: &'a str,
}

impl<'a> LogLine<'a> {
    /// Splits a line; `None` if it has no time and level, and so belongs to the event before it.
    pub fn parse(line: &'a str) -> Option<Self> {
        let line = line.trim_end();
        let at = time_at(line)?;
        let time = line.get(at..at + TIME_LEN)?;
        let rest = line.get(at + TIME_LEN..)?;
        // Finer fractions and a zone may follow.
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = rest.strip_prefix(']').unwrap_or(rest).trim_start();
        let rest = rest.strip_prefix('Z').unwrap_or(rest).trim_start();
        let (word, rest) = rest.split_once(' ')?;
        let word = word.trim_matches(|c| c == '[' || c == ']');
        let (message, logger) = split_message(rest.trim_start());
        Some(Self {
            time,
            level: Level::parse(word)?,
            message,
            logger,
        })
    }
}

/// Returns where a line's time begins.
fn time_at(line: &str) -> Option<usize> {
    let is_time = |at: usize| {
        let bytes = line.as_bytes();
        let shape = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
        let has_shape = shape
            .iter()
            .all(|(offset, mark)| bytes.get(at + offset) == Some(mark));
        let fraction = bytes.get(at + 19).is_some_and(|byte| b",.".contains(byte));
        has_shape && fraction && bytes.get(at).is_some_and(u8::is_ascii_digit)
    };
    let bytes = line.as_bytes();
    let first = usize::from(bytes.first() == Some(&b'['));
    let behind = |at: usize| {
        let rest = line.get(at + TIME_LEN..).unwrap_or_default();
        // A runtime's own time stamp is not followed by a level.
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "]Z ".contains(c));
        let word = rest.split(' ').next().unwrap_or_default();
        Level::parse(word.trim_matches(|c| c == '[' || c == ']')).is_some()
    };
    if is_time(first) && behind(first) {
        return Some(first);
    }
    let end = bytes.len().min(PREFIX_CAP);
    (1..end).find(|at| {
        bytes
            .get(at - 1)
            .is_some_and(|before| b" [\t:|".contains(before))
            && is_time(*at)
            && behind(*at)
    })
}

/// Splits what follows the level into message and logger.
fn split_message(rest: &str) -> (&str, &str) {
    if let Some(split) = logger_last(rest) {
        return split;
    }
    // "message (logger) [thread]"
    if let Some((front, _)) = rest.strip_suffix(']').and_then(|it| it.rsplit_once(" ["))
        && let Some(split) = logger_last(front)
    {
        return split;
    }
    // "[thread] logger - message"
    let behind_thread = match rest.strip_prefix('[').and_then(|it| it.split_once("] ")) {
        Some((_, behind)) if behind.split(' ').nth(1).is_some_and(is_dash) => behind,
        _ => rest,
    };
    match behind_thread.split_once(' ') {
        Some((logger, behind)) if behind.split(' ').next().is_some_and(is_dash) => {
            (behind.get(2..).unwrap_or_default(), logger)
        }
        _ => (rest, ""),
    }
}

fn is_dash(word: &str) -> bool {
    word == "-" || word == ":"
}

/// Splits "message (logger)".
fn logger_last(text: &str) -> Option<(&str, &str)> {
    let (message, logger) = text.strip_suffix(')')?.rsplit_once(" (")?;
    let is_name = !logger.is_empty() && !logger.contains([' ', '(', ')']);
    is_name.then_some((message, logger))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "Loaded 22 logs in 812ms (unclean log dirs = ArrayBuffer(/a b, /c))";

    #[test]
    fn every_layout_gives_the_same_message() {
        for line in [
            format!("[2026-11-30 07:51:11,146] INFO {SAID} (kafka.log.LogManager)"),
            format!("2026-11-30 07:51:11,146 INFO {SAID} (kafka.log.LogManager) [main]"),
            format!("2026-11-30T07:51:11.146 INFO  [main] kafka.log.LogManager - {SAID}"),
            format!("2026-11-30 07:51:11,146 [INFO] kafka.log.LogManager : {SAID}"),
            format!(
                "Nov 30 07:51:11 kafka-07 kafka[811]: [2026-11-30 07:51:11,146] INFO {SAID} (kafka.log.LogManager)"
            ),
            format!(
                "2026-11-30T07:51:11.146229301Z [2026-11-30 07:51:11,146] INFO {SAID} (kafka.log.LogManager)\r"
            ),
            format!(
                "kafka-1  | 2026-11-30 07:51:11,146 INFO {SAID} (kafka.log.LogManager) [log-recovery-1]"
            ),
        ] {
            let parsed = LogLine::parse(&line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(parsed.message, SAID, "{line}");
            assert_eq!(parsed.logger, "kafka.log.LogManager", "{line}");
            assert_eq!(parsed.level, Level::Info);
            assert_eq!(LineTime::parse(parsed.time).unwrap().0, 1_796_025_071_146);
        }
    }

    #[test]
    fn what_has_no_time_belongs_to_the_line_before() {
        for line in [
            "\tat kafka.log.LogManager.loadLogs(LogManager.scala:300)",
            "java.io.IOException: Map failed",
            "Caused by: java.nio.file.AccessDeniedException: /d/x",
            "",
            "Nov 30 07:51:11 kafka-07 kafka[811]: java.io.IOException: No space left",
            "2026-11-30T07:51:11.146229301Z \tat java.base/x.y(Z.java:1)",
            "[2026-11-30 07:51:11,146] said nobody",
            "[2026-13-30",
        ] {
            assert_eq!(LogLine::parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_log_s_zone_shows_in_its_file() {
        let last = LineTime::parse("2026-11-30 07:51:11,146").unwrap();
        let utc = 1_796_025_071_146;
        for (hours, quarters) in [(0, 0), (2, 8), (-5, -20)] {
            let written = utc - hours * 3_600_000 + 2_500;
            assert_eq!(LineTime::zone_of(last, written), quarters * QUARTER_MS);
        }
        // Kathmandu.
        assert_eq!(
            LineTime::zone_of(last, utc - 23 * QUARTER_MS - 10),
            23 * QUARTER_MS
        );
    }

    #[test]
    fn a_time_is_shown_as_it_was_written() {
        let text = "2026-02-28 23:59:59,999";
        assert_eq!(LineTime::parse(text).unwrap().to_string(), text);
        assert_eq!(LineTime::parse("2026-02-30 23:59:59,999"), None);
        assert_eq!(LineTime::parse("2026-02-28 24:00:00,000"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_split_or_not(text in "\\PC{0,300}", front in "(\\[2026-11-30 07:51:11,146\\] INFO )?") {
            let _ = LogLine::parse(&format!("{front}{text}"));
            let _ = LineTime::parse(&text);
        }
    }
}
