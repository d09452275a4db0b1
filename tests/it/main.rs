//! The integration tests, in one binary.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "../fuzz/checks/mod.rs"]
mod checks;

mod apply_job;
mod architecture;
mod cases;
mod cli;
mod client;
#[cfg(feature = "tui")]
mod dashboard;
mod demo;
mod dump;
mod each_fault;
mod faults;
mod fuzz;
mod golden;
mod golden_on_disk;
mod killed;
mod metadata;
mod mirror;
mod ownership;
mod plan_job;
mod power_cut;
mod preflight_host;
#[cfg(feature = "tui")]
mod pty;
mod recovery;
mod relocation;
mod retention;
mod server_log;
mod set_aside;
mod state_faults;
mod support;
mod truncation;
mod undo;
mod volumes;

use support::memory_dir;
