//! One file's bytes, window by window, front to back, through one reused buffer.
//!
//! Reads are plain `pread`: a mapping would turn a bad sector, or a broker that cuts the file meanwhile, into SIGBUS.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::{DiskAction, DiskError};
use super::pace::Pace;
use super::storage::ReadAt;

/// Bytes of a window, unless more are needed: enough to hide the call's cost, small enough to stay in the L2 cache.
pub const WINDOW: usize = 256 << 10;
/// How many bytes are dropped from the page cache at once.
const DROP_STEP: u64 = 8 << 20;

/// A page of memory and of the page cache.
const PAGE: usize = 4096;

/// A thread's buffer, kept from file to file.
///
/// A file's bytes lie in it at the place in a page that they have in the file: some processors copy a page six times
/// slower to a place a few bytes further on.
#[derive(Debug, Default)]
pub struct WindowBuffer(Vec<u8>);

/// How a file is read.
#[derive(Debug, Clone, Copy)]
pub struct ReadManner<'a> {
    /// Limits the bytes a second.
    pub pace: &'a Pace,
    /// Whether the page cache is left as it was found.
    pub keeps_cache: bool,
    /// Counts the bytes read.
    pub counter: &'a AtomicU64,
}

/// A file that is read by windows.
pub struct SegmentBytes<'a> {
    file: Box<dyn ReadAt>,
    path: &'a Path,
    /// Bytes that count; the file may grow meanwhile.
    len: u64,
    buffer: &'a mut Vec<u8>,
    /// The position of the first valid byte, and how many bytes are valid from there on.
    start: u64,
    filled: usize,
    shrank: bool,
    manner: ReadManner<'a>,
    /// For each step of the file, whether it was in the page cache before the first read; empty if that is not asked.
    was_cached: Vec<bool>,
    dropped: u64,
}

impl<'a> SegmentBytes<'a> {
    /// Returns the windows of the first `len` bytes of `file`.
    pub fn new(
        file: Box<dyn ReadAt>,
        path: &'a Path,
        len: u64,
        buffer: &'a mut WindowBuffer,
        manner: ReadManner<'a>,
    ) -> Self {
        file.advise_sequential();
        let was_cached = if manner.keeps_cache {
            steps_cached(file.as_ref(), len)
        } else {
            Vec::new()
        };
        Self {
            file,
            path,
            len,
            buffer: &mut buffer.0,
            start: 0,
            filled: 0,
            shrank: false,
            manner,
            was_cached,
            dropped: 0,
        }
    }

    /// Returns the bytes from `position` on: at least `needed` of them, unless the file ends before.
    ///
    /// An error names the first byte that cannot be read; all before it was in the window returned before.
    pub fn window(&mut self, position: u64, needed: usize) -> Result<&[u8], DiskError> {
        self.keep_from(position);
        let rest = usize::try_from(self.len.saturating_sub(position)).unwrap_or(usize::MAX);
        let wanted = needed.min(rest);
        if self.filled < wanted || self.filled == 0 {
            self.fill(wanted.max(WINDOW).min(rest), wanted)?;
        }
        let place = self.place();
        Ok(self
            .buffer
            .get(place..place + self.filled)
            .unwrap_or_default())
    }

    /// Says whether the file ended before its `len` bytes.
    pub fn shrank(&self) -> bool {
        self.shrank
    }

    /// Moves the buffer's valid bytes from `position` on to its front; all of them go if it does not hold them.
    fn keep_from(&mut self, position: u64) {
        let skip = position
            .checked_sub(self.start)
            .and_then(|skip| usize::try_from(skip).ok())
            .filter(|skip| *skip <= self.filled);
        let place = self.place();
        self.start = position;
        match skip.filter(|skip| *skip < self.filled) {
            Some(skip) => {
                let kept = place + skip..place + self.filled;
                self.filled -= skip;
                let place = self.place();
                self.buffer.copy_within(kept, place);
            }
            None => self.filled = 0,
        }
    }

    /// Returns the index of the first valid byte: as far behind a page's begin as its position is.
    fn place(&self) -> usize {
        let page = self.buffer.as_ptr().align_offset(PAGE);
        page + usize::try_from(self.start % PAGE as u64).unwrap_or(0)
    }

    /// Makes room for `size` bytes; a buffer that one large batch made is given back.
    fn reserve(&mut self, size: usize) {
        let room = size.max(WINDOW) + 2 * PAGE;
        if self.buffer.len() < room || (self.buffer.len() > 4 * WINDOW && size <= WINDOW) {
            let place = self.place();
            let kept = self
                .buffer
                .get(place..place + self.filled)
                .unwrap_or_default()
                .to_vec();
            *self.buffer = vec![0; room];
            let place = self.place();
            if let Some(space) = self.buffer.get_mut(place..place + kept.len()) {
                space.copy_from_slice(&kept);
            }
        }
    }

    fn fill(&mut self, size: usize, wanted: usize) -> Result<(), DiskError> {
        self.reserve(size);
        let place = self.place();
        while self.filled < size {
            let at = self.start + self.filled as u64;
            let space = self
                .buffer
                .get_mut(place + self.filled..place + size)
                .unwrap_or_default();
            self.manner.pace.take(space.len() as u64);
            match self.file.read_at(space, at) {
                Ok(0) => {
                    self.shrank = true;
                    break;
                }
                Ok(read) => {
                    self.filled += read;
                    self.manner
                        .counter
                        .fetch_add(read as u64, Ordering::Relaxed);
                }
                // What was asked for is there; the bad place may never be needed.
                Err(_) if self.filled >= wanted && self.filled > 0 => break,
                Err(error) => {
                    return Err(DiskError::new(DiskAction::Read, self.path, error).at(at));
                }
            }
        }
        self.drop_behind(self.start, false);
        Ok(())
    }

