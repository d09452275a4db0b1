#![no_main]

use krescue::format::legacy_message::{base_offset, messages};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(messages) = messages(bytes, 1 << 20) {
        assert_eq!(base_offset(bytes, 1 << 20), Ok(messages[0].offset));
    }
});
