//! What lines say of a boot, in the words of 3.7 to 4.4.

use serde::{Deserialize, Serialize};

use crate::terms::{Offset, Position, TopicPartition};

use super::line::{Level, LogLine};
use super::named::{LoadedLog, RemovedSegment};

/// The bytes that are kept of an error's text.
const TEXT_CAP: usize = 2048;

/// What a line says of a boot; paths are as the broker sees them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BootEvent {
    /// A process begins: the first line of a boot.
    ProcessStarted,
    /// The logs are about to be loaded.
    LoadingLogs,
    /// A log dir has no marker, so its logs are recovered.
    DirUnclean {
        /// The log dir.
        dir: String,
        /// Its logs.
        logs: u64,
    },
    /// A log dir has its marker, so its logs are loaded only.
    DirClean {
        /// The log dir.
        dir: String,
        /// Its logs.
        logs: u64,
    },
    /// A log dir holds no log.
    DirEmpty {
        /// The log dir.
        dir: String,
    },
    /// A segment is about to be read.
    SegmentBegun {
        /// The log's name.
        log: String,
        /// Its log dir.
        dir: String,
        /// The segment.
        base_offset: Offset,
        /// Segments of this log done before, and how many there are; `None` from 4.0 on, which print no total.
        of: Option<(u64, u64)>,
    },
    /// A producer snapshot was written: during recovery, the segment that ends there is done.
    SnapshotWritten {
        /// The log's name.
        log: String,
        /// The snapshot's offset.
        offset: Offset,
    },
    /// A log is loaded.
    LogLoaded {
        /// The log.
        log: LoadedLog,
        /// Its log dir.
        dir: String,
        /// Logs of the dir that are done with it.
        done: u64,
        /// Logs of the dir.
        total: u64,
    },
    /// A log is done, by its files: no line says this.
    LogDone {
        /// Its log dir.
        dir: String,
        /// The partition dir's name.
        name: String,
        /// Logs of the dir that are done with it.
        done: u64,
        /// Logs of the dir.
        total: u64,
    },
    /// A log could not be loaded.
    LogFailed {
        /// The partition dir.
        path: String,
        /// Its log dir.
        dir: String,
        /// Logs of the dir that are done with it.
        done: u64,
        /// Logs of the dir.
        total: u64,
    },
    /// All logs are loaded.
    LogsLoaded {
        /// How many, those that failed included.
        logs: u64,
        /// How long it took, in ms.
        took_ms: u64,
    },
    /// A segment is cut, as a torn tail is too.
    Cut {
        /// The log's name.
        log: String,
        /// Its log dir.
        dir: String,
        /// The segment.
        base_offset: Offset,
        /// Its new end, exclusive.
        offset: Offset,
    },
    /// A segment's bytes are invalid from a position on.
    InvalidMessages {
        /// The file.
        file: String,
        /// The first byte that is not valid.
        position: Position,
    },
    /// A segment is to be emptied: its offsets go back or, from 4.0 on, any I/O error met its recovery. Whether it is, a
    /// cut at its base offset tells; a map that failed keeps it as it was.
    EmptyTried {
        /// The log's name.
        log: String,
        /// Its log dir.
        dir: String,
        /// The segment.
        base_offset: Offset,
    },
    /// A segment was emptied.
    Emptied {
        /// The log's name.
        log: String,
        /// Its log dir.
        dir: String,
        /// The segment.
        base_offset: Offset,
    },
    /// Whole segments are deleted behind a cut.
    SegmentsDeleted {
        /// The log's name.
        log: String,
        /// Its log dir.
        dir: String,
        /// The segments.
        segments: Vec<RemovedSegment>,
    },
    /// All segments are deleted: the log's end lies below its start.
    AllDeleted {
        /// The log's name.
        log: String,
        /// Its log dir.
        dir: String,
        /// The end, exclusive.
        log_end_offset: Offset,
        /// The start.
        log_start_offset: Offset,
    },
    /// A log belongs to no partition of this broker and was renamed.
    Stray {
        /// Its partition dir before.
        from: String,
        /// Its partition dir now.
        to: String,
    },
    /// A log dir is no longer served.
    DirOffline {
        /// The log dir.
        dir: String,
    },
    /// A leader of a lost log dir is made anew, empty (3.9 and 4.0).
    RecreatedEmpty {
        /// The log's name.
        log: String,
    },
    /// The cleaner is dead; the broker goes on.
    CleanerDead,
    /// Some partitions may not be served although the broker goes on.
    MetadataNotApplied {
        /// What could not be applied.
        what: String,
    },
    /// The broker begins to register with the controller, as this run of it, which the metadata log names too.
    Registering(String),
    /// The controller does not take the broker yet.
    RegistrationRefused {
        /// Its error.
        error: String,
    },
    /// The controller lets clients in.
    Unfenced,
    /// The version, told only at the end.
    Version(String),
    /// The boot is over.
    Started,
    /// A signal ends the process.
    Signal(String),
    /// The process ends by itself.
    Fatal(String),
    /// Something else went wrong.
    Error(String),
    /// The exception that the event before came with.
    Cause(String),
}

