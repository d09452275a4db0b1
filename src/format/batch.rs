//! Where one batch ends and the next begins, whatever the magic.
//!
//! ```text
//!  0 offset  i64   magic 2: of the first record; magic 0 and 1: of the last
//!  8 length  i32   bytes after this field
//! 12         i32   magic 2: leader epoch; magic 0 and 1: CRC
//! 16 magic   i8
//! ```
//!
//! No checksum covers the first 12 bytes. The rules are those of Kafka's `FileLogInputStream`.

use crate::terms::Offset;

/// Bytes from a batch's start to the end of its magic.
pub const HEADER_UP_TO_MAGIC: usize = 17;
/// Bytes that a batch's length field does not count.
pub const LOG_OVERHEAD: usize = 12;
/// [`LOG_OVERHEAD`] for signed lengths.
pub const LOG_OVERHEAD_I64: i64 = 12;
/// The least that Kafka takes for a length: the overhead of a message of magic 0.
pub const MIN_LENGTH: i32 = 14;

const _: () = assert!(HEADER_UP_TO_MAGIC == 8 + 4 + 4 + 1);
const _: () = assert!(LOG_OVERHEAD == 8 + 4 && LOG_OVERHEAD_I64 == 8 + 4);

/// The extent of a batch that ends within its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The offset field: base offset for magic 2 and up, last offset below.
    pub offset: Offset,
    /// Bytes of the whole batch, its first 12 included.
    pub size: u64,
    /// The magic; Kafka reads 0 and below as a message, see [`Frame::is_legacy`].
    pub magic: i8,
}

impl Frame {
    /// Says whether Kafka reads the batch as a message of magic 0 or 1; negative magics count.
    #[inline]
    pub fn is_legacy(&self) -> bool {
        self.magic < 2
    }
}

/// Why no batch begins here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameEnd {
    /// The log ends: at most 17 bytes are left, or the declared batch passes the end. Kafka stops in silence.
    EndOfLog,
    /// The length field is below 14; Kafka throws `CorruptRecordException`.
    TooSmall {
        /// What the length field says.
        size: i32,
    },
}

/// Frames the batch that begins at the first of `bytes`, `remaining` bytes before the file's logical end.
///
/// `bytes` needs to hold [`HEADER_UP_TO_MAGIC`] bytes where `remaining` does; with fewer the log ends.
#[inline]
pub fn frame(bytes: &[u8], remaining: u64) -> Result<Frame, FrameEnd> {
    if remaining <= HEADER_UP_TO_MAGIC as u64 {
        return Err(FrameEnd::EndOfLog);
    }
    let Some((offset, length, magic)) = fields(bytes) else {
        return Err(FrameEnd::EndOfLog);
    };
    if length < MIN_LENGTH {
        return Err(FrameEnd::TooSmall { size: length });
    }
    let size = u64::from(length.unsigned_abs()) + LOG_OVERHEAD as u64;
    if size > remaining {
        return Err(FrameEnd::EndOfLog);
    }
    Ok(Frame {
        offset,
        size,
        magic,
    })
}

#[inline]
fn fields(bytes: &[u8]) -> Option<(Offset, i32, i8)> {
    let header: &[u8; HEADER_UP_TO_MAGIC] = bytes.first_chunk()?;
    let (offset, rest) = header.split_first_chunk()?;
    let (length, _) = rest.split_first_chunk()?;
    let [.., magic] = *header;
    Some((
        Offset(i64::from_be_bytes(*offset)),
        i32::from_be_bytes(*length),
        magic.cast_signed(),
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header(offset: i64, length: i32, magic: i8) -> Vec<u8> {
        let mut bytes = offset.to_be_bytes().to_vec();
        bytes.extend(length.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(magic.to_be_bytes());
        bytes
    }

    #[test]
    fn seventeen_bytes_are_no_batch_even_if_they_declare_one() {
        let bytes = header(0, 5, 2);
        assert_eq!(frame(&bytes, 17), Err(FrameEnd::EndOfLog));
        assert_eq!(frame(&bytes, 18), Err(FrameEnd::TooSmall { size: 5 }));
    }

    #[test]
    fn zeros_and_negative_lengths_are_too_small() {
        for size in [0, -5, 13, i32::MIN] {
            assert_eq!(
                frame(&header(0, size, 2), 4096),
                Err(FrameEnd::TooSmall { size })
            );
        }
    }

    #[test]
    fn a_batch_may_end_with_its_file_but_not_after_it() {
        let bytes = header(7, 1139, 2);
        let whole = Frame {
            offset: Offset(7),
            size: 1151,
            magic: 2,
        };
        assert_eq!(frame(&bytes, 1151), Ok(whole));
        assert_eq!(frame(&bytes, 1150), Err(FrameEnd::EndOfLog));
        assert_eq!(
            frame(&header(7, i32::MAX, 2), 1 << 31),
            Err(FrameEnd::EndOfLog)
        );
    }

    #[test]
    fn the_sign_of_the_magic_decides_the_format() {
        for (magic, legacy) in [
            (0, true),
            (1, true),
            (-128, true),
            (2, false),
            (9, false),
            (127, false),
        ] {
            let frame = frame(&header(0, 100, magic), 112).unwrap();
            assert_eq!(frame.is_legacy(), legacy);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_framed_within_what_remains(bytes: Vec<u8>, remaining: u64) {
            if let Ok(frame) = frame(&bytes, remaining) {
                prop_assert!(frame.size <= remaining && frame.size >= 26);
            }
        }
    }
}
