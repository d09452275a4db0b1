//! The only module that opens Kafka's files. It changes nothing but through [`Storage`].

mod error;
mod io_priority;
mod lock;
mod log_dir;
mod mounts;
mod needless;
mod open_files;
mod ownership;
mod pace;
mod page_cache;
mod plain_file;
mod private_mount;
mod segment_bytes;
mod session;
mod storage;
mod tree_usage;
mod unpack;
mod volume;

pub use error::{DiskAction, DiskError};
pub use io_priority::become_idle_reader;
pub use lock::{LOCK_FILE, LockError, LockState, LogDirLock, look_at_lock};
pub use log_dir::{LogDirListing, SubDir};
pub use mounts::{Mount, mount_of, read_mounts};
pub use needless::needless_files;
pub use open_files::{HeldFile, Writer, held_files, users_in, writers_in};
pub use ownership::Ownership;
pub use pace::Pace;
pub use private_mount::{mount_private_tmpfs, resize_private_tmpfs, unmount_private_tmpfs};
pub use segment_bytes::{ReadManner, SegmentBytes, WINDOW, WindowBuffer};
pub use session::{changes_forbidden, forbid_changes};
pub use storage::{EntryKind, FileStat, Listed, Piece, ReadAt, RealStorage, Storage};
pub use tree_usage::{TreeUsage, tree_usage};
pub use unpack::{UnpackError, unpack};
pub use volume::{Volume, VolumeSpace};
