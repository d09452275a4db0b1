//! CRC-32C of several pieces by carry-less multiplication of 64 bytes at once.
//!
//! As in [`folding`](super::folding), but a piece is cut into blocks from its end: what is left over at its begin, folded
//! over its own length, lies under the first whole block. So no piece has a rest, whose steps would wait for each other.

use std::arch::x86_64::{
    __m128i, __m512i, _mm_crc32_u64, _mm_cvtsi128_si64, _mm_extract_epi64, _mm_xor_si128,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_xor_si256, _mm512_castsi512_si256,
    _mm512_clmulepi64_epi128, _mm512_extracti64x4_epi64, _mm512_maskz_mov_epi8,
    _mm512_maskz_mov_epi64, _mm512_set_epi64, _mm512_ternarylogic_epi64, _mm512_xor_si512,
};

use super::folding::carries;
use super::lanes::{LANES, WORD, side_by_side, word};

/// Bytes of one fold.
const BLOCK: usize = 64;
/// What carries a half of 128 bits over a block.
const OVER_BLOCK: [i64; 2] = carries(8 * BLOCK);
/// What carries a half of 128 bits over the other quarters of its block; the last stays where it is.
const OVER_QUARTERS: [[i64; 2]; 3] = [carries(384), carries(256), carries(128)];
/// What carries a half of 128 bits over so many bytes.
const OVER_BYTES: [[i64; 2]; BLOCK] = over_bytes();
/// The lane of 64 bits that the last quarter begins with, and the next.
const LAST_QUARTER: u8 = 0b1100_0000;
/// `a ^ b ^ c` as a table of its eight results.
const XOR: i32 = 0x96;

/// Says whether this processor has what [`by_wide`] needs.
#[inline]
pub(super) fn is_there() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("vpclmulqdq")
        && is_x86_feature_detected!("sse4.2")
}

/// Returns the CRC-32C of each piece; fastest where they are about as long.
#[target_feature(enable = "sse4.2,avx512f,avx512bw,vpclmulqdq")]
pub(super) fn by_wide(pieces: [&[u8]; LANES]) -> [u32; LANES] {
    let [of_a, of_b, of_c, of_d] = pieces;
    let (Some((mut sum_a, a)), Some((mut sum_b, b)), Some((mut sum_c, c)), Some((mut sum_d, d))) =
        (begin(of_a), begin(of_b), begin(of_c), begin(of_d))
    else {
        return side_by_side(pieces);
    };
    let mut done = 0;
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        sum_a = fold(sum_a, OVER_BLOCK, a);
        sum_b = fold(sum_b, OVER_BLOCK, b);
        sum_c = fold(sum_c, OVER_BLOCK, c);
        sum_d = fold(sum_d, OVER_BLOCK, d);
        done += 1;
    }
    // Spelt out: a closure is compiled without these instructions, and stays a call.
    for a in a.get(done..).unwrap_or_default() {
        sum_a = fold(sum_a, OVER_BLOCK, a);
    }
    for b in b.get(done..).unwrap_or_default() {
        sum_b = fold(sum_b, OVER_BLOCK, b);
    }
    for c in c.get(done..).unwrap_or_default() {
        sum_c = fold(sum_c, OVER_BLOCK, c);
    }
    for d in d.get(done..).unwrap_or_default() {
        sum_d = fold(sum_d, OVER_BLOCK, d);
    }
    [reduce(sum_a), reduce(sum_b), reduce(sum_c), reduce(sum_d)]
}

/// Returns the sum up to the end of a piece's first whole block, and the blocks behind it; `None` if there is no block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
fn begin(piece: &[u8]) -> Option<(__m512i, &[[u8; BLOCK]])> {
    let (rest, blocks) = piece.as_rchunks::<BLOCK>();
    let (first, later) = blocks.split_first()?;
    let over = OVER_BYTES.get(rest.len())?;
    // The piece has at least a block, so this one holds its rest; what else it holds comes again.
    let head = block(piece.first_chunk()?);
    let head = _mm512_maskz_mov_epi8((1 << rest.len()) - 1, head);
    let start = _mm512_set_epi64(0, 0, 0, 0, 0, 0, 0, i64::from(u32::MAX));
    Some((fold(_mm512_xor_si512(head, start), *over, first), later))
}

/// Returns the sum carried over some bytes, plus the block that lies there.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn fold(sum: __m512i, [first, second]: [i64; 2], next: &[u8; BLOCK]) -> __m512i {
    let over = _mm512_set_epi64(second, first, second, first, second, first, second, first);
    _mm512_ternarylogic_epi64::<XOR>(
        _mm512_clmulepi64_epi128::<0x00>(sum, over),
        _mm512_clmulepi64_epi128::<0x11>(sum, over),
        block(next),
    )
}

/// Returns the CRC-32C that a sum stands for.
#[inline]
#[target_feature(enable = "sse4.2,avx512f,vpclmulqdq")]
fn reduce(sum: __m512i) -> u32 {
    let [first, second, third] = OVER_QUARTERS;
    let over = _mm512_set_epi64(
        0, 0, third[1], third[0], second[1], second[0], first[1], first[0],
    );
    let carried = _mm512_ternarylogic_epi64::<XOR>(
        _mm512_clmulepi64_epi128::<0x00>(sum, over),
        _mm512_clmulepi64_epi128::<0x11>(sum, over),
        _mm512_maskz_mov_epi64(LAST_QUARTER, sum),
    );
    let half = _mm256_xor_si256(
        _mm512_castsi512_si256(carried),
        _mm512_extracti64x4_epi64::<1>(carried),
    );
    let sum: __m128i = _mm_xor_si128(
        _mm256_castsi256_si128(half),
        _mm256_extracti128_si256::<1>(half),
    );
    let crc = _mm_crc32_u64(0, _mm_cvtsi128_si64(sum).cast_unsigned());
    let crc = _mm_crc32_u64(crc, _mm_extract_epi64::<1>(sum).cast_unsigned());
    !super::lanes::low(crc)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn block(bytes: &[u8; BLOCK]) -> __m512i {
    let mut words = [0; BLOCK / WORD];
    for (to, from) in words.iter_mut().zip(bytes.as_chunks::<WORD>().0) {
        *to = word(*from).cast_signed();
    }
    _mm512_set_epi64(
        words[7], words[6], words[5], words[4], words[3], words[2], words[1], words[0],
    )
}

const fn over_bytes() -> [[i64; 2]; BLOCK] {
    let mut over = [[0; 2]; BLOCK];
    let (mut bytes, mut rest) = (0, over.as_mut_slice());
    while let Some((first, later)) = rest.split_first_mut() {
        *first = carries(8 * bytes);
        bytes += 1;
        rest = later;
    }
    over
}
