//! What a job is started with, and what it is known by.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::engine::StoredPlan;
use crate::terms::Timestamp;

/// A job's name in `STATE/jobs`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub(in crate::engine) String);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that names no job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not the id of a job")]
pub struct ParseJobIdError(String);

impl FromStr for JobId {
    type Err = ParseJobIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if text.is_empty() || text.len() > 64 || !text.bytes().all(plain) {
            return Err(ParseJobIdError(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

/// How an apply was confirmed; goes into the audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confirmed {
    /// What was asked for was typed.
    Typed,
    /// `--yes HASH`.
    ByHash,
    /// `--yes-to-all`.
    YesToAll,
}

/// Who acts, and from where.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Who {
    /// The user that the process runs as.
    pub user: String,
    /// Its terminal, if it has one (`/dev/pts/3`).
    pub terminal: Option<String>,
    /// Who called sudo (`SUDO_USER`).
    pub sudo_user: Option<String>,
    /// Client and server of the SSH session (`SSH_CONNECTION`).
    pub ssh_connection: Option<String>,
    /// The host.
    pub host: String,
}

impl Who {
    /// Returns a user of whom nothing else is known.
    pub fn named(user: &str) -> Self {
        Self {
            user: user.to_owned(),
            ..Self::default()
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.user)?;
        if let Some(sudo) = &self.sudo_user {
            write!(f, " (sudo {sudo})")?;
        }
        if let Some(terminal) = &self.terminal {
            write!(f, " on {terminal}")?;
        }
        Ok(())
    }
}

/// An apply of a stored plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The plan's full hash.
    pub plan: String,
    /// Every log dir of the config: a lock held in any of them refuses the job. Those of the plan need not be repeated.
    pub also_locked: Vec<PathBuf>,
    /// When it was started, for the audit.
    pub started_at: Timestamp,
    /// Who started it, for the audit.
    pub who: Who,
    /// How it was confirmed.
    pub confirmed: Confirmed,
    /// Workers in all; `None` for min(cores, 16).
    pub threads: Option<usize>,
    /// The hash of the plan that this one takes back, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
}

impl JobSpec {
    /// Returns an apply of `stored` that looks for locks in its own log dirs only.
    pub fn of(stored: &StoredPlan, started_at: Timestamp, who: Who, confirmed: Confirmed) -> Self {
        Self {
            plan: stored.hash.clone(),
            also_locked: Vec::new(),
            started_at,
            who,
            confirmed,
            threads: None,
            undoes: stored.plan.undoes.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_leave_its_folder() {
        assert!("20261130T101500-7f3a91c2".parse::<JobId>().is_ok());
        for text in ["", "..", "a/b", "a b", &"x".repeat(65)] {
            assert!(text.parse::<JobId>().is_err());
        }
    }
}
