//! MirrorMaker 2 from disk, against what Kafka's own clients said of the same clusters.

mod bad_input;
mod cleanup;
mod each_lint;
mod golden;
mod hosts;
mod lints;
mod live_lints;
mod oracle;
mod readme;
mod told;
