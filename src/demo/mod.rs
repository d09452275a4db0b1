//! The embedded demo: a small real crashed broker, and as much valid data made of its batches as is asked for.
//!
//! A batch's base offset and leader epoch lie outside of its checksum, so one batch makes any number of good ones.

mod full_disk;
mod large;
mod mirror;
mod recordings;
mod retention;
mod template;
mod tree;

pub use full_disk::{FullDisk, FullVolume, write_full_disk};
pub use large::{LargeSpec, write_large};
pub use mirror::{DemoMirror, write_mirror};
pub use recordings::{boot_recording, cluster_recording};
pub use retention::write_retention;
pub use tree::{DemoError, DemoTree, write_crashed};
