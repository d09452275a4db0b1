//! A broker and what came of it: its connection, or when it failed last.

use std::time::{Duration, Instant};

use super::address::Address;
use super::connection::Connection;

/// The first wait after a failure, and the longest: Kafka's `reconnect.backoff.ms` and `reconnect.backoff.max.ms`.
const BACK_OFF: Duration = Duration::from_millis(50);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(1);

/// What is known of one broker's connection.
#[derive(Default)]
pub(super) struct Node {
    pub(super) connection: Option<Connection>,
    failure: Option<Failure>,
}

struct Failure {
    address: Address,
    at: Instant,
    wait: Duration,
    cause: String,
}

impl Node {
    /// Returns since when and why nothing is tried, if so.
    pub(super) fn backing_off(
        &self,
        address: &Address,
        now: Instant,
    ) -> Option<(Duration, String)> {
        let failure = self.failure.as_ref()?;
        let ago = now.saturating_duration_since(failure.at);
        // A broker that came back elsewhere is tried at once.
        (failure.address == *address && ago < failure.wait).then(|| (ago, failure.cause.clone()))
    }

    /// Notes a failure: the next wait is twice the last one.
    pub(super) fn failed(&mut self, address: &Address, now: Instant, cause: String) {
        self.connection = None;
        let last = self.failure.as_ref().map(|failure| failure.wait * 2);
        self.failure = Some(Failure {
            address: address.clone(),
            at: now,
            wait: last.map_or(BACK_OFF, |wait| wait.min(LONGEST_BACK_OFF)),
            cause,
        });
    }

    /// Notes that it answers.
    pub(super) fn succeeded(&mut self) {
        self.failure = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_wait_up_to_a_second() {
        let (address, other) = (
            Address::parse("a:1").unwrap(),
            Address::parse("b:1").unwrap(),
        );
        let mut node = Node::default();
        let begin = Instant::now();
        assert!(node.backing_off(&address, begin).is_none());
        for wait in [50, 100, 200, 400, 800, 1000, 1000] {
            node.failed(&address, begin, "no".to_owned());
            let at = |ms| begin + Duration::from_millis(ms);
            assert!(node.backing_off(&address, at(wait - 1)).is_some(), "{wait}");
            assert!(node.backing_off(&address, at(wait)).is_none(), "{wait}");
            assert!(node.backing_off(&other, begin).is_none());
        }
        node.succeeded();
        assert!(node.backing_off(&address, begin).is_none());
    }
}
