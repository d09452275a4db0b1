#![no_main]

use krescue::format::checksum::crc32c;
use krescue::format::producer_snapshot::{decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    let _ = decode(&bytes);
    // A right checksum lets the entries be looked at.
    if bytes.len() >= 10 {
        let crc = crc32c(&bytes[6..]).to_be_bytes();
        bytes[..2].copy_from_slice(&[0, 1]);
        bytes[2..6].copy_from_slice(&crc);
        if let Ok(entries) = decode(&bytes) {
            assert_eq!(decode(&encode(&entries)), Ok(entries));
        }
    }
});
