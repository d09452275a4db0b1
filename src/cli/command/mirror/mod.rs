//! `mirror`: MirrorMaker 2 as its settings and its clusters' log dirs tell it.

mod failover;
mod flows;
mod lint;
mod live;
mod promote;
mod report;
mod run;
mod set;
mod sources;
mod translate;

pub(in crate::cli) use run::mirror;
pub use sources::read_mirror;
