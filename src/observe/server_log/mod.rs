//! A broker's log as it is written: lines of any layout, what they say of a boot, and the boot that they add up to.

mod boot;
mod event;
mod line;
mod reader;
mod tail;

pub use boot::{Boot, BootDir, BootEnd, BootLog, BootPhase, BootTrouble, Boots};
pub use event::{BootEvent, LoadedLog, RemovedSegment};
pub use line::{Level, LineTime, LogLine};
pub use reader::{LogReader, TimedEvent};
pub use tail::Tail;
