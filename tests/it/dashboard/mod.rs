//! The dashboard without a terminal: keys in, effects and screens out.

mod booting;
mod fixtures;
mod flow;
mod live;
mod mirror;
mod replaying;
mod replicas;
mod screens;
mod segments;
mod session;
mod volumes;
