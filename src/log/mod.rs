//! The log model: what one replica's files say. Pure and read-only; a bad log is a [`Finding`], never an `Err`.

mod finding;
mod parser;
mod producer_event;
mod segment_scan;

pub use finding::{Finding, FindingCode, Severity};
pub use parser::{Feed, SegmentLimits, SegmentParser};
pub use producer_event::{DataRun, EpochStart, Marker, ProducerEvent};
pub use segment_scan::{ScanStop, SegmentScan, TailReport};
