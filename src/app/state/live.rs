//! Acts on the living cluster: the plan that is shown, what is under way, what waits for its old values.

use std::sync::Arc;

use crate::plan::{FreedSoFar, LiveAct, LivePlan};
use crate::terms::Timestamp;

use super::overlay::Prompt;

/// A plan for the living cluster, as it is shown.
#[derive(Debug, Clone)]
pub struct LiveDialog {
    /// Its hash.
    pub hash: String,
    /// The plan.
    pub plan: Arc<LivePlan>,
    /// Its lines.
    pub lines: Arc<[String]>,
    /// The first line shown.
    pub scroll: usize,
    /// The question, once it was asked for.
    pub prompt: Option<Prompt>,
    /// Why it is not asked.
    pub refused: Option<String>,
    /// Whether it was carried out, or tried.
    pub applied: bool,
    /// What came of it, once it has ended.
    pub outcome: Option<Result<Vec<String>, String>>,
}

/// What is asked of the cluster now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveWork {
    /// What, as the subject of a sentence.
    pub what: String,
    /// Since when.
    pub since: Timestamp,
}

/// A change of the living cluster whose old values are not back yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptChange {
    /// The plan that made it.
    pub plan: LivePlan,
    /// When it was carried out.
    pub since: Timestamp,
}

impl KeptChange {
    /// Returns the topic whose settings it changed.
    pub fn topic(&self) -> Option<&String> {
        match &self.plan.act {
            LiveAct::TopicConfigs { topic, .. } => Some(topic),
            _ => None,
        }
    }
}

/// A change by which segments go, followed until they have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freeing {
    /// The plan's hash.
    pub hash: String,
    /// The plan that made it.
    pub plan: Arc<LivePlan>,
    /// What was done, a sentence each.
    pub done: Vec<String>,
    /// What the brokers have freed.
    pub so_far: FreedSoFar,
    /// Why the rest stays, a sentence each; `None` until it is over.
    pub stays: Option<Vec<String>>,
}

impl Freeing {
    /// Says whether it is about `topic`.
    pub fn is_of(&self, topic: &str) -> bool {
        self.plan.frees().is_some_and(|(of, _)| of == topic)
    }
}
