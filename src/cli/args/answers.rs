//! What every command that can change something takes.

use clap::{Args as ClapArgs, ValueEnum};

use crate::cli::value::{HashPrefix, parse_hash};
use crate::plan::HandOver;

/// What a log dir is handed over as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum HandOverArg {
    /// No checkpoint and no marker is written: a boot reads everything again
    None,
    /// Recovery points become the logs' ends: a boot reads the last segment of each log again
    #[default]
    Verify,
    /// Recovery points and an empty clean-shutdown marker: a boot reads nothing again
    Clean,
}

impl From<HandOverArg> for HandOver {
    fn from(given: HandOverArg) -> Self {
        match given {
            HandOverArg::None => Self::None,
            HandOverArg::Verify => Self::Verify,
            HandOverArg::Clean => Self::Clean,
        }
    }
}

/// Whether a plan is carried out, and who says yes.
#[derive(Debug, Clone, Default, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct Answers {
    /// Carry the plan out, once it is confirmed
    #[arg(long)]
    pub apply: bool,
    /// Ask nothing and run the stored plan with this hash (8 or more of its hex digits)
    #[arg(long, value_name = "HASH", requires = "apply", value_parser = parse_hash)]
    pub yes: Option<HashPrefix>,
    /// Answer every confirmation of this plan with yes; for scripts
    #[arg(long, requires = "apply", conflicts_with = "yes")]
    pub yes_to_all: bool,
}

impl Answers {
    /// Returns the hash of the stored plan that is to be carried out, if one was named.
    pub fn stored(&self) -> Option<&HashPrefix> {
        self.yes.as_ref().filter(|_| self.apply)
    }
}
