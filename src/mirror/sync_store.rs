//! Which offset syncs MirrorMaker 2 still knows of a partition, and what it makes of a commit (`OffsetSyncStore`).
//!
//! It keeps 64 slots: slot 0 is the newest sync, slot 63 the oldest one usable, and between them syncs thin out so that
//! slot k is about 2^k offsets behind slot 0. A sync with a lower upstream offset than the newest empties the store.

use serde::{Deserialize, Serialize};

use crate::terms::{KafkaVersion, Offset};

/// Slots of a partition (`OffsetSyncStore.SYNCS_PER_PARTITION`).
const SLOTS: usize = 64;

/// One sync: a record of the source and the same record of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SyncPair {
    /// The record's offset on the source.
    pub upstream: Offset,
    /// The record's offset on the target.
    pub downstream: Offset,
}

impl SyncPair {
    /// Returns the pair of both offsets.
    pub const fn new(upstream: i64, downstream: i64) -> Self {
        Self {
            upstream: Offset(upstream),
            downstream: Offset(downstream),
        }
    }
}

/// How a release thins its syncs and translates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinning {
    /// Up to 3.4.0: the newest sync alone, from which a commit is counted on.
    Latest,
    /// 3.4.1 to 3.5.1: a slot takes what its neighbour gives up, or nothing.
    Neighbour,
    /// From 3.5.2 on (KAFKA-15202): a slot takes the best of what all before it give up.
    #[default]
    Cursor,
}

impl Thinning {
    /// Returns that of a release.
    pub fn of(version: KafkaVersion) -> Self {
        if version < KafkaVersion::new(3, 4, 1) {
            Self::Latest
        } else if version < KafkaVersion::new(3, 5, 2) {
            Self::Neighbour
        } else {
            Self::Cursor
        }
    }
}

/// A sync in a slot; two slots may hold the same record, and then the number is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    record: u64,
    pair: SyncPair,
}

impl Slot {
    const ZERO: Self = Self {
        record: 0,
        pair: SyncPair::new(0, 0),
    };
}

/// What a commit becomes on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Translated {
    /// There is no sync of the partition.
    NoSync,
    /// Every sync that is left is newer than the commit (Kafka's −1): nothing is emitted.
    TooOld {
        /// The oldest sync that is left.
        oldest: SyncPair,
    },
    /// The commit is at or behind a sync.
    At {
        /// The position on the target.
        downstream: Offset,
        /// The sync that it was told from.
        pair: SyncPair,
    },
}

impl Translated {
    /// Returns the position, if there is one to emit.
    pub fn downstream(self) -> Option<Offset> {
        match self {
            Self::At { downstream, .. } if downstream.0 >= 0 => Some(downstream),
            _ => None,
        }
    }
}

/// The syncs that are left of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncStore {
    thinning: Thinning,
    records: u64,
    /// Empty, or [`SLOTS`] of them.
    slots: Vec<Slot>,
}

impl SyncStore {
    /// Returns a store without syncs.
    pub fn new(thinning: Thinning) -> Self {
        Self {
            thinning,
            records: 0,
            slots: vec![],
        }
    }

    /// Takes the next sync, as MirrorMaker 2 does while it runs and while it reads the topic at its start.
    pub fn push(&mut self, pair: SyncPair) {
        let newest = Slot {
            record: self.records,
            pair,
        };
        self.records += 1;
        let rewound = self
            .slots
            .first()
            .is_none_or(|first| pair.upstream < first.pair.upstream);
        if rewound || self.thinning == Thinning::Latest {
            self.slots.clear();
            self.slots.resize(SLOTS, newest);
            return;
        }
        if let Ok(slots) = <&mut [Slot; SLOTS]>::try_from(self.slots.as_mut_slice()) {
            take(slots, newest, self.thinning);
        }
    }

    /// Translates a commit.
    ///
    /// At a sync its downstream offset; behind one the offset after it, and no further, since nothing says that what lies
    /// between was copied. Up to 3.4.0 a commit is counted on from the newest sync.
    pub fn translate(&self, commit: Offset) -> Translated {
        let (Some(newest), Some(oldest)) = (self.slots.first(), self.slots.last()) else {
            return Translated::NoSync;
        };
        let found = self.slots.iter().find(|slot| slot.pair.upstream <= commit);
        let pair = found.unwrap_or(oldest).pair;
        if pair.upstream > commit {
            return Translated::TooOld { oldest: pair };
        }
        let ahead = commit.0.saturating_sub(pair.upstream.0);
        let step = if self.thinning == Thinning::Latest {
            debug_assert_eq!(newest.pair, pair);
            ahead
        } else {
            ahead.min(1)
        };
        Translated::At {
            downstream: Offset(pair.downstream.0.saturating_add(step)),
            pair,
        }
    }

