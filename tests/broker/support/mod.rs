//! What the broker tests share: Kafka itself, trees on disk, damage and comparison.

pub(crate) mod admin;
pub(crate) mod batches;
pub(crate) mod broker;
pub(crate) mod checkpoint;
mod class_archive;
pub(crate) mod compare;
#[path = "../../it/support/config_text.rs"]
pub(crate) mod config_text;
pub(crate) mod damage;
pub(crate) mod kafka;
pub(crate) mod krescue;
pub(crate) mod loader;
pub(crate) mod multiply;
#[path = "../../it/support/namespace.rs"]
pub(crate) mod namespace;
pub(crate) mod pack;
pub(crate) mod process;
pub(crate) mod random;
pub(crate) mod source;
pub(crate) mod topics;
pub(crate) mod tree;
pub(crate) mod trio;
