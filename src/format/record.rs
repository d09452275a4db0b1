//! The records of a batch of magic 2.
//!
//! ```text
//! length          varint    bytes after this field
//! attributes      i8        unused
//! timestamp_delta varlong   to the batch's base timestamp
//! offset_delta    varint    to the batch's base offset
//! key             varint length, −1 null; bytes
//! value           varint length, −1 null; bytes
//! headers         varint count; each: key (varint length, bytes), value (as above)
//! ```
//!
//! The batch's checksum covers the records as they are stored, that is compressed. Counts and lengths are claims.

use std::borrow::Cow;

use crate::format::compression::{Compression, DecompressError, Lz4Header, decompress};
use crate::format::cursor::{Cursor, FormatError, put_varint, put_varlong};
use crate::format::record_batch::{BatchHeader, TimestampType, increment_sequence};
use crate::terms::{Offset, Timestamp};

/// Why the payload of a batch gives no records, or no further ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The codec is one of those that Kafka does not know.
    #[error("unknown codec {0}")]
    UnknownCodec(u8),
    /// The payload does not decompress.
    #[error(transparent)]
    Decompress(#[from] DecompressError),
    /// The batch announces a negative number of records.
    #[error("record count {count} is negative")]
    NegativeCount {
        /// The count as stored.
        count: i32,
    },
    /// The variable-length integer of a record's length does not end.
    #[error("length of record {index} does not end")]
    EndlessLength {
        /// Which record, from 0.
        index: i32,
    },
    /// The bytes end before the record's length does.
    #[error("length of record {index} is torn")]
    TornLength {
        /// Which record, from 0.
        index: i32,
    },
    /// A record is longer than what is left.
    #[error("record {index} claims {length} bytes of {available}")]
    PastEnd {
        /// Which record, from 0.
        index: i32,
        /// Its length as stored.
        length: i32,
        /// Bytes behind the length.
        available: usize,
    },
    /// The fields of a record do not fit its bytes.
    #[error("record {index} has no valid structure")]
    Structure {
        /// Which record, from 0.
        index: i32,
        /// What is wrong; positions count from behind the record's length.
        source: FormatError,
    },
    /// A record announces headers that its bytes cannot hold.
    #[error("record {index} announces {count} headers")]
    HeaderCount {
        /// Which record, from 0.
        index: i32,
        /// The count as stored.
        count: i32,
    },
    /// The fields of a record take more or fewer bytes than it announces.
    #[error("record {index} announces {length} bytes and has {read}")]
    Length {
        /// Which record, from 0.
        index: i32,
        /// Its length as stored.
        length: i32,
        /// Bytes that its fields took.
        read: usize,
    },
    /// Bytes follow the last record.
    #[error("{count} bytes follow the last record")]
    TrailingBytes {
        /// How many.
        count: usize,
    },
}

/// A record, borrowed from the plain payload of its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The attributes; no bit is in use.
    pub attributes: i8,
    /// The record's offset.
    pub offset: Offset,
    /// The record's timestamp: its own, or that of the append.
    pub timestamp: Timestamp,
    /// The record's sequence number; −1 none.
    pub sequence: i32,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is a tombstone in a compacted topic.
    pub value: Option<&'a [u8]>,
    headers: &'a [u8],
    header_count: usize,
}

impl<'a> Record<'a> {
    /// Returns how many headers the record has.
    pub fn header_count(&self) -> usize {
        self.header_count
    }

    /// Returns the headers in order, each with a key of any bytes.
    pub fn headers(&self) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> + use<'a> {
        let mut cursor = Cursor::new(self.headers);
        (0..self.header_count).map_while(move |_| header(&mut cursor).ok())
    }
}

