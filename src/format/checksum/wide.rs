//! CRC-32C by wide carry-less multiplication (the feature `crc-fast`), on processors that have it.

/// Says whether this processor and this build have it.
#[inline]
pub(super) fn is_there() -> bool {
    #[cfg(all(feature = "crc-fast", target_arch = "x86_64"))]
    {
        is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("vpclmulqdq")
    }
    #[cfg(not(all(feature = "crc-fast", target_arch = "x86_64")))]
    {
        false
    }
}

/// Returns the CRC-32C of bytes whose first part has the CRC-32C `crc` and whose rest is `bytes`; `None` without it.
#[inline]
pub(super) fn crc32c_append(crc: u32, bytes: &[u8]) -> Option<u32> {
    #[cfg(all(feature = "crc-fast", target_arch = "x86_64"))]
    if is_there() {
        use crc_fast::{CrcAlgorithm::Crc32Iscsi, Digest};
        let mut digest = Digest::new_with_init_state(Crc32Iscsi, u64::from(!crc));
        digest.update(bytes);
        return u32::try_from(digest.finalize()).ok();
    }
    let _ = (crc, bytes);
    None
}
