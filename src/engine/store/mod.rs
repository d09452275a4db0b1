//! What is kept in the state dir between runs: plans under their hash, their contents, old values of a living cluster, what was verified.

pub(in crate::engine) mod content_pack;
pub(in crate::engine) mod contents;
pub(in crate::engine) mod live_store;
pub(in crate::engine) mod plan_hash;
pub(in crate::engine) mod plan_store;
pub(in crate::engine) mod verify_store;
