//! Acts on the living cluster: the plan that is shown, what is under way, what waits for its old values.

use std::sync::Arc;

use crate::plan::{LiveAct, LivePlan};
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