    /// Returns the syncs that are left, the newest first.
    pub fn pairs(&self) -> impl Iterator<Item = SyncPair> {
        let mut last = None;
        self.slots.iter().filter_map(move |slot| {
            (last.replace(slot.record) != Some(slot.record)).then_some(slot.pair)
        })
    }
}

/// Puts a sync that is newer than all into slot 0; what it displaces moves on as far as Kafka lets it.
fn take(slots: &mut [Slot; SLOTS], newest: Slot, thinning: Thinning) {
    // What the slots held before, as far as they are set: most syncs set few of them. Zeros are written fastest.
    let mut old = [Slot::ZERO; SLOTS];
    old[0] = std::mem::replace(&mut slots[0], newest);
    let mut before = newest;
    let mut candidate = newest;
    let mut cursor = 0;
    for k in 1..SLOTS {
        let (Some(here), behind) = (slots.get(k).copied(), slots.get(k + 1).copied()) else {
            return;
        };
        // From here on every slot stays; who would have been put here does not matter then.
        if near(before, here, k - 1, k) {
            return;
        }
        let was = |j: usize| if j < k { old.get(j) } else { slots.get(j) };
        let fits = |offered: Slot| {
            near(before, offered, k - 1, k) && behind.is_none_or(|behind| far(offered, behind, k))
        };
        if thinning == Thinning::Neighbour {
            let offered = was(k - 1).copied();
            if let Some(offered) = offered.filter(|it| far(before, *it, k - 1) && fits(*it)) {
                candidate = offered;
            }
        } else {
            while let Some(offered) = was(cursor).copied() {
                let next = was(cursor + 1);
                let is_far = far(before, offered, k - 1);
                let dead = !is_far || next.is_some_and(|next| next.record == offered.record);
                let taken = is_far && fits(offered);
                if taken {
                    candidate = offered;
                }
                if taken || dead {
                    cursor += 1;
                }
                if !(dead && cursor < k) {
                    break;
                }
            }
        }
        if let (Some(old), Some(place)) = (old.get_mut(k), slots.get_mut(k)) {
            *old = here;
            *place = candidate;
        }
        before = candidate;
    }
}

/// Says whether slot `j` may hold `b` while slot `i` holds `a`: it is not too far behind.
fn near(a: Slot, b: Slot, i: usize, j: usize) -> bool {
    let bound = b
        .pair
        .upstream
        .0
        .wrapping_add(power(j))
        .wrapping_sub(power(i));
    a.record == b.record || bound < 0 || a.pair.upstream.0 <= bound
}

/// Says whether `b` is far enough behind `a` of slot `i` to be worth a slot of its own.
fn far(a: Slot, b: Slot, i: usize) -> bool {
    let bound = b.pair.upstream.0.wrapping_add(power(i.saturating_sub(2)));
    a.record == b.record || (bound >= 0 && a.pair.upstream.0 >= bound)
}

fn power(exponent: usize) -> i64 {
    1_i64.wrapping_shl(u32::try_from(exponent).unwrap_or(0))
}

/// A store as JSON has it: each sync with the number of slots that hold it.
#[derive(Serialize, Deserialize)]
struct Packed {
    thinning: Thinning,
    slots: Vec<(i64, i64, usize)>,
}

