//! Why a log's steps were not all done.

use crate::disk::DiskError;
use crate::engine::EngineError;

/// Why a log's steps were not all done.
#[derive(Debug)]
pub(in crate::engine) enum LogFailure {
    /// Asked to stop; the step at hand was done.
    Stopped,
    /// What was kept is not what it was; the sentence names the file.
    Damaged(String),
    /// Something failed; the sentence names the file.
    Failed(String),
}

impl LogFailure {
    /// Returns the failure as that of a run that changes files.
    pub(in crate::engine) fn in_the_middle(self) -> Self {
        match self {
            Self::Damaged(cause) => Self::Failed(cause),
            other => other,
        }
    }
}

impl From<DiskError> for LogFailure {
    fn from(error: DiskError) -> Self {
        Self::Failed(error.sentence())
    }
}

impl From<EngineError> for LogFailure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::StateDamaged { .. } => Self::Damaged(error.sentence()),
            _ => Self::Failed(error.sentence()),
        }
    }
}
