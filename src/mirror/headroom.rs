//! How long a mirror may stand still until retention takes what it has not copied.

use super::facts::{Facts, UncopiedFact};
use super::flow::Flow;
use crate::terms::{Offset, Timestamp};

/// Which retention takes a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RetainedBy {
    /// That by time: `retention.ms`.
    Time,
    /// That by size: `retention.bytes`.
    Size,
}

impl RetainedBy {
    /// Returns it in a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Size => "size",
        }
    }
}

/// What is left until retention takes the first record that is not copied; a part is `None` where all is copied, where
/// retention does not go by it, or where the record or the limit is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Headroom {
    /// When retention by time may take it, at the earliest.
    pub by_time: Option<Timestamp>,
    /// Bytes that may be written behind it until retention by size takes it; none or below: at the next pass.
    pub bytes: Option<i64>,
    /// When those are written, at the rate of writing since that record.
    pub by_size: Option<Timestamp>,
}

impl Headroom {
    /// Returns when it goes and by which limit, of the two the earlier.
    pub fn first(&self) -> Option<(Timestamp, RetainedBy)> {
        let time = self.by_time.map(|at| (at, RetainedBy::Time));
        let size = self.by_size.map(|at| (at, RetainedBy::Size));
        time.into_iter().chain(size).min()
    }
}

/// Returns the headroom of a partition of the source that is copied up to `copied`.
pub(super) fn headroom(
    facts: &Facts,
    flow: &Flow,
    (topic, partition): (&str, i32),
    copied: Option<Offset>,
) -> Headroom {
    let find = || {
        let source = facts.clusters.get(&flow.name.source)?;
        let first = source.uncopied.get(topic)?.get(&partition)?;
        // What was found is of another look than what is known to be copied now.
        if copied.is_some_and(|copied| first.offset <= copied) {
            return None;
        }
        let policy = source.topic_setting(topic, "cleanup.policy");
        if policy.is_some_and(|policy| !policy.contains("delete")) {
            return None;
        }
        let limit = |key: &str| {
            let limit: Option<i64> = source.topic_setting(topic, key)?.parse().ok();
            limit.filter(|limit| *limit >= 0)
        };
        let newest = source.log(topic, partition)?.newest_timestamp;
        Some(of(
            first,
            limit("retention.ms"),
            limit("retention.bytes"),
            newest,
        ))
    };
    find().unwrap_or_default()
}

fn of(
    first: &UncopiedFact,
    keeps_ms: Option<i64>,
    keeps_bytes: Option<i64>,
    newest: Option<Timestamp>,
) -> Headroom {
    let behind = first
        .bytes_behind
        .map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    let bytes = keeps_bytes
        .zip(behind)
        .map(|(keeps, behind)| keeps.saturating_sub(behind));
    Headroom {
        by_time: keeps_ms.map(|keeps| Timestamp(first.timestamp.0.saturating_add(keeps))),
        bytes,
        by_size: bytes
            .zip(behind)
            .zip(newest)
            .and_then(|((left, behind), newest)| at_rate(left, (behind, first.timestamp, newest))),
    }
}

/// Returns when `left` more bytes are written, if `behind` were written from `since` to `newest`.
fn at_rate(left: i64, (behind, since, newest): (i64, Timestamp, Timestamp)) -> Option<Timestamp> {
    if left <= 0 {
        return Some(newest);
    }
    let took = newest.0.saturating_sub(since.0);
    if behind <= 0 || took <= 0 {
        return None;
    }
    let ms = i128::from(left) * i128::from(took) / i128::from(behind);
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    Some(Timestamp(newest.0.saturating_add(ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: UncopiedFact = UncopiedFact {
        offset: Offset(10),
        timestamp: Timestamp(1_000),
        bytes_behind: Some(600),
    };

    #[test]
    fn the_earlier_of_both_limits_counts() {
        let newest = Some(Timestamp(4_000));
        // 600 bytes in 3 s: 200 bytes a second, and 400 are left.
        for (keeps_ms, keeps_bytes, bytes, first) in [
            (None, None, None, None),
            (Some(7_000), None, None, Some((8_000, RetainedBy::Time))),
            (
                None,
                Some(1_000),
                Some(400),
                Some((6_000, RetainedBy::Size)),
            ),
            (
                Some(7_000),
                Some(1_000),
                Some(400),
                Some((6_000, RetainedBy::Size)),
            ),
            (
                Some(4_000),
                Some(1_000),
                Some(400),
                Some((5_000, RetainedBy::Time)),
            ),
            // It is over: the next pass takes it.
            (
                Some(7_000),
                Some(600),
                Some(0),
                Some((4_000, RetainedBy::Size)),
            ),
            (
                Some(7_000),
                Some(100),
                Some(-500),
                Some((4_000, RetainedBy::Size)),
            ),
        ] {
            let room = of(&FIRST, keeps_ms, keeps_bytes, newest);
            assert_eq!(room.bytes, bytes);
            let told = room.first().map(|(at, by)| (at.0, by));
            assert_eq!(told, first, "{keeps_ms:?} {keeps_bytes:?}");
        }
    }

    #[test]
    fn without_a_rate_no_time_is_told() {
        let still = of(&FIRST, None, Some(1_000), Some(Timestamp(1_000)));
        assert_eq!((still.bytes, still.first()), (Some(400), None));
        let unknown = UncopiedFact {
            bytes_behind: None,
            ..FIRST
        };
        let room = of(&unknown, None, Some(1_000), Some(Timestamp(4_000)));
        assert_eq!(room, Headroom::default());
        assert_eq!(
            of(&FIRST, None, Some(i64::MAX), Some(Timestamp(4_000))).by_size,
            Some(Timestamp(i64::MAX))
        );
    }
}
