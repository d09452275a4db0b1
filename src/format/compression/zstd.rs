//! Zstd as zstd-jni's stream reads it: frames one after the other, skippable ones skipped, checksums compared.

use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

use super::codec::{Compression, DecompressError, read_capped};

pub(super) fn decompress(bytes: &[u8], cap: usize) -> Result<Vec<u8>, DecompressError> {
    let mut out = Vec::new();
    let mut rest = bytes;
    loop {
        match StreamingDecoder::new(&mut rest) {
            Ok(mut decoder) => {
                read_capped(Compression::Zstd, &mut decoder, &mut out, cap)?;
                let frame = decoder.into_frame_decoder();
                let stored = frame.get_checksum_from_data();
                if stored.is_some() && stored != frame.get_calculated_checksum() {
                    return Err(corrupt("content checksum does not match"));
                }
            }
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                rest = usize::try_from(length)
                    .ok()
                    .and_then(|length| rest.get(length..))
                    .ok_or_else(|| corrupt("skippable frame is torn"))?;
            }
            Err(error) => return Err(corrupt(error)),
        }
        if rest.is_empty() {
            return Ok(out);
        }
    }
}

fn corrupt(detail: impl std::fmt::Display) -> DecompressError {
    DecompressError::corrupt(Compression::Zstd, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    // printf kafka-kafka-kafka-kafka-kafka | zstd -19 --check
    const FRAME: [u8; 25] = [
        0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x68, 0x65, 0x00, 0x00, 0x30, 0x6b, 0x61, 0x66, 0x6b, 0x61,
        0x2d, 0x01, 0x00, 0xa9, 0x4b, 0x11, 0x83, 0x07, 0xa7, 0xf3,
    ];

    #[test]
    fn a_frame_by_the_reference_tool_is_read_and_its_checksum_compared() {
        let plain = b"kafka-kafka-kafka-kafka-kafka".to_vec();
        assert_eq!(decompress(&FRAME, 29), Ok(plain));
        let mut damaged = FRAME;
        damaged[24] ^= 1;
        assert_eq!(
            decompress(&damaged, 29),
            Err(corrupt("content checksum does not match"))
        );
    }

    #[test]
    fn frames_are_joined_and_skippable_ones_skipped() {
        let mut bytes = super::super::codec::tests::compress(Compression::Zstd, b"one");
        bytes.extend([0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9]);
        bytes.extend(super::super::codec::tests::compress(
            Compression::Zstd,
            b", two",
        ));
        assert_eq!(decompress(&bytes, 100), Ok(b"one, two".to_vec()));
    }
}
