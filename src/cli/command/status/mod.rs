//! `status`: the situation in one look; many hosts' as one table; a text file for `node_exporter`.

mod asks;
mod boot;
mod cold_start;
mod ends;
mod look;
mod merge;
mod prometheus;

pub(in crate::cli) use look::status;
