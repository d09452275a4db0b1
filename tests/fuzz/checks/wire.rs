//! What comes over a connection.

use krescue::client::{FrameReader, MAX_FRAME, decode_any};

/// A stream, cut into pieces by its first byte: the same frames come out whatever the pieces are.
pub(crate) fn frames(bytes: &[u8]) {
    let Some((first, stream)) = bytes.split_first() else {
        return;
    };
    let whole = read(std::iter::once(stream));
    let pieces = read(stream.chunks(1 + usize::from(*first)));
    assert_eq!(whole, pieces);
    let mut again = Vec::new();
    for frame in &whole.0 {
        assert!((4..=MAX_FRAME).contains(&frame.len()));
        again.extend_from_slice(&u32::try_from(frame.len()).unwrap_or(0).to_be_bytes());
        again.extend_from_slice(frame);
    }
    assert!(stream.starts_with(&again));
}

/// Reads to the end or to a length that no broker sends.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, bool) {
    let mut reader = FrameReader::new();
    let mut frames = Vec::new();
    for piece in pieces {
        reader.feed(piece);
        loop {
            match reader.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(_) => return (frames, false),
            }
        }
    }
    (frames, true)
}

/// The APIs that krescue asks.
const KEYS: [i16; 23] = [
    2, 3, 9, 16, 17, 18, 21, 23, 32, 34, 35, 36, 44, 48, 49, 55, 75, 1, 8, 10, 15, 29, 61,
];

/// A response: the first two bytes choose API and version, the rest is the message behind its header.
pub(crate) fn responses(bytes: &[u8]) {
    let [key, version, message @ ..] = bytes else {
        return;
    };
    let key = KEYS[usize::from(*key) % KEYS.len()];
    for frame in [[&[0, 0, 0, 1], message].concat(), message.to_vec()] {
        let _ = decode_any(key, i16::from(version % 15), &frame);
    }
}
