//! `replay`: shows a recording again, with its pace on a terminal, in lines elsewhere. Needs no broker and changes nothing.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Write};

use crate::app::boot_words::{self, Told};
use crate::app::recording::{Fact, Header, Recorded};
use crate::app::{replica_words, text};
use crate::cli::args::ReplayArgs;
use crate::cli::{CliError, Exit};

/// The longest line: a look at a boot of tens of thousands of logs.
const LINE_CAP: u64 = 64 << 20;

/// A recording that was read.
#[derive(Debug)]
pub struct Recording {
    /// Its first line.
    pub header: Header,
    /// What was seen, in order.
    pub facts: Vec<Recorded>,
    /// Whether its last line breaks off.
    pub is_torn: bool,
    /// Facts of kinds that only a later krescue knows: they are left out.
    pub unknown: u64,
}

impl Recording {
    /// Reads a recording; a last line that breaks off is left out.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is none.
    pub fn read(source: impl Read, name: &str) -> Result<Self, CliError> {
        let wrong = |line: usize, why: &str| {
            CliError::usage(format!("cannot replay {name}, line {line}: {why}"))
                .hint("Recordings are made by :record in the dashboard, or by watch --record FILE.")
        };
        let mut source = BufReader::new(source);
        let mut line = Vec::new();
        let mut number = 0;
        let mut header = None;
        let mut facts = Vec::new();
        let (mut is_torn, mut unknown) = (false, 0);
        loop {
            line.clear();
            number += 1;
            let read = source.by_ref().take(LINE_CAP).read_until(b'\n', &mut line);
            match read {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return Err(wrong(number, "it cannot be read").because(&error)),
            }
            let is_whole = line.last() == Some(&b'\n');
            let text = String::from_utf8_lossy(&line);
            let Some(_) = &header else {
                header = Some(Header::parse(text.trim_end()).map_err(|why| wrong(number, &why))?);
                continue;
            };
            match Recorded::parse(text.trim_end()) {
                Ok(Some(fact)) => facts.push(fact),
                Ok(None) => unknown += 1,
                Err(_) if !is_whole => is_torn = true,
                Err(why) => return Err(wrong(number, &why)),
            }
        }
        let header = header.ok_or_else(|| wrong(1, "it is empty"))?;
        Ok(Self {
            header,
            facts,
            is_torn,
            unknown,
        })
    }

    /// Says how many facts were left out, if any was.
    pub fn left_out(&self) -> Option<String> {
        let facts = text::plural(self.unknown, "fact", "facts");
        let maker = &self.header.krescue;
        (self.unknown > 0)
            .then(|| format!("{facts} of kinds that only krescue {maker} knows were left out"))
    }

    /// Says whether it begins with a look at a living cluster rather than at a boot.
    pub fn is_of_a_cluster(&self) -> bool {
        let mut facts = self.facts.iter().map(|seen| &seen.fact);
        let first = facts.find(|fact| matches!(fact, Fact::Boot(_) | Fact::Cluster(_)));
        matches!(first, Some(Fact::Cluster(_)))
    }
}

/// Runs `replay`.
pub(in crate::cli) fn replay(args: &ReplayArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let name = args.file.display().to_string();
    let file = File::open(&args.file).map_err(|error| {
        CliError::usage(format!("cannot open the recording {name}"))
            .because(&error)
            .hint("Recordings are made by :record in the dashboard, or by watch --record FILE.")
    })?;
    let recording = Recording::read(file, &name)?;
    #[cfg(feature = "tui")]
    if super::has_terminal() {
        return super::dashboard::show_recording(recording, args.speed);
    }
    tell(&recording, out)
}

/// Tells a recording in lines.
fn tell(recording: &Recording, out: &mut dyn Write) -> Result<Exit, CliError> {
    let zone = jiff::tz::TimeZone::system();
    let header = &recording.header;
    let began = text::date_time(header.at, &zone);
    writeln!(out, "recording of {} from {began}", header.host)?;
    for Recorded { at, fact } in &recording.facts {
        let clock = text::clock(*at, &zone);
        match fact {
            Fact::Broker(broker) => {
                let node = broker
                    .node_id
                    .map_or_else(|| "?".to_owned(), |id| id.to_string());
                writeln!(out, "{clock} broker {node}, Kafka {}", broker.version)?;
            }
            Fact::Listed(dirs) => {
                let logs = dirs.iter().map(|dir| dir.partitions.len() as u64).sum();
                let logs = text::plural(logs, "log", "logs");
                let dirs = text::plural(dirs.len() as u64, "log dir", "log dirs");
                writeln!(out, "{clock} {logs} in {dirs}")?;
            }
            Fact::Boot(look) => {
                for trouble in &look.troubles {
                    let told = Told::of(trouble);
                    let place = told.partition.as_ref().map(|name| format!("{name} "));
                    let word = if trouble.is_loss() { "LOSS" } else { "note" };
                    writeln!(out, "{word}  {}{}", place.unwrap_or_default(), told.text)?;
                }
                writeln!(out, "{clock} {}", boot_words::sentence(look, &zone))?;
                if let Some(end) = &look.end {
                    writeln!(out, "{}", boot_words::ended(end))?;
                }
            }
            Fact::Cluster(facts) => {
                writeln!(out, "{clock} {}", replica_words::state(facts))?;
            }
            Fact::ClusterLost { cause } => writeln!(out, "{clock} no broker answers: {cause}")?,
        }
    }
    if let Some(text) = recording.left_out() {
        writeln!(out, "{text}")?;
    }
    if recording.is_torn {
        writeln!(out, "the recording breaks off here")?;
    }
    Ok(Exit::Ok)
}
