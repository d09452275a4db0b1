//! Cuts a stream of bytes into frames.
//!
//! ```text
//! 0 length i32   bytes that follow, at least 4
//! 4 body         a response: its header, then its message
//! ```
//!
//! A length from the wire is a claim: it is checked against [`MAX_FRAME`], and memory is taken for bytes that came, never
//! for bytes that were promised.

/// The longest frame that is taken, in bytes. The metadata of a million partitions fits.
pub const MAX_FRAME: usize = 64 << 20;
/// The shortest: a correlation id.
const MIN_FRAME: usize = 4;
const LENGTH_LEN: usize = 4;

/// A length that no broker sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {length} bytes is announced; a Kafka broker sends {MIN_FRAME} to {MAX_FRAME}")]
pub struct FrameError {
    /// What the length field says.
    pub length: i32,
}

/// Collects bytes until a frame is whole.
#[derive(Debug, Default)]
pub struct FrameReader {
    pending: Vec<u8>,
}

impl FrameReader {
    /// Returns a reader that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes bytes as they came.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Returns the next whole frame without its length; `None` if more bytes are needed.
    ///
    /// # Errors
    ///
    /// A length outside of what a broker sends; the stream is worth nothing from there on.
    pub fn next_frame(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let Some(length) = self.pending.first_chunk::<LENGTH_LEN>() else {
            return Ok(None);
        };
        let length = i32::from_be_bytes(*length);
        let body = usize::try_from(length)
            .ok()
            .filter(|body| (MIN_FRAME..=MAX_FRAME).contains(body))
            .ok_or(FrameError { length })?;
        let end = LENGTH_LEN + body;
        if self.pending.len() < end {
            return Ok(None);
        }
        let rest = self.pending.split_off(end);
        let mut frame = std::mem::replace(&mut self.pending, rest);
        frame.drain(..LENGTH_LEN);
        Ok(Some(frame))
    }

    /// Returns how many bytes came that no frame has taken yet.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut() {
        let stream = [
            &[0, 0, 0, 4, 1, 2, 3, 4][..],
            &[0, 0, 0, 5, 9, 8, 7, 6, 5][..],
        ]
        .concat();
        for step in 1..=stream.len() {
            let mut reader = FrameReader::new();
            let mut frames = Vec::new();
            for part in stream.chunks(step) {
                reader.feed(part);
                while let Some(frame) = reader.next_frame().unwrap() {
                    frames.push(frame);
                }
            }
            assert_eq!(frames, [vec![1, 2, 3, 4], vec![9, 8, 7, 6, 5]]);
            assert_eq!(reader.pending(), 0);
        }
    }

    #[test]
    fn an_absurd_length_is_refused_before_anything_is_kept_for_it() {
        for length in [i32::MAX, i32::MIN, -1, 0, 3] {
            let mut reader = FrameReader::new();
            reader.feed(&length.to_be_bytes());
            assert_eq!(reader.next_frame(), Err(FrameError { length }));
            assert!(reader.pending.capacity() < 64);
        }
    }

    #[test]
    fn a_promise_takes_no_memory() {
        let mut reader = FrameReader::new();
        reader.feed(&(i32::try_from(MAX_FRAME).unwrap()).to_be_bytes());
        reader.feed(&[0; 100]);
        assert_eq!(reader.next_frame(), Ok(None));
        assert!(reader.pending.capacity() < 4096);
    }
}
