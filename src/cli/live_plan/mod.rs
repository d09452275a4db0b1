//! From a wish to a plan for a living cluster, by asking it.

mod configs;
mod cordon;
mod make;
mod moves;
mod quotas;
mod records;

pub(super) use configs::kept_of;
pub(super) use cordon::cordoned;
pub use make::make_live_plan;
pub(super) use make::{is_another, topic_id};
