#![no_main]

use krescue::format::record::{Records, plain_records};
use krescue::format::record_batch::{BatchHeader, HEADER_LEN, UncheckedBatch, crc_matches};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(header) = BatchHeader::decode(bytes) {
        assert_eq!(header.encode(), bytes[..HEADER_LEN]);
        if let Ok(plain) = plain_records(&header, &bytes[HEADER_LEN..], 1 << 20) {
            // A record takes a byte at least.
            let records = Records::new(&header, &plain).take(plain.len() + 2);
            for record in records.flatten() {
                assert_eq!(record.headers().count(), record.header_count());
            }
        }
    }
    if let Ok((batch, rest)) = UncheckedBatch::split_first(bytes) {
        let whole = &bytes[..bytes.len() - rest.len()];
        assert_eq!(batch.check_crc().is_ok(), crc_matches(whole));
    }
});
