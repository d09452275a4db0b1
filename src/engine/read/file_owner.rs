//! Owner and mode of a kept file, between a plan's text and the disk.

use std::ffi::CString;

use crate::disk::Ownership;
use crate::plan::{FileOwner, hex};

/// Returns what a plan or a journal says of an owner.
pub(in crate::engine) fn file_owner(owner: &Ownership) -> FileOwner {
    FileOwner {
        uid: owner.uid,
        gid: owner.gid,
        mode: owner.mode,
        attributes: owner
            .attributes
            .iter()
            .map(|(name, value)| (hex(name.to_bytes()), hex(value)))
            .collect(),
    }
}

/// Returns the owner that a plan or a journal speaks of; attributes that do not decode are left out.
pub(in crate::engine) fn ownership(owner: &FileOwner) -> Ownership {
    let attribute = |(name, value): &(String, String)| {
        let name = CString::new(unhex(name)?).ok()?;
        Some((name, unhex(value)?))
    };
    Ownership {
        uid: owner.uid,
        gid: owner.gid,
        mode: owner.mode,
        attributes: owner.attributes.iter().filter_map(attribute).collect(),
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_comes_back_with_its_attributes() {
        let owner = Ownership {
            uid: 1234,
            gid: 2345,
            mode: 0o640,
            attributes: vec![(c"security.selinux".to_owned(), b"u:r:t\0".to_vec())],
        };
        assert_eq!(ownership(&file_owner(&owner)), owner);
        assert_eq!((unhex("0"), unhex("zz"), unhex("é")), (None, None, None));
    }
}
