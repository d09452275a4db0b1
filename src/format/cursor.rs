//! Bounds-checked reading of Kafka's primitives, and the error of every decoder.
//!
//! Fixed integers are big-endian. Variable-length integers are those of Kafka's `ByteUtils`: seven bits a byte, lowest
//! first, at most 5 bytes for 32 bits and 10 for 64; bits that do not fit are dropped, as Java's shifts drop them.

/// What is wrong with bytes that should be a value.
///
/// Every `position` counts from the first byte that the decoder was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Fewer bytes are left than the next field takes.
    #[error("{needed} bytes needed at {position}, {available} left")]
    Torn {
        /// Bytes that the field takes.
        needed: usize,
        /// Bytes that are left.
        available: usize,
        /// Where the field begins.
        position: usize,
    },
    /// A variable-length integer has no last byte where it must have one.
    #[error("variable-length integer at {position} does not end")]
    InvalidVarint {
        /// Where the integer begins.
        position: usize,
    },
    /// A length or count is below what its field allows.
    #[error("impossible length {length} at {position}")]
    InvalidLength {
        /// What the field says.
        length: i64,
        /// Where the field begins.
        position: usize,
    },
    /// A text is not UTF-8.
    #[error("text at {position} is not UTF-8")]
    InvalidUtf8 {
        /// Where the text begins.
        position: usize,
    },
    /// A field is null that may not be.
    #[error("null at {position}")]
    UnexpectedNull {
        /// Where the field begins.
        position: usize,
    },
    /// A version that this decoder does not know.
    #[error("unknown version {version} at {position}")]
    UnknownVersion {
        /// What the field says.
        version: i32,
        /// Where the field begins.
        position: usize,
    },
    /// Bytes follow the last field.
    #[error("{count} bytes left over at {position}")]
    TrailingBytes {
        /// How many.
        count: usize,
        /// Where they begin.
        position: usize,
    },
}

/// A place in a slice of bytes, moved forward by each read that succeeds.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    /// Returns a cursor at the first of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Returns how many bytes were read.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns how many bytes are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// Says whether no byte is left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the bytes that are left, without reading them.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// Reads `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], FormatError> {
        let (head, tail) = self
            .bytes
            .split_at_checked(count)
            .ok_or_else(|| self.torn(count))?;
        self.bytes = tail;
        self.position += count;
        Ok(head)
    }

    /// Reads `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let (head, tail) = self
            .bytes
            .split_first_chunk::<N>()
            .ok_or_else(|| self.torn(N))?;
        self.bytes = tail;
        self.position += N;
        Ok(*head)
    }

    /// Reads an `i8`.
    pub fn i8(&mut self) -> Result<i8, FormatError> {
        self.array().map(i8::from_be_bytes)
    }

    /// Reads an `i16`.
    pub fn i16(&mut self) -> Result<i16, FormatError> {
        self.array().map(i16::from_be_bytes)
    }

    /// Reads a `u16`.
    pub fn u16(&mut self) -> Result<u16, FormatError> {
        self.array().map(u16::from_be_bytes)
    }

    /// Reads an `i32`.
    pub fn i32(&mut self) -> Result<i32, FormatError> {
        self.array().map(i32::from_be_bytes)
    }

    /// Reads a `u32`.
    pub fn u32(&mut self) -> Result<u32, FormatError> {
        self.array().map(u32::from_be_bytes)
    }

    /// Reads an `i64`.
    pub fn i64(&mut self) -> Result<i64, FormatError> {
        self.array().map(i64::from_be_bytes)
    }

    /// Reads an unsigned variable-length integer of at most 5 bytes.
    pub fn unsigned_varint(&mut self) -> Result<u32, FormatError> {
        let start = self.position;
        let mut value = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.array()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(FormatError::InvalidVarint { position: start })
    }

    /// Reads an unsigned variable-length integer of at most 10 bytes.
    pub fn unsigned_varlong(&mut self) -> Result<u64, FormatError> {
        let start = self.position;
        let mut value = 0_u64;
        for shift in (0..=63).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(FormatError::InvalidVarint { position: start })
    }

    /// Reads a zigzag variable-length integer of at most 5 bytes.
    pub fn varint(&mut self) -> Result<i32, FormatError> {
        let raw = self.unsigned_varint()?;
        Ok((raw >> 1).cast_signed() ^ -((raw & 1).cast_signed()))
    }

    /// Reads a zigzag variable-length integer of at most 10 bytes.
    pub fn varlong(&mut self) -> Result<i64, FormatError> {
        let raw = self.unsigned_varlong()?;
        Ok((raw >> 1).cast_signed() ^ -((raw & 1).cast_signed()))
    }

    fn torn(&self, needed: usize) -> FormatError {
        FormatError::Torn {
            needed,
            available: self.bytes.len(),
            position: self.position,
        }
    }
}

