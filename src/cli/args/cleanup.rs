//! Options of `cleanup`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::Answers;
use crate::plan::retention::WhatIf;
use crate::settings::{Quarantine, parse_size};

/// What is to go.
#[derive(Debug, Clone, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
#[group(required = true, multiple = false)]
pub struct CleanupWhat {
    /// At least so much more is to become free on the volume of --on: leftovers first, then the oldest segments
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "on")]
    pub free: Option<u64>,
    /// What a broker or its next boot removes by itself: -delete dirs, .deleted and .cleaned files, orphan indexes
    #[arg(long)]
    pub leftovers: bool,
    /// What retention deletes at the broker's next pass, of all topics or of these topics and partitions
    #[arg(long, value_name = "TOPIC", num_args = 0.., value_delimiter = ',')]
    pub past_retention: Option<Vec<String>>,
    /// -stray dirs that the metadata of this host proves to be strays
    #[arg(long)]
    pub strays: bool,
}

/// Arguments of `cleanup`.
#[derive(Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct CleanupArgs {
    /// What is to go
    #[command(flatten)]
    pub what: CleanupWhat,
    /// The log dir whose volume is to become free
    #[arg(long, value_name = "DIR")]
    pub on: Option<PathBuf>,
    /// Act on the dir of --on although a broker serves others: it must have taken this one offline
    #[arg(long, requires = "on")]
    pub beside_broker: bool,
    /// What would go under other limits, such as retention.ms=3d: good records, class C
    #[arg(long, value_name = "KEY=VALUE,..", requires = "past_retention", value_parser = WhatIf::parse)]
    pub what_if: Option<WhatIf>,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// What is done with the plan
    #[command(flatten)]
    pub answers: Answers,
    /// Where what goes is kept, on another volume, or "none" [default: STATE/quarantine]
    #[arg(long, value_name = "DIR|none")]
    pub quarantine: Option<Quarantine>,
}

impl CleanupArgs {
    /// Returns the words that ask for the same plan.
    pub fn words(&self) -> String {
        let mut words = vec!["cleanup".to_owned()];
        match (self.what.free, self.what.strays) {
            _ if self.what.past_retention.is_some() => {
                words.push("--past-retention".to_owned());
                words.extend(self.what.past_retention.iter().flatten().cloned());
                words.extend(self.what_if.map(|wish| format!("--what-if {wish}")));
            }
            (Some(bytes), _) => words.push(format!("--free {bytes}")),
            (None, true) => words.push("--strays".to_owned()),
            (None, false) => words.push("--leftovers".to_owned()),
        }
        if let Some(on) = &self.on {
            words.push(format!("--on {}", on.display()));
        }
        if self.beside_broker {
            words.push("--beside-broker".to_owned());
        }
        match &self.quarantine {
            Some(Quarantine::None) => words.push("--quarantine none".to_owned()),
            Some(Quarantine::Dir(dir)) => words.push(format!("--quarantine {}", dir.display())),
            None => {}
        }
        words.join(" ")
    }
}
