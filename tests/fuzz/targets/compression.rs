#![no_main]

use krescue::format::compression::{Compression, Lz4Header, decompress};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else {
        return;
    };
    let header = if choice & 0x80 == 0 {
        Lz4Header::Checked
    } else {
        Lz4Header::Unreliable
    };
    if let Ok(codec) = Compression::from_id(choice & 7) {
        if let Ok(plain) = decompress(codec, header, bytes, 1 << 20) {
            assert!(plain.len() <= 1 << 20);
        }
    }
});
