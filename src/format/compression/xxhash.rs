//! xxHash32, which lz4 frames are checked with, and their little-endian integers.

const PRIME_1: u32 = 0x9e37_79b1;
const PRIME_2: u32 = 0x85eb_ca77;
const PRIME_3: u32 = 0xc2b2_ae3d;
const PRIME_4: u32 = 0x27d4_eb2f;
const PRIME_5: u32 = 0x1656_67b1;

/// Reads the integer of an lz4 frame; Kafka's own formats are big-endian.
pub(super) fn u32_from_le(mut bytes: [u8; 4]) -> u32 {
    bytes.reverse();
    u32::from_be_bytes(bytes)
}

/// Returns the xxHash32 of `bytes` with seed 0.
pub(super) fn xxh32(bytes: &[u8]) -> u32 {
    let (stripes, tail) = bytes.as_chunks::<16>();
    let mut hash = PRIME_5;
    if !stripes.is_empty() {
        let mut lanes = [
            PRIME_1.wrapping_add(PRIME_2),
            PRIME_2,
            0,
            0_u32.wrapping_sub(PRIME_1),
        ];
        for stripe in stripes {
            let (words, _) = stripe.as_chunks::<4>();
            for (lane, word) in lanes.iter_mut().zip(words) {
                *lane = lane
                    .wrapping_add(u32_from_le(*word).wrapping_mul(PRIME_2))
                    .rotate_left(13)
                    .wrapping_mul(PRIME_1);
            }
        }
        hash = lanes
            .iter()
            .zip([1, 7, 12, 18])
            .fold(0, |sum, (lane, bits)| {
                sum.wrapping_add(lane.rotate_left(bits))
            });
    }
    // The standard takes the length modulo 2^32.
    let [.., a, b, c, d] = bytes.len().to_be_bytes();
    hash = hash.wrapping_add(u32::from_be_bytes([a, b, c, d]));
    let (words, tail) = tail.as_chunks::<4>();
    for word in words {
        hash = hash
            .wrapping_add(u32_from_le(*word).wrapping_mul(PRIME_3))
            .rotate_left(17)
            .wrapping_mul(PRIME_4);
    }
    for byte in tail {
        hash = hash
            .wrapping_add(u32::from(*byte).wrapping_mul(PRIME_5))
            .rotate_left(11)
            .wrapping_mul(PRIME_1);
    }
    hash = (hash ^ hash >> 15).wrapping_mul(PRIME_2);
    hash = (hash ^ hash >> 13).wrapping_mul(PRIME_3);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_reference() {
        for (text, hash) in [
            ("", 0x02cc_5d05),
            ("a", 0x550d_7456),
            ("abc", 0x32d1_53ff),
            ("Nobody inspects the spammish repetition", 0xe229_3b2f),
        ] {
            assert_eq!(xxh32(text.as_bytes()), hash, "{text}");
        }
    }
}
