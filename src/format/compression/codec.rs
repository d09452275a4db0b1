//! The codecs and the choice between them.

use std::fmt;
use std::io::Read;

use super::{gzip, lz4, snappy, zstd};

/// How the records of a batch are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// They are not.
    None,
    /// One gzip stream.
    Gzip,
    /// Snappy in the framing of xerial's `SnappyOutputStream`, or one raw block.
    Snappy,
    /// One lz4 frame of independent blocks.
    Lz4,
    /// One zstd frame.
    Zstd,
}

impl Compression {
    /// Returns the codec of `id`, or the id where Kafka knows none.
    #[inline]
    pub fn from_id(id: u8) -> Result<Self, u8> {
        match id {
            0 => Ok(Self::None),
            1 => Ok(Self::Gzip),
            2 => Ok(Self::Snappy),
            3 => Ok(Self::Lz4),
            4 => Ok(Self::Zstd),
            _ => Err(id),
        }
    }

    /// Returns the number that attributes hold for it.
    pub fn id(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        })
    }
}

/// Whether the header checksum of an lz4 frame means anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lz4Header {
    /// It is that of the standard: batches of magic 1 and up.
    Checked,
    /// Old clients computed it wrong: messages of magic 0. Kafka ignores it.
    Unreliable,
}

/// Why compressed bytes have no plain ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecompressError {
    /// The bytes are not what the codec writes.
    #[error("{codec} stream is corrupt: {detail}")]
    Corrupt {
        /// The codec that was tried.
        codec: Compression,
        /// What its decoder says.
        detail: String,
    },
    /// The plain bytes are more than the caller's cap.
    #[error("{codec} stream holds more than {cap} bytes")]
    TooLarge {
        /// The codec.
        codec: Compression,
        /// The most that the caller takes.
        cap: usize,
    },
}

impl DecompressError {
    pub(super) fn corrupt(codec: Compression, detail: impl fmt::Display) -> Self {
        Self::Corrupt {
            codec,
            detail: detail.to_string(),
        }
    }
}

/// Returns the plain bytes of `bytes`, at most `cap` of them.
///
/// Memory is `cap` and the codec's window or block (128 MiB at most, by the stream's header, for zstd).
pub fn decompress(
    codec: Compression,
    lz4_header: Lz4Header,
    bytes: &[u8],
    cap: usize,
) -> Result<Vec<u8>, DecompressError> {
    match codec {
        Compression::None if bytes.len() > cap => Err(DecompressError::TooLarge { codec, cap }),
        Compression::None => Ok(bytes.to_vec()),
        Compression::Gzip => gzip::decompress(bytes, cap),
        Compression::Snappy => snappy::decompress(bytes, cap),
        Compression::Lz4 => lz4::decompress(bytes, lz4_header, cap),
        Compression::Zstd => zstd::decompress(bytes, cap),
    }
}

/// Appends what `reader` gives, as long as `out` stays within `cap`.
pub(super) fn read_capped(
    codec: Compression,
    reader: impl Read,
    out: &mut Vec<u8>,
    cap: usize,
) -> Result<(), DecompressError> {
    let room = cap.saturating_sub(out.len());
    let mut limited = reader.take(room as u64 + 1);
    limited
        .read_to_end(out)
        .map_err(|error| DecompressError::corrupt(codec, error))?;
    if out.len() > cap {
        return Err(DecompressError::TooLarge { codec, cap });
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    pub(crate) const CODECS: [Compression; 5] = [
        Compression::None,
        Compression::Gzip,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd,
    ];

    /// Compresses as Kafka's producers do, but for the blocks' sizes.
    pub(crate) fn compress(codec: Compression, bytes: &[u8]) -> Vec<u8> {
        match codec {
            Compression::None => bytes.to_vec(),
            Compression::Gzip => {
                let mut encoder =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Snappy => {
                let mut out = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
                for block in bytes.chunks(700) {
                    let block = snap::raw::Encoder::new().compress_vec(block).unwrap();
                    out.extend(i32::try_from(block.len()).unwrap().to_be_bytes());
                    out.extend(block);
                }
                out
            }
            Compression::Lz4 => {
                let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Zstd => ruzstd::encoding::compress_to_vec(
                bytes,
                ruzstd::encoding::CompressionLevel::Fastest,
            ),
        }
    }

    #[test]
    fn an_output_above_the_cap_is_refused() {
        let bytes = vec![7; 100_000];
        for codec in CODECS {
            let packed = compress(codec, &bytes);
            let plain = |cap| decompress(codec, Lz4Header::Checked, &packed, cap);
            assert_eq!(plain(100_000), Ok(bytes.clone()), "{codec}");
            assert_eq!(
                plain(99_999),
                Err(DecompressError::TooLarge { codec, cap: 99_999 })
            );
        }
    }

    #[test]
    fn a_torn_stream_is_corrupt() {
        let bytes: Vec<u8> = (0..10_000_u32)
            .flat_map(|i| (i * i).to_be_bytes())
            .collect();
        for codec in &CODECS[1..] {
            let packed = compress(*codec, &bytes);
            for cut in [0, 3, packed.len() / 2, packed.len() - 9] {
                let plain = decompress(*codec, Lz4Header::Checked, &packed[..cut], 1 << 20);
                assert!(
                    matches!(plain, Err(DecompressError::Corrupt { .. })),
                    "{codec} {cut}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn each_codec_gives_back_what_it_got(bytes: Vec<u8>) {
            for codec in CODECS {
                let packed = compress(codec, &bytes);
                // Kafka's snappy stream has no form for nothing; ours then ends behind its header.
                prop_assert_eq!(decompress(codec, Lz4Header::Checked, &packed, bytes.len()), Ok(bytes.clone()), "{}", codec);
            }
        }

        #[test]
        fn any_bytes_are_decompressed_without_a_panic(bytes: Vec<u8>, damage in 0..64_usize, by: u8) {
            for codec in CODECS {
                let mut packed = compress(codec, &bytes);
                if let Some(byte) = packed.get_mut(damage) {
                    *byte ^= by;
                }
                for input in [&bytes, &packed] {
                    if let Ok(plain) = decompress(codec, Lz4Header::Unreliable, input, 1 << 16) {
                        prop_assert!(plain.len() <= 1 << 16);
                    }
                }
            }
        }
    }
}