/// Returns the plain records of a batch, at most `cap` bytes of them; plain ones are borrowed, whatever their length.
///
/// `payload` is what follows the header.
pub fn plain_records<'a>(
    header: &BatchHeader,
    payload: &'a [u8],
    cap: usize,
) -> Result<Cow<'a, [u8]>, RecordError> {
    match header.attributes.compression() {
        Err(id) => Err(RecordError::UnknownCodec(id)),
        Ok(Compression::None) => Ok(Cow::Borrowed(payload)),
        Ok(codec) => Ok(Cow::Owned(decompress(
            codec,
            Lz4Header::Checked,
            payload,
            cap,
        )?)),
    }
}

/// Iterates over the records of a batch, in the order of its bytes; ends behind the first error.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    cursor: Cursor<'a>,
    header: BatchHeader,
    read: i32,
    failed: bool,
}

impl<'a> Records<'a> {
    /// Returns the records in `plain`, what [`plain_records`] gave for the batch of `header`.
    pub fn new(header: &BatchHeader, plain: &'a [u8]) -> Self {
        Self {
            cursor: Cursor::new(plain),
            header: *header,
            read: 0,
            failed: false,
        }
    }

    fn decode_next(&mut self) -> Result<Record<'a>, RecordError> {
        let count = self.header.records_count;
        if count < 0 {
            return Err(RecordError::NegativeCount { count });
        }
        let record = decode(&mut self.cursor, &self.header, self.read)?;
        self.read += 1;
        if self.read == count && !self.cursor.is_empty() {
            return Err(RecordError::TrailingBytes {
                count: self.cursor.remaining(),
            });
        }
        Ok(record)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let done = self.header.records_count >= 0 && self.read >= self.header.records_count;
        if self.failed || done {
            return None;
        }
        let next = self.decode_next();
        self.failed = next.is_err();
        Some(next)
    }
}

fn decode<'a>(
    cursor: &mut Cursor<'a>,
    batch: &BatchHeader,
    index: i32,
) -> Result<Record<'a>, RecordError> {
    let length = cursor.varint().map_err(|error| match error {
        FormatError::InvalidVarint { .. } => RecordError::EndlessLength { index },
        _ => RecordError::TornLength { index },
    })?;
    let available = cursor.remaining();
    let past_end = RecordError::PastEnd {
        index,
        length,
        available,
    };
    let claimed = usize::try_from(length).map_err(|_| past_end.clone())?;
    let body = cursor.bytes(claimed).map_err(|_| past_end)?;
    let mut body = Cursor::new(body);
    let record = decode_body(&mut body, batch).map_err(|error| match error {
        BodyError::Structure(source) => RecordError::Structure { index, source },
        BodyError::HeaderCount(count) => RecordError::HeaderCount { index, count },
    })?;
    if !body.is_empty() {
        return Err(RecordError::Length {
            index,
            length,
            read: body.position(),
        });
    }
    Ok(record)
}

enum BodyError {
    Structure(FormatError),
    HeaderCount(i32),
}

impl From<FormatError> for BodyError {
    fn from(error: FormatError) -> Self {
        Self::Structure(error)
    }
}

fn decode_body<'a>(body: &mut Cursor<'a>, batch: &BatchHeader) -> Result<Record<'a>, BodyError> {
    let attributes = body.i8()?;
    let timestamp_delta = body.varlong()?;
    let offset_delta = body.varint()?;
    let key = nullable_bytes(body)?;
    let value = nullable_bytes(body)?;
    let count = body.varint()?;
    let header_count = usize::try_from(count)
        .ok()
        .filter(|count| *count <= body.remaining())
        .ok_or(BodyError::HeaderCount(count))?;
    let headers = body.rest();
    for _ in 0..header_count {
        header(body)?;
    }
    Ok(Record {
        attributes,
        offset: batch.base_offset.plus(i64::from(offset_delta)),
        timestamp: match batch.attributes.timestamp_type() {
            TimestampType::LogAppendTime => batch.max_timestamp,
            TimestampType::CreateTime => {
                Timestamp(batch.base_timestamp.0.wrapping_add(timestamp_delta))
            }
        },
        sequence: if batch.base_sequence >= 0 {
            increment_sequence(batch.base_sequence, offset_delta)
        } else {
            -1
        },
        key,
        value,
        headers,
        header_count,
    })
}

