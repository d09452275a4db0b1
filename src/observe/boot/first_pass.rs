//! What the first retention pass after a boot deletes.

use serde::{Deserialize, Serialize};

/// Segments that go 30 s after the logs are loaded (`log.initial.task.delay.ms`), by the files and the settings of the topics.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FirstPass {
    /// How many.
    pub segments: u64,
    /// Their bytes on the volume, indexes and all.
    pub bytes: u64,
    /// The topics that lose them, with what each loses, the most bytes first.
    pub topics: Vec<(String, u64)>,
}
