#![no_main]

use krescue::format::{offset_index, time_index, txn_index};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let entries: Vec<_> = offset_index::decode(bytes).collect();
    assert!(bytes.starts_with(&offset_index::encode(&entries)));
    let entries: Vec<_> = time_index::decode(bytes).collect();
    assert!(bytes.starts_with(&time_index::encode(&entries)));
    let entries: Vec<_> = txn_index::decode(bytes).collect();
    assert!(bytes.starts_with(&txn_index::encode(&entries)));
});
