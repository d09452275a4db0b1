//! Where a broker's log comes from: a file that grows, or the standard input.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::boot::Boots;
use super::line::LineTime;
use super::older;
use super::reader::LogReader;
use super::tail::Tail;
use super::wait::FileWait;

/// The bytes of one read of the standard input.
const PIECE: usize = 64 << 10;
/// Pieces that may wait; a writer that is faster waits in turn.
const PIECES: usize = 64;

/// How long a file must not have been written for, in ms, to be one that nobody writes to: nothing is printed inside a
/// segment, which takes minutes on a slow disk.
const LEFT_MS: i64 = 900_000;
/// How far a line just written is from the time here at most, in ms: clocks of all zones.
const ZONES_MS: i64 = 15 * 3_600_000;

/// A log and what was read of it.
#[derive(Debug)]
pub struct LogSource {
    from: From,
    reader: LogReader,
    /// What the log was before, until it is read.
    older: Vec<PathBuf>,
    /// Lines of that.
    older_lines: u64,
    buffer: Vec<u8>,
    reach: Reach,
}

/// How far it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Not yet to where it ended when it was opened.
    Begun,
    /// To there, and nothing came since.
    Whole,
    /// Beyond: it has grown.
    Grown,
    /// To its end.
    Ended,
}

#[derive(Debug)]
enum From {
    File(Tail, FileWait),
    Input(Receiver<Vec<u8>>),
}

impl LogSource {
    /// Opens the log file at `path` and finds what it was before it was renamed at the hour or packed: the boots in those
    /// count too. A packed file is read to its end, as an input is.
    ///
    /// # Errors
    ///
    /// It cannot be opened.
    pub fn file(path: &Path) -> io::Result<Self> {
        if older::is_packed(path) {
            return Ok(Self::reader(older::open(path)?));
        }
        let from = From::File(Tail::open(path)?, FileWait::of(path));
        Ok(Self {
            older: older::older_files(path),
            ..Self::of(from)
        })
    }

    /// Takes the standard input.
    pub fn input() -> Self {
        Self::reader(io::stdin())
    }

