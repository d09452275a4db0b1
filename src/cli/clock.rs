//! The wall clock.

use crate::terms::Timestamp;

/// Returns the time now.
pub(crate) fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
