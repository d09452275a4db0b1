//! A log file that grows, is renamed at the hour, or is cut.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The most bytes that one look takes.
const PIECE: usize = 1 << 20;
/// How many bytes may be unread before some are passed over: more than a boot of tens of thousands of logs writes.
const BEHIND: u64 = 256 << 20;
/// How many of them are read then.
const CATCH_UP: u64 = 64 << 20;

/// Follows the file at a path, whatever file lies there.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    file: File,
    position: u64,
    skipped: u64,
    turned: u64,
    is_gone: bool,
}

impl Tail {
    /// Opens the file at `path`, at its beginning.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: File::open(path)?,
            position: 0,
            skipped: 0,
            turned: 0,
            is_gone: false,
        })
    }

    /// Returns how many bytes of the present file were not read yet.
    pub fn unread(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len().saturating_sub(self.position))
    }

    /// Returns bytes that were passed over, as there were too many of them.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns how often another file came to the path, or the present one was cut: it was read from its beginning then.
    pub fn turned(&self) -> u64 {
        self.turned
    }

    /// Says whether no file lies at the path now; the one that was there is read on.
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Reads on into `buffer`, which is emptied first; nothing is in it where nothing new was written.
    pub fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.clear();
        let behind = self.unread()?;
        if behind > BEHIND {
            self.skipped += behind - CATCH_UP;
            self.position += behind - CATCH_UP;
            self.file.seek(SeekFrom::Start(self.position))?;
        }
        let mut bounded = (&mut self.file).take(PIECE as u64);
        let read = bounded.read_to_end(buffer)?;
        self.position += read as u64;
        if read == 0 {
            self.turn()?;
        }
        Ok(())
    }

    /// Returns when the file was last written, in ms since 1970.
    pub fn written_at(&self) -> io::Result<i64> {
        let meta = self.file.metadata()?;
        Ok(meta.mtime() * 1000 + meta.mtime_nsec() / 1_000_000)
    }

    /// Goes to the new file, if another lies at the path or this one was cut.
    fn turn(&mut self) -> io::Result<()> {
        let here = self.file.metadata()?;
        // At the hour the file is renamed; the new one may not be there yet.
        let there = std::fs::metadata(&self.path);
        self.is_gone = there.is_err();
        let Ok(there) = there else {
            return Ok(());
        };
        let other = (here.dev(), here.ino()) != (there.dev(), there.ino());
        if other || here.len() < self.position {
            *self = Self {
                skipped: self.skipped,
                turned: self.turned + 1,
                ..Self::open(&self.path)?
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write as _;

    #[test]
    fn a_log_that_is_far_ahead_is_read_from_near_its_end() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("server.log");
        let file = File::create(&path).unwrap();
        file.set_len(BEHIND + 1).unwrap();
        let mut tail = Tail::open(&path).unwrap();
        let mut buffer = Vec::new();
        let mut read = 0;
        loop {
            tail.read(&mut buffer).unwrap();
            read += buffer.len() as u64;
            if buffer.is_empty() {
                break;
            }
        }
        assert_eq!((read, tail.skipped()), (CATCH_UP, BEHIND + 1 - CATCH_UP));
    }

    #[test]
    fn growth_a_new_file_and_a_cut_are_followed() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("server.log");
        fs::write(&path, "one\n").unwrap();
        let mut tail = Tail::open(&path).unwrap();
        let mut buffer = Vec::new();
        let mut next = |tail: &mut Tail| {
            tail.read(&mut buffer).unwrap();
            String::from_utf8(buffer.clone()).unwrap()
        };
        assert_eq!(next(&mut tail), "one\n");
        assert_eq!(next(&mut tail), "");
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"two\n").unwrap();
        assert_eq!(next(&mut tail), "two\n");
        // Renamed with bytes unread, then gone for a moment, then a new one.
        file.write_all(b"three\n").unwrap();
        fs::rename(&path, tmp.path().join("server.log.2026-11-30-07")).unwrap();
        assert_eq!(next(&mut tail), "three\n");
        assert_eq!((tail.is_gone(), tail.turned()), (false, 0));
        assert_eq!(next(&mut tail), "");
        assert_eq!((tail.is_gone(), tail.turned()), (true, 0));
        fs::write(&path, "four\n").unwrap();
        assert_eq!(next(&mut tail), "");
        assert_eq!(next(&mut tail), "four\n");
        assert_eq!((tail.is_gone(), tail.turned()), (false, 1));
        fs::write(&path, "5\n").unwrap();
        assert_eq!(next(&mut tail), "");
        assert_eq!(next(&mut tail), "5\n");
        assert_eq!((tail.is_gone(), tail.turned()), (false, 2));
    }
}
