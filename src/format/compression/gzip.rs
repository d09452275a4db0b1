//! Gzip as Java's `GZIPInputStream` reads it.

use flate2::bufread::GzDecoder;

use super::codec::{Compression, DecompressError, read_capped};

/// Below this many bytes behind a member, Java does not look for another.
const NEXT_MEMBER_NEEDS: usize = 18;

/// Reads one member and those that follow at once; what follows otherwise is ignored.
pub(super) fn decompress(bytes: &[u8], cap: usize) -> Result<Vec<u8>, DecompressError> {
    let mut out = Vec::new();
    let mut rest = bytes;
    loop {
        let mut decoder = GzDecoder::new(rest);
        read_capped(Compression::Gzip, &mut decoder, &mut out, cap)?;
        rest = decoder.into_inner();
        if rest.len() <= NEXT_MEMBER_NEEDS || !rest.starts_with(&[0x1f, 0x8b, 8]) {
            return Ok(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::codec::tests::compress;
    use super::*;

    #[test]
    fn members_are_joined_and_junk_behind_them_is_ignored() {
        let mut bytes = compress(Compression::Gzip, b"one");
        bytes.extend(compress(Compression::Gzip, b", two"));
        bytes.extend([0; 40]);
        assert_eq!(decompress(&bytes, 100), Ok(b"one, two".to_vec()));
    }
}
