//! The only module that opens Kafka's files. It changes nothing but through [`Storage`].

mod error;
mod ownership;
mod page_cache;
mod storage;
mod unpack;

pub use error::{DiskAction, DiskError};
pub use ownership::Ownership;
pub use storage::{EntryKind, FileStat, Listed, ReadAt, RealStorage, Storage};
pub use unpack::{UnpackError, unpack};