impl BootEvent {
    /// Returns what `line` says of a boot; `None` for the many lines that say nothing.
    pub fn parse(line: &LogLine<'_>) -> Option<Self> {
        let message = line.message;
        let known = match message.as_bytes().first()? {
            b'[' => prefixed(message),
            b'S' => of_an_end(message),
            b'L' | b'R' | b'N' | b'C' | b'E' | b'F' | b'T' | b'K' => plain(message),
            _ => None,
        };
        known.or_else(|| {
            let tells = line.level >= Level::Error && !is_noise(line.logger);
            tells.then(|| Self::Error(capped(message).to_owned()))
        })
    }
}

/// Returns the beginning of a text that may be a whole request.
pub(super) fn capped(text: &str) -> &str {
    let end = (0..=TEXT_CAP).rfind(|end| text.is_char_boundary(*end));
    match end {
        Some(end) if text.len() > TEXT_CAP => text.get(..end).unwrap_or(text),
        _ => text,
    }
}

/// Says whether a logger's errors never end a boot: what a slow machine makes a controller say.
fn is_noise(logger: &str) -> bool {
    let name = logger.rsplit('.').next().unwrap_or(logger);
    matches!(
        name,
        "ControllerApis"
            | "ControllerRegistrationManager"
            | "EventPerformanceMonitor"
            | "ReplicationControlManager"
    )
}

fn plain(message: &str) -> Option<BootEvent> {
    if let Some(rest) = message.strip_prefix("Completed load of ") {
        return log_loaded(rest);
    }
    if let Some(rest) = message.strip_prefix("Error while loading logs in ") {
        let (path, rest) = rest
            .rsplit_once("ms (")
            .and_then(|(front, rest)| front.rsplit_once(" in ").map(|(path, _)| (path, rest)))?;
        let (done, total, dir) = completed_in(rest)?;
        return Some(BootEvent::LogFailed {
            path: path.to_owned(),
            dir,
            done,
            total,
        });
    }
    if let Some(rest) = message.strip_prefix("Loaded ") {
        let (logs, rest) = rest.split_once(" logs in ")?;
        let took = rest.split("ms").next()?;
        return Some(BootEvent::LogsLoaded {
            logs: logs.parse().ok()?,
            took_ms: took.parse().ok()?,
        });
    }
    if message.starts_with("Loading logs from log dirs ") {
        return Some(BootEvent::LoadingLogs);
    }
    if let Some(rest) = message.strip_prefix("Recovering ") {
        let (logs, dir) = logs_of_dir(rest, " since no clean shutdown file was found")?;
        return Some(BootEvent::DirUnclean { dir, logs });
    }
    if let Some(dir) = message.strip_prefix("No logs found to be loaded in ") {
        let dir = dir.to_owned();
        return Some(BootEvent::DirEmpty { dir });
    }
    if let Some(rest) = message.strip_prefix("Found invalid messages in log segment ") {
        let (file, rest) = rest.rsplit_once(" at byte offset ")?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        return Some(BootEvent::InvalidMessages {
            file: file.to_owned(),
            position: Position(digits.parse().ok()?),
        });
    }
    if let Some(rest) = message.strip_prefix("Log in ") {
        let (from, to) = rest.split_once(" marked stray and renamed to ")?;
        return Some(BootEvent::Stray {
            from: from.to_owned(),
            to: to.to_owned(),
        });
    }
    if let Some(version) = message.strip_prefix("Kafka version: ") {
        return Some(BootEvent::Version(version.trim().to_owned()));
    }
    if is_process_start(message) {
        return Some(BootEvent::ProcessStarted);
    }
    if let Some(signal) = message.strip_prefix("Terminating process due to signal ") {
        return Some(BootEvent::Signal(signal.trim().to_owned()));
    }
    if let Some(what) = message.strip_prefix("Encountered metadata publishing fault: ") {
        let what = what.to_owned();
        return Some(BootEvent::MetadataNotApplied { what });
    }
    if message.starts_with("Exiting Kafka due to fatal exception")
        || message.starts_with("Encountered fatal fault: ")
    {
        return Some(BootEvent::Fatal(message.to_owned()));
    }
    None
}

