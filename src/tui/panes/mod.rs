//! The panes, one file each.

mod detail;
mod hex;
mod log;
mod overview;
mod recovery;

pub use log::LogPane;
pub use overview::OverviewPane;
pub use recovery::RecoveryPane;
