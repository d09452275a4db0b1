//! Which broker a command is about: its configuration, log dirs, release, whether it runs, its topics' settings.

mod candidate;
mod effective;
mod identity;
mod presence;
mod retention;
mod search;
mod topics;
mod version;

pub use candidate::Candidate;
pub use effective::{EffectiveConfig, TopicsTold};
pub use identity::Identity;
pub use presence::{Presence, presence_of};
pub use retention::{HostLogs, read_host_logs, read_living_logs};
pub use search::{Found, find_candidates, only_candidate};
pub use topics::{TopicSettings, topic_settings};
pub use version::{NOT_DETECTED, VersionBasis, VersionChoice, choose_version};
