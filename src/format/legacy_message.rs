//! Messages of magic 0 and 1, and the wrappers that hold compressed ones.
//!
//! ```text
//!  0 offset     i64   of a wrapper: of its last inner message
//!  8 size       i32   bytes after this field
//! 12 crc        u32   CRC-32 of byte 16 to the message's end
//! 16 magic      i8
//! 17 attributes i8    bits 0-2 codec, bit 3 timestamp type (magic 1)
//! 18 timestamp  i64   magic 1 only
//!    key        i32 length, −1 null; bytes
//!    value      i32 length, −1 null; bytes, or the inner messages of a wrapper
//! ```
//!
//! Kafka reads every magic below 2 this way, negative ones like 1. A wrapper of magic 0 holds absolute offsets, one of
//! magic 1 relative ones. Recovery looks at no inner message, but releases since 4.1 do when they look up the log's end
//! (`AbstractLegacyRecordBatch.baseOffset`), and every failure there is fatal.

use crate::format::batch::{LOG_OVERHEAD, LOG_OVERHEAD_I64, MIN_LENGTH};
use crate::format::checksum::crc32;
use crate::format::compression::{Compression, DecompressError, Lz4Header, decompress};
use crate::format::cursor::{Cursor, FormatError};
use crate::format::record_batch::TimestampType;
use crate::terms::{Offset, Timestamp};

/// Bytes of the smallest message, its first 12 included.
pub const MIN_LEN: usize = 26;

pub(crate) const CRC_OFFSET: usize = 12;
pub(crate) const CHECKED_FROM: usize = 16;
const _: () = assert!(MIN_LEN == LOG_OVERHEAD + 4 + 1 + 1 + 4 + 4);
const _: () = assert!(MIN_LENGTH as usize == MIN_LEN - LOG_OVERHEAD);

/// The fixed fields of a message; nobody has compared the checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegacyHeader {
    /// The offset; of a wrapper that of its last inner message.
    pub offset: Offset,
    /// Bytes after the size field; a claim.
    pub size: i32,
    /// The stored checksum.
    pub crc: u32,
    /// The magic, below 2.
    pub magic: i8,
    /// Codec and timestamp type.
    pub attributes: i8,
    /// The timestamp; −1 for magic 0.
    pub timestamp: Timestamp,
}

impl LegacyHeader {
    /// Decodes the first 26 of `bytes`; `None` if there are fewer.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let header: &[u8; MIN_LEN] = bytes.first_chunk()?;
        let (offset, rest) = header.split_first_chunk()?;
        let (size, rest) = rest.split_first_chunk()?;
        let (crc, rest) = rest.split_first_chunk()?;
        let (magic, rest) = rest.split_first_chunk()?;
        let (attributes, rest) = rest.split_first_chunk()?;
        let magic = i8::from_be_bytes(*magic);
        Some(Self {
            offset: Offset(i64::from_be_bytes(*offset)),
            size: i32::from_be_bytes(*size),
            crc: u32::from_be_bytes(*crc),
            magic,
            attributes: i8::from_be_bytes(*attributes),
            timestamp: match magic {
                0 => Timestamp::NONE,
                _ => Timestamp(i64::from_be_bytes(*rest.first_chunk()?)),
            },
        })
    }

    /// Returns the codec of the value, or the number that Kafka does not know.
    pub fn compression(&self) -> Result<Compression, u8> {
        Compression::from_id(self.attributes.cast_unsigned() & 0x07)
    }

    /// Returns which clock the timestamp is from; `None` for magic 0, which has none.
    pub fn timestamp_type(&self) -> Option<TimestampType> {
        match (self.magic, self.attributes & 0x08) {
            (0, _) => None,
            (_, 0) => Some(TimestampType::CreateTime),
            _ => Some(TimestampType::LogAppendTime),
        }
    }

    /// Returns the bytes of the whole message as the size field claims; 0 where it is below −12.
    pub fn whole_len(&self) -> u64 {
        u64::try_from(i64::from(self.size) + LOG_OVERHEAD_I64).unwrap_or(0)
    }
}

/// Says whether the stored checksum of a whole message is that of its bytes.
#[inline]
pub fn crc_matches(bytes: &[u8]) -> bool {
    if bytes.len() < MIN_LEN {
        return false;
    }
    let stored = bytes.get(CRC_OFFSET..CHECKED_FROM).unwrap_or_default();
    let checked = bytes.get(CHECKED_FROM..).unwrap_or_default();
    stored == crc32(checked).to_be_bytes()
}

