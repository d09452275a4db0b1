//! Writes what is seen to a file, a line a fact, so that it can be shown again.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::CliError;
use crate::app::recording::{Fact, Header, Recorded};
use crate::observe::BootReport;
use crate::settings::{Source, Sourced, check_state_dir};
use crate::terms::Timestamp;

/// The replicas of a cluster that a second of a recording tells of, at most: one of thousands of partitions is told of less often.
const REPLICAS_A_SECOND: i64 = 200;
/// The least time between two looks at a boot that say nothing but how far it is, in ms.
const EVERY_MS: i64 = 1000;

/// A recording that is made.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: BufWriter<File>,
    /// A look that was not worth a line yet.
    waiting: Option<BootReport>,
    written: Option<Timestamp>,
    /// When the next look at the cluster is worth a line.
    cluster_due: Option<Timestamp>,
}

impl Recorder {
    /// Begins a recording of `host` in a new file.
    ///
    /// # Errors
    ///
    /// The file exists, cannot be made, or would lie in a log dir, where a boot would die of it.
    pub fn create(
        path: &Path,
        host: &str,
        at: Timestamp,
        log_dirs: &[PathBuf],
    ) -> Result<Self, CliError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let parent = path.parent().unwrap_or(&path).to_owned();
        let place = Sourced::new(parent, Source::Flag { name: "--record" });
        if check_state_dir(&place, log_dirs).is_err() {
            return Err(CliError::usage(format!(
                "the recording {} would lie in a log dir",
                path.display()
            ))
            .hint("Name a file elsewhere: a broker dies of a file that it does not know."));
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(|error| {
            CliError::usage(format!("cannot record to {}", path.display()))
                .because(&error)
                .hint("Name a new file in a folder that can be written.")
        })?;
        let mut recorder = Self {
            path,
            file: BufWriter::new(file),
            waiting: None,
            written: None,
            cluster_due: None,
        };
        recorder
            .write(&Header::new(host, at))
            .map_err(|error| CliError::failed("cannot record").because(&error))?;
        Ok(recorder)
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes what was seen.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn take(&mut self, at: Timestamp, fact: Fact) -> io::Result<()> {
        if let Fact::Cluster(facts) = &fact {
            if self.cluster_due.is_some_and(|due| at < due) {
                return Ok(());
            }
            let rows = i64::try_from(facts.rows.len()).unwrap_or(i64::MAX);
            let ms = rows.saturating_mul(1000) / REPLICAS_A_SECOND;
            self.cluster_due = Some(Timestamp(at.0.saturating_add(ms)));
        }
        let Fact::Boot(mut report) = fact else {
            return self.write(&Recorded { at, fact });
        };
        if let Some(before) = self.waiting.take() {
            report.absorb(before);
        }
        let is_due = self
            .written
            .is_none_or(|written| at.0 - written.0 >= EVERY_MS);
        if !is_due && report.end.is_none() {
            self.waiting = Some(*report);
            return Ok(());
        }
        self.written = Some(at);
        self.write(&Recorded {
            at,
            fact: Fact::Boot(report),
        })
    }

    fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, line)?;
        self.file.write_all(b"\n")?;
        // A recording of an incident is read although the recorder was killed.
        self.file.flush()
    }
}
