//! The headless root: arguments, one file a command, reports as text and JSON, errors to exit codes.

mod apply;
pub mod args;
pub mod audit_words;
pub mod boot_facts;
mod boot_logs;
pub mod boot_ports;
mod catch_up;
pub(crate) mod cleanup_look;
mod cleanup_mirrors;
mod clock;
pub mod command;
mod confirm;
mod context;
mod exit;
mod facts;
mod first_pass;
mod forecast;
pub(crate) mod free_offer;
mod freed;
mod freed_report;
mod help;
mod leftover_proof;
mod live;
mod live_act;
mod live_apply;
mod live_facts;
mod live_groups;
mod live_groups_below;
mod live_loss;
mod live_mirrors;
mod live_plan;
mod living;
mod living_logs;
mod look;
mod out;
mod recorder;
mod report;
mod run;
mod signals;
mod state_room;
pub mod target;
mod value;
pub(crate) mod volumes_look;

#[cfg(feature = "tui")]
pub(crate) use boot_logs::{boot_logs, loaded_dirs};
#[cfg(feature = "tui")]
pub(crate) use boot_ports::client_ports;
pub(crate) use catch_up::CatchUpWatch;
pub use command::Recording;
pub use context::{Context, Whose};
pub use exit::{CliError, Exit};
#[cfg(feature = "tui")]
pub(crate) use facts::{broker_facts, listed_facts};
pub(crate) use first_pass::FirstPassWatch;
pub use forecast::forecast_truncations;
#[cfg(feature = "tui")]
pub(crate) use freed::FreedWatch;
pub use live::{HostBroker, LiveClient, live_client};
pub use live_act::kafka_options;
pub use live_apply::{LiveApply, MoveEnd};
pub use live_plan::make_live_plan;
pub use living_logs::LivingLogs;
pub use look::{BesideBroker, Look};
pub use recorder::Recorder;
pub use run::run;
#[cfg(feature = "tui")]
pub(crate) use state_room::has_room;
pub use value::HashPrefix;
