//! What goes wrong in a boot.

use serde::{Deserialize, Serialize};

use super::event::BootEvent;
use super::line::LineTime;

/// Something that an operator must know, with what it came with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootTrouble {
    /// When it was written.
    pub time: LineTime,
    /// What.
    pub event: BootEvent,
    /// The exception that it came with.
    pub cause: Option<String>,
    /// Bytes that a cut took from its segment, by the file before and after it; `None` of anything else, or where the file
    /// was not seen before. No line tells it.
    #[serde(default)]
    pub cut_bytes: Option<u64>,
}

impl BootTrouble {
    /// Says whether records are gone or not served, for all a boot goes on; a torn tail is neither. A log that could not be
    /// loaded is none yet: its log dir is given up, or the boot ends.
    pub fn is_loss(&self) -> bool {
        match &self.event {
            BootEvent::Emptied { .. }
            | BootEvent::SegmentsDeleted { .. }
            | BootEvent::AllDeleted { .. }
            | BootEvent::Stray { .. }
            | BootEvent::DirOffline { .. }
            | BootEvent::RecreatedEmpty { .. }
            | BootEvent::MetadataNotApplied { .. }
            | BootEvent::CleanerDead => true,
            BootEvent::InvalidMessages { .. } => {
                let cause = self.cause.as_deref().unwrap_or_default();
                cause.contains("Record is corrupt")
            }
            _ => false,
        }
    }
}
