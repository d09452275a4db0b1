//! The state: what is known of the world, and how it is looked at.

mod logs;
mod overlay;
mod table;
mod view;
mod work;
mod world;

pub use logs::{Choice, DirRow, LogId, LogRow, Logs, Place, is_log, shortens};
pub use overlay::{CommandLine, Overlay, PROMPT_DEAF_MS, PlanDialog, Prompt};
pub use table::{Direction, Filter, LogColumn, LogTable};
pub use view::{Detail, DetailItem, HandOverChoice, NOTICE_MS, Notice, Pending, View};
pub use work::{Work, WorkKind, seconds};
pub use world::{Beside, Ended, Frozen, Setup, ShownPlan, State, World};
