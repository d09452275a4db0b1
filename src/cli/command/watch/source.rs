//! Where a broker's log comes from: a file that grows, or the standard input.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use crate::cli::CliError;
use crate::observe::server_log::{Boots, LineTime, LogReader, Tail};

/// The bytes of one read of the standard input.
const PIECE: usize = 64 << 10;
/// Pieces that may wait; a writer that is faster waits in turn.
const PIECES: usize = 64;

/// A log and what was read of it.
#[derive(Debug)]
pub(super) struct Source {
    from: From,
    reader: LogReader,
    buffer: Vec<u8>,
    /// Whether the input has come to its end.
    ended: bool,
}

#[derive(Debug)]
enum From {
    File(PathBuf, Tail),
    Input(Receiver<Vec<u8>>),
}

impl Source {
    /// Opens the log file at `path`.
    pub(super) fn file(path: &Path) -> Result<Self, CliError> {
        let tail = Tail::open(path).map_err(|error| cannot_read(path, &error))?;
        Ok(Self::of(From::File(path.to_owned(), tail)))
    }

    /// Takes the standard input.
    pub(super) fn input() -> Self {
        let (sender, receiver) = sync_channel(PIECES);
        // It ends with the input or with the process: a read of a pipe cannot be called off.
        std::thread::spawn(move || {
            let mut input = std::io::stdin().lock();
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
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
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
            buffer: Vec::new(),
            ended: false,
        }
    }

    /// Says whether what came is no broker's log.
    pub(super) fn is_foreign(&self) -> bool {
        self.reader.is_foreign()
    }

    /// Returns how far the log's clock is ahead of UTC, in ms; `None` where that does not show.
    pub(super) fn zone_ms(&self) -> Option<i64> {
        let From::File(_, tail) = &self.from else {
            return None;
        };
        let last = self.reader.last_time()?;
        Some(LineTime::zone_of(last, tail.written_at().ok()?))
    }

    /// Says whether nothing more can come where nobody writes to a file any more.
    pub(super) fn is_at_end(&self) -> bool {
        self.ended || matches!(self.from, From::File(..))
    }

    /// Takes what is there, waiting at most `patience` for the first of it; returns whether there was any.
    pub(super) fn take(&mut self, boots: &mut Boots, patience: Duration) -> Result<bool, CliError> {
        match &mut self.from {
            From::File(path, tail) => {
                let read = tail.read(&mut self.buffer);
                read.map_err(|error| cannot_read(path, &error))?;
                if self.buffer.is_empty() {
                    std::thread::sleep(patience);
                    return Ok(false);
                }
                self.reader.feed(&self.buffer, |event| boots.take(event));
            }
            From::Input(receiver) => match receiver.recv_timeout(patience) {
                Ok(piece) => self.reader.feed(&piece, |event| boots.take(event)),
                Err(RecvTimeoutError::Timeout) => return Ok(false),
                Err(RecvTimeoutError::Disconnected) => {
                    self.finish(boots);
                    return Ok(false);
                }
            },
        }
        Ok(true)
    }

    /// Takes the last line, though it has no end.
    pub(super) fn finish(&mut self, boots: &mut Boots) {
        self.ended = true;
        self.reader.finish(|event| boots.take(event));
    }
}

fn cannot_read(path: &Path, error: &std::io::Error) -> CliError {
    CliError::usage(format!("cannot read the log {}", path.display()))
        .because(error)
        .hint("Name the broker's log with --log FILE, or pipe it in with --log -.")
}
