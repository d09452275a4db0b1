//! Walks a response without building it: each array's count and each text's length must be there in bytes.
//!
//! The crate that builds messages reserves memory for as many elements as an array announces, before it has seen one; a
//! broken or hostile peer could so end the process. What was walked to its end holds every element it announces.

use crate::format::{Cursor, FormatError};

/// How the messages of an API are laid out, all versions at once.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The first version with compact lengths and tagged fields.
    pub(super) flexible: i16,
    /// The fields of the message.
    pub(super) fields: &'static [Field],
    /// The tagged fields that the message's decoder knows; others are skipped by their size.
    pub(super) tagged: &'static [(u32, Kind)],
}

/// A field and the versions that have it, both ends included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    since: i16,
    until: i16,
    kind: Kind,
}

/// What a field is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// So many bytes.
    Fixed(usize),
    /// A text; may be null.
    Text,
    /// Bytes; may be null.
    Bytes,
    /// A struct behind a byte that says whether it is there.
    Optional(&'static [Field]),
    /// Structs of these fields; may be null.
    Array(&'static [Field]),
    /// Values of so many bytes; may be null.
    Numbers(usize),
}

/// Returns a field of all versions.
pub(super) const fn all(kind: Kind) -> Field {
    since(0, kind)
}

/// Returns a field that is there from `since` on.
pub(super) const fn since(since: i16, kind: Kind) -> Field {
    between(since, i16::MAX, kind)
}

/// Returns a field of the versions `since` to `until`.
pub(super) const fn between(since: i16, until: i16, kind: Kind) -> Field {
    Field { since, until, kind }
}

impl Shape {
    /// Walks `message`, of `version`; it must end where its last field ends.
    ///
    /// # Errors
    ///
    /// The first field that does not fit.
    pub fn check(&self, message: &[u8], version: i16) -> Result<(), FormatError> {
        let mut walk = Walk {
            cursor: Cursor::new(message),
            version,
            compact: version >= self.flexible,
        };
        walk.fields(self.fields)?;
        if walk.compact {
            walk.tags(self.tagged)?;
        }
        match walk.cursor.remaining() {
            0 => Ok(()),
            count => Err(FormatError::TrailingBytes {
                count,
                position: walk.cursor.position(),
            }),
        }
    }
}

/// Bytes of a length that is not compact.
#[derive(Debug, Clone, Copy)]
enum Width {
    Two,
    Four,
}

struct Walk<'a> {
    cursor: Cursor<'a>,
    version: i16,
    compact: bool,
}

impl Walk<'_> {
    fn fields(&mut self, fields: &'static [Field]) -> Result<(), FormatError> {
        for field in fields {
            if (field.since..=field.until).contains(&self.version) {
                self.kind(field.kind)?;
            }
        }
        Ok(())
    }

    fn structure(&mut self, fields: &'static [Field]) -> Result<(), FormatError> {
        self.fields(fields)?;
        if self.compact { self.tags(&[]) } else { Ok(()) }
    }

    fn kind(&mut self, kind: Kind) -> Result<(), FormatError> {
        match kind {
            Kind::Fixed(len) => self.cursor.bytes(len).map(|_| ()),
            Kind::Text => {
                let len = self.length(Width::Two)?;
                self.cursor.bytes(len).map(|_| ())
            }
            Kind::Bytes => {
                let len = self.length(Width::Four)?;
                self.cursor.bytes(len).map(|_| ())
            }
            // The decoder takes anything but 1 for absent.
            Kind::Optional(fields) => match self.cursor.i8()? {
                1 => self.structure(fields),
                _ => Ok(()),
            },
            Kind::Array(fields) => {
                for _ in 0..self.length(Width::Four)? {
                    self.structure(fields)?;
                }
                Ok(())
            }
            Kind::Numbers(len) => {
                let position = self.cursor.position();
                let count = self.length(Width::Four)?;
                let bytes = count.checked_mul(len).ok_or(FormatError::InvalidLength {
                    length: i64::try_from(count).unwrap_or(i64::MAX),
                    position,
                })?;
                self.cursor.bytes(bytes).map(|_| ())
            }
        }
    }

    /// Reads a count or length, which took `old` before there were compact ones; null is 0.
    fn length(&mut self, old: Width) -> Result<usize, FormatError> {
        let position = self.cursor.position();
        let length = match old {
            _ if self.compact => i64::from(self.cursor.unsigned_varint()?) - 1,
            Width::Two => i64::from(self.cursor.i16()?),
            Width::Four => i64::from(self.cursor.i32()?),
        };
        match length {
            -1 => Ok(0),
            _ => {
                usize::try_from(length).map_err(|_| FormatError::InvalidLength { length, position })
            }
        }
    }

    fn tags(&mut self, known: &'static [(u32, Kind)]) -> Result<(), FormatError> {
        for _ in 0..self.cursor.unsigned_varint()? {
            let tag = self.cursor.unsigned_varint()?;
            let position = self.cursor.position();
            let size = self.cursor.unsigned_varint()?;
            let Some((_, kind)) = known.iter().find(|(known, _)| *known == tag) else {
                let size = usize::try_from(size).unwrap_or(usize::MAX);
                self.cursor.bytes(size)?;
                continue;
            };
            // The decoder reads a tag that it knows by its fields, whatever size is announced.
            let begin = self.cursor.position();
            self.kind(*kind)?;
            if self.cursor.position() - begin != usize::try_from(size).unwrap_or(usize::MAX) {
                return Err(FormatError::InvalidLength {
                    length: i64::from(size),
                    position,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Shape = Shape {
        flexible: 2,
        fields: &[
            all(Kind::Array(&[all(Kind::Text), all(Kind::Numbers(4))])),
            since(1, Kind::Fixed(1)),
        ],
        tagged: &[(0, Kind::Numbers(2))],
    };

    #[test]
    fn an_array_holds_what_it_announces() {
        let good = [0, 0, 0, 1, 0, 1, b'a', 0, 0, 0, 1, 0, 0, 0, 7];
        assert_eq!(OLD.check(&good, 0), Ok(()));
        assert!(OLD.check(&good, 1).is_err(), "a field is missing");
        let mut bad = good;
        bad[0] = 0x7f;
        assert!(OLD.check(&bad, 0).is_err());
        let mut bad = good;
        bad[7] = 0x7f;
        assert!(OLD.check(&bad, 0).is_err());
    }

    #[test]
    fn compact_arrays_and_known_tags_are_walked_too() {
        let good = [2, 2, b'a', 2, 0, 0, 0, 7, 0, 1, 1, 0, 3, 2, 0, 9];
        assert_eq!(OLD.check(&good, 2), Ok(()));
        let huge = [2, 2, b'a', 2, 0, 0, 0, 7, 0, 1, 1, 0, 3, 0xff, 0xff, 0x7f];
        assert!(OLD.check(&huge, 2).is_err());
    }
}
