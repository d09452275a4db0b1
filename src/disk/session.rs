//! Whether this process may change files of log dirs at all.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use super::error::{DiskAction, DiskError};

static FORBIDDEN: OnceLock<String> = OnceLock::new();

/// Forbids every change by this process, for as long as it lives; `why` stands in each refusal.
pub fn forbid_changes(why: &str) {
    // Only the first reason is told: nothing takes it back.
    let _ = FORBIDDEN.set(why.to_owned());
}

/// Says why this process may change nothing, if so.
pub fn changes_forbidden() -> Option<&'static str> {
    FORBIDDEN.get().map(String::as_str)
}

/// Refuses a change if all are forbidden.
pub(super) fn may_change(action: DiskAction, path: &Path) -> Result<(), DiskError> {
    match changes_forbidden() {
        None => Ok(()),
        Some(why) => {
            let error = io::Error::new(io::ErrorKind::ReadOnlyFilesystem, why);
            Err(DiskError::new(action, path, error))
        }
    }
}
