//! The boots before the present one, as the log tells of them.

use serde::{Deserialize, Serialize};

use crate::observe::server_log::{Boot, BootEnd, Boots, LineTime};
use crate::observe::supervisor::Supervision;

/// A boot that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// When it began, on the log's clock.
    pub began: Option<LineTime>,
    /// How long it went on, in ms.
    pub lasted_ms: Option<i64>,
    /// Logs that it had loaded, and all of them.
    pub logs: (u64, u64),
    /// How it ended.
    pub end: BootEnd,
}

/// What is known of boots before, and of those who end boots.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct History {
    /// The boots before the present one that did not come up since the broker was up last, oldest first.
    pub failed: Vec<Attempt>,
    /// Who supervises the process.
    pub supervision: Supervision,
}

/// Returns the boots that failed before `present` since the broker was up last, oldest first.
pub(super) fn failed_before(boots: &Boots, present: &Boot) -> Vec<Attempt> {
    let before = boots
        .all()
        .iter()
        .take_while(|boot| !std::ptr::eq(*boot, present));
    let mut failed: Vec<Attempt> = Vec::new();
    for boot in before {
        match &boot.end {
            // Up, or it got so far that its work was not lost.
            Some(BootEnd::Up) => failed.clear(),
            Some(end) => failed.push(Attempt {
                began: boot.began,
                lasted_ms: boot
                    .began
                    .zip(boot.last)
                    .map(|(began, last)| last.0 - began.0),
                logs: boot.logs(),
                end: end.clone(),
            }),
            None => {}
        }
    }
    failed.retain(|attempt| attempt.began.is_some() || attempt.logs.1 > 0);
    failed
}

impl Attempt {
    /// Says whether something from outside ended it: a signal, or a kill.
    pub fn was_killed(&self) -> bool {
        matches!(self.end, BootEnd::Killed | BootEnd::Stopped { .. })
    }

    /// Returns how many of a hundred logs it had loaded.
    pub fn share(&self) -> Option<u64> {
        let (done, all) = self.logs;
        (all > 0).then(|| done * 100 / all)
    }
}