/// Why a message or its wrapper cannot be read; in Kafka each of these stops the start-up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LegacyError {
    /// The fields do not fit the bytes.
    #[error("message has no valid structure")]
    Structure(#[from] FormatError),
    /// The codec is one of those that Kafka does not know.
    #[error("unknown codec {0}")]
    UnknownCodec(u8),
    /// A wrapper has a magic other than 0 and 1, or is zstd, which came with magic 2.
    #[error("wrapper of magic {magic} and codec {codec} is not supported")]
    Wrapper {
        /// The wrapper's magic.
        magic: i8,
        /// The wrapper's codec.
        codec: Compression,
    },
    /// A wrapper has no value.
    #[error("wrapper has no value")]
    NullValue,
    /// A wrapper's value does not decompress.
    #[error(transparent)]
    Decompress(#[from] DecompressError),
    /// An inner message is smaller than a message can be.
    #[error("inner message has size {size}")]
    InnerSize {
        /// Its size field.
        size: i32,
    },
    /// A wrapper holds no whole message.
    #[error("wrapper holds no message")]
    NoInner,
    /// A wrapper of magic 1 lies before its last inner message.
    #[error("wrapper has offset {wrapper}, its last message {inner}")]
    WrapperOffset {
        /// The wrapper's offset.
        wrapper: Offset,
        /// The relative offset of the last inner message.
        inner: Offset,
    },
    /// An inner message is a wrapper itself.
    #[error("inner message is compressed")]
    InnerCompressed,
}

/// A message with its bytes; wrappers are resolved into these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyMessage {
    /// The absolute offset.
    pub offset: Offset,
    /// The magic of the message itself.
    pub magic: i8,
    /// Its timestamp, or its wrapper's where the broker's clock counts; −1 for magic 0.
    pub timestamp: Timestamp,
    /// The key.
    pub key: Option<Vec<u8>>,
    /// The value.
    pub value: Option<Vec<u8>>,
}

/// Returns the messages in a whole message: itself, or those it wraps, with at most `cap` plain bytes.
///
/// Messages behind a torn one in a wrapper are left out, as in Kafka.
pub fn messages(bytes: &[u8], cap: usize) -> Result<Vec<LegacyMessage>, LegacyError> {
    let header = decode_header(bytes)?;
    let codec = header.compression().map_err(LegacyError::UnknownCodec)?;
    if codec == Compression::None {
        return Ok(vec![message(&header, bytes, header.offset, None)?]);
    }
    let plain = unwrap(&header, codec, bytes, cap)?;
    let inner = split(&plain)?;
    let base = base_of(&header, &inner)?;
    inner
        .iter()
        .map(|(inner, bytes)| {
            if inner.compression().map_err(LegacyError::UnknownCodec)? != Compression::None {
                return Err(LegacyError::InnerCompressed);
            }
            message(inner, bytes, inner.offset.plus(base), Some(&header))
        })
        .collect()
}

/// Returns the base offset of a whole message as releases since 4.1 look it up: that of its first inner message.
pub fn base_offset(bytes: &[u8], cap: usize) -> Result<Offset, LegacyError> {
    let header = decode_header(bytes)?;
    let codec = header.compression().map_err(LegacyError::UnknownCodec)?;
    if codec == Compression::None {
        return Ok(header.offset);
    }
    let plain = unwrap(&header, codec, bytes, cap)?;
    let inner = split(&plain)?;
    let base = base_of(&header, &inner)?;
    let (first, _) = inner.first().ok_or(LegacyError::NoInner)?;
    match first.compression() {
        Ok(Compression::None) => Ok(first.offset.plus(base)),
        Ok(_) => Err(LegacyError::InnerCompressed),
        Err(id) => Err(LegacyError::UnknownCodec(id)),
    }
}

fn decode_header(bytes: &[u8]) -> Result<LegacyHeader, LegacyError> {
    LegacyHeader::decode(bytes).ok_or(LegacyError::Structure(FormatError::Torn {
        needed: MIN_LEN,
        available: bytes.len(),
        position: 0,
    }))
}

