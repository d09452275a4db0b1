//! The lz4 frame as Kafka's `Lz4BlockInputStream` reads it.
//!
//! ```text
//! 0 magic        04 22 4d 18
//! 4 flg          u8    version 1 in bits 6-7, independent blocks in bit 5, block checksums 4, content size 3,
//!                      content checksum 2
//! 5 bd           u8    4 to 7 in bits 4-6: blocks of at most 64 KiB, 256 KiB, 1 MiB, 4 MiB
//!   content_size u64   if flagged; not compared
//!   hc           u8    second byte of the xxHash32 of flg to here; magic 0 hashed the frame's magic too
//!   blocks             size u32, bit 31 = plain; bytes; xxHash32 of the bytes if flagged
//!   end                size 0; content checksum if flagged, not compared
//! ```
//!
//! The frame's integers are little-endian. Blocks that refer to others are not supported, and what follows the end is
//! ignored, both as in Kafka.

use super::codec::{Compression, DecompressError, Lz4Header};
use super::xxhash::{u32_from_le, xxh32};
use crate::format::cursor::Cursor;

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
const PLAIN: u32 = 0x8000_0000;

pub(super) fn decompress(
    bytes: &[u8],
    header: Lz4Header,
    cap: usize,
) -> Result<Vec<u8>, DecompressError> {
    let mut cursor = Cursor::new(bytes);
    let frame = Frame::read(&mut cursor, header)?;
    let mut out = Vec::new();
    let mut buffer = Vec::new();
    while let Some(block) = frame.next_block(&mut cursor)? {
        let plain = match block {
            Block::Plain(bytes) => bytes,
            Block::Packed(bytes) => {
                buffer.resize(frame.max_block, 0);
                let length =
                    lz4_flex::block::decompress_into(bytes, &mut buffer).map_err(corrupt)?;
                buffer.get(..length).unwrap_or_default()
            }
        };
        if plain.len() > cap.saturating_sub(out.len()) {
            let codec = Compression::Lz4;
            return Err(DecompressError::TooLarge { codec, cap });
        }
        out.extend(plain);
    }
    Ok(out)
}

enum Block<'a> {
    Plain(&'a [u8]),
    Packed(&'a [u8]),
}

struct Frame {
    max_block: usize,
    flags: u8,
}

impl Frame {
    const CONTENT_CHECKSUM: u8 = 0x04;
    const CONTENT_SIZE: u8 = 0x08;
    const BLOCK_CHECKSUM: u8 = 0x10;

    fn read(cursor: &mut Cursor<'_>, header: Lz4Header) -> Result<Self, DecompressError> {
        if cursor.array().map_err(corrupt)? != MAGIC {
            return Err(corrupt("no lz4 frame"));
        }
        let descriptor = cursor.rest();
        let [flags, block] = cursor.array().map_err(corrupt)?;
        if flags & 0xe3 != 0x60 {
            return Err(corrupt(format_args!(
                "frame flags {flags:#04x} are not supported"
            )));
        }
        if !matches!(block, 0x40 | 0x50 | 0x60 | 0x70) {
            return Err(corrupt(format_args!(
                "block descriptor {block:#04x} is not valid"
            )));
        }
        let mut length = 2;
        if flags & Self::CONTENT_SIZE != 0 {
            cursor.bytes(8).map_err(corrupt)?;
            length += 8;
        }
        let [stored] = cursor.array().map_err(corrupt)?;
        let [.., computed, _] = xxh32(descriptor.get(..length).unwrap_or_default()).to_be_bytes();
        if header == Lz4Header::Checked && stored != computed {
            return Err(corrupt("frame descriptor's checksum does not match"));
        }
        Ok(Self {
            max_block: 1 << (2 * (block >> 4) + 8),
            flags,
        })
    }

    fn next_block<'a>(
        &self,
        cursor: &mut Cursor<'a>,
    ) -> Result<Option<Block<'a>>, DecompressError> {
        let word = u32_from_le(cursor.array().map_err(corrupt)?);
        let size = usize::try_from(word & !PLAIN).map_err(corrupt)?;
        if size == 0 {
            if self.flags & Self::CONTENT_CHECKSUM != 0 {
                cursor.bytes(4).map_err(corrupt)?;
            }
            return Ok(None);
        }
        if size > self.max_block {
            return Err(corrupt(format_args!("block of {size} bytes is too long")));
        }
        let bytes = cursor.bytes(size).map_err(corrupt)?;
        if self.flags & Self::BLOCK_CHECKSUM != 0 {
            let stored = u32_from_le(cursor.array().map_err(corrupt)?);
            if stored != xxh32(bytes) {
                return Err(corrupt("block's checksum does not match"));
            }
        }
        Ok(Some(if word & PLAIN == 0 {
            Block::Packed(bytes)
        } else {
            Block::Plain(bytes)
        }))
    }
}

fn corrupt(detail: impl std::fmt::Display) -> DecompressError {
    DecompressError::corrupt(Compression::Lz4, detail)
}

#[cfg(test)]
mod tests {
    use super::super::codec::tests::compress;
    use super::*;

    #[test]
    fn a_wrong_header_checksum_matters_only_since_magic_1() {
        let mut bytes = compress(Compression::Lz4, b"kafka");
        bytes[6] ^= 0xff;
        assert!(decompress(&bytes, Lz4Header::Checked, 100).is_err());
        assert_eq!(
            decompress(&bytes, Lz4Header::Unreliable, 100),
            Ok(b"kafka".to_vec())
        );
    }

    #[test]
    fn a_frame_by_the_reference_tool_is_read() {
        // printf kafka | lz4 -c --no-frame-crc
        let bytes = [
            0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 5, 0, 0, 0x80, b'k', b'a', b'f', b'k', b'a',
            0, 0, 0, 0,
        ];
        assert_eq!(
            decompress(&bytes, Lz4Header::Checked, 5),
            Ok(b"kafka".to_vec())
        );
    }

    #[test]
    fn dependent_blocks_are_refused_as_kafka_does() {
        let mut bytes = compress(Compression::Lz4, b"kafka");
        bytes[4] &= !0x20;
        assert!(decompress(&bytes, Lz4Header::Unreliable, 100).is_err());
    }
}
