//! What the broker tests share: Kafka itself, trees on disk, damage and comparison.

pub(crate) mod broker;
pub(crate) mod compare;
pub(crate) mod kafka;
pub(crate) mod loader;
pub(crate) mod process;
pub(crate) mod random;
pub(crate) mod source;
pub(crate) mod topics;
pub(crate) mod tree;
