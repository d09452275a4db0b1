//! Shows a recording with its pace: its facts come as events, and its clock is that of the recording.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use crate::app::Event;
use crate::app::recording::Recorded;
use crate::terms::Timestamp;

use super::look::News;

/// The longest pause between two facts, in ms of the wall's clock; the rest of a longer one is skipped.
const PAUSE_MS: i64 = 3000;

/// The clock of a recording that is shown.
#[derive(Debug, Clone)]
pub(super) struct ReplayClock {
    first: Timestamp,
    began: Instant,
    speed: u32,
    /// Ms of the recording that were skipped.
    skipped: Arc<AtomicI64>,
}

impl ReplayClock {
    /// Returns a clock that begins at `first` and goes `speed` times as fast as the wall's.
    pub(super) fn new(first: Timestamp, speed: u32) -> Self {
        Self {
            first,
            began: Instant::now(),
            speed: speed.max(1),
            skipped: Arc::default(),
        }
    }

    /// Returns the recording's time.
    pub(super) fn now(&self) -> Timestamp {
        let ms = self
            .began
            .elapsed()
            .as_millis()
            .saturating_mul(u128::from(self.speed));
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        let ms = ms.saturating_add(self.skipped.load(Ordering::Relaxed));
        Timestamp(self.first.0.saturating_add(ms))
    }

    /// Returns how long it is until the recording's `time`, of which a long pause is skipped.
    fn until(&self, time: Timestamp) -> Duration {
        let left = time.0.saturating_sub(self.now().0);
        let longest = PAUSE_MS.saturating_mul(i64::from(self.speed));
        let skipped = left.saturating_sub(longest).max(0);
        self.skipped.fetch_add(skipped, Ordering::Relaxed);
        let ms = u64::try_from(left - skipped).unwrap_or(0);
        Duration::from_millis(ms / u64::from(self.speed))
    }
}

/// Sends the facts when their time has come, in a thread that ends with the screen.
pub(super) fn spawn_replay(facts: Vec<Recorded>, clock: ReplayClock, news: &UnboundedSender<News>) {
    let news = news.clone();
    std::thread::spawn(move || {
        for recorded in facts {
            std::thread::sleep(clock.until(recorded.at));
            if news.send(News::Event(recorded.into_event())).is_err() {
                return;
            }
        }
        let text = "the recording ends here".to_owned();
        let level = crate::app::Level::Note;
        let _ = news.send(News::Event(Event::Notice { level, text }));
    });
}