    fn reader(mut input: impl io::Read + Send + 'static) -> Self {
        let (sender, receiver) = sync_channel(PIECES);
        // It ends with the input or with the process: a read of a pipe cannot be called off.
        std::thread::spawn(move || {
            loop {
                let mut piece = vec![0; PIECE];
                match input.read(&mut piece) {
                    Ok(0) => break,
                    Ok(read) => {
                        piece.truncate(read);
                        if sender.send(piece).is_err() {
                            break;
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
        });
        Self::of(From::Input(receiver))
    }

    fn of(from: From) -> Self {
        Self {
            from,
            reader: LogReader::new(),
            older: Vec::new(),
            older_lines: 0,
            buffer: Vec::new(),
            reach: Reach::Begun,
        }
    }

    /// Says whether the present file has said nothing yet, whatever it was before.
    pub fn is_silent(&self) -> bool {
        self.reader.lines() == self.older_lines
    }

    /// Says whether what came is no broker's log.
    pub fn is_foreign(&self) -> bool {
        self.reader.is_foreign()
    }

    /// Returns bytes that were passed over, as they came faster than they could be read.
    pub fn skipped(&self) -> u64 {
        match &self.from {
            From::File(tail, _) => tail.skipped(),
            From::Input(_) => 0,
        }
    }

    /// Returns lines that were too long, of which the beginning was looked at only.
    pub fn cut_lines(&self) -> u64 {
        self.reader.cut_lines()
    }

    /// Returns how often a file was renamed or cut, and the log read on in the new one.
    pub fn turned(&self) -> u64 {
        match &self.from {
            From::File(tail, _) => tail.turned(),
            From::Input(_) => 0,
        }
    }

    /// Says whether no file lies at the log's path now.
    pub fn is_gone(&self) -> bool {
        matches!(&self.from, From::File(tail, _) if tail.is_gone())
    }

    /// Returns how long a file was not written, in ms before `now_ms`; `None` of an input.
    pub fn quiet_ms(&self, now_ms: i64) -> Option<i64> {
        let From::File(tail, _) = &self.from else {
            return None;
        };
        Some(now_ms - tail.written_at().ok()?)
    }

    /// Returns how far the log's clock is ahead of UTC, in ms; `None` where that does not show.
    pub fn zone_ms(&self) -> Option<i64> {
        let From::File(tail, _) = &self.from else {
            return None;
        };
        let last = self.reader.last_time().filter(|_| !self.is_silent())?;
        Some(LineTime::zone_of(last, tail.written_at().ok()?))
    }

    /// Says whether nothing more comes by what the log itself shows, where no process of it is known: an input that has
    /// ended, a file that is no broker's log, or one that nobody writes to any more. A file that has grown while it was
    /// read may always grow again: that no process of it is seen says little, as it may be another user's or a container's.
    pub fn is_over(&self, now_ms: i64) -> bool {
        let From::File(tail, _) = &self.from else {
            return self.reach == Reach::Ended;
        };
        if self.reach == Reach::Grown || !tail.unread().is_ok_and(|unread| unread == 0) {
            return false;
        }
        let is_old = |last: LineTime| (last.0 - now_ms).abs() > ZONES_MS;
        self.is_foreign()
            || self.reader.last_time().is_some_and(is_old)
            || self.quiet_ms(now_ms).is_some_and(|quiet| quiet > LEFT_MS)
    }

    /// Returns whether it is a file; else it is an input, which tells its end itself.
    pub fn is_file(&self) -> bool {
        matches!(self.from, From::File(..))
    }

    /// Takes what is there, waiting at most `patience` for the first of it; says whether there was any. What is written
    /// meanwhile may wait for the next call, so that a log that is written without end does not keep it here.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn take(&mut self, boots: &mut Boots, patience: Duration) -> io::Result<bool> {
        self.take_older(boots);
        let mut rest = match &self.from {
            From::File(tail, _) => tail.unread()?.max(1),
            From::Input(_) => (PIECES * PIECE) as u64,
        };
        let mut patience = patience;
        let mut took = false;
        while rest > 0 {
            let piece = self.take_piece(boots, patience)?;
            if piece == 0 {
                break;
            }
            took = true;
            rest = rest.saturating_sub(piece);
            patience = Duration::ZERO;
        }
        self.reach = match (self.reach, &self.from) {
            (Reach::Whole, _) if took => Reach::Grown,
            (Reach::Begun, From::File(tail, _)) if tail.unread()? == 0 => Reach::Whole,
            (reach, _) => reach,
        };
        Ok(took)
    }

    /// Takes what the log was before, once.
    fn take_older(&mut self, boots: &mut Boots) {
        let files = std::mem::take(&mut self.older);
        let reader = &mut self.reader;
        older::read_all(&files, |piece| {
            if piece.is_empty() {
                reader.finish(|event| boots.take(event));
            } else {
                reader.feed(piece, |event| boots.take(event));
            }
        });
        if !files.is_empty() {
            self.older_lines = self.reader.lines();
        }
    }

    /// Takes the next piece and returns its bytes, 0 where there is none.
    fn take_piece(&mut self, boots: &mut Boots, patience: Duration) -> io::Result<u64> {
        match &mut self.from {
            From::File(tail, wait) => {
                tail.read(&mut self.buffer)?;
                if self.buffer.is_empty() {
                    wait.wait(patience);
                    return Ok(0);
                }
                self.reader.feed(&self.buffer, |event| boots.take(event));
                Ok(self.buffer.len() as u64)
            }
            From::Input(receiver) => match receiver.recv_timeout(patience) {
                Ok(piece) => {
                    self.reader.feed(&piece, |event| boots.take(event));
                    Ok(piece.len() as u64)
                }
                Err(RecvTimeoutError::Timeout) => Ok(0),
                Err(RecvTimeoutError::Disconnected) => {
                    self.finish(boots);
                    Ok(0)
                }
            },
        }
    }

    /// Takes the last line, though it has no end.
    pub fn finish(&mut self, boots: &mut Boots) {
        self.reach = Reach::Ended;
        self.reader.finish(|event| boots.take(event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write as _;
    use std::time::{Duration as StdDuration, SystemTime};

    const LINE: &str = "[2026-11-30 07:51:11,146] INFO Starting controller (kafka.server.X)\n";

    /// Returns a log whose file was written at `written_ms`, read to its end.
    fn read(path: &Path, text: &str, written_ms: i64) -> (LogSource, File) {
        let mut file = File::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let written = StdDuration::from_millis(written_ms.unsigned_abs());
        file.set_modified(SystemTime::UNIX_EPOCH + written).unwrap();
        let mut log = LogSource::file(path).unwrap();
        log.take(&mut Boots::default(), Duration::ZERO).unwrap();
        (log, file)
    }

    #[test]
    fn a_file_is_over_by_its_age_and_never_once_it_has_grown() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("server.log");
        let said = LineTime::parse("2026-11-30 07:51:11,146").unwrap().0;
        // Of a zone 14 h ahead.
        let written = said - 14 * 3_600_000;
        let (mut log, mut file) = read(&path, LINE, written);
        assert!(!log.is_over(written));
        assert!(!log.is_over(written + LEFT_MS));
        assert!(log.is_over(written + LEFT_MS + 1), "nobody writes to it");
        file.write_all(LINE.as_bytes()).unwrap();
        log.take(&mut Boots::default(), Duration::ZERO).unwrap();
        assert!(!log.is_over(written + LEFT_MS + 1));
        // Copied just now, and told a day ago.
        let (log, _) = read(&path, LINE, said + 24 * 3_600_000);
        assert!(log.is_over(said + 24 * 3_600_000));
        let (log, _) = read(&path, "Dear diary,\n", written);
        assert!(log.is_over(written), "no broker's log");
        let (log, _) = read(&path, "", written);
        assert!(!log.is_over(written), "a young broker has said nothing yet");
    }
}
