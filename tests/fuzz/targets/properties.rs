#![no_main]

use krescue::format::meta_properties::MetaProperties;
use krescue::format::properties::Properties;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Properties::parse(bytes);
    if let Ok(meta) = MetaProperties::parse(bytes) {
        let back = MetaProperties::parse(&meta.encode("today"));
        // A cluster id beyond Latin-1 is another one when it is read back, as in Kafka.
        if meta.cluster_id.as_deref().is_none_or(str::is_ascii) {
            assert_eq!(back, Ok(meta));
        }
    }
});