fn header<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a [u8], Option<&'a [u8]>), FormatError> {
    let position = cursor.position();
    let length = cursor.varint()?;
    let length = usize::try_from(length).map_err(|_| FormatError::InvalidLength {
        length: i64::from(length),
        position,
    })?;
    Ok((cursor.bytes(length)?, nullable_bytes(cursor)?))
}

/// Reads bytes behind their length; every negative length is null, as in Kafka's `Utils.readBytes`.
fn nullable_bytes<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, FormatError> {
    match usize::try_from(cursor.varint()?) {
        Ok(length) => cursor.bytes(length).map(Some),
        Err(_) => Ok(None),
    }
}

/// A record to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NewRecord<'a> {
    /// The timestamp less the batch's base timestamp.
    pub timestamp_delta: i64,
    /// The offset less the batch's base offset.
    pub offset_delta: i32,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value.
    pub value: Option<&'a [u8]>,
    /// The headers.
    pub headers: &'a [(&'a [u8], Option<&'a [u8]>)],
}

impl NewRecord<'_> {
    /// Appends the record; keys, values and headers have at most 2^31−1 bytes together.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        let mut body = vec![0];
        put_varlong(&mut body, self.timestamp_delta);
        put_varint(&mut body, self.offset_delta);
        put_nullable_bytes(&mut body, self.key);
        put_nullable_bytes(&mut body, self.value);
        put_length(&mut body, self.headers.len());
        for (key, value) in self.headers {
            put_nullable_bytes(&mut body, Some(key));
            put_nullable_bytes(&mut body, *value);
        }
        put_length(out, body.len());
        out.extend(body);
    }
}

