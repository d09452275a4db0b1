//! Several CRC-32Cs at once.
//!
//! The processor's instruction begins each cycle and ends three cycles later, and a stream's next one needs its result:
//! one short stream runs at a third of the speed that four side by side reach.

#[cfg(target_arch = "x86_64")]
use super::{folding, wide_folding};

/// How many checksums are computed at once.
pub const LANES: usize = 4;

/// Bytes of one instruction.
pub(super) const WORD: usize = 8;
/// What is left of a piece when the shortest ends is left to the crate from this length on.
const LONG_REST: usize = 256;

/// Says whether each of several pieces is summed by wide carry-less multiplication.
#[inline]
pub(super) fn are_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    return wide_folding::is_there();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Returns the CRC-32C of each piece: fastest where they are about as long, up to 16 KiB.
#[inline]
pub fn crc32c_each(pieces: [&[u8]; LANES]) -> [u32; LANES] {
    #[cfg(target_arch = "x86_64")]
    if wide_folding::is_there() {
        #[expect(unsafe_code, reason = "the processor was asked for what this needs")]
        // SAFETY: the function is safe code, compiled for instructions that this processor has.
        return unsafe { wide_folding::by_wide(pieces) };
    }
    #[cfg(target_arch = "x86_64")]
    if folding::is_there() {
        #[expect(unsafe_code, reason = "the processor was asked for what this needs")]
        // SAFETY: the function is safe code, compiled for instructions that this processor has.
        return unsafe { folding::by_both(pieces) };
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") {
        #[expect(unsafe_code, reason = "the processor was asked for what this needs")]
        // SAFETY: the function is safe code, compiled for SSE 4.2, which this processor has.
        return unsafe { side_by_side(pieces) };
    }
    pieces.map(crc32c::crc32c)
}

/// Returns the CRC-32C of each piece by the processor's instruction alone.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
pub(super) fn side_by_side(pieces: [&[u8]; LANES]) -> [u32; LANES] {
    use std::arch::x86_64::_mm_crc32_u64;

    // Spelt out: `map` and `zip` of arrays are compiled without SSE 4.2, and stay calls.
    let [of_a, of_b, of_c, of_d] = pieces;
    let (a, b) = (of_a.as_chunks::<WORD>().0, of_b.as_chunks::<WORD>().0);
    let (c, d) = (of_c.as_chunks::<WORD>().0, of_d.as_chunks::<WORD>().0);
    let [mut sum_a, mut sum_b, mut sum_c, mut sum_d] = [u64::from(u32::MAX); LANES];
    let mut done = 0;
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        sum_a = _mm_crc32_u64(sum_a, word(*a));
        sum_b = _mm_crc32_u64(sum_b, word(*b));
        sum_c = _mm_crc32_u64(sum_c, word(*c));
        sum_d = _mm_crc32_u64(sum_d, word(*d));
        done += WORD;
    }
    [
        finish(sum_a, of_a.get(done..).unwrap_or_default()),
        finish(sum_b, of_b.get(done..).unwrap_or_default()),
        finish(sum_c, of_c.get(done..).unwrap_or_default()),
        finish(sum_d, of_d.get(done..).unwrap_or_default()),
    ]
}

/// Adds the rest of a piece to its sum.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse4.2")]
pub(super) fn finish(mut sum: u64, rest: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u16, _mm_crc32_u32, _mm_crc32_u64};

    if rest.len() >= LONG_REST {
        return crc32c::crc32c_append(!low(sum), rest);
    }
    let (words, rest) = rest.as_chunks::<WORD>();
    for bytes in words {
        sum = _mm_crc32_u64(sum, word(*bytes));
    }
    // Each step waits for the one before: three at the most, not seven.
    let (four, rest) = rest.as_chunks::<4>();
    let (two, one) = rest.as_chunks::<2>();
    let mut sum = low(sum);
    for bytes in four {
        sum = _mm_crc32_u32(sum, u32::from_be_bytes(*bytes).swap_bytes());
    }
    for bytes in two {
        sum = _mm_crc32_u16(sum, u16::from_be_bytes(*bytes).swap_bytes());
    }
    for byte in one {
        sum = _mm_crc32_u8(sum, *byte);
    }
    !sum
}

/// Returns the word that the instruction takes: the first byte is the lowest.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn word(bytes: [u8; WORD]) -> u64 {
    u64::from_be_bytes(bytes).swap_bytes()
}

#[cfg(target_arch = "x86_64")]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the instruction leaves the upper half zero"
)]
#[inline]
pub(super) fn low(sum: u64) -> u32 {
    sum as u32
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_sum_is_that_of_the_crate(
            bytes in vec(any::<u8>(), 0..3000),
            cuts in vec(0_usize..3000, 2 * LANES),
        ) {
            let mut pieces = [&[] as &[u8]; LANES];
            for (piece, cut) in pieces.iter_mut().zip(cuts.chunks(2)) {
                let (from, to) = (cut[0].min(cut[1]), cut[0].max(cut[1]));
                *piece = bytes.get(from.min(bytes.len())..to.min(bytes.len())).unwrap();
            }
            check(pieces);
        }

        #[test]
        fn so_it_is_for_pieces_of_like_length(
            bytes in vec(any::<u8>(), 1000..4000),
            extra in vec(0_usize..20, LANES),
            len in 0_usize..900,
        ) {
            let mut pieces = [&[] as &[u8]; LANES];
            for (piece, extra) in pieces.iter_mut().zip(extra) {
                *piece = &bytes[extra..2 * extra + len];
            }
            check(pieces);
        }
    }

    /// Holds each way that this processor has against the crate.
    fn check(pieces: [&[u8]; LANES]) {
        let expected = pieces.map(crc32c::crc32c);
        assert_eq!(crc32c_each(pieces), expected);
        #[cfg(target_arch = "x86_64")]
        if wide_folding::is_there() && folding::is_there() {
            #[expect(unsafe_code, reason = "the processor was asked for what this needs")]
            // SAFETY: as in `crc32c_each`.
            let by_both = unsafe { folding::by_both(pieces) };
            assert_eq!(by_both, expected);
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("sse4.2") {
            #[expect(unsafe_code, reason = "the processor was asked for what this needs")]
            // SAFETY: as in `crc32c_each`.
            let by_instruction = unsafe { side_by_side(pieces) };
            assert_eq!(by_instruction, expected);
        }
    }
}
