//! The order in which a `java.util.HashMap<Long, …>` hands out its keys.
//!
//! Kafka writes the entries of a producer snapshot in that order, so equal bytes need the same buckets, chains, trees
//! and resizes.

use std::collections::HashMap;

use super::java_tree::JavaTree;

const INITIAL_CAPACITY: usize = 16;
const MIN_TREEIFY_CAPACITY: usize = 64;
const UNTREEIFY_UP_TO: usize = 6;

/// How a new key joins its bin; Java's `put` and `computeIfAbsent` differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// `HashMap.put`: behind the chain; the table grows after the insertion.
    Put,
    /// `HashMap.computeIfAbsent`: before the chain; the table grows before the insertion.
    ComputeIfAbsent,
}

/// The keys of one bucket in their order; a long one has a tree.
#[derive(Debug, Clone, Default)]
struct Bin {
    keys: Vec<i64>,
    tree: Option<JavaTree>,
}

impl Bin {
    fn treeify(&mut self) {
        if self.tree.is_none() {
            self.tree = Some(JavaTree::of(&mut self.keys));
        }
    }

    /// Splits the bin by a bit of its keys' hashes, each part in its order.
    fn split(self, bit: u32) -> (Self, Self) {
        let (high, low): (Vec<i64>, Vec<i64>) =
            self.keys.iter().partition(|key| spread(**key) & bit != 0);
        let Some(tree) = self.tree else {
            return (
                Self {
                    keys: low,
                    tree: None,
                },
                Self {
                    keys: high,
                    tree: None,
                },
            );
        };
        let is_whole = |part: &Vec<i64>| part.len() == low.len() + high.len();
        let (low_whole, high_whole) = (is_whole(&low), is_whole(&high));
        let part = |keys: Vec<i64>, whole: bool| {
            let mut bin = Self { keys, tree: None };
            match (bin.keys.len() > UNTREEIFY_UP_TO, whole) {
                (true, true) => bin.tree = Some(tree.clone()),
                (true, false) => bin.treeify(),
                (false, _) => {}
            }
            bin
        };
        (part(low, low_whole), part(high, high_whole))
    }
}

/// A map from `long` keys with Java's iteration order, for insertions and for being emptied as a whole.
#[derive(Debug, Clone)]
pub(crate) struct JavaMap<V> {
    values: HashMap<i64, V>,
    bins: Vec<Bin>,
    insertion: Insertion,
}

impl<V> JavaMap<V> {
    /// Returns an empty map whose keys come in by `insertion`.
    pub(crate) fn new(insertion: Insertion) -> Self {
        Self {
            values: HashMap::new(),
            bins: Vec::new(),
            insertion,
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

    /// Drops all keys. As in Java the table keeps its size, and with it the order of what comes next.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.bins.fill_with(Bin::default);
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
            .flat_map(|bin| &bin.keys)
            .filter_map(|key| self.values.get(key).map(|value| (*key, value)))
    }

    fn link_last(&mut self, key: i64) {
        if self.bins.is_empty() {
            self.grow();
        }
        let index = self.bin_of(key);
        if let Some(bin) = self.bins.get_mut(index) {
            let before = bin.keys.len();
            match &mut bin.tree {
                Some(tree) => tree.insert(key, &mut bin.keys),
                None => bin.keys.push(key),
            }
            if bin.tree.is_none() && before >= 8 {
                self.treeify(index);
            }
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
        if let Some(bin) = self.bins.get_mut(index) {
            let before = bin.keys.len();
            match &mut bin.tree {
                Some(tree) => tree.insert(key, &mut bin.keys),
                None => bin.keys.insert(0, key),
            }
            if bin.tree.is_none() && before >= 7 {
                self.treeify(index);
            }
        }
    }

    fn threshold(&self) -> usize {
        self.bins.len() / 4 * 3
    }

    /// A long bin makes a small table grow; in a large one it becomes a tree.
    fn treeify(&mut self, index: usize) {
        if self.bins.len() < MIN_TREEIFY_CAPACITY {
            self.grow();
        } else if let Some(bin) = self.bins.get_mut(index) {
            bin.treeify();
        }
    }

    /// Doubles the table; each bin is split in two.
    fn grow(&mut self) {
        if self.bins.is_empty() {
            self.bins = vec![Bin::default(); INITIAL_CAPACITY];
            return;
        }
        let bit = u32::try_from(self.bins.len()).unwrap_or(u32::MAX);
        let (low, high): (Vec<Bin>, Vec<Bin>) =
            self.bins.drain(..).map(|bin| bin.split(bit)).unzip();
        self.bins = low.into_iter().chain(high).collect();
    }

    fn bin_of(&self, key: i64) -> usize {
        spread(key) as usize & (self.bins.len() - 1)
    }
}

/// Returns `HashMap.hash` of a `Long`.
pub(super) fn spread(key: i64) -> u32 {
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
        order_in(&mut JavaMap::new(insertion), keys)
    }

    fn order_in(map: &mut JavaMap<()>, keys: &[i64]) -> Vec<i64> {
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

    /// What JDK 17 answered for keys of few buckets, thousands of inserts, both ways: `tests/golden/java-map`.
    #[test]
    fn long_bins_are_ordered_as_the_jdk_orders_them() {
        let vectors = include_str!("../../tests/golden/java-map/orders.txt");
        let mut compared = 0;
        for line in vectors.lines().filter(|line| !line.starts_with('#')) {
            let [way, keys, want] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let parse = |text: &str| {
                text.split(',')
                    .map(|key| key.parse().unwrap())
                    .collect::<Vec<i64>>()
            };
            let insertion = if way == "compute" {
                Insertion::ComputeIfAbsent
            } else {
                Insertion::Put
            };
            let keys = parse(keys);
            if way == "cleared" {
                let (before, after) = keys.split_at(keys.len() / 4 * 3);
                let mut map = JavaMap::new(insertion);
                order_in(&mut map, before);
                map.clear();
                assert_eq!(order_in(&mut map, after), parse(want), "{line}");
            } else {
                assert_eq!(order(insertion, &keys), parse(want), "{line}");
            }
            compared += 1;
        }
        assert!(compared >= 100, "{compared}");
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
