//! `replicas`: who is behind, by how much, until when, why.

mod run;
mod text;
mod wait;

pub(in crate::cli) use run::replicas;
