//! The log model: what one replica's files say. Pure and read-only; a bad log is a [`Finding`], never an `Err`.

mod cut_search;
mod finding;
mod header_walk;
mod index_builder;
mod index_search;
mod java_map;
mod java_tree;
mod leader_epochs;
mod offset_search;
mod parser;
mod producer_event;
mod producer_events;
mod producer_replay;
mod producer_state;
mod segment_scan;
mod segment_scanner;
mod split_walk;
mod tail_search;
mod whole_batches;

pub use cut_search::{CutFound, CutSearch};
pub use finding::{Finding, FindingCode, Severity};
pub use header_walk::{NextOffsetWalk, Walked};
pub use index_search::{OffsetIndexSearch, TimeIndexSearch, txn_index_cut};
pub use leader_epochs::LeaderEpochs;
pub use offset_search::{Lookup, OffsetSearch};
pub use parser::{Feed, SegmentLimits, SegmentParser};
pub use producer_event::{DataRun, EpochStart, Marker, ProducerEvent};
pub use producer_replay::{ProducerReplay, Replayed};
pub use producer_state::ProducerState;
pub use segment_scan::{RebuiltIndex, ScanStop, Searched, SegmentScan, TailReport};
pub use segment_scanner::SegmentScanner;
pub use split_walk::{Piece, Split, SplitIndexing, SplitWalk};
