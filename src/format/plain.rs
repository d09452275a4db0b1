//! The primitives of Kafka's messages and schemas that are not flexible.
//!
//! ```text
//! string   i16 length, UTF-8; −1 null
//! bytes    i32 length, bytes; −1 null
//! array    i32 count, items;  −1 null
//! ```

use crate::format::cursor::{Cursor, FormatError};

impl<'a> Cursor<'a> {
    /// Reads a string that may not be null.
    pub fn string(&mut self) -> Result<&'a str, FormatError> {
        let position = self.position();
        self.nullable_string()?
            .ok_or(FormatError::UnexpectedNull { position })
    }

    /// Reads a string that may be null.
    pub fn nullable_string(&mut self) -> Result<Option<&'a str>, FormatError> {
        let position = self.position();
        let length = self.i16()?;
        if length == -1 {
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| FormatError::InvalidLength {
            length: i64::from(length),
            position,
        })?;
        let position = self.position();
        std::str::from_utf8(self.bytes(length)?)
            .map(Some)
            .map_err(|_| FormatError::InvalidUtf8 { position })
    }

    /// Reads bytes behind their length; null gives none.
    pub fn sized_bytes(&mut self) -> Result<&'a [u8], FormatError> {
        match self.plain_length()? {
            Some(length) => self.bytes(length),
            None => Ok(&[]),
        }
    }

    /// Reads the length of bytes or the count of an array; `None` for null.
    pub fn plain_length(&mut self) -> Result<Option<usize>, FormatError> {
        let position = self.position();
        let length = self.i32()?;
        if length == -1 {
            return Ok(None);
        }
        usize::try_from(length)
            .map(Some)
            .map_err(|_| FormatError::InvalidLength {
                length: i64::from(length),
                position,
            })
    }
}

/// Appends a string; one beyond 32,767 bytes is cut there, which no name in Kafka reaches.
pub fn put_string(out: &mut Vec<u8>, text: &str) {
    let length = i16::try_from(text.len()).unwrap_or(i16::MAX);
    out.extend(length.to_be_bytes());
    out.extend(text.bytes().take(usize::from(length.unsigned_abs())));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_read_behind_their_length() {
        let mut bytes = vec![];
        put_string(&mut bytes, "söt");
        bytes.extend([0xff, 0xff, 0xff, 0xfe]);
        let mut cursor = Cursor::new(&bytes);
        assert_eq!(cursor.string(), Ok("söt"));
        assert_eq!(cursor.nullable_string(), Ok(None));
        assert_eq!(
            cursor.nullable_string(),
            Err(FormatError::InvalidLength {
                length: -2,
                position: 8
            })
        );
        assert_eq!(
            Cursor::new(&[0xff, 0xff]).string(),
            Err(FormatError::UnexpectedNull { position: 0 })
        );
        assert!(Cursor::new(&[0, 0, 0, 9, 1]).sized_bytes().is_err());
    }
}
