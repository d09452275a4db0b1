//! The composition root of the dashboard: the only place that knows state, screen, engine and clock.
//!
//! A loop waits for keys, for news from threads that look at the host, and for ticks. All that is there is drained, then
//! the screen is drawn at most once a frame. What [`update`](crate::app::update) wants done is done here, in threads
//! where it may take long, and comes back as news.

mod boot;
mod bytes;
mod cleanup;
mod cluster;
mod effects;
mod input;
mod listing;
mod live;
mod log_view;
mod look;
mod preflight;
mod replay;
mod retention;
mod run;
mod undo;
mod volumes;
mod work;

pub use run::{Opening, Show, run};
