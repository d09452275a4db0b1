//! Walks a segment's batch headers for its largest timestamp and its end, without checksums.

use super::header_walk::{HeaderWalk, Here, Place, feed_headers, last_offset};
use super::parser::{Feed, SegmentParser};
use crate::format::batch::Frame;
use crate::format::legacy_message::LegacyHeader;
use crate::format::record_batch::BatchHeader;
use crate::terms::{Offset, Position, Timestamp};

/// What the headers of a part of a segment say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderTimes {
    /// The timestamp of the first batch; `None` if there is no batch.
    pub first_timestamp: Option<Timestamp>,
    /// The largest timestamp; negative if no batch has one.
    pub largest_timestamp: Timestamp,
    /// The offset behind the last batch; `None` if there is none.
    pub next_offset: Option<Offset>,
    /// Where the last batch ends.
    pub end: Position,
}

/// A walk from one position to the file's end, or to as many batches as asked for.
#[derive(Debug)]
pub struct TimeWalk {
    place: Place,
    /// How many batches are still taken.
    most: u64,
    times: HeaderTimes,
}

impl TimeWalk {
    /// Returns a walk over the batches from `start` on, in a file of `len` bytes.
    pub fn new(start: Position, len: u64) -> Self {
        Self {
            place: Place::new(start.0, len),
            most: u64::MAX,
            times: HeaderTimes {
                first_timestamp: None,
                largest_timestamp: Timestamp::NONE,
                next_offset: None,
                end: start,
            },
        }
    }

    /// Returns a walk that ends behind the first batch.
    pub fn first_batch(len: u64) -> Self {
        Self {
            most: 1,
            ..Self::new(Position(0), len)
        }
    }

    /// Returns what it found; call it once `feed` returned [`Feed::Done`].
    pub fn finish(self) -> HeaderTimes {
        self.times
    }
}

impl HeaderWalk for TimeWalk {
    fn place(&mut self) -> &mut Place {
        &mut self.place
    }

    fn on_batch(
        &mut self,
        frame: &Frame,
        header: Option<&BatchHeader>,
        rest: &[u8],
    ) -> Result<(), Here> {
        let timestamp = match header {
            Some(header) => header.max_timestamp,
            None => LegacyHeader::decode(rest).map_or(Timestamp::NONE, |header| header.timestamp),
        };
        let times = &mut self.times;
        times.first_timestamp.get_or_insert(timestamp);
        times.largest_timestamp = times.largest_timestamp.max(timestamp);
        times.next_offset = Some(last_offset(frame, header).plus(1));
        times.end = Position(self.place.position + frame.size);
        self.most -= 1;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.most == 0
    }

    /// What lies behind the last batch has no timestamp.
    fn on_fatal(&mut self, _cause: String) {}
}

impl SegmentParser for TimeWalk {
    fn position(&self) -> Position {
        Position(self.place.position)
    }

    fn feed(&mut self, window: &[u8]) -> Feed {
        feed_headers(self, window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::record_batch::tests::case_batch;

    fn walk(mut walk: TimeWalk, bytes: &[u8], window: usize) -> HeaderTimes {
        let mut needed = window;
        loop {
            let at = usize::try_from(walk.position().0).unwrap();
            let end = bytes.len().min(at + needed.max(window));
            match walk.feed(bytes.get(at..end).unwrap_or_default()) {
                Feed::Done => return walk.finish(),
                Feed::More { needed: more } => needed = more,
            }
        }
    }

    #[test]
    fn the_largest_timestamp_and_the_end_are_found_whatever_the_window() {
        let mut bytes = [
            case_batch(0, 5000),
            case_batch(10, 9000),
            case_batch(20, 100),
        ]
        .concat();
        bytes.extend([0; 40]);
        for window in [1, 17, 61, 1151, 9999] {
            let times = walk(
                TimeWalk::new(Position(0), bytes.len() as u64),
                &bytes,
                window,
            );
            assert_eq!(times.next_offset, Some(Offset(30)), "{window}");
            assert_eq!(times.end, Position(3 * 1151));
            assert_eq!(times.largest_timestamp, Timestamp(9009));
            assert_eq!(times.first_timestamp, Some(Timestamp(5009)));
        }
        let first = walk(TimeWalk::first_batch(bytes.len() as u64), &bytes, 61);
        assert_eq!(first.next_offset, Some(Offset(10)));
    }

    #[test]
    fn nothing_has_no_timestamp_and_no_end() {
        let times = walk(TimeWalk::new(Position(0), 0), &[], 61);
        assert_eq!(times.first_timestamp, None);
        assert_eq!(times.next_offset, None);
        assert_eq!(times.largest_timestamp, Timestamp::NONE);
    }
}
