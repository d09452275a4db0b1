//! What the tests share.

pub(crate) mod apply;
pub(crate) mod config_text;
pub(crate) mod damage;
pub(crate) mod fake_broker;
pub(crate) mod faults;
pub(crate) mod fixture;
pub(crate) mod golden_archive;
pub(crate) mod jobs;
pub(crate) mod lock;
pub(crate) mod memory_dir;
pub(crate) mod memory_t4;
pub(crate) mod namespace;
pub(crate) mod power_cut;
pub(crate) mod program;
pub(crate) mod random;
pub(crate) mod storage;
pub(crate) mod volumes;
pub(crate) mod watch;