/// Says whether a message is the first of a process.
pub(super) fn is_process_start(message: &str) -> bool {
    message.starts_with("Registered ") && message.contains("kafka.Log4jController")
}

fn of_an_end(message: &str) -> Option<BootEvent> {
    if let Some(rest) = message.strip_prefix("Skipping recovery of ") {
        let (logs, dir) = logs_of_dir(rest, " since clean shutdown file was found")?;
        return Some(BootEvent::DirClean { dir, logs });
    }
    if message.starts_with("Shutdown broker because ") {
        return Some(BootEvent::Fatal(message.to_owned()));
    }
    let dir = message.strip_prefix("Stopped serving replicas in dir ")?;
    Some(BootEvent::DirOffline {
        dir: dir.to_owned(),
    })
}

/// Reads "N logs from DIR" before `why`.
fn logs_of_dir(rest: &str, why: &str) -> Option<(u64, String)> {
    let (logs, dir) = rest.strip_suffix(why)?.split_once(" logs from ")?;
    Some((logs.parse().ok()?, dir.to_owned()))
}

/// Reads "K/N completed in DIR)".
fn completed_in(rest: &str) -> Option<(u64, u64, String)> {
    let (counts, dir) = rest.strip_suffix(')')?.split_once(" completed in ")?;
    let (done, total) = counts.split_once('/')?;
    Some((done.parse().ok()?, total.parse().ok()?, dir.to_owned()))
}

fn log_loaded(rest: &str) -> Option<BootEvent> {
    // From the end: the path may hold anything, the words behind it do not.
    let (front, counts) = rest.rsplit_once("ms (")?;
    let (done, total, dir) = completed_in(counts)?;
    let (front, took) = front.rsplit_once(" in ")?;
    let (log, segments) = front.rsplit_once(") with ")?;
    let (segments, _) = segments.split_once(" segments")?;
    let log = log.strip_prefix("Log(dir=")?;
    let (front, end) = log.rsplit_once(", logEndOffset=")?;
    let (front, _) = front.rsplit_once(", highWatermark=")?;
    let (front, partition) = front.rsplit_once(", partition=")?;
    let (front, topic) = front.rsplit_once(", topic=")?;
    let path = front
        .rsplit_once(", topicId=")
        .map_or(front, |(path, _)| path);
    Some(BootEvent::LogLoaded {
        log: LoadedLog {
            path: path.to_owned(),
            partition: TopicPartition::new(topic, partition.parse().ok()?),
            segments: segments.parse().ok()?,
            log_end_offset: Offset(end.parse().ok()?),
            took_ms: took.parse().ok()?,
        },
        dir,
        done,
        total,
    })
}

