//! What goes wrong in a boot, in words: a code for programs, a sentence, and what to do next.

use crate::observe::server_log::{BootEnd, BootEvent, BootTrouble};

use super::text;

/// A trouble as it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The kind, for programs.
    pub code: &'static str,
    /// The log dir, where it is known.
    pub dir: Option<String>,
    /// The partition dir's name, where it is known.
    pub partition: Option<String>,
    /// What happened.
    pub text: String,
    /// What to do next; empty where nothing is to be done.
    pub next: &'static str,
}

const KEEP: &str = "stop the broker before it serves more of it, and see what krescue's quarantine or another replica still has";
const REPAIR: &str = "repair the log dir, then start the broker again";

impl Told {
    /// Returns how `trouble` is told.
    pub fn of(trouble: &BootTrouble) -> Self {
        let mut told = Self::of_event(&trouble.event);
        if let Some(cause) = &trouble.cause {
            told.text = format!("{}: {cause}", told.text);
        }
        told
    }

    fn of_event(event: &BootEvent) -> Self {
        let told = |code, text: String, next| Self {
            code,
            dir: None,
            partition: None,
            text,
            next,
        };
        match event {
            BootEvent::Cut {
                log,
                dir,
                base_offset,
                offset,
            } => told(
                "cut",
                format!("cuts segment {base_offset} at offset {offset}"),
                "",
            )
            .at(dir, log),
            BootEvent::InvalidMessages { file, position } => told(
                "invalid_batch",
                format!("{file} is not valid from byte {} on", text::count(position.0)),
                "",
            ),
            BootEvent::Emptied {
                log,
                dir,
                base_offset,
            } => told(
                "segment_emptied",
                format!(
                    "empties segment {base_offset}: its offsets go back or, from 4.0 on, any I/O error met its recovery"
                ),
                KEEP,
            )
            .at(dir, log),
            BootEvent::SegmentsDeleted { log, dir, segments } => {
                let bytes = segments.iter().map(|segment| segment.bytes).sum();
                let count = text::plural(segments.len() as u64, "segment", "segments");
                let what = format!("deletes {count} behind a cut, {}", text::bytes(bytes));
                told("segments_deleted", what, KEEP).at(dir, log)
            }
            BootEvent::AllDeleted {
                log,
                dir,
                log_end_offset,
                log_start_offset,
            } => told(
                "all_deleted",
                format!("deletes all segments: the end {log_end_offset} lies below the log start {log_start_offset}"),
                KEEP,
            )
            .at(dir, log),
            BootEvent::Stray { from, to } => told(
                "stray",
                format!("{from} belongs to no partition of this broker and is now {to}"),
                "before it is deleted: check that the metadata log is the right one",
            ),
            BootEvent::DirOffline { dir } => {
                let what = format!("the broker gave up {dir} and serves none of its logs");
                told("dir_offline", what, REPAIR).at(dir, "")
            }
            BootEvent::LogFailed { path, dir, .. } => {
                told("log_failed", format!("{path} could not be loaded"), REPAIR).at(dir, "")
            }
            BootEvent::RecreatedEmpty { log } => told(
                "recreated_empty",
                "is made anew, empty, in another log dir".to_owned(),
                "the next boot fails on the double dir: delete the newer, empty copy",
            )
            .at("", log),
            BootEvent::MetadataNotApplied { what } => told(
                "metadata_not_applied",
                format!("some partitions may not be served: {what}"),
                "repair the checkpoint that the cause names, then start the broker again",
            ),
            BootEvent::CleanerDead => told(
                "cleaner_dead",
                "the log cleaner is dead; compacted topics grow".to_owned(),
                "repair cleaner-offset-checkpoint, then start the broker again",
            ),
            BootEvent::Error(what) => told("error", what.clone(), ""),
            BootEvent::Fatal(what) => told("fatal", what.clone(), ""),
            _ => told("other", String::new(), ""),
        }
    }

    fn at(mut self, dir: &str, log: &str) -> Self {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.dir = some(dir);
        self.partition = some(log);
        self
    }
}

/// Returns how a boot ended, as a sentence.
pub fn ended(end: &BootEnd) -> String {
    match end {
        BootEnd::Up => "the broker is up".to_owned(),
        BootEnd::Died { cause } => format!("the boot died: {cause}"),
        BootEnd::Stopped { signal } => {
            format!("{signal} ended the boot; what it had recovered is lost and begins anew")
        }
        BootEnd::Killed => {
            "the process is gone without a word: killed, or out of memory; what it had recovered begins anew"
                .to_owned()
        }
    }
}
