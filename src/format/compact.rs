//! The primitives of Kafka's flexible messages, which KRaft's records are made of.
//!
//! ```text
//! string   uvarint length + 1, UTF-8; 0 null
//! array    uvarint count + 1, items;  0 null
//! uuid     16 bytes
//! struct   its fields, then tagged ones: uvarint count, each uvarint tag, uvarint size, bytes
//! ```

use crate::format::cursor::{Cursor, FormatError};
use crate::terms::Uuid;

impl<'a> Cursor<'a> {
    /// Reads a string that may not be null.
    pub fn compact_string(&mut self) -> Result<&'a str, FormatError> {
        let position = self.position();
        self.compact_nullable_string()?
            .ok_or(FormatError::UnexpectedNull { position })
    }

    /// Reads a string that may be null.
    pub fn compact_nullable_string(&mut self) -> Result<Option<&'a str>, FormatError> {
        let Some(length) = self.compact_length()? else {
            return Ok(None);
        };
        let position = self.position();
        std::str::from_utf8(self.bytes(length)?)
            .map(Some)
            .map_err(|_| FormatError::InvalidUtf8 { position })
    }

    /// Reads an array that may not be null, item by item.
    pub fn compact_array<T>(
        &mut self,
        item: impl FnMut(&mut Self) -> Result<T, FormatError>,
    ) -> Result<Vec<T>, FormatError> {
        let position = self.position();
        self.compact_nullable_array(item)?
            .ok_or(FormatError::UnexpectedNull { position })
    }

    /// Reads an array that may be null, item by item; an item takes at least one byte.
    pub fn compact_nullable_array<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, FormatError>,
    ) -> Result<Option<Vec<T>>, FormatError> {
        let position = self.position();
        let Some(count) = self.compact_length()? else {
            return Ok(None);
        };
        if count > self.remaining() {
            return Err(FormatError::Torn {
                needed: count,
                available: self.remaining(),
                position,
            });
        }
        let mut items = vec![];
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(Some(items))
    }

    /// Reads an id.
    pub fn uuid(&mut self) -> Result<Uuid, FormatError> {
        self.array().map(Uuid)
    }

    /// Reads a bool; Kafka takes every byte but 0 for true.
    pub fn bool(&mut self) -> Result<bool, FormatError> {
        Ok(self.i8()? != 0)
    }

    /// Reads the tagged fields at a struct's end; `field` sees each with its tag and may leave bytes unread.
    pub fn tagged_fields(
        &mut self,
        mut field: impl FnMut(u32, &mut Cursor<'a>) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        for _ in 0..self.unsigned_varint()? {
            let tag = self.unsigned_varint()?;
            let position = self.position();
            let size = self.unsigned_varint()?;
            let size = usize::try_from(size).map_err(|_| FormatError::InvalidLength {
                length: i64::from(size),
                position,
            })?;
            field(tag, &mut Cursor::new(self.bytes(size)?))?;
        }
        Ok(())
    }

    /// Reads the tagged fields at a struct's end, of which none is of interest.
    pub fn skip_tagged_fields(&mut self) -> Result<(), FormatError> {
        self.tagged_fields(|_, _| Ok(()))
    }

    /// Fails if bytes are left.
    pub fn expect_end(&self) -> Result<(), FormatError> {
        if self.is_empty() {
            return Ok(());
        }
        Err(FormatError::TrailingBytes {
            count: self.remaining(),
            position: self.position(),
        })
    }

    fn compact_length(&mut self) -> Result<Option<usize>, FormatError> {
        let position = self.position();
        let length = self.unsigned_varint()?;
        length
            .checked_sub(1)
            .map(|length| {
                usize::try_from(length).map_err(|_| FormatError::InvalidLength {
                    length: i64::from(length),
                    position,
                })
            })
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lengths_are_one_more_than_what_follows() {
        let mut cursor = Cursor::new(&[3, b'h', b'i', 0, 1, 3, 7, 8, 0]);
        assert_eq!(cursor.compact_string(), Ok("hi"));
        assert_eq!(cursor.compact_nullable_string(), Ok(None));
        assert_eq!(cursor.compact_string(), Ok(""));
        assert_eq!(cursor.compact_array(Cursor::i8), Ok(vec![7, 8]));
        assert_eq!(
            cursor.expect_end(),
            Err(FormatError::TrailingBytes {
                count: 1,
                position: 8
            })
        );
        assert_eq!(
            cursor.compact_array(Cursor::i8),
            Err(FormatError::UnexpectedNull { position: 8 })
        );
    }

    #[test]
    fn a_count_above_the_bytes_left_is_torn_at_once() {
        let mut cursor = Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x0f, 1]);
        assert!(matches!(
            cursor.compact_array(Cursor::i8),
            Err(FormatError::Torn { available: 1, .. })
        ));
    }

    #[test]
    fn unknown_tags_are_skipped_by_their_size() {
        let mut cursor = Cursor::new(&[2, 0, 1, 5, 9, 2, 1, 1, 77]);
        let mut seen = vec![];
        let read = cursor.tagged_fields(|tag, field| {
            seen.push((tag, field.i8()?));
            Ok(())
        });
        assert_eq!(read, Ok(()));
        assert_eq!(seen, [(0, 5), (9, 1)]);
        assert_eq!(cursor.rest(), [77]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let _ = Cursor::new(&bytes).compact_array(|cursor| cursor.compact_nullable_string().map(|_| ()));
            let _ = Cursor::new(&bytes).skip_tagged_fields();
        }
    }
}
