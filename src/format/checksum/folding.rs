//! CRC-32C of several pieces by two units of the processor at once: half of them by its instruction, half by carry-less
//! multiplication.
//!
//! A piece is folded 32 bytes at a time: what is so far times x to the power of 256, modulo the polynomial, plus what
//! follows. Each half of 128 bits is multiplied by a constant of its own, since they stand for different powers.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_clmulepi64_si128, _mm_crc32_u64, _mm_cvtsi128_si64, _mm_extract_epi64,
    _mm_set_epi64x, _mm_xor_si128, _mm256_castsi256_si128, _mm256_clmulepi64_epi128,
    _mm256_extracti128_si256, _mm256_set_epi64x, _mm256_xor_si256,
};

use super::lanes::{LANES, WORD, finish, side_by_side, word};

/// Bytes of one fold.
const BLOCK: usize = 32;
const POLYNOMIAL: u64 = 0x1_1EDC_6F41;
/// What carries a half of 128 bits over that many bits.
const OVER_BLOCK: [i64; 2] = carries(8 * BLOCK);
const OVER_HALF: [i64; 2] = carries(4 * BLOCK);

/// Says whether this processor has what [`by_both`] needs.
#[inline]
pub(super) fn is_there() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("vpclmulqdq")
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("sse4.2")
}

/// Returns the CRC-32C of each piece; fastest where they are about as long.
#[target_feature(enable = "sse4.2,avx2,pclmulqdq,vpclmulqdq")]
pub(super) fn by_both(pieces: [&[u8]; LANES]) -> [u32; LANES] {
    let [of_a, of_b, of_c, of_d] = pieces;
    let (a, b) = (of_a.as_chunks::<BLOCK>().0, of_b.as_chunks::<BLOCK>().0);
    let ((c, rest_c), (d, rest_d)) = (of_c.as_chunks::<BLOCK>(), of_d.as_chunks::<BLOCK>());
    let (Some((first_c, c)), Some((first_d, d))) = (c.split_first(), d.split_first()) else {
        return side_by_side(pieces);
    };
    let start = _mm256_set_epi64x(0, 0, 0, i64::from(u32::MAX));
    let [mut sum_a, mut sum_b] = [u64::from(u32::MAX); 2];
    let mut sum_c = _mm256_xor_si256(block(first_c), start);
    let mut sum_d = _mm256_xor_si256(block(first_d), start);
    let mut blocks = 0;
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        sum_c = fold(sum_c, c);
        sum_d = fold(sum_d, d);
        for (a, b) in a.as_chunks::<WORD>().0.iter().zip(b.as_chunks::<WORD>().0) {
            sum_a = _mm_crc32_u64(sum_a, word(*a));
            sum_b = _mm_crc32_u64(sum_b, word(*b));
        }
        blocks += 1;
    }
    for c in c.get(blocks..).unwrap_or_default() {
        sum_c = fold(sum_c, c);
    }
    for d in d.get(blocks..).unwrap_or_default() {
        sum_d = fold(sum_d, d);
    }
    let done = BLOCK * blocks;
    [
        finish(sum_a, of_a.get(done..).unwrap_or_default()),
        finish(sum_b, of_b.get(done..).unwrap_or_default()),
        finish(reduce(sum_c), rest_c),
        finish(reduce(sum_d), rest_d),
    ]
}

#[inline]
#[target_feature(enable = "sse4.2,avx2,pclmulqdq,vpclmulqdq")]
fn fold(sum: __m256i, next: &[u8; BLOCK]) -> __m256i {
    let [first, second] = OVER_BLOCK;
    let over = _mm256_set_epi64x(second, first, second, first);
    let carried = _mm256_xor_si256(
        _mm256_clmulepi64_epi128::<0x00>(sum, over),
        _mm256_clmulepi64_epi128::<0x11>(sum, over),
    );
    _mm256_xor_si256(carried, block(next))
}

/// Returns the sum as the processor's instruction goes on with it.
#[inline]
#[target_feature(enable = "sse4.2,avx2,pclmulqdq,vpclmulqdq")]
fn reduce(sum: __m256i) -> u64 {
    let [first, second] = OVER_HALF;
    let over: __m128i = _mm_set_epi64x(second, first);
    let (half, last) = (
        _mm256_castsi256_si128(sum),
        _mm256_extracti128_si256::<1>(sum),
    );
    let carried = _mm_xor_si128(
        _mm_clmulepi64_si128::<0x00>(half, over),
        _mm_clmulepi64_si128::<0x11>(half, over),
    );
    let sum = _mm_xor_si128(carried, last);
    let low = _mm_crc32_u64(0, _mm_cvtsi128_si64(sum).cast_unsigned());
    _mm_crc32_u64(low, _mm_extract_epi64::<1>(sum).cast_unsigned())
}

#[inline]
#[target_feature(enable = "avx2")]
fn block(bytes: &[u8; BLOCK]) -> __m256i {
    let mut words = [0; BLOCK / WORD];
    for (to, from) in words.iter_mut().zip(bytes.as_chunks::<WORD>().0) {
        *to = word(*from).cast_signed();
    }
    let [a, b, c, d] = words;
    _mm256_set_epi64x(d, c, b, a)
}

/// Returns the constants for the first and the second half of 128 bits, whose product is to stand `bits` bits further on.
///
/// A product of reflected numbers lies one bit low, and the constants lie in the lower half of 64 bits: 32 and 1 bits less.
pub(super) const fn carries(bits: usize) -> [i64; 2] {
    [reflected_power(bits + 31, 0), reflected_power(bits, 33)]
}

/// Returns x to the power of `up - down` modulo the polynomial, its bits in reverse.
const fn reflected_power(up: usize, down: usize) -> i64 {
    let (mut power, mut done) = (1_u64, 0);
    while done < up {
        power <<= 1;
        if power >> 32 != 0 {
            power ^= POLYNOMIAL;
        }
        done += 1;
    }
    done = 0;
    while done < down {
        if power & 1 != 0 {
            power ^= POLYNOMIAL;
        }
        power >>= 1;
        done += 1;
    }
    // The reduced power has 32 bits; reversed, they lie in the upper half.
    (power.reverse_bits() >> 32).cast_signed()
}
