//! Bytes of files in log dirs and in the quarantine: hashed, compared, found to be zeros.

use std::ops::ControlFlow;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::disk::{DiskAction, DiskError, ReadAt, Storage};
use crate::plan::hex;

const WINDOW: usize = 256 << 10;

/// Returns the SHA-256, in lower-case hex, of the bytes from `from` up to `until`, or to the file's end before it.
pub(in crate::engine) fn hash_range(
    storage: &dyn Storage,
    path: &Path,
    from: u64,
    until: u64,
) -> Result<String, DiskError> {
    let file = storage.open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; WINDOW];
    let mut position = from;
    while position < until {
        let read = read(&*file, path, &mut buffer, (position, until))?;
        if read.is_empty() {
            break;
        }
        hash.update(read);
        position += read.len() as u64;
    }
    Ok(hex(&hash.finalize()))
}

/// Says whether all bytes from `from` up to `until` are zeros; holes are not read.
pub(in crate::engine) fn is_zeros(
    storage: &dyn Storage,
    path: &Path,
    from: u64,
    until: u64,
) -> Result<bool, DiskError> {
    let file = storage.open(path)?;
    // A block that holds the last entries is small: what is no hole mostly ends the search at once.
    let mut buffer = vec![0; 4096];
    let mut position = from;
    loop {
        let next = file
            .next_data(position)
            .map_err(|error| DiskError::new(DiskAction::Read, path, error).at(position))?;
        let Some(next) = next.filter(|next| *next < until) else {
            return Ok(true);
        };
        let read = read(&*file, path, &mut buffer, (next, until))?;
        if read.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        if read.is_empty() {
            return Ok(true);
        }
        position = next + read.len() as u64;
    }
}

/// Says whether `len` bytes of two files, each from its own position on, are there and equal.
pub(in crate::engine) fn same_bytes(
    storage: &dyn Storage,
    (a, from_a): (&Path, u64),
    (b, from_b): (&Path, u64),
    len: u64,
) -> Result<bool, DiskError> {
    let (file_a, file_b) = (storage.open(a)?, storage.open(b)?);
    let (mut buffer_a, mut buffer_b) = (vec![0; WINDOW], vec![0; WINDOW]);
    let mut done = 0;
    let mut compare = |done: &mut u64| -> Result<ControlFlow<bool>, DiskError> {
        let ours = read(&*file_a, a, &mut buffer_a, (from_a + *done, from_a + len))?;
        let theirs = read(&*file_b, b, &mut buffer_b, (from_b + *done, from_b + len))?;
        *done += ours.len() as u64;
        Ok(if ours != theirs || ours.is_empty() {
            ControlFlow::Break(false)
        } else if *done == len {
            ControlFlow::Break(true)
        } else {
            ControlFlow::Continue(())
        })
    };
    if len == 0 {
        return Ok(true);
    }
    loop {
        if let ControlFlow::Break(same) = compare(&mut done)? {
            return Ok(same);
        }
    }
}

/// Reads as much as the buffer takes from a position on, not beyond the end of the range.
fn read<'a>(
    file: &dyn ReadAt,
    path: &Path,
    buffer: &'a mut [u8],
    (position, until): (u64, u64),
) -> Result<&'a [u8], DiskError> {
    let left = usize::try_from(until.saturating_sub(position)).unwrap_or(usize::MAX);
    let size = left.min(buffer.len());
    let buffer = buffer.get_mut(..size).unwrap_or_default();
    let read = file
        .read_at(buffer, position)
        .map_err(|error| DiskError::new(DiskAction::Read, path, error).at(position))?;
    Ok(buffer.get(..read).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealStorage;

    #[test]
    fn zeros_equal_ranges_and_hashes_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        let mut bytes = vec![7; 5000];
        bytes.resize(1_000_000, 0);
        std::fs::write(&a, &bytes).unwrap();
        std::fs::write(&b, &bytes[100..]).unwrap();
        RealStorage.set_len(&a, 20 << 20).unwrap();
        let zeros = |from, until| is_zeros(&RealStorage, &a, from, until).unwrap();
        assert!(zeros(5000, 20 << 20));
        assert!(!zeros(4999, 20 << 20));
        assert!(zeros(2 << 20, 3 << 20));
        let same = |from_a, len| same_bytes(&RealStorage, (&a, from_a), (&b, 0), len).unwrap();
        assert!(same(100, 999_900));
        assert!(!same(101, 999_000));
        assert!(!same(100, 999_901), "one of them ends before");
        let hash = hash_range(&RealStorage, &b, 10, 4900).unwrap();
        assert_eq!(hash, hex(&Sha256::digest([7; 4890])));
    }
}
