//! krescue beside real Kafka brokers: the same log dirs, recovered by both, must come out equal.
//!
//! Kafka's jars come from Maven Central into `target/kafka/VERSION`; Java 17 and `mvn` must be there, or every test fails and
//! says so. `cargo test --features real-kafka --test broker`.
//!
//! | variable | what |
//! |---|---|
//! | `KRESCUE_SEED` | the seed of the damage, printed by a failing run |
//! | `KRESCUE_ROUNDS` | how many rounds of damage, each with the next seed; 1 unless told |
//! | `KRESCUE_SOURCE` | a folder with crashed brokers to take instead of making new ones; a failing run prints it |
//! | `KRESCUE_KEEP` | set: keep the trees of a run that went well too |

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking, and tells what it counted"
)]

mod cluster;
mod decisions;
mod demo;
mod demo_cluster;
#[expect(dead_code, reason = "only what pauses an apply is used here")]
#[path = "../it/support/faults.rs"]
mod faults;
mod fidelity;
mod full_disk;
mod half_truncated;
mod hand_over;
mod imaging;
mod kills;
mod live;
mod loading;
#[path = "../it/support/memory_dir.rs"]
mod memory_dir;
mod metrics;
mod middle;
mod mirroring;
mod prefixes;
mod preflight;
mod preflight_metadata;
mod relocating;
mod retaining;
mod security;
mod set_aside;
#[expect(dead_code, reason = "no change is half done here")]
#[path = "../it/support/storage.rs"]
mod stopping_storage;
mod support;
mod truncating;
mod watch;
mod watch_accuracy;
mod watch_figures;
mod watch_signs;
