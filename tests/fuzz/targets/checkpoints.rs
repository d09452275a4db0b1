#![no_main]

use krescue::format::leader_epoch_checkpoint;
use krescue::format::offset_checkpoint::OffsetCheckpoint;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(checkpoint) = OffsetCheckpoint::parse(bytes) {
        assert_eq!(
            OffsetCheckpoint::parse(&checkpoint.encode()),
            Ok(checkpoint)
        );
    }
    if let Ok(entries) = leader_epoch_checkpoint::parse(bytes) {
        let encoded = leader_epoch_checkpoint::encode(&entries);
        assert_eq!(leader_epoch_checkpoint::parse(&encoded), Ok(entries));
    }
});
