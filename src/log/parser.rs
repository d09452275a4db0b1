//! What the push parsers of a segment's bytes have in common.

use crate::terms::Position;

/// Sizes that decide where index entries fall and how many fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SegmentLimits {
    /// `index.interval.bytes`.
    pub index_interval_bytes: i32,
    /// `segment.index.bytes`: the size of a fresh index, in bytes.
    pub segment_index_bytes: i32,
}

/// What a parser wants after a window of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feed {
    /// It goes on at [`SegmentParser::position`], and needs at least `needed` bytes from there (fewer only where the
    /// file ends). `needed` never passes the length of file that the parser was told.
    More {
        /// Bytes from the new position on, at least.
        needed: usize,
    },
    /// It has seen enough.
    Done,
}

/// A parser that is fed one file's bytes, window by window, and never opens it.
///
/// The caller reads at `position()`, calls `feed` with what it got, and goes on until [`Feed::Done`]. The position may
/// jump ahead of what was fed (then the bytes between need not be read) or back into what was read before. A window
/// shorter than `needed` means that the file shrank: the parser takes it as the file's end.
pub trait SegmentParser {
    /// Returns where in the file the next window starts.
    fn position(&self) -> Position;

    /// Takes the bytes at `position()`; consumes what it can.
    fn feed(&mut self, window: &[u8]) -> Feed;
}