impl Serialize for SyncStore {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut slots: Vec<(u64, (i64, i64, usize))> = vec![];
        for slot in &self.slots {
            match slots.last_mut() {
                Some((record, (_, _, count))) if *record == slot.record => *count += 1,
                _ => slots.push((
                    slot.record,
                    (slot.pair.upstream.0, slot.pair.downstream.0, 1),
                )),
            }
        }
        Packed {
            thinning: self.thinning,
            slots: slots.into_iter().map(|(_, slot)| slot).collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SyncStore {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let packed = Packed::deserialize(deserializer)?;
        let mut slots = vec![];
        let mut records = 0;
        for (upstream, downstream, count) in packed.slots {
            let slot = Slot {
                record: records,
                pair: SyncPair::new(upstream, downstream),
            };
            slots.extend(std::iter::repeat_n(slot, count.min(SLOTS)));
            records += 1;
        }
        if !slots.is_empty() && slots.len() != SLOTS {
            return Err(serde::de::Error::custom(
                "a sync store has 64 slots or none",
            ));
        }
        Ok(Self {
            thinning: packed.thinning,
            records,
            slots,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn store(thinning: Thinning, pairs: &[(i64, i64)]) -> SyncStore {
        let mut store = SyncStore::new(thinning);
        for (upstream, downstream) in pairs {
            store.push(SyncPair::new(*upstream, *downstream));
        }
        store
    }

    fn same(offsets: impl IntoIterator<Item = i64>) -> Vec<(i64, i64)> {
        offsets.into_iter().map(|offset| (offset, offset)).collect()
    }

    /// What Kafka's `translateDownstream` returns: −1 for a commit before every sync; −2 stands for none.
    fn answers(store: &SyncStore, commits: &[i64]) -> Vec<i64> {
        let answer = |commit: &i64| match store.translate(Offset(*commit)) {
            Translated::NoSync => -2,
            Translated::TooOld { .. } => -1,
            Translated::At { downstream, .. } => downstream.0,
        };
        commits.iter().map(answer).collect()
    }

    fn kept(store: &SyncStore) -> Vec<i64> {
        store.pairs().map(|pair| pair.upstream.0).collect()
    }

    #[test]
    fn live_pairs_translate_as_kafkas_do() {
        let live = |pairs: &[(i64, i64)], commits: &[i64]| {
            answers(&store(Thinning::Cursor, pairs), commits)
        };
        let pairs = same([0, 3, 7]);
        assert_eq!(
            live(&pairs, &[0, 1, 2, 3, 4, 6, 7, 8, 100]),
            [0, 1, 1, 3, 4, 4, 7, 8, 8]
        );
        let mut pairs = vec![(100, 200), (150, 251)];
        assert_eq!(
            live(&pairs, &[5, 100, 149, 150, 151]),
            [-1, 200, 201, 251, 252]
        );
        pairs.push((200, 10));
        // Older pairs outlive a target that was made anew.
        assert_eq!(live(&pairs, &[100, 200, 201]), [200, 10, 11]);
        pairs.push((20, 20));
        assert_eq!(live(&pairs, &[19, 20, 200]), [-1, 20, 21]);
        let mut pairs = same([100, 200, 300]);
        pairs.push((50, 400));
        assert_eq!(live(&pairs, &[49, 50, 60, 250]), [-1, 400, 401, 401]);
        let pairs = same([0, 101, 202]);
        assert_eq!(
            live(&pairs, &[0, 1, 50, 100, 101, 102, 150, 202, 203, 230, 300]),
            [0, 1, 1, 1, 101, 102, 102, 202, 203, 203, 203]
        );
        let mut pairs = vec![(0, 0), (6, 5), (10, 8), (15, 12)];
        assert_eq!(live(&pairs, &[6, 10, 14, 17]), [1, 8, 9, 13]);
        pairs.push((16, 13));
        assert_eq!(live(&pairs, &[17]), [14]);
        let mut pairs = same((0..=18).step_by(2).chain([62]).chain((64..=78).step_by(2)));
        assert_eq!(live(&pairs, &[250]), [79]);
        pairs.push((314, 314));
        assert_eq!(live(&pairs, &[250, 316]), [1, 315]);
        let pairs = [
            (0, 0),
            (101, 101),
            (202, 202),
            (250, 250),
            (251, 281),
            (285, 315),
        ];
        assert_eq!(
            live(&pairs, &[251, 260, 285, 300, 101, 230, 340]),
            [281, 282, 315, 316, 1, 203, 316]
        );
    }

    #[test]
    fn old_syncs_thin_out_as_kafkas_do() {
        let pairs = [
            (11, 4),
            (12, 5),
            (13, 6),
            (14, 7),
            (15, 8),
            (16, 9),
            (17, 10),
        ];
        let thinned = store(Thinning::Cursor, &pairs);
        assert_eq!(kept(&thinned), [17, 16, 15, 11]);
        assert_eq!(answers(&thinned, &[12, 13, 16, 18]), [5, 5, 9, 11]);
        let pairs = same([0, 100, 200, 400]);
        let cursor = store(Thinning::Cursor, &pairs);
        assert_eq!(kept(&cursor), [400, 200, 0]);
        assert_eq!(answers(&cursor, &[399]), [201]);
        let neighbour = store(Thinning::Neighbour, &pairs);
        assert_eq!(kept(&neighbour), [400, 0]);
        assert_eq!(answers(&neighbour, &[399]), [1]);
        let spaced = store(Thinning::Cursor, &same((0..=100).map(|n| n * 101)));
        assert_eq!(
            kept(&spaced),
            [10100, 9999, 9898, 9696, 8888, 8080, 6464, 0]
        );
        assert_eq!(
            answers(&spaced, &[50, 5000, 9000, 10099, 10100]),
            [1, 1, 8889, 10000, 10100]
        );
        let spaced = store(Thinning::Cursor, &same((0..=1000).map(|n| n * 10)));
        assert_eq!(
            kept(&spaced),
            [
                10000, 9990, 9960, 9900, 9840, 9600, 9120, 8640, 7680, 3840, 0
            ]
        );
        let warm = store(Thinning::Cursor, &same([175, 275, 375, 475]));
        assert_eq!(answers(&warm, &[250, 370, 400]), [176, 176, 376]);
    }

    #[test]
    fn a_cold_load_and_old_releases_know_the_last_pair_alone() {
        // What is left after compaction, and what 3.4.1 to 3.7.0 kept of their load.
        let cold = store(Thinning::Cursor, &[(7, 7)]);
        assert_eq!(answers(&cold, &[2, 6, 7, 8]), [-1, -1, 7, 8]);
        let latest =
            |pairs: &[(i64, i64)], commit| answers(&store(Thinning::Latest, pairs), &[commit]);
        assert_eq!(latest(&[(0, 0), (3, 3)], 6), [6]);
        assert_eq!(latest(&[(0, 0), (3, 3), (7, 7)], 6), [-1]);
        assert_eq!(latest(&[], 100), [-2]);
        assert_eq!(latest(&[(7, 7)], 100), [100]);
    }

    #[test]
    fn releases_have_their_store() {
        for (version, thinning) in [
            (KafkaVersion::new(3, 4, 0), Thinning::Latest),
            (KafkaVersion::new(3, 4, 1), Thinning::Neighbour),
            (KafkaVersion::new(3, 5, 1), Thinning::Neighbour),
            (KafkaVersion::new(3, 5, 2), Thinning::Cursor),
            (KafkaVersion::new(4, 3, 1), Thinning::Cursor),
        ] {
            assert_eq!(Thinning::of(version), thinning, "{version}");
        }
    }

    proptest! {
        #[test]
        fn the_newest_and_the_first_since_a_rewind_stay(
            offsets in prop::collection::vec(0..100_000_i64, 1..300),
        ) {
            let store = store(Thinning::Cursor, &same(offsets.iter().copied()));
            let pairs: Vec<i64> = kept(&store);
            let start = (0..offsets.len())
                .rev()
                .find(|at| *at == 0 || offsets[*at] < offsets[at - 1])
                .unwrap();
            prop_assert_eq!(pairs.first(), offsets.last());
            prop_assert_eq!(pairs.last(), Some(&offsets[start]));
            prop_assert!(pairs.is_sorted_by(|a, b| a >= b));
        }

        #[test]
        fn a_later_commit_is_never_translated_to_an_earlier_place(
            gaps in prop::collection::vec((1..500_i64, 1..500_i64), 1..200),
            commits in prop::collection::vec(0..60_000_i64, 2),
        ) {
            let mut at = (0, 0);
            let pairs: Vec<_> = gaps
                .iter()
                .map(|(u, d)| {
                    at = (at.0 + u, at.1 + d);
                    at
                })
                .collect();
            let store = store(Thinning::Cursor, &pairs);
            let mut commits = commits;
            commits.sort_unstable();
            let places = answers(&store, &commits);
            prop_assert!(places[0] <= places[1]);
        }

        #[test]
        fn a_store_is_the_same_after_json(offsets in prop::collection::vec(0..5_000_i64, 0..100)) {
            let one = store(Thinning::Cursor, &same(offsets.iter().copied()));
            let text = serde_json::to_string(&one).unwrap();
            let mut two: SyncStore = serde_json::from_str(&text).unwrap();
            let mut one = one;
            for offset in [4_000, 4_001, 6_000] {
                one.push(SyncPair::new(offset, offset));
                two.push(SyncPair::new(offset, offset));
            }
            prop_assert_eq!(one.pairs().collect::<Vec<_>>(), two.pairs().collect::<Vec<_>>());
        }
    }
}
