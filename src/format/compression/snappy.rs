//! Snappy as xerial's `SnappyInputStream` reads it.
//!
//! ```text
//!  0 magic      82 53 4e 41 50 50 59 00
//!  8 version    i32   at least 1
//! 12 compatible i32
//! 16 blocks          size i32, then a raw snappy block; a further header may stand before a block
//! ```
//!
//! Bytes that do not begin so are one raw block.

use super::codec::{Compression, DecompressError};
use crate::format::cursor::Cursor;

const MAGIC: [u8; 8] = *b"\x82SNAPPY\0";
const HEADER_LEN: usize = 16;
const MIN_VERSION: i32 = 1;

pub(super) fn decompress(bytes: &[u8], cap: usize) -> Result<Vec<u8>, DecompressError> {
    let mut out = Vec::new();
    let mut cursor = Cursor::new(bytes);
    if !read_header(&mut cursor)? {
        append_block(bytes, &mut out, cap)?;
        return Ok(out);
    }
    while !cursor.is_empty() {
        if cursor.rest().starts_with(&MAGIC) && read_header(&mut cursor)? {
            continue;
        }
        let size = cursor.i32().map_err(corrupt)?;
        let size = usize::try_from(size).map_err(corrupt)?;
        append_block(cursor.bytes(size).map_err(corrupt)?, &mut out, cap)?;
    }
    Ok(out)
}

/// Reads the header if there is one.
fn read_header(cursor: &mut Cursor<'_>) -> Result<bool, DecompressError> {
    if cursor.remaining() < HEADER_LEN || !cursor.rest().starts_with(&MAGIC) {
        return Ok(false);
    }
    cursor.bytes(MAGIC.len()).map_err(corrupt)?;
    let version = cursor.i32().map_err(corrupt)?;
    cursor.i32().map_err(corrupt)?;
    if version < MIN_VERSION {
        return Err(corrupt(format_args!("version {version} is too old")));
    }
    Ok(true)
}

fn append_block(block: &[u8], out: &mut Vec<u8>, cap: usize) -> Result<(), DecompressError> {
    let too_large = DecompressError::TooLarge {
        codec: Compression::Snappy,
        cap,
    };
    let claim = snap::raw::decompress_len(block).map_err(corrupt)?;
    if claim > cap.saturating_sub(out.len()) {
        return Err(too_large);
    }
    // A snappy element of 3 bytes gives at most 64, so a larger claim is false and costs no memory.
    if claim / 64 > block.len() {
        return Err(corrupt("block claims more than its bytes can hold"));
    }
    let start = out.len();
    out.resize(start + claim, 0);
    let written = snap::raw::Decoder::new()
        .decompress(block, out.get_mut(start..).unwrap_or_default())
        .map_err(corrupt)?;
    out.truncate(start + written);
    Ok(())
}

fn corrupt(detail: impl std::fmt::Display) -> DecompressError {
    DecompressError::corrupt(Compression::Snappy, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raw_block_needs_no_framing() {
        let block = snap::raw::Encoder::new()
            .compress_vec(b"kafka-kafka-kafka")
            .unwrap();
        assert_eq!(decompress(&block, 100), Ok(b"kafka-kafka-kafka".to_vec()));
    }

    #[test]
    fn streams_may_be_joined() {
        let mut stream = MAGIC.to_vec();
        stream.extend([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 1, 0, b'a']);
        let twice = [stream.clone(), stream].concat();
        assert_eq!(decompress(&twice, 100), Ok(b"aa".to_vec()));
    }

    #[test]
    fn a_version_of_zero_is_refused() {
        let mut stream = MAGIC.to_vec();
        stream.extend([0, 0, 0, 0, 0, 0, 0, 1]);
        assert!(decompress(&stream, 100).is_err());
    }
}
