//! What an apply keeps so that it can be continued or taken back: its journal, and the quarantine.

pub(in crate::engine) mod journal;
pub(in crate::engine) mod kept_plans;
pub(in crate::engine) mod quarantine;
