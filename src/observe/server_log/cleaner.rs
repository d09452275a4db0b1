//! What a broker's logs say of its log cleaner: which logs it gave up, and whether one of its threads died.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::event::is_process_start;
use super::line::{LineTime, LogLine};
use crate::terms::TopicPartition;

/// The cleaner's own log, which Kafka's log4j files put beside `server.log`.
const CLEANER_LOG: &str = "log-cleaner.log";
/// Bytes at the end of each log that are read.
const MOST: u64 = 32 << 20;
/// The kernel tells when a process began to the second.
const SLACK_MS: i64 = 2000;

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
    /// Logs that it gave up and has not cleaned since.
    pub given_up: Vec<GivenUp>,
    /// What ended a thread of it; nobody starts it again.
    pub died: Option<String>,
}

/// What one file says.
#[derive(Debug, Default)]
struct OneFile {
    /// Logs that it gave up, with the line's time.
    given_up: Vec<(LineTime, GivenUp)>,
    died: Option<(LineTime, String)>,
    /// When a process last began: what is older is of a run that is over.
    began: Option<LineTime>,
    /// When the cleaner was last started: with the broker, and by changed settings, which make new threads and keep what it gave up.
    started: Option<LineTime>,
    /// The time of the last line.
    last: Option<LineTime>,
    /// When a log was last cleaned: a topic that was made anew is one that was not given up.
    cleaned: BTreeMap<TopicPartition, LineTime>,
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
    /// Reads the ends of `server.log` and of the cleaner's own log beside it; what cannot be read says nothing. `began` is when the
    /// broker's process did, in ms since 1970, where that is known: what is older is of a run that is over. What either file says
    /// of a start, or of a log that was cleaned, counts for what both said before.
    pub fn read(server_log: &Path, began: Option<i64>) -> Self {
        let paths = [
            server_log.to_owned(),
            server_log.with_file_name(CLEANER_LOG),
        ];
        let files: Vec<OneFile> = paths
            .iter()
            .filter_map(|path| OneFile::open(path, began))
            .collect();
        let starts = files.iter().filter_map(|file| file.started).max();
        let of_process = files.iter().filter_map(|file| file.began).max();
        let since = |start: Option<LineTime>, at: LineTime| start.is_none_or(|start| at >= start);
        let cleaned = |partition: &TopicPartition| {
            let times = files.iter().filter_map(|file| file.cleaned.get(partition));
            times.max().copied()
        };
        let given_up = files.iter().flat_map(|file| &file.given_up);
        // Without the begin of the process in sight the start of its cleaner has to do.
        let given_up = given_up.filter(|(at, of)| {
            since(of_process.or(starts), *at)
                && cleaned(&of.partition).is_none_or(|cleaned| cleaned < *at)
        });
        let mut found = Self::default();
        for (_, of) in given_up {
            if !found.given_up.contains(of) {
                found.given_up.push(of.clone());
            }
        }
        let died = files.iter().filter_map(|file| file.died.as_ref());
        let died = died
            .filter(|(at, _)| since(of_process.max(starts), *at))
            .max();
        found.died = died.map(|(_, cause)| cause.clone());
        found
    }
}

impl OneFile {
    fn open(path: &Path, began: Option<i64>) -> Option<Self> {
        let (text, written_at) = end_of(path)?;
        let mut file = Self::read(&String::from_utf8_lossy(&text));
        if let Some((began, last)) = began.zip(file.last) {
            let zone = LineTime::zone_of(last, written_at);
            file.began = file.began.max(Some(LineTime(began + zone - SLACK_MS)));
        }
        Some(file)
    }

    fn read(text: &str) -> Self {
        let mut file = Self::default();
        for line in text.lines() {
            file.take(line);
        }
        file
    }

    /// Takes the next line.
    fn take(&mut self, line: &str) {
        let Some(parsed) = LogLine::parse(line) else {
            // The cleaner's report begins behind a line's end.
            if let Some((partition, at)) = cleaned(line).zip(self.last) {
                self.cleaned.insert(partition, at);
            }
            self.take_cause(line.trim());
            return;
        };
        self.wants_cause = Wants::Nobody;
        let Some(at) = LineTime::parse(parsed.time) else {
            return;
        };
        self.last = Some(at);
        let message = parsed.message;
        if is_process_start(message) {
            self.began = Some(at);
        } else if message.contains("Starting the log cleaner") {
            self.started = Some(at);
        } else if let Some(partition) = given_up(message) {
            self.given_up.retain(|(_, of)| of.partition != partition);
            let given_up = GivenUp {
                partition,
                at: time_of(parsed.time),
                cause: None,
            };
            self.given_up.push((at, given_up));
            self.wants_cause = Wants::GivenUp;
        } else if message.contains("kafka-log-cleaner-thread-") && message.contains("Error due to")
        {
            self.died = Some((at, "an error that the log does not name".to_owned()));
            self.wants_cause = Wants::Died;
        }
    }

