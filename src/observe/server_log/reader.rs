//! From bytes, in any pieces, to events.

use super::cause::cause;
use super::event::BootEvent;
use super::line::{LineTime, LogLine};

/// The longest line that is looked at; what follows in it is skipped.
const LINE_CAP: usize = 256 << 10;

/// An event with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedEvent {
    /// When it was written; that of the line before for a cause.
    pub time: LineTime,
    /// What was said.
    pub event: BootEvent,
}

/// Reads a log as it grows; holds at most one line.
#[derive(Debug, Default)]
pub struct LogReader {
    /// The line that has no end yet, at most [`LINE_CAP`] bytes of it.
    open: Vec<u8>,
    lines: u64,
    cut_lines: u64,
    unknown: u64,
    last: Option<LineTime>,
    /// Whether an exception now would belong to an event that was told.
    wants_cause: bool,
}

impl LogReader {
    /// Returns a reader that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and tells each event in them.
    pub fn feed(&mut self, mut bytes: &[u8], mut tell: impl FnMut(TimedEvent)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            if self.open.is_empty() {
                self.line(line.get(..LINE_CAP).unwrap_or(line), &mut tell);
                self.cut_lines += u64::from(line.len() > LINE_CAP);
            } else {
                self.keep(line);
                let whole = std::mem::take(&mut self.open);
                self.line(&whole, &mut tell);
            }
        }
        self.keep(bytes);
    }

    /// Ends the log: the last line counts though it has no end.
    pub fn finish(&mut self, mut tell: impl FnMut(TimedEvent)) {
        let whole = std::mem::take(&mut self.open);
        if !whole.is_empty() {
            self.line(&whole, &mut tell);
        }
    }

    /// Returns how many lines were read.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns how many lines were too long, and looked at in part only.
    pub fn cut_lines(&self) -> u64 {
        self.cut_lines
    }

    /// Returns the time of the last line that has one.
    pub fn last_time(&self) -> Option<LineTime> {
        self.last
    }

    /// Says whether lines came and none had a time and a level: another program's log, or an unknown layout.
    pub fn is_foreign(&self) -> bool {
        self.lines > 0 && self.last.is_none() && self.unknown == self.lines
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE_CAP.saturating_sub(self.open.len());
        if bytes.len() > room && room > 0 {
            self.cut_lines += 1;
        }
        self.open
            .extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn line(&mut self, line: &[u8], tell: &mut impl FnMut(TimedEvent)) {
        self.lines += 1;
        let text = String::from_utf8_lossy(line);
        let Some(parsed) = LogLine::parse(&text) else {
            self.unknown += 1;
            if let (true, Some(time), Some(cause)) = (self.wants_cause, self.last, cause(&text)) {
                self.wants_cause = false;
                let event = BootEvent::Cause(cause.to_owned());
                tell(TimedEvent { time, event });
            }
            return;
        };
        let event = BootEvent::parse(&parsed);
        self.wants_cause = event.is_some();
        let Some(time) = LineTime::parse(parsed.time) else {
            self.unknown += 1;
            return;
        };
        self.last = Some(time);
        if let Some(event) = event {
            tell(TimedEvent { time, event });
        }
    }
}
