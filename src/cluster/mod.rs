//! What KRaft's metadata says of the cluster, folded from one node's copy of `__cluster_metadata-0`.
//!
//! [`ImageFold`] takes a snapshot's bytes and then the log's, and gives a [`MetadataImage`] that knows the offset and
//! the time up to which it holds. **No high watermark is stored on disk**, and followers store records before they are
//! committed: the last records of an image may be ones that the cluster later dropped. Who knows the high watermark
//! (from a live cluster) gives it to the fold as a limit; who does not says "as of offset N, tail possibly uncommitted".
//!
//! [`LogConfig`] resolves a topic's settings, each with the level that set it.

mod config_key;
mod effective;
mod fold;
mod followed_dir;
mod image;
mod log_config;
mod metadata_dir;
mod misplaced;
mod node_metadata;

pub use config_key::{ConfigKey, ConfigUnit};
pub use effective::{EffectiveSetting, LeveledValue, SettingsTable};
pub use fold::{FoldError, FoldFinding, ImageFold};
pub use followed_dir::FollowedDir;
#[cfg(test)]
pub(crate) use image::image_of;
pub use image::{BrokerImage, MetadataImage, PartitionImage, TopicImage};
pub use log_config::{
    CleanupPolicy, ConfigLevels, ConfigMoment, ConfigSource, InvalidConfig, LogConfig,
    LogConfigValue, ToldConfig,
};
pub use metadata_dir::{FoldedDir, fold_dir};
pub use misplaced::{misplaced_broker_keys, misplaced_keys};
pub use node_metadata::{Bootstrap, NodeMetadata, VotersSource, features};
