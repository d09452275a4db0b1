//! The red-black tree that `java.util.HashMap` makes of a long bin, as far as it decides the bin's order.
//!
//! A bin's nodes stay in a list beside the tree: a new node comes right behind its tree parent, and after each change
//! the root is moved to the list's front.

use super::java_map::spread;

const NIL: usize = usize::MAX;

#[derive(Debug, Clone, Copy)]
struct Node {
    key: i64,
    parent: usize,
    left: usize,
    right: usize,
    red: bool,
}

/// The tree of one bin.
#[derive(Debug, Clone)]
pub(super) struct JavaTree {
    nodes: Vec<Node>,
    root: usize,
}

impl JavaTree {
    /// Makes a tree of a bin's keys in their order, and moves its root to the front of the keys.
    pub(super) fn of(keys: &mut Vec<i64>) -> Self {
        let mut tree = Self {
            nodes: Vec::with_capacity(keys.len()),
            root: NIL,
        };
        for key in keys.iter() {
            tree.link(*key);
        }
        tree.move_root_to_front(keys);
        tree
    }

    /// Adds a key that the bin does not have.
    pub(super) fn insert(&mut self, key: i64, keys: &mut Vec<i64>) {
        let parent = self.link(key);
        let place = parent.and_then(|parent| keys.iter().position(|known| *known == parent));
        keys.insert(place.map_or(0, |place| place + 1), key);
        self.move_root_to_front(keys);
    }

    fn move_root_to_front(&self, keys: &mut Vec<i64>) {
        if let Some(root) = self.nodes.get(self.root)
            && let Some(place) = keys.iter().position(|key| *key == root.key)
        {
            let root = keys.remove(place);
            keys.insert(0, root);
        }
    }

    /// Links a key into the tree; returns its parent's key at that moment, before the tree is balanced.
    fn link(&mut self, key: i64) -> Option<i64> {
        let order = (spread(key).cast_signed(), key);
        let (mut parent, mut at, mut goes_left) = (NIL, self.root, false);
        while let Some(node) = self.nodes.get(at) {
            parent = at;
            goes_left = order < (spread(node.key).cast_signed(), node.key);
            at = if goes_left { node.left } else { node.right };
        }
        let new = self.nodes.len();
        self.nodes.push(Node {
            key,
            parent,
            left: NIL,
            right: NIL,
            red: true,
        });
        let parent_key = self.nodes.get(parent).map(|node| node.key);
        match self.nodes.get_mut(parent) {
            None => self.root = new,
            Some(node) if goes_left => node.left = new,
            Some(node) => node.right = new,
        }
        self.balance(new);
        parent_key
    }

    /// Restores the colours after `at` was linked in red.
    fn balance(&mut self, mut at: usize) {
        while self.is_red(self.parent(at)) {
            let parent = self.parent(at);
            let grandparent = self.parent(parent);
            let parent_is_left = self.left(grandparent) == parent;
            let uncle = if parent_is_left {
                self.right(grandparent)
            } else {
                self.left(grandparent)
            };
            if self.is_red(uncle) {
                self.paint(parent, false);
                self.paint(uncle, false);
                self.paint(grandparent, true);
                at = grandparent;
                continue;
            }
            let is_inner = if parent_is_left {
                self.right(parent) == at
            } else {
                self.left(parent) == at
            };
            if is_inner {
                at = parent;
                self.rotate(at, parent_is_left);
            }
            let parent = self.parent(at);
            let grandparent = self.parent(parent);
            self.paint(parent, false);
            self.paint(grandparent, true);
            self.rotate(grandparent, !parent_is_left);
        }
        self.paint(self.root, false);
    }

    /// Rotates around `at`, to the left or to the right.
    fn rotate(&mut self, at: usize, to_left: bool) {
        let child = if to_left {
            self.right(at)
        } else {
            self.left(at)
        };
        let inner = if to_left {
            self.left(child)
        } else {
            self.right(child)
        };
        let parent = self.parent(at);
        self.set_child(at, to_left, inner);
        self.set_parent(inner, at);
        self.set_child(child, !to_left, at);
        self.set_parent(child, parent);
        if parent == NIL {
            self.root = child;
        } else {
            let was_left = self.left(parent) == at;
            self.set_child(parent, !was_left, child);
        }
        self.set_parent(at, child);
    }

    /// Sets the right child, or the left one.
    fn set_child(&mut self, at: usize, right: bool, child: usize) {
        if let Some(node) = self.nodes.get_mut(at) {
            if right {
                node.right = child;
            } else {
                node.left = child;
            }
        }
    }

    fn set_parent(&mut self, at: usize, parent: usize) {
        if let Some(node) = self.nodes.get_mut(at) {
            node.parent = parent;
        }
    }

    fn paint(&mut self, at: usize, red: bool) {
        if let Some(node) = self.nodes.get_mut(at) {
            node.red = red;
        }
    }

    fn is_red(&self, at: usize) -> bool {
        self.nodes.get(at).is_some_and(|node| node.red)
    }

    fn parent(&self, at: usize) -> usize {
        self.nodes.get(at).map_or(NIL, |node| node.parent)
    }

    fn left(&self, at: usize) -> usize {
        self.nodes.get(at).map_or(NIL, |node| node.left)
    }

    fn right(&self, at: usize) -> usize {
        self.nodes.get(at).map_or(NIL, |node| node.right)
    }
}
