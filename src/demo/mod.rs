//! The embedded demo: a small real crashed broker, and as much valid data made of its batches as is asked for.
//!
//! A batch's base offset and leader epoch lie outside of its checksum, so one batch makes any number of good ones.

mod large;
mod template;
mod tree;

pub use large::{LargeSpec, write_large};
pub use tree::{DemoError, DemoTree, write_crashed};
