//! What the tests share.

pub(crate) mod apply;
pub(crate) mod fixture;
pub(crate) mod golden_archive;
pub(crate) mod memory_dir;
pub(crate) mod program;
pub(crate) mod storage;
