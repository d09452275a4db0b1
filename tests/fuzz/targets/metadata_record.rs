#![no_main]

use krescue::format::metadata_record::MetadataRecord;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if MetadataRecord::decode(bytes).is_ok() {
        assert!(MetadataRecord::decode_type(bytes).is_ok());
    }
});
