//! A map whose latest changes can be taken back.

use std::collections::BTreeMap;
use std::ops::Deref;

/// A sorted map that remembers what its changes since the last [`UndoMap::mark`] replaced. It is read as the map it is.
#[derive(Debug, Clone)]
pub(super) struct UndoMap<K, V> {
    map: BTreeMap<K, V>,
    replaced: Vec<(K, Option<V>)>,
}

impl<K: Ord + Clone, V> UndoMap<K, V> {
    pub(super) fn insert(&mut self, key: K, value: V) {
        let before = self.map.insert(key.clone(), value);
        self.replaced.push((key, before));
    }

    pub(super) fn remove(&mut self, key: K) -> bool {
        match self.map.remove(&key) {
            Some(before) => {
                self.replaced.push((key, Some(before)));
                true
            }
            None => false,
        }
    }

    /// Keeps all changes so far for good.
    pub(super) fn mark(&mut self) {
        self.replaced.clear();
    }

    /// Takes back all changes since the last mark.
    pub(super) fn roll_back(&mut self) {
        for (key, before) in self.replaced.drain(..).rev() {
            match before {
                Some(value) => self.map.insert(key, value),
                None => self.map.remove(&key),
            };
        }
    }

    pub(super) fn into_values(self) -> impl Iterator<Item = V> {
        self.map.into_values()
    }
}

impl<K, V> Default for UndoMap<K, V> {
    fn default() -> Self {
        Self {
            map: BTreeMap::new(),
            replaced: Vec::new(),
        }
    }
}

impl<K, V> Deref for UndoMap<K, V> {
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &BTreeMap<K, V> {
        &self.map
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_roll_back_gives_the_map_of_the_mark(
            before: Vec<(u8, Option<u16>)>,
            after: Vec<(u8, Option<u16>)>,
        ) {
            let apply = |map: &mut UndoMap<u8, u16>, changes: &[(u8, Option<u16>)]| {
                for (key, value) in changes {
                    match value {
                        Some(value) => map.insert(*key, *value),
                        None => drop(map.remove(*key)),
                    }
                }
            };
            let mut map = UndoMap::default();
            apply(&mut map, &before);
            map.mark();
            let marked: BTreeMap<u8, u16> = (*map).clone();
            apply(&mut map, &after);
            map.roll_back();
            prop_assert_eq!(&*map, &marked);
            map.roll_back();
            prop_assert_eq!(&*map, &marked);
        }
    }
}
