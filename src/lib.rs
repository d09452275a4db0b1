//! krescue: a storage and recovery engine for Kafka's log dirs, and the dashboard that hosts it.
//!
//! The flow: bytes of a log dir → [`mod@format`] → [`log`] (what one replica's files say) → [`plan`] (what a boot would do,
//! as steps) → [`engine`] (does the steps) → events → [`app`] (the state) → [`tui`] (cells).
//! Read, decide and apply are three functions in three modules.
//!
//! | layer | may use | invariant |
//! |---|---|---|
//! | terms | – | a number with a meaning is a newtype |
//! | format | terms | no `std::fs`, no clock; any bytes in, never a panic |
//! | disk | terms, format | changes nothing but through `Storage` |
//! | log | terms, format | is fed bytes, never opens a path; a bad log is a finding, not an `Err` |
//! | cluster | terms, format | pure; an image knows its offset |
//! | plan | terms, format, log, cluster | same inputs, same plan; a plan names every byte it would change |
//! | mirror | terms, format | no I/O; an absent fact silences what needs it and says so |
//! | demo | terms, format, disk, log | writes only below the folder that it is given |
//! | engine | terms, format, disk, log, cluster, plan, mirror | every prefix of a plan's steps is a tree from which Kafka's own boot reaches the planned end; knows no UI |
//! | client | terms, format | what a peer announces is checked before it is believed; knows nothing of log dirs |
//! | observe | terms, format, client, mirror (facts) | reports, never decides |
//! | settings | terms, format, plan | the only reader of env and config files |
//! | app | terms, log, cluster, plan, mirror, engine (events), observe (events) | no I/O, no await, no ratatui type |
//! | tui | terms, log, cluster, plan, mirror, engine (events), observe (events), app | reads the state; what it wants is a returned `Action` |
//! | dashboard, cli | all | the only callers of the wall clock and of the engine |
//!
//! `tests/it/architecture.rs` checks this table against the code.

pub mod app;
pub mod cli;
pub mod client;
pub mod cluster;
#[cfg(feature = "tui")]
pub mod dashboard;
pub mod demo;
pub mod disk;
pub mod engine;
pub mod format;
pub mod log;
pub mod mirror;
pub mod observe;
pub mod plan;
pub mod settings;
pub mod terms;
#[cfg(feature = "tui")]
pub mod tui;
