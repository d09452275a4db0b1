//! From an error to what the person reads: a message, what to do next, and the process' exit code.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::engine::EngineError;
use crate::settings::SettingsError;

/// How the process ends; the numbers are a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Exit {
    /// Looking: nothing beyond routine. Acting: each selected partition reached its planned end.
    Ok = 0,
    /// It failed.
    Failed = 1,
    /// The command line or a settings file is wrong.
    Usage = 2,
    /// Looking: findings, or a plan with a step. Acting: done, but some logs stay as they are.
    Findings = 3,
    /// Refused before any change.
    Refused = 4,
    /// Stopped in the middle; a rerun goes on.
    Stopped = 5,
}

impl Exit {
    /// Returns the process' exit code.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An error at the edge: what failed, why, what to do, and how the process ends.
#[derive(Debug)]
pub struct CliError {
    /// How the process ends.
    pub exit: Exit,
    /// What failed, a lower-case fragment.
    pub message: String,
    /// Why, outermost first.
    pub causes: Vec<String>,
    /// What to do next, a sentence each.
    pub hints: Vec<String>,
}

impl CliError {
    /// Returns the message with its causes, without hints.
    pub fn in_one_line(&self) -> String {
        let parts = std::iter::once(&self.message).chain(&self.causes);
        parts.map(String::as_str).collect::<Vec<_>>().join(": ")
    }

    /// Returns an error that ends with `exit`.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Returns an error of the command line or a settings file.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Returns a refusal; nothing was changed.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(Exit::Refused, message)
    }

    /// Returns a failure.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// Adds `error` and what it names as its sources as causes.
    #[must_use]
    pub fn because(mut self, error: &dyn Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            let text = error.to_string();
            // Some errors repeat their source; say it once.
            if !self.causes.last().is_some_and(|last| last.ends_with(&text)) {
                self.causes.push(text);
            }
            next = error.source();
        }
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        if !hint.is_empty() {
            self.hints.push(hint);
        }
        self
    }

    /// Writes the error, a line each: what, why, what to do.
    pub fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let kind = match self.exit {
            Exit::Refused => "refused",
            Exit::Stopped => "stopped",
            _ => "error",
        };
        writeln!(to, "krescue: {kind}: {}", self.message)?;
        for cause in &self.causes {
            writeln!(to, "  cause: {cause}")?;
        }
        for hint in &self.hints {
            writeln!(to, "  next: {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for cause in &self.causes {
            write!(f, ": {cause}")?;
        }
        Ok(())
    }
}

impl Error for CliError {}

impl From<io::Error> for CliError {
    /// An error of writing to the terminal or the pipe; errors of files are placed where they happen.
    fn from(error: io::Error) -> Self {
        Self::failed("cannot write the report").because(&error)
    }
}

impl From<SettingsError> for CliError {
    fn from(error: SettingsError) -> Self {
        let exit = match &error {
            SettingsError::Read { .. }
            | SettingsError::LogDirMissing { .. }
            | SettingsError::LogDirDangling { .. }
            | SettingsError::LogDirUnreadable { .. } => Exit::Failed,
            SettingsError::Policy { .. } => Exit::Refused,
            _ => Exit::Usage,
        };
        let hint = settings_hint(&error);
        let mut this = Self::new(exit, error.to_string()).hint(hint);
        if let Some(source) = error.source() {
            this = this.because(source);
        }
        this
    }
}

/// Returns what to do about a setting.
fn settings_hint(error: &SettingsError) -> &'static str {
    match error {
        SettingsError::Read { .. } => "Check the path and the rights, or name another file.",
        SettingsError::Properties { .. } => "Java does not load it either: mend the line.",
        SettingsError::Value { .. } => {
            "Mend the value; Kafka does not start with it either if it is the broker's."
        }
        SettingsError::UnknownKey { .. } => {
            "The keys are those of assets/default-settings.properties."
        }
        SettingsError::NoLogDir { .. } => "Name the log dirs with --log-dirs A,B.",
        SettingsError::LogDirMissing { .. } => "Check the path; is its volume mounted?",
        SettingsError::LogDirDangling { .. } => "Is the volume of the link's target mounted?",
        SettingsError::LogDirNoDirectory { .. } => "Name the dir that holds the partitions' dirs.",
        SettingsError::LogDirUnreadable { .. } => "Run krescue as root or as the broker's user.",
        SettingsError::LogDirIsPartition { .. } => "Name the dir above it.",
        SettingsError::LogDirTwice { .. } => "Name it once: Kafka does not start over it twice.",
        SettingsError::LogDirNested { .. } => {
            "Kafka takes the inner one for a partition: name one of them."
        }
        SettingsError::StateInLogDir { .. } => {
            "Kafka does not start over a dir that it does not know: name a place outside of the log dirs."
        }
        SettingsError::Policy { .. } => "Leave the option out.",
        SettingsError::NoStateDir => "Name one with --state-dir DIR.",
        SettingsError::TopicConfig { .. } => {
            "A line is TOPIC KEY=VALUE[,KEY=VALUE], or what kafka-topics.sh --describe prints."
        }
    }
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        let (exit, hint) = match &error {
            EngineError::Cancelled => (Exit::Stopped, ""),
            EngineError::BadPlanHash { .. } | EngineError::AmbiguousPlan { .. } => {
                (Exit::Usage, "The hash is on the plan: krescue recover.")
            }
            EngineError::NoSuchPlan { .. } => (
                Exit::Refused,
                "Make the plan again (krescue recover), or name its --state-dir.",
            ),
            EngineError::CannotUndo { .. } => (
                Exit::Refused,
                "Nothing was changed; krescue quarantine ls shows what can be taken back.",
            ),
            EngineError::Refused { .. } => (Exit::Refused, "Nothing was changed."),
            EngineError::NoSuchJob { .. } => (Exit::Failed, "krescue jobs lists them."),
            EngineError::StateInsideLogDir { .. } => (Exit::Usage, "Name another --state-dir."),
            EngineError::StateDamaged { .. } => (
                Exit::Failed,
                "Make the plan again (krescue recover); what the job did stays done.",
            ),
            EngineError::WorkerDied { .. } => (Exit::Failed, "This is a defect of krescue."),
            _ => (Exit::Failed, ""),
        };
        let mut this = Self::new(exit, error.to_string()).hint(hint);
        if let Some(source) = error.source() {
            this = this.because(source);
        }
        this
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] io::Error);

    #[test]
    fn an_error_says_what_why_and_what_next() {
        let source = Outer(io::Error::other("inner"));
        let error = CliError::refused("the lock of /d1 is held")
            .because(&source)
            .hint("Stop the broker first.");
        let mut text = Vec::new();
        error.write(&mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "krescue: refused: the lock of /d1 is held\n  cause: outer\n  cause: inner\n  next: Stop the broker first.\n"
        );
        assert_eq!(error.exit.code(), 4);
    }
}
