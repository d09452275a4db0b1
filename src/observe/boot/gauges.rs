//! What a broker's metrics say of its boot.

use crate::observe::metrics::{BootMetrics, MetricsPoll};
use crate::terms::Timestamp;

/// What the metrics said last.
#[derive(Debug, Default)]
pub(super) struct Gauges {
    /// The number of that answer.
    number: u64,
    pub(super) at: Option<Timestamp>,
    pub(super) said: BootMetrics,
    pub(super) trouble: Option<String>,
}

impl Gauges {
    /// Takes what the metrics said since the last look; it may be some seconds old.
    pub(super) fn take(&mut self, metrics: Option<&MetricsPoll>, now: Timestamp) {
        let answer = metrics.and_then(MetricsPoll::answer);
        let Some(answer) = answer.filter(|answer| answer.number != self.number) else {
            return;
        };
        self.number = answer.number;
        match answer.said {
            Ok(said) => {
                (self.said, self.at) = (said, Some(now));
                self.trouble = None;
            }
            Err(why) => self.trouble = Some(why),
        }
    }

    /// Returns how many of the `logs` of a log dir are done.
    pub(super) fn logs_done(&self, dir: &str, logs: u64) -> Option<u64> {
        let mut left = self.said.logs_left.iter();
        let (_, left) = left.find(|(of, _)| of == dir)?;
        logs.checked_sub(*left)
    }
}
