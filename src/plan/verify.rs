//! What a log's segments say together once each was read: gaps, overlaps, timestamps that hold retention back.

use super::PartitionPlan;
use crate::format::file_name::{FileKind, segment_file_name};
use crate::log::{Finding, FindingCode, Severity};
use crate::terms::Timestamp;

/// How far a timestamp may lie in the future, in ms.
const FUTURE_MS: i64 = 3_600_000;

/// Returns what is odd between and in the segments of a log that was read as a whole.
pub fn verify_segments(log: &PartitionPlan, now: Timestamp) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pair in log.segments.windows(2) {
        let [one, next] = pair else { continue };
        // One that does not scan to its end is told elsewhere.
        let is_whole = one.valid_bytes == Some(one.bytes) && one.bytes > 0;
        let Some(end) = one.next_offset.filter(|_| is_whole) else {
            continue;
        };
        let file = segment_file_name(next.base_offset, FileKind::Log);
        if end > next.base_offset {
            let text = format!(
                "the segment before ends at offset {end}, behind this one's base: records between the two are served twice"
            );
            findings.push(
                Finding::new(FindingCode::OffsetsGoBack, Severity::Loss, text)
                    .file(file)
                    .offset(next.base_offset)
                    .next("compare with the other replicas, and let this one be fetched again"),
            );
        } else if end < next.base_offset && !log.config.compact {
            let text = format!(
                "offsets {end} to {} are missing between this segment and the one before",
                next.base_offset.plus(-1)
            );
            findings.push(
                Finding::new(FindingCode::SegmentDropped, Severity::Loss, text)
                    .file(file)
                    .offset(end)
                    .loses(0, None)
                    .next("a segment was removed or cut; the other replicas may have it"),
            );
        }
    }
    for segment in &log.segments {
        let Some(largest) = segment.largest_timestamp else {
            continue;
        };
        if largest.0 > now.0.saturating_add(FUTURE_MS) {
            let text = format!(
                "its largest timestamp is {}: retention by time keeps it, and all behind it, until then",
                largest.rfc3339()
            );
            findings.push(
                Finding::new(FindingCode::FutureTimestamp, Severity::Warning, text)
                    .file(segment_file_name(segment.base_offset, FileKind::Log))
                    .next("a producer with a wrong clock; message.timestamp.after.max.ms refuses such records"),
            );
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{LogConfig, SegmentSummary, Verdict};
    use crate::terms::Offset;

    fn log(segments: &[(i64, i64)], compact: bool) -> PartitionPlan {
        let segments = segments.iter().map(|(base, next)| SegmentSummary {
            next_offset: Some(Offset(*next)),
            valid_bytes: Some(100),
            largest_timestamp: Some(Timestamp(1000)),
            ..SegmentSummary::unread(Offset(*base), 100)
        });
        PartitionPlan {
            segments: segments.collect(),
            config: LogConfig {
                compact,
                ..LogConfig::default()
            },
            ..PartitionPlan::of("t-0".to_owned(), None, Verdict::Nothing)
        }
    }

    fn codes(log: &PartitionPlan, now: i64) -> Vec<FindingCode> {
        let findings = verify_segments(log, Timestamp(now));
        findings.iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn gaps_and_overlaps_are_told_and_compaction_makes_gaps() {
        assert_eq!(codes(&log(&[(0, 10), (10, 20)], false), 1000), []);
        assert_eq!(
            codes(&log(&[(0, 10), (12, 20)], false), 1000),
            [FindingCode::SegmentDropped]
        );
        assert_eq!(codes(&log(&[(0, 10), (12, 20)], true), 1000), []);
        assert_eq!(
            codes(&log(&[(0, 13), (12, 20)], true), 1000),
            [FindingCode::OffsetsGoBack]
        );
    }

    #[test]
    fn a_timestamp_of_the_future_is_told() {
        assert_eq!(
            codes(&log(&[(0, 10)], false), -4_000_000),
            [FindingCode::FutureTimestamp]
        );
    }
}
