#![no_main]

use krescue::format::clean_shutdown::parse_broker_epoch;
use krescue::format::partition_metadata::PartitionMetadata;
use krescue::format::quorum_state::QuorumState;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = parse_broker_epoch(bytes);
    let _ = QuorumState::parse(bytes);
    if let Ok(metadata) = PartitionMetadata::parse(bytes) {
        assert_eq!(PartitionMetadata::parse(&metadata.encode()), Ok(metadata));
    }
});