/// Appends an unsigned variable-length integer.
pub fn put_unsigned_varint(out: &mut Vec<u8>, value: u32) {
    put_unsigned_varlong(out, u64::from(value));
}

/// Appends an unsigned variable-length integer.
pub fn put_unsigned_varlong(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [.., low] = value.to_be_bytes();
        value >>= 7;
        if value == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

/// Appends a zigzag variable-length integer.
pub fn put_varint(out: &mut Vec<u8>, value: i32) {
    put_unsigned_varint(out, (value << 1 ^ value >> 31).cast_unsigned());
}

/// Appends a zigzag variable-length integer.
pub fn put_varlong(out: &mut Vec<u8>, value: i64) {
    put_unsigned_varlong(out, (value << 1 ^ value >> 63).cast_unsigned());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn zigzag_values_are_those_of_protocol_buffers() {
        for (value, bytes) in [
            (0, &[0x00][..]),
            (-1, &[0x01]),
            (1, &[0x02]),
            (63, &[0x7e]),
            (-64, &[0x7f]),
            (64, &[0x80, 0x01]),
            (i32::MAX, &[0xfe, 0xff, 0xff, 0xff, 0x0f]),
            (i32::MIN, &[0xff, 0xff, 0xff, 0xff, 0x0f]),
        ] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(out, bytes);
            assert_eq!(Cursor::new(bytes).varint(), Ok(value));
            assert_eq!(Cursor::new(bytes).varlong(), Ok(i64::from(value)));
        }
    }

    #[test]
    fn a_varint_that_does_not_end_is_not_a_torn_one() {
        assert_eq!(
            Cursor::new(&[0x80; 5]).varint(),
            Err(FormatError::InvalidVarint { position: 0 })
        );
        assert_eq!(
            Cursor::new(&[0x80; 4]).varint(),
            Err(FormatError::Torn {
                needed: 1,
                available: 0,
                position: 4
            })
        );
        assert_eq!(
            Cursor::new(&[0xff; 10]).varlong(),
            Err(FormatError::InvalidVarint { position: 0 })
        );
    }

    #[test]
    fn bits_that_do_not_fit_are_dropped() {
        let bytes = [0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(Cursor::new(&bytes).unsigned_varint(), Ok(u32::MAX));
    }

    #[test]
    fn a_failed_read_says_how_much_is_missing() {
        let mut cursor = Cursor::new(&[0, 1, 2, 3, 4]);
        assert_eq!(cursor.i32(), Ok(0x0001_0203));
        assert_eq!(
            cursor.i16(),
            Err(FormatError::Torn {
                needed: 2,
                available: 1,
                position: 4
            })
        );
        assert_eq!((cursor.position(), cursor.remaining()), (4, 1));
    }

    proptest! {
        #[test]
        fn varints_survive_the_way_there_and_back(value: i32, long: i64, unsigned: u32) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            put_varlong(&mut out, long);
            put_unsigned_varint(&mut out, unsigned);
            let mut cursor = Cursor::new(&out);
            prop_assert_eq!(cursor.varint(), Ok(value));
            prop_assert_eq!(cursor.varlong(), Ok(long));
            prop_assert_eq!(cursor.unsigned_varint(), Ok(unsigned));
            prop_assert!(cursor.is_empty());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, count: usize) {
            let mut cursor = Cursor::new(&bytes);
            let _ = cursor.varint();
            let _ = cursor.varlong();
            let _ = cursor.bytes(count);
            let _ = cursor.i64();
            prop_assert_eq!(cursor.position() + cursor.remaining(), bytes.len());
        }
    }
}
