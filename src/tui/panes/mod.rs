//! The panes, one file each.

mod detail;
mod hex;
mod log;
mod mirror;
mod mirror_rows;
mod overview;
mod recovery;
mod replicas;
mod segment_rows;
mod segments;
mod volume_rows;
mod volumes;

pub use log::LogPane;
pub use mirror::MirrorPane;
pub use overview::OverviewPane;
pub use recovery::RecoveryPane;
pub use replicas::ReplicasPane;
pub use segments::SegmentsPane;
pub use volumes::VolumesPane;