/// Returns the plain bytes that a wrapper holds.
fn unwrap(
    header: &LegacyHeader,
    codec: Compression,
    bytes: &[u8],
    cap: usize,
) -> Result<Vec<u8>, LegacyError> {
    let magic = header.magic;
    if !matches!(magic, 0 | 1) || codec == Compression::Zstd {
        return Err(LegacyError::Wrapper { magic, codec });
    }
    let (_, value) = key_and_value(magic, bytes)?;
    let lz4_header = match magic {
        0 => Lz4Header::Unreliable,
        _ => Lz4Header::Checked,
    };
    let value = value.ok_or(LegacyError::NullValue)?;
    Ok(decompress(codec, lz4_header, value, cap)?)
}

/// Splits the plain bytes of a wrapper into whole messages.
fn split(plain: &[u8]) -> Result<Vec<(LegacyHeader, &[u8])>, LegacyError> {
    let mut rest = plain;
    let mut inner = Vec::new();
    while let Some(prefix) = rest.first_chunk::<LOG_OVERHEAD>() {
        let [.., a, b, c, d] = *prefix;
        let size = i32::from_be_bytes([a, b, c, d]);
        if size < MIN_LENGTH {
            return Err(LegacyError::InnerSize { size });
        }
        let length = usize::try_from(size)
            .ok()
            .and_then(|size| size.checked_add(LOG_OVERHEAD));
        let Some((bytes, tail)) = length.and_then(|length| rest.split_at_checked(length)) else {
            break;
        };
        inner.push((decode_header(bytes)?, bytes));
        rest = tail;
    }
    Ok(inner)
}

/// Returns what is to be added to the offsets of a wrapper's inner messages.
fn base_of(wrapper: &LegacyHeader, inner: &[(LegacyHeader, &[u8])]) -> Result<i64, LegacyError> {
    let (last, _) = inner.last().ok_or(LegacyError::NoInner)?;
    if wrapper.magic == 0 || wrapper.offset == Offset::ZERO {
        // Some versions of librdkafka left a wrapper of magic 1 at offset 0.
        return Ok(0);
    }
    if wrapper.offset < last.offset {
        return Err(LegacyError::WrapperOffset {
            wrapper: wrapper.offset,
            inner: last.offset,
        });
    }
    Ok(wrapper.offset.0.wrapping_sub(last.offset.0))
}

fn message(
    header: &LegacyHeader,
    bytes: &[u8],
    offset: Offset,
    wrapper: Option<&LegacyHeader>,
) -> Result<LegacyMessage, LegacyError> {
    let (key, value) = key_and_value(header.magic, bytes)?;
    let appended = wrapper.filter(|wrapper| {
        header.magic == 1 && wrapper.timestamp_type() == Some(TimestampType::LogAppendTime)
    });
    Ok(LegacyMessage {
        offset,
        magic: header.magic,
        timestamp: appended.map_or(header.timestamp, |wrapper| wrapper.timestamp),
        key: key.map(<[u8]>::to_vec),
        value: value.map(<[u8]>::to_vec),
    })
}

type KeyAndValue<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

fn key_and_value(magic: i8, bytes: &[u8]) -> Result<KeyAndValue<'_>, FormatError> {
    let mut cursor = Cursor::new(bytes);
    cursor.bytes(if magic == 0 { 18 } else { 26 })?;
    Ok((nullable_bytes(&mut cursor)?, nullable_bytes(&mut cursor)?))
}

fn nullable_bytes<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, FormatError> {
    match usize::try_from(cursor.i32()?) {
        Ok(length) => cursor.bytes(length).map(Some),
        Err(_) => Ok(None),
    }
}

/// A message to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewMessage<'a> {
    /// The offset.
    pub offset: Offset,
    /// 0 or 1.
    pub magic: i8,
    /// Codec and timestamp type.
    pub attributes: i8,
    /// The timestamp; magic 0 has no field for it.
    pub timestamp: Timestamp,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value.
    pub value: Option<&'a [u8]>,
}

