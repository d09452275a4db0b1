//! A broker's log as it is written: lines of any layout, what they say of a boot, and the boot that they add up to.

mod boot;
mod cause;
mod cleaner;
mod dir_failure;
mod event;
mod line;
mod named;
mod older;
mod reader;
mod source;
mod tail;
mod trouble;
mod wait;

pub use boot::{Boot, BootDir, BootEnd, BootLog, BootPhase, Boots, DoneLog};
pub use cause::cause;
pub use cleaner::{CleanerLog, GivenUp};
pub use dir_failure::{DirFailure, dir_failures};
pub use event::BootEvent;
pub use line::{Level, LineTime, LogLine};
pub use named::{LoadedLog, RemovedSegment};
pub use reader::{LogReader, TimedEvent};
pub use source::LogSource;
pub use tail::Tail;
pub use trouble::BootTrouble;
