//! The dashboard without a terminal: keys in, effects and screens out.

mod fixtures;
mod flow;
mod screens;
mod session;