    /// Takes an exception: the last "Caused by" is the cause.
    fn take_cause(&mut self, line: &str) {
        let by = line.strip_prefix("Caused by: ");
        let is_first = !line.is_empty() && !line.starts_with("at ") && !line.starts_with("...");
        match self.wants_cause {
            Wants::GivenUp => {
                let Some((_, last)) = self.given_up.last_mut() else {
                    return;
                };
                if let Some(cause) = by.or((is_first && last.cause.is_none()).then_some(line)) {
                    last.cause = Some(cause.to_owned());
                }
            }
            Wants::Died if by.is_some() || is_first => {
                if let Some((_, cause)) = &mut self.died {
                    by.unwrap_or(line).clone_into(cause);
                }
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
    partition_of(name)
}

/// Returns the partition of "Log cleaner thread 0 cleaned log T-P (dirty section = [0, 9])", which comes once a log is cleaned.
fn cleaned(message: &str) -> Option<TopicPartition> {
    let (_, rest) = message.split_once(" cleaned log ")?;
    let (name, _) = rest.split_once(" (dirty section")?;
    partition_of(name.trim())
}

fn partition_of(name: &str) -> Option<TopicPartition> {
    let (topic, partition) = name.rsplit_once('-')?;
    Some(TopicPartition::new(topic, partition.parse().ok()?))
}

/// Returns a line's time without its ms: `2026-11-30 07:51:11`.
fn time_of(time: &str) -> String {
    time.get(..19).unwrap_or_default().to_owned()
}

/// Returns a file's end, and when it was last written, in ms since 1970.
fn end_of(path: &Path) -> Option<(Vec<u8>, i64)> {
    let mut file = File::open(path).ok()?;
    let stat = file.metadata().ok()?;
    let len = stat.len();
    let written = stat.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    file.seek(SeekFrom::Start(len.saturating_sub(MOST))).ok()?;
    let mut text = Vec::new();
    file.take(MOST).read_to_end(&mut text).ok()?;
    Some((text, i64::try_from(written.as_millis()).ok()?))
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
        CleanerLog::read(&dir.path().join("server.log"), None)
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
            CleanerLog::read(Path::new("/nowhere/server.log"), None),
            CleanerLog::default()
        );
    }

    #[test]
    fn a_later_boot_or_cleaning_ends_what_was_given_up() {
        // Each appended to the cleaner's log, and alone in `server.log` beside it.
        let later = [
            "[2026-11-30 15:00:00,000] INFO Registered kafka:type=kafka.Log4jController MBean (kafka.utils.X$)\n",
            "[2026-11-30 14:02:05,000] INFO [kafka-log-cleaner-thread-0]: \n\
             \tLog cleaner thread 0 cleaned log a.b-c-12 (dirty section = [0, 9])\n",
        ];
        for more in later {
            assert_eq!(
                read(&format!("{GAVE_UP}{more}")),
                CleanerLog::default(),
                "{more}"
            );
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join(CLEANER_LOG), GAVE_UP).unwrap();
            let server = dir.path().join("server.log");
            std::fs::write(&server, more).unwrap();
            assert_eq!(
                CleanerLog::read(&server, None),
                CleanerLog::default(),
                "{more}"
            );
            // The other way round it goes on.
            let before = more
                .replace("15:00:00", "13:00:00")
                .replace("14:02:05", "13:02:05");
            std::fs::write(&server, before).unwrap();
            assert_eq!(CleanerLog::read(&server, None).given_up.len(), 1, "{more}");
        }
        // Changed settings start the cleaner anew, and what it gave up stays.
        let first = "[2026-11-30 13:00:00,000] INFO Registered kafka:type=kafka.Log4jController MBean (kafka.utils.X$)\n";
        let again =
            "[2026-11-30 15:00:00,000] INFO Starting the log cleaner (kafka.log.LogCleaner)\n";
        let reconfigured = read(&format!("{first}{GAVE_UP}{again}"));
        assert_eq!(reconfigured.given_up.len(), 1);
        let other = later[1].replace("a.b-c-12", "a.b-c-1");
        assert_eq!(read(&format!("{GAVE_UP}{other}")).given_up.len(), 1);
    }

    #[test]
    fn what_is_older_than_the_process_is_not_its() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(CLEANER_LOG);
        std::fs::write(&path, GAVE_UP).unwrap();
        // Written three hours behind the zone of its lines, which end at 14:02:04.
        let last = 1_796_047_324_000;
        let file = File::options().write(true).open(&path).unwrap();
        let written = UNIX_EPOCH + std::time::Duration::from_millis(last - 3 * 3_600_000);
        file.set_modified(written).unwrap();
        let read = |seconds: i64| {
            let began = 1_796_047_324_000 - 3 * 3_600_000 + seconds * 1000;
            let found = CleanerLog::read(&dir.path().join("server.log"), Some(began));
            found.given_up.len()
        };
        assert_eq!((read(-60), read(60)), (1, 0));
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
