//! The two checksums of Kafka's files.

/// Returns the CRC-32C (Castagnoli) of `bytes`: batches of magic 2 and up, producer snapshots.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// Returns the CRC-32C of bytes whose first part has the CRC-32C `crc` (0 for none) and whose rest is `bytes`.
#[inline]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc, bytes)
}

/// Returns the CRC-32 (zlib, IEEE) of `bytes`: messages of magic 0 and 1.
#[inline]
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_give_the_check_values_of_their_definitions() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
