//! What may go to free space, ranked from what costs nothing to what costs records.
//!
//! [`plan_cleanup`] picks from what was seen: leftovers first, then segments that retention deletes anyway, then the oldest
//! segments of logs that delete, whole and as a prefix of each log, until enough is free. Compacted and internal logs, active
//! segments and what no high watermark covers are never taken. Space that costs no data at all is told as advice,
//! and so are acts of their own: a topic's shorter retention, a move to another volume.

mod choose;
mod deletion;
mod freeable;
mod groups;
mod inputs;
mod ways;

pub use choose::{CleanupChoice, CleanupPlan, plan_cleanup};
pub use deletion::{Deletion, DeletionCost};
pub use freeable::{freeable, past_retention};
pub use groups::{GroupCommits, groups_in_words};
pub use inputs::{CleanupWish, FreeableLog, FreeableSegment, Leftover, LeftoverProof, MirrorCopy};
pub use ways::{OtherWay, PartitionBytes, Room, WayAct, move_ways, shorten_ways};
