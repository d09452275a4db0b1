//! The rules' results, and the run over all of them.

use std::collections::BTreeSet;

use super::{config, copies, foreign, groups, keys, live, names};
use crate::mirror::facts::{ClusterFacts, Facts};
use crate::mirror::flow::{Flow, FlowName, FlowState};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LintSeverity {
    /// It does not work, or records are lost.
    Error,
    /// It will surprise.
    Warning,
    /// Worth knowing.
    Info,
}

/// One thing that a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// The rule: `E-`, `W-` or `I-` and a name.
    pub code: &'static str,
    /// The flow that it concerns.
    pub flow: Option<FlowName>,
    /// Where: a file with its line, a topic, a group.
    pub place: Option<String>,
    /// What, and what follows from it.
    pub text: String,
    /// What to do.
    pub next: String,
}

impl Lint {
    /// Returns how bad it is, by the code's first letter.
    pub fn severity(&self) -> LintSeverity {
        match self.code.as_bytes().first() {
            Some(b'E') => LintSeverity::Error,
            Some(b'W') => LintSeverity::Warning,
            _ => LintSeverity::Info,
        }
    }
}

/// A rule that could not be applied.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SilentLint {
    /// The rule.
    pub code: &'static str,
    /// The fact that it needs.
    pub missing: String,
}

/// What all rules came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LintReport {
    /// What was found, the worst first.
    pub lints: Vec<Lint>,
    /// The rules that stayed silent for want of a fact.
    pub silent: BTreeSet<SilentLint>,
}

/// What the rules look at, and where they tell.
pub(super) struct Rules<'a> {
    pub(super) facts: &'a Facts,
    pub(super) flows: &'a [Flow],
    report: LintReport,
}

impl<'a> Rules<'a> {
    /// Tells of something without a flow.
    pub(super) fn tell(
        &mut self,
        code: &'static str,
        place: Option<String>,
        text: impl Into<String>,
        next: impl Into<String>,
    ) {
        self.report.lints.push(Lint {
            code,
            flow: None,
            place,
            text: text.into(),
            next: next.into(),
        });
    }

    /// Tells of something in a flow.
    pub(super) fn tell_flow(
        &mut self,
        code: &'static str,
        (flow, place): (&Flow, Option<String>),
        text: impl Into<String>,
        next: impl Into<String>,
    ) {
        self.report.lints.push(Lint {
            code,
            flow: Some(flow.name.clone()),
            place,
            text: text.into(),
            next: next.into(),
        });
    }

    /// Says that rules cannot be applied.
    pub(super) fn silent(&mut self, codes: &[&'static str], missing: impl Into<String>) {
        let missing = missing.into();
        for code in codes {
            self.report.silent.insert(SilentLint {
                code,
                missing: missing.clone(),
            });
        }
    }

    /// Returns the flows that copy records.
    pub(super) fn active(&self) -> impl Iterator<Item = &'a Flow> + use<'a> {
        let flows = self.flows.iter();
        flows.filter(|flow| flow.state == FlowState::Active)
    }

    /// Returns what is known of a cluster.
    pub(super) fn cluster(&self, alias: &str) -> Option<&'a ClusterFacts> {
        self.facts.clusters.get(alias)
    }
}

/// Applies every rule.
pub fn lint(facts: &Facts, flows: &[Flow]) -> LintReport {
    let mut rules = Rules {
        facts,
        flows,
        report: LintReport::default(),
    };
    keys::apply(&mut rules);
    config::apply(&mut rules);
    names::apply(&mut rules);
    groups::apply(&mut rules);
    copies::apply(&mut rules);
    foreign::apply(&mut rules);
    live::apply(&mut rules);
    let mut report = rules.report;
    report.lints.sort_by(|a, b| {
        (a.severity(), a.code, &a.flow, &a.place).cmp(&(b.severity(), b.code, &b.flow, &b.place))
    });
    report
}