fn put_nullable_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    if let Some(bytes) = bytes {
        put_length(out, bytes.len());
        out.extend(bytes);
    } else {
        put_varint(out, -1);
    }
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    put_varint(out, i32::try_from(length).unwrap_or(i32::MAX));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::compression::Compression;
    use crate::format::record_batch::HEADER_LEN;
    use crate::format::record_batch::tests::case_batch;

    fn header_of_case() -> BatchHeader {
        BatchHeader::decode(&case_batch(40, 1_700_000_000_000)).unwrap()
    }

    fn all(header: &BatchHeader, plain: &[u8]) -> Result<usize, RecordError> {
        let mut count = 0;
        for record in Records::new(header, plain) {
            record?;
            count += 1;
        }
        Ok(count)
    }

    #[test]
    fn the_records_of_a_plain_batch_are_borrowed_from_it() {
        let bytes = case_batch(40, 1_700_000_000_000);
        let header = header_of_case();
        let plain = plain_records(&header, &bytes[HEADER_LEN..], 0).unwrap();
        assert!(matches!(plain, Cow::Borrowed(_)));
        let records: Vec<_> = Records::new(&header, &plain).map(Result::unwrap).collect();
        assert_eq!(records.len(), 10);
        assert_eq!(records[3].offset, Offset(43));
        assert_eq!(records[3].timestamp, Timestamp(1_700_000_000_003));
        assert_eq!(records[3].key, None);
        assert_eq!(records[3].value, Some(&[43; 100][..]));
        assert_eq!(records[3].sequence, -1);
    }

    #[test]
    fn the_time_of_the_append_hides_the_records_own() {
        let bytes = case_batch(0, 0);
        let mut header = header_of_case();
        header.attributes = header.attributes.log_append_time();
        header.max_timestamp = Timestamp(77);
        let mut records = Records::new(&header, &bytes[HEADER_LEN..]);
        assert_eq!(records.next().unwrap().unwrap().timestamp, Timestamp(77));
    }

    #[test]
    fn counts_are_claims() {
        let bytes = case_batch(0, 0);
        let plain = &bytes[HEADER_LEN..];
        let with_count = |records_count| BatchHeader {
            records_count,
            ..header_of_case()
        };
        assert_eq!(all(&with_count(10), plain), Ok(10));
        assert_eq!(all(&with_count(0), plain), Ok(0));
        assert_eq!(
            all(&with_count(-1), plain),
            Err(RecordError::NegativeCount { count: -1 })
        );
        assert_eq!(
            all(&with_count(9), plain),
            Err(RecordError::TrailingBytes { count: 109 })
        );
        assert_eq!(
            all(&with_count(i32::MAX), plain),
            Err(RecordError::TornLength { index: 10 })
        );
    }

    #[test]
    fn each_defect_of_a_record_has_its_own_error() {
        let header = BatchHeader {
            records_count: 1,
            ..header_of_case()
        };
        let index = 0;
        assert_eq!(
            all(&header, &[0xff; 6]),
            Err(RecordError::EndlessLength { index })
        );
        assert_eq!(
            all(&header, &[20, 0, 0]),
            Err(RecordError::PastEnd {
                index,
                length: 10,
                available: 2
            })
        );
        assert!(matches!(
            all(&header, &[2, 0]),
            Err(RecordError::Structure { .. })
        ));
        assert_eq!(
            all(&header, &[12, 0, 0, 0, 1, 1, 2]),
            Err(RecordError::HeaderCount { index, count: 1 })
        );
        assert_eq!(
            all(&header, &[14, 0, 0, 0, 1, 1, 0, 0]),
            Err(RecordError::Length {
                index,
                length: 7,
                read: 6
            })
        );
        assert_eq!(
            plain_records(
                &BatchHeader {
                    attributes: crate::format::record_batch::Attributes(6),
                    ..header
                },
                &[],
                0
            ),
            Err(RecordError::UnknownCodec(6))
        );
    }

    #[test]
    fn compressed_records_are_those_of_the_plain_batch() {
        let bytes = case_batch(40, 0);
        for codec in crate::format::compression::tests::CODECS {
            let mut header = header_of_case();
            header.attributes = header.attributes.with_compression(codec);
            let packed = crate::format::compression::tests::compress(codec, &bytes[HEADER_LEN..]);
            let plain = plain_records(&header, &packed, 1 << 20).unwrap();
            assert_eq!(*plain, bytes[HEADER_LEN..], "{codec}");
            if codec != Compression::None {
                assert!(plain_records(&header, &packed, 100).is_err());
            }
        }
    }

    type Bytes = Option<Vec<u8>>;

    proptest! {
        #[test]
        fn records_survive_the_way_there_and_back(
            timestamp_delta: i64,
            offset_delta: i32,
            key: Bytes,
            value: Bytes,
            headers: Vec<(Vec<u8>, Bytes)>,
        ) {
            let borrowed: Vec<_> = headers.iter().map(|(k, v)| (k.as_slice(), v.as_deref())).collect();
            let record = NewRecord {
                timestamp_delta,
                offset_delta,
                key: key.as_deref(),
                value: value.as_deref(),
                headers: &borrowed,
            };
            let mut plain = Vec::new();
            record.encode_into(&mut plain);
            let header = BatchHeader { records_count: 1, ..header_of_case() };
            let got: Vec<_> = Records::new(&header, &plain).map(Result::unwrap).collect();
            prop_assert_eq!(got[0].key, key.as_deref());
            prop_assert_eq!(got[0].value, value.as_deref());
            prop_assert_eq!(got[0].offset, header.base_offset.plus(i64::from(offset_delta)));
            prop_assert_eq!(got[0].headers().collect::<Vec<_>>(), borrowed);
        }

        #[test]
        fn any_bytes_give_records_or_one_error(plain: Vec<u8>, records_count: i32) {
            let header = BatchHeader { records_count, ..header_of_case() };
            let records = Records::new(&header, &plain);
            let results: Vec<_> = records.take(plain.len() + 2).collect();
            let errors = results.iter().filter(|result| result.is_err()).count();
            prop_assert!(errors <= 1);
            for record in results.into_iter().flatten() {
                prop_assert_eq!(record.headers().count(), record.header_count());
            }
        }
    }
}