fn prefixed(message: &str) -> Option<BootEvent> {
    if let Some(rest) = message.strip_prefix("[LogLoader partition=") {
        let (log, rest) = rest.split_once(", dir=")?;
        let (dir, said) = rest.split_once("] ")?;
        return loader(log, dir, said);
    }
    if let Some(rest) = message.strip_prefix("[ProducerStateManager partition=") {
        let (log, said) = rest.split_once("] ")?;
        let rest = said.strip_prefix("Wrote producer snapshot at offset ")?;
        return Some(BootEvent::SnapshotWritten {
            log: log.to_owned(),
            offset: Offset(rest.split(' ').next()?.parse().ok()?),
        });
    }
    if message.starts_with("[kafka-log-cleaner-thread-") {
        return message
            .ends_with("]: Error due to")
            .then_some(BootEvent::CleanerDead);
    }
    let (who, said) = message.split_once("] ")?;
    let who = who.split([' ', '=']).next()?;
    match who {
        "[BrokerLifecycleManager" => lifecycle(said),
        "[KafkaRaftServer" => (said == "Kafka Server started").then_some(BootEvent::Started),
        "[BrokerServer" if said.starts_with("Fatal error during broker startup") => {
            Some(BootEvent::Fatal(message.to_owned()))
        }
        "[Broker" => {
            let rest = said.strip_prefix("Expected partition ")?;
            let (log, rest) = rest.split_once(' ')?;
            rest.contains("Creating...")
                .then(|| BootEvent::RecreatedEmpty {
                    log: log.to_owned(),
                })
        }
        "[ReplicaManager" => {
            let dir = said.strip_prefix("Stopped serving replicas in dir ")?;
            Some(BootEvent::DirOffline {
                dir: dir.to_owned(),
            })
        }
        _ => None,
    }
}

fn lifecycle(said: &str) -> Option<BootEvent> {
    if said.starts_with("Unable to register broker ") {
        let (_, error) = said.split_once("returned error ")?;
        return Some(BootEvent::RegistrationRefused {
            error: error.trim().to_owned(),
        });
    }
    if let Some(rest) = said.strip_prefix("Incarnation ") {
        let (incarnation, rest) = rest.split_once(" of broker ")?;
        let starts = rest.ends_with("is now STARTING.");
        return starts.then(|| BootEvent::Registering(incarnation.to_owned()));
    }
    if said.starts_with("The broker has been unfenced.") {
        return Some(BootEvent::Unfenced);
    }
    said.starts_with("Shutting down because we were unable to register")
        .then(|| BootEvent::Fatal(said.to_owned()))
}

fn loader(log: &str, dir: &str, said: &str) -> Option<BootEvent> {
    let (log, dir) = (log.to_owned(), dir.to_owned());
    if let Some(rest) = said.strip_prefix("Recovering unflushed segment ") {
        let (base, rest) = rest.split_once(". ")?;
        let count = rest.split(' ').next()?;
        // From 4.0 on it is always a bare 0.
        let of = match count.split_once('/') {
            Some((done, total)) => Some((done.parse().ok()?, total.parse().ok()?)),
            None => None,
        };
        return Some(BootEvent::SegmentBegun {
            log,
            dir,
            base_offset: Offset(base.parse().ok()?),
            of,
        });
    }
    if let Some(rest) = said.strip_prefix("Corruption found in segment ") {
        let (base, offset) = rest.split_once(", truncating to offset ")?;
        return Some(BootEvent::Cut {
            log,
            dir,
            base_offset: Offset(base.parse().ok()?),
            offset: Offset(offset.trim().parse().ok()?),
        });
    }
    if let Some(rest) = said.strip_prefix("Found invalid offset during recovery.") {
        let (_, base) = rest.rsplit_once(" starting offset ")?;
        return Some(BootEvent::EmptyTried {
            log,
            dir,
            base_offset: Offset(base.trim().parse().ok()?),
        });
    }
    if let Some(rest) = said.strip_prefix("Deleting segments as part of log recovery: ") {
        let segments = rest.split("LogSegment(").filter_map(removed).collect();
        return Some(BootEvent::SegmentsDeleted { log, dir, segments });
    }
    let rest = said.strip_prefix("Deleting all segments because logEndOffset (")?;
    let (end, rest) = rest.split_once(") is smaller than logStartOffset ")?;
    let start = rest.split(". ").next()?.trim_matches(['(', ')']);
    Some(BootEvent::AllDeleted {
        log,
        dir,
        log_end_offset: Offset(end.parse().ok()?),
        log_start_offset: Offset(start.parse().ok()?),
    })
}

/// Reads "baseOffset=B, size=S, ...".
fn removed(text: &str) -> Option<RemovedSegment> {
    let field = |name: &str| {
        let (_, rest) = text.split_once(name)?;
        rest.split([',', ')']).next()
    };
    Some(RemovedSegment {
        base_offset: Offset(field("baseOffset=")?.parse().ok()?),
        bytes: field("size=")?.parse().ok()?,
    })
}
