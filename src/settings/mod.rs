//! Settings with their sources: krescue's own, and what a broker's configuration says. The only reader of the
//! environment and of configuration files.

mod broker;
mod client;
mod error;
mod log_dirs;
mod policy;
mod properties;
mod session;
mod sourced;
mod state_dir;
mod topic_config;

pub use crate::format::quantity::{parse_rate, parse_size};
pub use broker::BrokerConfig;
use broker::split_list;
pub use client::{BrokerListener, broker_listeners, read_client_properties};
pub use error::SettingsError;
pub use log_dirs::{CheckedLogDirs, check_log_dirs};
pub use properties::read_mm2_properties;
use properties::{decode_properties, read_properties};
pub use session::{Flags, Quarantine, SYSTEM_FILE, Settings};
pub use sourced::{Source, Sourced};
pub use state_dir::{check_state_dir, is_tmpfs, is_writable, state_dir_warning};
pub use topic_config::{Overrides, apply_overrides, read_topic_config};
