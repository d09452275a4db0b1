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
    /// Whether the input has come to its end.
    ended: bool,
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
            ended: false,
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

    /// Returns how far the log's clock is ahead of UTC, in ms; `None` where that does not show.
    pub fn zone_ms(&self) -> Option<i64> {
        let From::File(tail, _) = &self.from else {
            return None;
        };
        let last = self.reader.last_time().filter(|_| !self.is_silent())?;
        Some(LineTime::zone_of(last, tail.written_at().ok()?))
    }

    /// Says whether nothing more can come where nobody writes to a file any more.
    pub fn is_at_end(&self) -> bool {
        self.ended || matches!(self.from, From::File(..))
    }

    /// Says whether more can come while the process that writes to a file goes on or not; an input tells its end itself.
    pub fn may_grow(&self, lives: bool) -> bool {
        match self.from {
            From::File(..) => lives,
            From::Input(_) => !self.ended,
        }
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
        self.ended = true;
        self.reader.finish(|event| boots.take(event));
    }
}
