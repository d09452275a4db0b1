#![no_main]

use krescue::format::control_record::decode_end_txn_marker;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = decode_end_txn_marker(bytes);
});
