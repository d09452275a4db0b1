//! The records of `__transaction_state`, as far as they tell which producer's id belongs to which transactional id.
//!
//! ```text
//! key    version i16 (0), transactional_id string
//! value  version i16 (0, or 1 compact), producer_id i64, ... the transaction, which no answer here needs
//! ```
//!
//! A null value removes its key.

use crate::format::cursor::{Cursor, FormatError};
use crate::terms::ProducerId;

/// Decodes key and value: the transactional id and the producer that has it; `None` for a record that removes it, and for a
/// key of another version.
pub fn transactional_id<'a>(
    key: &'a [u8],
    value: Option<&[u8]>,
) -> Result<Option<(&'a str, Option<ProducerId>)>, FormatError> {
    let mut cursor = Cursor::new(key);
    if cursor.i16()? != 0 {
        return Ok(None);
    }
    let id = cursor.string()?;
    let Some(value) = value else {
        return Ok(Some((id, None)));
    };
    let mut cursor = Cursor::new(value);
    let _version = cursor.i16()?;
    Ok(Some((id, Some(ProducerId(cursor.i64()?)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_producer_has_its_transactional_id() {
        let key = b"\0\0\0\x02ab";
        let value = b"\0\x01\0\0\0\0\0\0\x0f\xa1\0\0";
        let told = transactional_id(key, Some(value)).unwrap();
        assert_eq!(told, Some(("ab", Some(ProducerId(4001)))));
        assert_eq!(transactional_id(key, None).unwrap(), Some(("ab", None)));
        assert_eq!(transactional_id(b"\0\x01\0\0", None).unwrap(), None);
        assert!(transactional_id(b"\0\0\0\x09ab", None).is_err());
        assert!(transactional_id(key, Some(b"\0\0\0")).is_err());
    }
}
