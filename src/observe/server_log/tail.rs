//! A log file that grows, is renamed at the hour, or is cut.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The most bytes that one look takes.
const PIECE: usize = 1 << 20;

/// Follows the file at a path, whatever file lies there.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    file: File,
    position: u64,
}

impl Tail {
    /// Opens the file at `path`, at its beginning.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: File::open(path)?,
            position: 0,
        })
    }

    /// Reads on into `buffer`, which is emptied first; nothing is in it where nothing new was written.
    pub fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.clear();
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
        let Ok(there) = std::fs::metadata(&self.path) else {
            return Ok(());
        };
        let other = (here.dev(), here.ino()) != (there.dev(), there.ino());
        if other || here.len() < self.position {
            *self = Self::open(&self.path)?;
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
        assert_eq!(next(&mut tail), "");
        fs::write(&path, "four\n").unwrap();
        assert_eq!(next(&mut tail), "");
        assert_eq!(next(&mut tail), "four\n");
        fs::write(&path, "5\n").unwrap();
        assert_eq!(next(&mut tail), "");
        assert_eq!(next(&mut tail), "5\n");
    }
}