    /// Drops whole steps before `position` that nobody had in the cache before.
    fn drop_behind(&mut self, position: u64, all: bool) {
        while self.dropped < position && (all || position - self.dropped >= DROP_STEP) {
            let step = usize::try_from(self.dropped / DROP_STEP).unwrap_or(usize::MAX);
            if self.was_cached.get(step) == Some(&false) {
                self.file.drop_cached(self.dropped, DROP_STEP);
            }
            self.dropped += DROP_STEP;
        }
    }
}

impl Drop for SegmentBytes<'_> {
    fn drop(&mut self) {
        self.drop_behind(self.start + self.filled as u64, true);
    }
}

/// Asks for all steps before the first read: readahead runs ahead of the reader, and would make them look cached.
fn steps_cached(file: &dyn ReadAt, len: u64) -> Vec<bool> {
    (0..len.div_ceil(DROP_STEP))
        .map(|step| file.is_cached(step * DROP_STEP, DROP_STEP))
        // Where the system cannot tell, nothing is dropped: it may be the broker's.
        .map(|cached| cached.unwrap_or(true))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use super::*;

    /// A file of known bytes with a bad place, which notes what is dropped.
    struct Fake {
        len: u64,
        bad: Option<u64>,
        dropped: &'static Mutex<Vec<u64>>,
    }

    fn byte_at(position: u64) -> u8 {
        u8::try_from(position % 251).unwrap()
    }

    impl ReadAt for Fake {
        fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
            if self.bad == Some(position) {
                return Err(io::Error::from_raw_os_error(5));
            }
            let end = self
                .bad
                .filter(|bad| *bad > position)
                .unwrap_or(self.len)
                .min(self.len);
            let count = buffer
                .len()
                .min(usize::try_from(end.saturating_sub(position)).unwrap());
            for (place, byte) in buffer[..count].iter_mut().enumerate() {
                *byte = byte_at(position + place as u64);
            }
            Ok(count)
        }

        fn file_len(&self) -> io::Result<u64> {
            Ok(self.len)
        }

        fn is_cached(&self, position: u64, _len: u64) -> Option<bool> {
            Some(position == DROP_STEP)
        }

        fn drop_cached(&self, position: u64, _len: u64) {
            self.dropped.lock().unwrap().push(position);
        }
    }

    fn fake(len: u64, bad: Option<u64>) -> Fake {
        Fake {
            len,
            bad,
            dropped: Box::leak(Box::default()),
        }
    }

    fn with<R>(file: Fake, len: u64, run: impl FnOnce(&mut SegmentBytes<'_>) -> R) -> R {
        let counter = AtomicU64::new(0);
        let pace = Pace::unlimited();
        let manner = ReadManner {
            pace: &pace,
            keeps_cache: true,
            counter: &counter,
        };
        let mut buffer = WindowBuffer::default();
        let mut bytes = SegmentBytes::new(Box::new(file), Path::new("f"), len, &mut buffer, manner);
        run(&mut bytes)
    }

    #[test]
    fn windows_carry_their_tail_and_grow_to_what_is_needed() {
        let len = 3 * WINDOW as u64 + 7;
        with(fake(len, None), len, |bytes| {
            assert_eq!(bytes.window(0, 1).unwrap().len(), WINDOW);
            let position = WINDOW as u64 - 10;
            let window = bytes.window(position, 2 * WINDOW).unwrap();
            assert_eq!(window.len(), 2 * WINDOW);
            assert!(
                window
                    .iter()
                    .enumerate()
                    .all(|(place, byte)| *byte == byte_at(position + place as u64))
            );
            let last = bytes.window(len - 5, 100).unwrap();
            assert_eq!(last.len(), 5);
            assert!(bytes.window(len, 0).unwrap().is_empty());
        });
    }

    #[test]
    fn a_bad_place_is_named_after_the_good_prefix_was_given() {
        with(fake(100_000, Some(8192)), 100_000, |bytes| {
            assert_eq!(bytes.window(0, 61).unwrap().len(), 8192);
            let error = bytes.window(8000, 1000).unwrap_err();
            assert_eq!(error.position, Some(crate::terms::Position(8192)));
        });
    }

    #[test]
    fn a_file_that_shrank_gives_a_short_window_and_says_so() {
        with(fake(1000, None), 5000, |bytes| {
            assert_eq!(bytes.window(0, 2000).unwrap().len(), 1000);
            assert!(bytes.shrank());
        });
    }

    #[test]
    fn only_what_was_not_cached_before_is_dropped() {
        let len = 3 * DROP_STEP;
        let file = fake(len, None);
        let dropped = file.dropped;
        with(file, len, |bytes| {
            let mut position = 0;
            while position < len {
                position += bytes.window(position, 1).unwrap().len() as u64;
            }
        });
        assert_eq!(*dropped.lock().unwrap(), [0, 2 * DROP_STEP]);
    }
}
