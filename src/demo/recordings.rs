//! Recordings of real brokers.

use std::io::Read;

/// A recording of a 4.4.0 broker with two log dirs that recovers some GiB, as `watch --record` made it.
const BOOT: &[u8] = include_bytes!("../../demo-data/boot.jsonl.zst");

/// A recording of three 4.4.0 brokers, one of which stops, as `--record` made it on that broker's host.
const CLUSTER: &[u8] = include_bytes!("../../demo-data/cluster.jsonl.zst");

/// Returns the recording of a real boot.
pub fn boot_recording() -> impl Read {
    unpacked(BOOT)
}

/// Returns the recording of a real cluster with a follower that falls behind and comes back.
pub fn cluster_recording() -> impl Read {
    unpacked(CLUSTER)
}

fn unpacked(packed: &'static [u8]) -> Box<dyn Read> {
    let decoder = ruzstd::decoding::StreamingDecoder::new(packed);
    // What is embedded was packed by the build's author; an empty recording is said to be none.
    match decoder {
        Ok(decoder) => Box::new(decoder),
        Err(_) => Box::new(std::io::empty()),
    }
}
