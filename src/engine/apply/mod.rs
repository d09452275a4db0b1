//! Carries out a stored plan: what must hold before the first step, the steps of each log, the hand-over of each dir.

pub(in crate::engine) mod apply_log;
pub(in crate::engine) mod dir_progress;
pub(in crate::engine) mod hand_over;
pub(in crate::engine) mod log_failure;
pub(in crate::engine) mod log_progress;
pub(in crate::engine) mod mend;
pub(in crate::engine) mod permission;
pub(in crate::engine) mod preflight;
pub(in crate::engine) mod relocation;
pub(in crate::engine) mod run;
pub(in crate::engine) mod second_look;
pub(in crate::engine) mod space;
pub(in crate::engine) mod stamps;
