//! The order in which a `java.util.HashMap<Long, …>` hands out its keys.
//!
//! Kafka writes the entries of a producer snapshot in that order, so equal bytes need the same buckets, chains and
//! resizes. A bin that Java would turn into a red-black tree is noticed and reported, not imitated.

use std::collections::HashMap;

const INITIAL_CAPACITY: usize = 16;
const MIN_TREEIFY_CAPACITY: usize = 64;

/// How a new key joins its bin; Java's `put` and `computeIfAbsent` differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// `HashMap.put`: behind the chain; the table grows after the insertion.
    Put,
    /// `HashMap.computeIfAbsent`: before the chain; the table grows before the insertion.
    ComputeIfAbsent,
}

/// A map from `long` keys with Java's iteration order, for insertions alone.
#[derive(Debug, Clone)]
pub(crate) struct JavaMap<V> {
    values: HashMap<i64, V>,
    bins: Vec<Vec<i64>>,
    insertion: Insertion,
    treeified: bool,
}

impl<V> JavaMap<V> {
    /// Returns an empty map whose keys come in by `insertion`.
    pub(crate) fn new(insertion: Insertion) -> Self {
        Self {
            values: HashMap::new(),
            bins: Vec::new(),
            insertion,
            treeified: false,
        }
    }

    /// Returns the value of `key`.
    pub(crate) fn get(&self, key: i64) -> Option<&V> {
        self.values.get(&key)
    }

    /// Returns the value of `key` to be changed in place, which keeps the order.
    pub(crate) fn get_mut(&mut self, key: i64) -> Option<&mut V> {
        self.values.get_mut(&key)
    }

    /// Returns how many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Says whether a bin grew so long that Java keeps it as a tree: then the order is not known.
    pub(crate) fn is_treeified(&self) -> bool {
        self.treeified
    }

    /// Notes that the order of insertion itself was not known.
    pub(crate) fn mark_treeified(&mut self) {
        self.treeified = true;
    }

    /// Sets the value of `key`.
    pub(crate) fn insert(&mut self, key: i64, value: V) {
        if self.values.insert(key, value).is_some() {
            return;
        }
        match self.insertion {
            Insertion::Put => self.link_last(key),
            Insertion::ComputeIfAbsent => self.link_first(key),
        }
    }

    /// Returns keys and values in Java's order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, &V)> {
        self.bins
            .iter()
            .flatten()
            .filter_map(|key| self.values.get(key).map(|value| (*key, value)))
    }

    fn link_last(&mut self, key: i64) {
        if self.bins.is_empty() {
            self.grow();
        }
        let index = self.bin_of(key);
        let Some(bin) = self.bins.get_mut(index) else {
            return;
        };
        let before = bin.len();
        bin.push(key);
        if before >= 8 {
            self.treeify();
        }
        if self.values.len() > self.threshold() {
            self.grow();
        }
    }

    fn link_first(&mut self, key: i64) {
        // `values` holds the key already, Java counts it afterwards.
        if self.bins.is_empty() || self.values.len() - 1 > self.threshold() {
            self.grow();
        }
        let index = self.bin_of(key);
        let Some(bin) = self.bins.get_mut(index) else {
            return;
        };
        let before = bin.len();
        bin.insert(0, key);
        if before >= 7 {
            self.treeify();
        }
    }

    fn threshold(&self) -> usize {
        self.bins.len() / 4 * 3
    }

    /// A long bin makes a small table grow; in a large one it becomes a tree.
    fn treeify(&mut self) {
        if self.bins.len() < MIN_TREEIFY_CAPACITY {
            self.grow();
        } else {
            self.treeified = true;
        }
    }

    /// Doubles the table; each chain is split in two that keep its order.
    fn grow(&mut self) {
        let capacity = if self.bins.is_empty() {
            INITIAL_CAPACITY
        } else {
            self.bins.len() * 2
        };
        let keys: Vec<i64> = self.bins.drain(..).flatten().collect();
        self.bins = vec![Vec::new(); capacity];
        for key in keys {
            let index = self.bin_of(key);
            if let Some(bin) = self.bins.get_mut(index) {
                bin.push(key);
            }
        }
    }

    fn bin_of(&self, key: i64) -> usize {
        spread(key) as usize & (self.bins.len() - 1)
    }
}

/// Returns `HashMap.hash` of a `Long`.
fn spread(key: i64) -> u32 {
    let key = key.cast_unsigned();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "Long.hashCode keeps the low 32 bits"
    )]
    let hash = (key ^ (key >> 32)) as u32;
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(insertion: Insertion, keys: &[i64]) -> Vec<i64> {
        let mut map = JavaMap::new(insertion);
        for key in keys {
            map.insert(*key, ());
        }
        map.iter().map(|(key, ())| key).collect()
    }

    // What JDK 17 answered (spec of recovery, test vectors).
    #[test]
    fn put_orders_by_bucket_then_by_insertion() {
        assert_eq!(
            order(Insertion::Put, &[17, 1, 33, 16, 32, 48, 0, 5]),
            [16, 32, 48, 0, 17, 1, 33, 5]
        );
    }

    #[test]
    fn compute_if_absent_prepends_to_the_chain() {
        assert_eq!(
            order(Insertion::ComputeIfAbsent, &[17, 1, 33, 16, 32, 48, 0, 5]),
            [0, 48, 32, 16, 33, 1, 17, 5]
        );
    }

    #[test]
    fn a_chain_of_nine_in_a_small_table_makes_it_grow_and_in_a_large_one_is_reported() {
        let keys: Vec<i64> = (0..9).map(|n| n * 16).collect();
        let mut map = JavaMap::new(Insertion::Put);
        for key in &keys {
            map.insert(*key, ());
        }
        assert!(!map.is_treeified());
        let mut map = JavaMap::new(Insertion::Put);
        for n in 0..11 {
            map.insert(n * 1024, ());
        }
        assert!(map.is_treeified());
    }

    #[test]
    fn a_second_value_keeps_the_place() {
        let mut map = JavaMap::new(Insertion::Put);
        for (key, value) in [(16, 'a'), (0, 'b'), (16, 'c')] {
            map.insert(key, value);
        }
        assert_eq!(
            map.iter().map(|(k, v)| (k, *v)).collect::<Vec<_>>(),
            [(16, 'c'), (0, 'b')]
        );
        assert_eq!(map.len(), 2);
    }
}
