//! Which segments of a log could go, by what retention knows of it.

use super::{FreeableLog, FreeableSegment};
use crate::plan::retention::{
    LogFacts, LogRetention, LogRole, RetentionLimits, RetentionVerdict, SegmentFacts, is_internal,
};
use crate::terms::Offset;

/// Returns the segments of a log that could go, from the oldest on: none of a log that is compacted, tiered, internal or a
/// future one; never the active segment, and nothing that the high watermark does not cover.
pub fn freeable(
    facts: &LogFacts,
    limits: &RetentionLimits,
    judged: &LogRetention,
) -> Option<FreeableLog> {
    let topic = &facts.topic_partition.topic;
    let is_kept = facts.role != LogRole::Current
        || is_internal(topic)
        || topic.starts_with("__")
        || limits.policy.compacts()
        || limits.tiered;
    if is_kept {
        return None;
    }
    let high_watermark = facts.high_watermark.offset()?;
    let last = facts.segments.len().checked_sub(1)?;
    let mut segments = Vec::new();
    for (index, (segment, judged)) in facts.segments.iter().zip(&judged.segments).enumerate() {
        let Some(next_offset) = facts.next_offset(index) else {
            break;
        };
        if index == last || next_offset > high_watermark {
            break;
        }
        let past_retention = judged.verdict == RetentionVerdict::Delete;
        segments.push(freed(segment, next_offset, past_retention));
    }
    log_of(facts, segments)
}

/// Returns the segments that the next pass of retention deletes of a log, but for the active one, which a broker deletes by
/// itself once it has rolled it. They are good records where verdicts are not `certain`: under limits that are only tried, or
/// by a clock that may be wrong.
pub fn past_retention(
    facts: &LogFacts,
    judged: &LogRetention,
    certain: bool,
) -> Option<FreeableLog> {
    let last = facts.segments.len().checked_sub(1)?;
    let goes = facts
        .segments
        .iter()
        .zip(&judged.segments)
        .take_while(|(_, judged)| judged.verdict == RetentionVerdict::Delete);
    let segments: Vec<FreeableSegment> = goes
        .take(last)
        .enumerate()
        .filter_map(|(index, (segment, _))| {
            Some(freed(segment, facts.next_offset(index)?, certain))
        })
        .collect();
    log_of(facts, segments)
}

fn freed(segment: &SegmentFacts, next_offset: Offset, past_retention: bool) -> FreeableSegment {
    FreeableSegment {
        base_offset: segment.base_offset,
        next_offset,
        bytes: segment.bytes,
        freed: segment.freed,
        largest_timestamp: segment.largest_timestamp,
        past_retention,
    }
}

/// Returns the log that could lose `segments`; `None` if there are none.
fn log_of(facts: &LogFacts, segments: Vec<FreeableSegment>) -> Option<FreeableLog> {
    (!segments.is_empty()).then(|| FreeableLog {
        log_dir: facts.log_dir.clone(),
        dir_name: facts.dir_name.clone(),
        topic_partition: facts.topic_partition.clone(),
        log_start_offset: facts.log_start_offset,
        log_end_offset: facts.log_end_offset,
        segments,
        mirrors: Vec::new(),
        unknown_mirrors: Vec::new(),
    })
}
