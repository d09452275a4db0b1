//! The dashboard without a terminal: keys in, effects and screens out.

mod fixtures;
mod flow;
mod many;
mod screens;
mod session;
