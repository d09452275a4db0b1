#![no_main]

use krescue::format::batch::frame;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut position = 0;
    while let Ok(framed) = frame(&bytes[position..], (bytes.len() - position) as u64) {
        position += usize::try_from(framed.size).unwrap();
        assert!(position <= bytes.len());
    }
});
