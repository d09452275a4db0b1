//! Segments that are missing from the middle of a log: no boot notices, and readers skip what they held without a word.

use crate::format::file_name::{FileKind, segment_file_name};
use crate::terms::Offset;

use super::{Finding, FindingCode, Severity};

/// Offsets that no segment of a log holds, between two that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetGap {
    /// The base offset of the segment before.
    pub after: Offset,
    /// The first offset that is missing.
    pub from: Offset,
    /// The base offset of the segment behind; exclusive.
    pub to: Offset,
}

/// What a search for gaps found, and what it did not look at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GapSearch {
    /// The gaps, in order.
    pub gaps: Vec<OffsetGap>,
    /// Closed segments whose ends should have been read and were not: their indexes do not lead near it, or nobody waited any
    /// more.
    pub unread: u64,
}

impl GapSearch {
    /// Says what was not looked at; `None` if all was.
    pub fn unread_words(&self) -> Option<String> {
        let segments = match self.unread {
            0 => return None,
            1 => "the end of 1 segment was".to_owned(),
            more => format!("the ends of {more} segments were"),
        };
        Some(format!(
            "{segments} not read, as no index leads near it: whether segments are missing behind is not known"
        ))
    }

    /// Returns the gaps and what was not looked at as findings.
    pub fn findings(&self) -> Vec<Finding> {
        let gaps = self.gaps.iter().map(|gap| gap.finding());
        let unread = self.unread_words().map(|text| {
            let finding = Finding::new(FindingCode::NotLookedAt, Severity::Routine, text);
            finding.next(Self::NEXT)
        });
        gaps.chain(unread).collect()
    }

    /// What makes up for what was not looked at.
    pub const NEXT: &str = "krescue verify reads all of the log";
}

impl OffsetGap {
    /// Returns how many offsets are missing.
    pub fn offsets(self) -> u64 {
        u64::try_from(self.to.0.saturating_sub(self.from.0)).unwrap_or(0)
    }

    /// Returns what to do about it.
    pub fn next(self) -> &'static str {
        "the other replicas may have them: compare their offsets before this broker leads"
    }

    /// Returns it as a finding: a warning, as what is gone is gone and a boot loses nothing more.
    pub fn finding(self) -> Finding {
        Finding::new(FindingCode::SegmentMissing, Severity::Warning, self.words())
            .file(segment_file_name(self.after, FileKind::Log))
            .offset(self.from)
            .next(self.next())
    }

    /// Returns it as a sentence.
    pub fn words(self) -> String {
        format!(
            "offsets {} to {} are in no segment: at least one segment is missing behind {:020}.log, or this log was compacted \
             once; a boot loads it as it is, and readers skip them without a word",
            self.from,
            self.to.plus(-1),
            self.after.0
        )
    }
}

/// Returns the numbers of the closed segments that may end before the next one begins, by names and sizes alone: each with
/// fewer than two thirds of a neighbour's bytes an offset. `segments` are base offsets and bytes in order, the active one last.
///
/// A log with too few closed segments to compare gives all of them.
pub fn gap_suspects(segments: &[(Offset, u64)]) -> Vec<usize> {
    let closed: Vec<(u128, u128)> = segments
        .windows(2)
        .map(|pair| match pair {
            [(base, bytes), (next, _)] => {
                let span = u128::try_from(next.0.saturating_sub(base.0)).unwrap_or(0);
                (u128::from(*bytes), span)
            }
            _ => (0, 0),
        })
        .collect();
    // A third fewer bytes an offset than a neighbour: sizes of records vary, and each suspect is read.
    let is_sparser = |of: (u128, u128), than: Option<&(u128, u128)>| {
        than.is_some_and(|than| of.0 * than.1 < than.0 * of.1 / 3 * 2)
    };
    let suspects = closed.iter().enumerate().filter(|(number, of)| {
        let before = number.checked_sub(1).and_then(|number| closed.get(number));
        closed.len() < 3 || is_sparser(**of, before) || is_sparser(**of, closed.get(number + 1))
    });
    suspects.map(|(number, _)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspects(segments: &[(i64, u64)]) -> Vec<usize> {
        let segments: Vec<(Offset, u64)> = segments
            .iter()
            .map(|(base, bytes)| (Offset(*base), *bytes))
            .collect();
        gap_suspects(&segments)
    }

    #[test]
    fn a_segment_that_spans_too_much_for_its_bytes_is_looked_at() {
        let whole = [(0, 100), (10, 101), (20, 99), (30, 100), (40, 3)];
        assert!(suspects(&whole).is_empty());
        for (gone, want) in [(1, vec![0]), (2, vec![1]), (3, vec![2])] {
            let mut left = whole.to_vec();
            left.push((41, 1));
            left.remove(gone);
            assert_eq!(suspects(&left)[..1], want[..], "{gone}");
        }
        // Nothing to compare with.
        assert_eq!(suspects(&[(0, 100), (20, 100)]), [0]);
        assert_eq!(suspects(&[(0, 1), (5, 1), (6, 1)]), [0, 1]);
        assert!(suspects(&[(0, 100)]).is_empty() && suspects(&[]).is_empty());
    }

    #[test]
    fn what_was_not_looked_at_is_told() {
        let mut search = GapSearch::default();
        assert_eq!(search.findings(), []);
        search.unread = 2;
        let [told] = search.findings().try_into().unwrap();
        assert!(
            told.text
                .starts_with("the ends of 2 segments were not read")
        );
        assert_eq!(told.severity, Severity::Routine);
    }

    #[test]
    fn offsets_of_any_size_do_not_overflow() {
        let most = [
            (0, u64::MAX),
            (i64::MAX - 1, u64::MAX),
            (i64::MAX, u64::MAX),
            (i64::MAX, 0),
        ];
        assert!(!suspects(&most).is_empty());
        let gap = OffsetGap {
            after: Offset(0),
            from: Offset(i64::MIN),
            to: Offset(i64::MAX),
        };
        assert_eq!(gap.offsets(), u64::try_from(i64::MAX).unwrap());
    }
}
