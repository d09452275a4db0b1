//! The two checksums of Kafka's files.

#[cfg(target_arch = "x86_64")]
mod folding;
mod lanes;
mod wide;
#[cfg(target_arch = "x86_64")]
mod wide_folding;

pub use lanes::{LANES, crc32c_each};

/// Returns the CRC-32C (Castagnoli) of `bytes`: batches of magic 2 and up, producer snapshots.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c_append(0, bytes)
}

/// Returns the CRC-32C of bytes whose first part has the CRC-32C `crc` (0 for none) and whose rest is `bytes`.
#[inline]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    if bytes.len() > side_by_side_up_to()
        && let Some(crc) = wide::crc32c_append(crc, bytes)
    {
        return crc;
    }
    crc32c::crc32c_append(crc, bytes)
}

/// Returns up to which length several pieces are faster summed side by side than one after the other.
#[inline]
pub fn side_by_side_up_to() -> usize {
    match (wide::is_there(), lanes::are_wide()) {
        (true, true) => 4 << 10,
        (true, false) => 512,
        (false, _) => 16 << 10,
    }
}

/// Returns the CRC-32 (zlib, IEEE) of `bytes`: messages of magic 0 and 1.
#[inline]
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Returns the CRC-32 of bytes whose first part has the CRC-32 `crc` (0 for none) and whose rest is `bytes`.
pub fn crc32_append(crc: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(crc);
    hasher.update(bytes);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_give_the_check_values_of_their_definitions() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn sums_of_parts_are_those_of_the_whole() {
        let (head, tail) = b"123456789".split_at(4);
        assert_eq!(crc32c_append(crc32c_append(0, head), tail), 0xe306_9283);
        assert_eq!(crc32_append(crc32_append(0, head), tail), 0xcbf4_3926);
    }

    #[test]
    fn pieces_give_the_checksum_of_the_whole() {
        let bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
        for split in [0, 1, 7, 64, 255, 1024, 4999, 5000] {
            let (first, rest) = bytes.split_at(split);
            assert_eq!(
                crc32c_append(crc32c(first), rest),
                crc32c(&bytes),
                "{split}"
            );
        }
        assert_eq!(crc32c_append(0, b"123456789"), 0xe306_9283);
    }
}
