//! How fast a volume fills.

use serde::{Deserialize, Serialize};

use super::Written;
use crate::terms::Timestamp;

/// The spans that rates are told over: 10 minutes and 24 hours, in ms.
pub const WINDOWS_MS: [i64; 2] = [600_000, 86_400_000];

/// How much of a volume was in use at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedSample {
    /// When.
    pub at: Timestamp,
    /// The volume.
    pub volume: String,
    /// Bytes in use.
    pub used: u64,
}

/// A segment's `.log`, as far as growth depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentTimes {
    /// Its base offset.
    pub base_offset: i64,
    /// Its length in bytes.
    pub bytes: u64,
    /// When it was last written to.
    pub written_at: Timestamp,
}

impl Written {
    /// Adds up what segments, in any order, took in lately. A segment was filled evenly between the last write to the one
    /// before it and its own; the first began when the log was `created`, or all at once where that is not known.
    pub fn of(segments: &mut [SegmentTimes], created: Option<Timestamp>, now: Timestamp) -> Self {
        segments.sort_by_key(|segment| segment.base_offset);
        let mut begun = created;
        let mut sum = Self::default();
        for segment in segments {
            let end = segment.written_at;
            let start = begun.filter(|start| *start < end).unwrap_or(end);
            for (window, bytes) in WINDOWS_MS.into_iter().zip([&mut sum.minutes, &mut sum.day]) {
                let from = now.0.saturating_sub(window);
                let within = end.0.saturating_sub(start.0.max(from)).max(0);
                let all = end.0.saturating_sub(start.0);
                let share = match all {
                    _ if end.0 < from => 0,
                    0 => u128::from(segment.bytes),
                    all => {
                        u128::from(segment.bytes) * u128::from(within.unsigned_abs())
                            / u128::from(all.unsigned_abs())
                    }
                };
                *bytes = bytes.saturating_add(u64::try_from(share).unwrap_or(u64::MAX));
            }
            begun = Some(end);
        }
        sum
    }
}

/// What a rate was got from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GrowthSource {
    /// Two looks at the volume: what was written less what was freed.
    Samples,
    /// The times and sizes of segments: what was written; what was deleted meanwhile does not show.
    Segments,
}

/// A rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// Bytes a second; negative where the volume empties.
    pub bytes_per_s: i64,
    /// What it was got from.
    pub source: GrowthSource,
}

/// Returns the rate over `WINDOWS_MS[window]`, from a sample of about that age, else from segments; `None` if neither
/// says.
pub fn growth(
    samples: &[UsedSample],
    (volume, used, now): (&str, u64, Timestamp),
    written: Option<Written>,
    window: usize,
) -> Option<Growth> {
    let span = WINDOWS_MS.get(window).copied()?;
    let age = |sample: &UsedSample| now.0.saturating_sub(sample.at.0);
    let near = samples
        .iter()
        .filter(|sample| sample.volume == volume)
        .filter(|sample| (span / 2..=span.saturating_mul(2)).contains(&age(sample)))
        .min_by_key(|sample| age(sample).abs_diff(span));
    if let Some(sample) = near {
        let grown = i128::from(used) - i128::from(sample.used);
        let rate = grown * 1000 / i128::from(age(sample).max(1));
        return Some(Growth {
            bytes_per_s: i64::try_from(rate).unwrap_or(i64::MAX),
            source: GrowthSource::Samples,
        });
    }
    let written = written?;
    let bytes = if window == 0 {
        written.minutes
    } else {
        written.day
    };
    let rate = i128::from(bytes) * 1000 / i128::from(span);
    Some(Growth {
        bytes_per_s: i64::try_from(rate).unwrap_or(i64::MAX),
        source: GrowthSource::Segments,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(volume: &str, minutes_ago: i64, used: u64) -> UsedSample {
        UsedSample {
            at: Timestamp(1_000_000_000 - minutes_ago * 60_000),
            volume: volume.to_owned(),
            used,
        }
    }

    const NOW: Timestamp = Timestamp(1_000_000_000);

    #[test]
    fn the_sample_nearest_to_the_span_counts_and_only_of_its_volume() {
        let samples = [
            sample("a", 30, 0),
            sample("a", 12, 1_000_000),
            sample("a", 1, 9_000_000),
            sample("b", 10, 5),
        ];
        let rate = |used| growth(&samples, ("a", used, NOW), None, 0);
        let of = |bytes_per_s| {
            Some(Growth {
                bytes_per_s,
                source: GrowthSource::Samples,
            })
        };
        assert_eq!(rate(1_720_000), of(1000));
        assert_eq!(rate(280_000), of(-1000));
        assert_eq!(growth(&samples, ("a", 1, NOW), None, 1), None);
    }

    #[test]
    fn a_segment_counts_by_the_share_of_its_time_in_the_span() {
        let segment = |base_offset, bytes, minutes_ago: i64| SegmentTimes {
            base_offset,
            bytes,
            written_at: Timestamp(NOW.0 - minutes_ago * 60_000),
        };
        let mut segments = [
            segment(20, 1000, 0),
            segment(0, 500, 3000),
            segment(10, 4000, 20),
        ];
        let created = Some(Timestamp(NOW.0 - 4000 * 60_000));
        let written = Written::of(&mut segments, created, NOW);
        // 1000 bytes in 20 minutes; 4000 in 2980, of which 1420 lie within the day.
        assert_eq!(
            written,
            Written {
                minutes: 500,
                day: 1000 + 4000 * 1420 / 2980
            }
        );
        let alone = Written::of(&mut [segment(0, 700, 5)], None, NOW);
        assert_eq!(
            alone,
            Written {
                minutes: 700,
                day: 700
            }
        );
    }

    #[test]
    fn without_samples_segments_tell_what_was_written() {
        let written = Written {
            minutes: 600_000,
            day: 8_640_000_000,
        };
        let rates = [0, 1].map(|window| {
            growth(&[sample("a", 1, 0)], ("a", 7, NOW), Some(written), window)
                .map(|growth| (growth.bytes_per_s, growth.source))
        });
        assert_eq!(
            rates,
            [
                Some((1000, GrowthSource::Segments)),
                Some((100_000, GrowthSource::Segments))
            ]
        );
        assert_eq!(growth(&[], ("a", 7, NOW), None, 0), None);
    }
}
