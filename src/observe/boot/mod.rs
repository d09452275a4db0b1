//! A booting broker as it is seen from outside: how far it is, where its threads are, when it will be done.

mod attempts;
mod catch_up;
mod cut_bytes;
mod dir_meter;
mod first_pass;
mod gauges;
mod log_bytes;
mod meter;
mod open_logs;
mod pace;
mod report;
mod signs;
mod signs_of_log;
mod threads;
mod told_by;
mod watch;

pub use attempts::{Attempt, History};
pub use catch_up::CatchUp;
pub use first_pass::FirstPass;
pub use log_bytes::{LogBytes, SegmentBytes, reads_per_byte};
pub use meter::{BootMeter, Reads};
pub use open_logs::{is_listening, listening_here};
pub use pace::Span;
pub use report::{BootProgress, BootReport, BootSource, DirReport, SourceReport, WorkReport};
pub use signs::{BootSigns, SignSources};
pub use signs_of_log::LoadedDir;
pub use threads::{ProcessLife, RecoveryThreads, ThreadReads, log_file_of};
pub use told_by::ToldBy;
pub use watch::{BootSources, BootWatch, Origin, SETTLE};
