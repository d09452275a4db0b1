//! What a broker's logs say of its log cleaner: which logs it gave up, and whether one of its threads died.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::line::LogLine;
use crate::terms::TopicPartition;

/// The cleaner's own log, which Kafka's log4j files put beside `server.log`.
const CLEANER_LOG: &str = "log-cleaner.log";
/// Bytes at the end of each log that are read.
const MOST: u64 = 32 << 20;

/// A log that the cleaner gave up (`LogCleaner.tryCleanFilthiestLog`): it is neither compacted nor trimmed until the broker
/// starts again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUp {
    /// The partition.
    pub partition: TopicPartition,
    /// When, as the line has it: by the clock of the broker's time zone.
    pub at: String,
    /// The exception, if one follows.
    pub cause: Option<String>,
}

/// What the logs say of the cleaner since it was last started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CleanerLog {
    /// Logs that it gave up.
    pub given_up: Vec<GivenUp>,
    /// What ended a thread of it; nobody starts it again.
    pub died: Option<String>,
    /// Who takes the next exception.
    wants_cause: Wants,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Wants {
    #[default]
    Nobody,
    GivenUp,
    Died,
}

impl CleanerLog {
    /// Reads the ends of `server.log` and of the cleaner's own log beside it; what cannot be read says nothing.
    pub fn read(server_log: &Path) -> Self {
        let mut found = Self::default();
        for path in [
            server_log.to_owned(),
            server_log.with_file_name(CLEANER_LOG),
        ] {
            if let Some(text) = end_of(&path) {
                let mut of_log = Self::default();
                for line in String::from_utf8_lossy(&text).lines() {
                    of_log.take(line);
                }
                found.given_up.extend(of_log.given_up);
                found.died = found.died.or(of_log.died);
            }
        }
        found
    }

    /// Takes the next line of one log.
    pub fn take(&mut self, line: &str) {
        let Some(parsed) = LogLine::parse(line) else {
            self.take_cause(line.trim());
            return;
        };
        self.wants_cause = Wants::Nobody;
        if parsed.message.contains("Starting the log cleaner") {
            *self = Self::default();
        } else if let Some(partition) = given_up(parsed.message) {
            self.given_up.retain(|of| of.partition != partition);
            self.given_up.push(GivenUp {
                partition,
                at: time_of(line),
                cause: None,
            });
            self.wants_cause = Wants::GivenUp;
        } else if parsed.message.contains("kafka-log-cleaner-thread-")
            && parsed.message.contains("Error due to")
        {
            self.died = Some("an error that the log does not name".to_owned());
            self.wants_cause = Wants::Died;
        }
    }

    /// Takes an exception: the last "Caused by" is the cause.
    fn take_cause(&mut self, line: &str) {
        let by = line.strip_prefix("Caused by: ");
        let is_first = !line.is_empty() && !line.starts_with("at ") && !line.starts_with("...");
        match self.wants_cause {
            Wants::GivenUp => {
                let Some(last) = self.given_up.last_mut() else {
                    return;
                };
                if let Some(cause) = by.or((is_first && last.cause.is_none()).then_some(line)) {
                    last.cause = Some(cause.to_owned());
                }
            }
            Wants::Died if by.is_some() || is_first => {
                self.died = Some(by.unwrap_or(line).to_owned());
                // A trace begins with the exception; what follows it are frames and causes.
                if by.is_none() {
                    self.wants_cause = Wants::Nobody;
                }
            }
            Wants::Died | Wants::Nobody => {}
        }
    }
}

/// Returns the partition of "… Marking its partition (T-P) as uncleanable".
fn given_up(message: &str) -> Option<TopicPartition> {
    let (_, rest) = message.split_once("Marking its partition (")?;
    let (name, _) = rest.split_once(") as uncleanable")?;
    let (topic, partition) = name.rsplit_once('-')?;
    Some(TopicPartition::new(topic, partition.parse().ok()?))
}

/// Returns a line's time without its ms: `2026-11-30 07:51:11`.
fn time_of(line: &str) -> String {
    let text = line.trim_start_matches('[');
    text.get(..19).unwrap_or_default().to_owned()
}

fn end_of(path: &Path) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let len = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(MOST))).ok()?;
    let mut text = Vec::new();
    file.take(MOST).read_to_end(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAVE_UP: &str = "\
[2026-11-30 14:00:00,000] INFO Starting the log cleaner (kafka.log.LogCleaner)
[2026-11-30 14:00:01,000] INFO Cleaner 0: Beginning cleaning of log a.b-c-12 (kafka.log.LogCleaner)
[2026-11-30 14:02:03,123] WARN [kafka-log-cleaner-thread-0]: Unexpected exception thrown when cleaning log \
LogToClean(dir=/d1/a.b-c-12). Marking its partition (a.b-c-12) as uncleanable (kafka.log.LogCleaner)
kafka.common.LogCleaningException: Failed
\tat kafka.log.LogCleaner.x(LogCleaner.scala:1)
Caused by: java.lang.IllegalStateException: This log contains a message larger than maximum allowable size
\tat kafka.log.y(z.scala:2)
[2026-11-30 14:02:04,000] INFO Cleaner 0: another line (kafka.log.LogCleaner)
";

    fn read(text: &str) -> CleanerLog {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(CLEANER_LOG), text).unwrap();
        CleanerLog::read(&dir.path().join("server.log"))
    }

    #[test]
    fn a_log_that_was_given_up_is_named_with_its_cause_until_the_cleaner_starts_again() {
        let found = read(GAVE_UP);
        assert_eq!(
            found.given_up,
            [GivenUp {
                partition: TopicPartition::new("a.b-c", 12),
                at: "2026-11-30 14:02:03".to_owned(),
                cause: Some(
                    "java.lang.IllegalStateException: This log contains a message larger than maximum allowable size"
                        .to_owned()
                ),
            }]
        );
        assert_eq!(found.died, None);
        let twice = read(&GAVE_UP.repeat(2));
        assert_eq!(twice.given_up.len(), 1);
        let again = format!(
            "{GAVE_UP}[2026-11-30 15:00:00,000] INFO Starting the log cleaner (kafka.log.LogCleaner)\n"
        );
        assert_eq!(read(&again), CleanerLog::default());
        assert_eq!(
            CleanerLog::read(Path::new("/nowhere/server.log")),
            CleanerLog::default()
        );
    }

    #[test]
    fn a_thread_that_died_is_told() {
        let text = "\
[2026-11-30 14:00:00,000] ERROR [kafka-log-cleaner-thread-0]: Error due to (kafka.log.LogCleaner$CleanerThread)
java.lang.IllegalArgumentException: Malformed line in checkpoint file
\tat kafka.x(y.scala:1)
";
        let died = read(text).died.unwrap();
        assert!(
            died.starts_with("java.lang.IllegalArgumentException"),
            "{died}"
        );
    }
}
