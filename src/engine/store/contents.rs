//! What planned steps will write, kept in memory up to a budget and beyond it in the state dir.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::plan_store::{PlanStore, Staging};
use crate::log::RebuiltIndex;
use crate::plan::{Content, PartitionPlan, StepAction};

/// Bytes of contents that a plan may hold in memory.
const BUDGET: u64 = 24 << 20;

/// The contents of a plan in the making.
#[derive(Debug)]
pub(in crate::engine) struct Contents {
    store: Option<PlanStore>,
    staging: Mutex<Option<Staging>>,
    held: AtomicU64,
    budget: u64,
}

impl Contents {
    /// Returns an empty collection that spills into `store`, if there is one.
    pub(in crate::engine) fn new(store: Option<PlanStore>) -> Self {
        Self {
            store,
            staging: Mutex::new(None),
            held: AtomicU64::new(0),
            budget: BUDGET,
        }
    }

    /// Takes a rebuilt index that differs from the disk.
    pub(in crate::engine) fn keep_index(&self, bytes: Vec<u8>) -> RebuiltIndex {
        let len = bytes.len() as u64;
        if self.held.fetch_add(len, Ordering::Relaxed) + len <= self.budget {
            return RebuiltIndex::Bytes(bytes);
        }
        let mut content = Content::new(bytes);
        self.spill(&mut content);
        match content.bytes {
            None => RebuiltIndex::Stored {
                len,
                sha256: content.sha256,
            },
            Some(bytes) => RebuiltIndex::Bytes(bytes.to_vec()),
        }
    }

    /// Takes what a log's steps write; spills it where too much is held already.
    pub(in crate::engine) fn keep(&self, plan: &mut PartitionPlan) {
        for step in &mut plan.steps {
            if let StepAction::Write { content, .. } = &mut step.action
                && self.held.fetch_add(content.len, Ordering::Relaxed) + content.len > self.budget
            {
                self.spill(content);
            }
        }
    }

    /// Returns what was spilled.
    pub(in crate::engine) fn into_staging(self) -> Option<Staging> {
        self.staging
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves a content's bytes to the state dir; where that cannot be written they stay in memory.
    fn spill(&self, content: &mut Content) {
        let Some(store) = &self.store else { return };
        if content.bytes.is_none() {
            return;
        }
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        if staging.is_none() {
            *staging = store.stage().ok();
        }
        if let Some(staging) = staging.as_ref() {
            let kept = content.bytes.clone();
            if staging.pack.store(content).is_err() {
                content.bytes = kept;
            }
        }
        self.held.fetch_sub(content.len, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_passes_the_budget_goes_to_disk() {
        let state = tempfile::tempdir().unwrap();
        let mut contents = Contents::new(Some(PlanStore::new(state.path())));
        contents.budget = 100;
        assert!(matches!(
            contents.keep_index(vec![1; 60]),
            RebuiltIndex::Bytes(_)
        ));
        let RebuiltIndex::Stored { len, sha256 } = contents.keep_index(vec![2; 60]) else {
            panic!("it is held in memory");
        };
        let staging = contents.into_staging().unwrap();
        let content = Content {
            len,
            sha256,
            bytes: None,
        };
        assert_eq!(&*staging.pack.bytes(&content).unwrap(), [2; 60]);
    }

    #[test]
    fn without_a_state_dir_everything_stays_in_memory() {
        let mut contents = Contents::new(None);
        contents.budget = 0;
        assert!(matches!(
            contents.keep_index(vec![1; 60]),
            RebuiltIndex::Bytes(_)
        ));
        assert!(contents.into_staging().is_none());
    }
}
