//! What a boot would make of one log (`LogLoader.load`), as a machine without I/O: [`Recovery::next`] says what it needs.

mod need;

pub use need::{Need, ReplayRequest, Replayed, ScanRequest, WalkRequest, Walked};
