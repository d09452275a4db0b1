//! What a host's owner forbids, whatever is asked for.

use std::path::{Path, PathBuf};

use super::{Class, PlanAct, RecoveryPlan, Verdict};

/// A rule and where it stands (`forbid_classes in /etc/krescue/policy.toml line 3`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule<T> {
    /// What it says.
    pub value: T,
    /// Where it stands.
    pub place: String,
}

/// The rules of a host; none by default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// Why the rules are not known: a file that cannot be read or does not say what it should. Then nothing may be done.
    pub broken: Option<String>,
    /// Nothing may be changed; the value is not needed.
    pub read_only: Option<Rule<()>>,
    /// `--yes-to-all` is no answer.
    pub no_yes_to_all: Option<Rule<()>>,
    /// Kafka's way is not taken where it costs good records.
    pub no_like_kafka: Option<Rule<()>>,
    /// Classes that nobody can confirm.
    pub no_classes: Vec<Rule<Class>>,
    /// The only state dir.
    pub state_dir: Option<Rule<PathBuf>>,
    /// The only quarantine.
    pub quarantine: Option<Rule<PathBuf>>,
}

/// What somebody wants to do.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// The plan to carry out.
    pub plan: &'a RecoveryPlan,
    /// Whether it was confirmed by `--yes-to-all`.
    pub yes_to_all: bool,
    /// The state dir.
    pub state_dir: &'a Path,
}

impl Policy {
    /// Returns why nothing at all may be changed, with file and line.
    pub fn forbids_acting(&self) -> Option<String> {
        if let Some(broken) = &self.broken {
            return Some(format!("the host's policy is not known: {broken}"));
        }
        let rule = self.read_only.as_ref()?;
        Some(format!("this session is read-only ({})", rule.place))
    }

    /// Returns why `--yes-to-all` is no answer.
    pub fn forbids_yes_to_all(&self) -> Option<String> {
        let rule = self.no_yes_to_all.as_ref()?;
        Some(format!("--yes-to-all is forbidden ({})", rule.place))
    }

    /// Returns why Kafka's way may not be taken where it costs good records.
    pub fn forbids_like_kafka(&self) -> Option<String> {
        let rule = self.no_like_kafka.as_ref()?;
        let text = "Kafka's way is forbidden where it costs good records";
        Some(format!("{text} ({})", rule.place))
    }

    /// Returns why a plan may not be carried out, with file and line.
    pub fn forbids(&self, wish: Wish<'_>) -> Option<String> {
        self.forbids_acting()
            .or_else(|| self.forbids_yes_to_all().filter(|_| wish.yes_to_all))
            .or_else(|| {
                self.forbids_like_kafka()
                    .filter(|_| costs_records(wish.plan))
            })
            .or_else(|| {
                let class = wish.plan.class();
                let rule = self
                    .no_classes
                    .iter()
                    .find(|rule| Some(rule.value) == class)?;
                Some(format!(
                    "class {:?} is forbidden ({})",
                    rule.value, rule.place
                ))
            })
            .or_else(|| {
                let rule = self.state_dir.as_ref()?;
                (rule.value != wish.state_dir).then(|| only("state dir", rule))
            })
            .or_else(|| {
                // An undo takes away nothing that it would have to keep, and a move what it copied.
                let rule = self.quarantine.as_ref()?;
                let other = wish.plan.quarantine.as_ref() != Some(&rule.value);
                let keeps = wish.plan.undoes.is_none() && wish.plan.act != PlanAct::Move;
                (other && keeps).then(|| only("quarantine", rule))
            })
    }
}

fn only(what: &str, rule: &Rule<PathBuf>) -> String {
    format!(
        "the {what} must be {} ({})",
        rule.value.display(),
        rule.place
    )
}

fn costs_records(plan: &RecoveryPlan) -> bool {
    plan.partitions()
        .any(|log| matches!(&log.verdict, Verdict::Ask(ask) if ask.accepted))
}