impl NewMessage<'_> {
    /// Encodes the message, of at most 2^31−1 bytes, with its size and checksum.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = self.magic.to_be_bytes().to_vec();
        body.extend(self.attributes.to_be_bytes());
        if self.magic != 0 {
            body.extend(self.timestamp.0.to_be_bytes());
        }
        for field in [self.key, self.value] {
            let length = field.map_or(-1, |bytes| i32::try_from(bytes.len()).unwrap_or(i32::MAX));
            body.extend(length.to_be_bytes());
            body.extend(field.unwrap_or_default());
        }
        let size = i32::try_from(body.len().saturating_add(4)).unwrap_or(i32::MAX);
        let mut out = self.offset.0.to_be_bytes().to_vec();
        out.extend(size.to_be_bytes());
        out.extend(crc32(&body).to_be_bytes());
        out.extend(body);
        out
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::batch::frame;
    use crate::format::compression::tests::compress;
    use crate::format::testing::hex;

    fn new(offset: i64, magic: i8) -> NewMessage<'static> {
        NewMessage {
            offset: Offset(offset),
            magic,
            attributes: 0,
            timestamp: Timestamp(1000 + offset),
            key: None,
            value: Some(b"v"),
        }
    }

    fn wrap(offset: i64, magic: i8, codec: Compression, plain: &[u8]) -> Vec<u8> {
        NewMessage {
            attributes: codec.id().cast_signed(),
            value: Some(&compress(codec, plain)),
            ..new(offset, magic)
        }
        .encode()
    }

    fn offsets(bytes: &[u8]) -> Vec<i64> {
        let messages = messages(bytes, 1 << 20).unwrap();
        messages.iter().map(|message| message.offset.0).collect()
    }

    #[test]
    fn messages_are_those_of_an_independent_writer() {
        // kafka-python 3.0.12: LegacyRecordBatchBuilder, append(0, 1000, b"k", b"v").
        for (magic, text) in [
            (
                0,
                "0000000000000000000000101fecd70a0000000000016b0000000176",
            ),
            (
                1,
                "000000000000000000000018e4e321bc010000000000000003e8000000016b0000000176",
            ),
        ] {
            let encoded = NewMessage {
                timestamp: Timestamp(1000),
                key: Some(b"k"),
                ..new(0, magic)
            }
            .encode();
            assert_eq!(encoded, hex(text), "magic {magic}");
        }
    }

    #[test]
    fn wrappers_of_an_independent_writer_are_resolved() {
        // As above with gzip, and append(1, 1001, None, b"w").
        for text in [
            "00000000000000000000004243220a0d0001ffffffff000000341f8b080021530d6b02ff636080030\
             1f937d7b9c02cc66c10510615670462fea5dcfdc90c0cff810024520e00fcf7abad37000000",
            "00000000000000000000004f6a0546e601010000000000000000ffffffff000000391f8b080021530d\
             6b02ff6360800389278f15f7304239cc2f800463368828830a81a4c427169b33c1d5bcfc0f04209972\
             00ab2418c147000000",
        ] {
            let bytes = hex(text);
            assert!(crc_matches(&bytes));
            let messages = messages(&bytes, 1000).unwrap();
            assert_eq!(messages.len(), 2);
            assert_eq!(messages[1].offset, Offset(1));
            assert_eq!(messages[0].key.as_deref(), Some(&b"k"[..]));
            assert_eq!(
                (messages[1].key.as_deref(), messages[1].value.as_deref()),
                (None, Some(&b"w"[..]))
            );
        }
    }

    #[test]
    fn only_magic_0_has_no_timestamp() {
        let bytes = new(5, 0).encode();
        let header = LegacyHeader::decode(&bytes).unwrap();
        assert_eq!(header.timestamp, Timestamp::NONE);
        assert_eq!(header.timestamp_type(), None);
        let header = LegacyHeader::decode(&new(5, 1).encode()).unwrap();
        assert_eq!(header.timestamp, Timestamp(1005));
        let header = LegacyHeader::decode(&new(5, -3).encode()).unwrap();
        assert_eq!(header.timestamp, Timestamp(1005));
    }

    #[test]
    fn the_checksum_covers_magic_to_end() {
        let bytes = new(5, 1).encode();
        assert_eq!(
            frame(&bytes, bytes.len() as u64).unwrap().size,
            bytes.len() as u64
        );
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert_eq!(crc_matches(&damaged), at < CRC_OFFSET, "byte {at}");
        }
    }

    #[test]
    fn offsets_in_a_wrapper_are_absolute_below_magic_1_and_relative_from_it() {
        for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4] {
            let plain = [new(7, 0).encode(), new(8, 0).encode()].concat();
            assert_eq!(offsets(&wrap(8, 0, codec, &plain)), [7, 8]);
            let plain = [new(0, 1).encode(), new(2, 1).encode()].concat();
            assert_eq!(offsets(&wrap(42, 1, codec, &plain)), [40, 42]);
            assert_eq!(offsets(&wrap(0, 1, codec, &plain)), [0, 2]);
            assert_eq!(
                base_offset(&wrap(42, 1, codec, &plain), 1 << 20),
                Ok(Offset(40))
            );
        }
        assert_eq!(base_offset(&new(9, 1).encode(), 0), Ok(Offset(9)));
    }

    #[test]
    fn the_clock_of_a_wrapper_hides_that_of_its_messages() {
        let plain = [new(0, 1).encode(), new(1, 1).encode()].concat();
        let value = compress(Compression::Gzip, &plain);
        let wrapper = |attributes| NewMessage {
            attributes,
            value: Some(&value),
            ..new(1, 1)
        };
        let timestamps = |attributes| -> Vec<i64> {
            let messages = messages(&wrapper(attributes).encode(), 1 << 20).unwrap();
            messages.iter().map(|message| message.timestamp.0).collect()
        };
        assert_eq!(timestamps(1), [1000, 1001]);
        assert_eq!(timestamps(9), [1001, 1001]);
    }

    #[test]
    fn a_torn_inner_message_ends_the_wrapper() {
        let mut plain = [new(0, 1).encode(), new(1, 1).encode()].concat();
        plain.extend(&new(2, 1).encode()[..20]);
        assert_eq!(offsets(&wrap(11, 1, Compression::Gzip, &plain)), [10, 11]);
    }

    #[test]
    fn what_kafka_refuses_in_a_wrapper_is_an_error() {
        let plain = [new(0, 1).encode(), new(5, 1).encode()].concat();
        let base = |bytes: &[u8]| base_offset(bytes, 1 << 20);
        assert_eq!(
            base(&wrap(3, 1, Compression::Gzip, &plain)),
            Err(LegacyError::WrapperOffset {
                wrapper: Offset(3),
                inner: Offset(5)
            })
        );
        assert!(matches!(
            base(&wrap(9, 1, Compression::Zstd, &plain)),
            Err(LegacyError::Wrapper { .. })
        ));
        assert!(matches!(
            base(&wrap(9, -1, Compression::Gzip, &plain)),
            Err(LegacyError::Wrapper { .. })
        ));
        assert_eq!(
            base(&wrap(9, 1, Compression::Gzip, &[])),
            Err(LegacyError::NoInner)
        );
        assert_eq!(
            base(&wrap(9, 1, Compression::Gzip, &[0; 40])),
            Err(LegacyError::InnerSize { size: 0 })
        );
        let nested = wrap(0, 1, Compression::Gzip, &plain);
        assert_eq!(
            base(&wrap(9, 1, Compression::Gzip, &nested)),
            Err(LegacyError::InnerCompressed)
        );
        let null = NewMessage {
            attributes: 1,
            value: None,
            ..new(9, 1)
        };
        assert_eq!(base(&null.encode()), Err(LegacyError::NullValue));
        let junk = NewMessage {
            attributes: 1,
            ..new(9, 1)
        };
        assert!(matches!(
            base(&junk.encode()),
            Err(LegacyError::Decompress(_))
        ));
    }

    proptest! {
        #[test]
        fn a_message_survives_the_way_there_and_back(
            offset: i64,
            one: bool,
            timestamp: i64,
            key: Option<Vec<u8>>,
            value: Option<Vec<u8>>,
        ) {
            let magic = i8::from(one);
            let message = NewMessage {
                offset: Offset(offset),
                magic,
                attributes: 0,
                timestamp: Timestamp(timestamp),
                key: key.as_deref(),
                value: value.as_deref(),
            };
            let bytes = message.encode();
            prop_assert!(crc_matches(&bytes));
            let got = messages(&bytes, 0).unwrap();
            prop_assert_eq!(got.len(), 1);
            prop_assert_eq!(got[0].offset, Offset(offset));
            prop_assert_eq!(got[0].timestamp, if one { Timestamp(timestamp) } else { Timestamp::NONE });
            prop_assert_eq!(&got[0].key, &key);
            prop_assert_eq!(&got[0].value, &value);
        }

        #[test]
        fn any_bytes_are_decoded_without_a_panic(bytes: Vec<u8>, plain: Vec<u8>, magic in 0..2_i8) {
            let _ = messages(&bytes, 1 << 16);
            let _ = base_offset(&bytes, 1 << 16);
            for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4] {
                let _ = messages(&wrap(9, magic, codec, &plain), 1 << 16);
            }
        }
    }
}
