//! A partition goes to another log dir of its broker while that broker is down.
//!
//! [`plan_relocation`] decides whether it may, and orders the steps. The copy is made in a dir with a `-delete` name, which a
//! boot removes by itself, under file names that no boot reads: up to the switch a boot ends where it would without the
//! move. The switch is two renames, each durable before the next: the copy takes the partition's name, then the source gives
//! it up for the `-delete` name. Between the two the partition lies in both log dirs, whole in each, and a boot exits with
//! `Duplicate log directories`; the other order would let it create an empty log. A rerun goes on from each of these states,
//! and so does a new plan, as the copy is then found in its place. On one file system the dir is renamed, and nothing copied.

mod decide;
mod inputs;
mod moved;

pub use decide::plan_relocation;
pub use inputs::{RelocationInputs, Room, SourceFile, TargetCopy};
pub use moved::{Relocation, RelocationPlan};
