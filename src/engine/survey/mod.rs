//! What fills the volumes of log dirs, by names and sizes.

pub(in crate::engine) mod volume_facts;
pub(in crate::engine) mod volume_samples;
pub(in crate::engine) mod volume_survey;
