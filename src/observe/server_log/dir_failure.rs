//! Which log dirs a broker has given up in its present run, when, and for what first error.

use super::boot::Boots;
use super::event::BootEvent;
use super::line::LineTime;

/// A log dir that a broker has given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirFailure {
    /// The log dir, as the broker names it.
    pub dir: String,
    /// When it was given up; in the log's own time zone.
    pub at: LineTime,
    /// The first error that names it, with its exception.
    pub cause: Option<String>,
}

/// Returns the log dirs that were given up since the broker last started.
pub fn dir_failures(boots: &Boots) -> Vec<DirFailure> {
    let Some(boot) = boots.last() else {
        return Vec::new();
    };
    let mut failures: Vec<DirFailure> = Vec::new();
    for (number, trouble) in boot.troubles.iter().enumerate() {
        let dir = match &trouble.event {
            BootEvent::DirOffline { dir } => dir.clone(),
            BootEvent::Fatal(text) => match metadata_dir_of(text) {
                Some(dir) => dir.to_owned(),
                None => continue,
            },
            _ => continue,
        };
        if failures.iter().any(|failure| failure.dir == dir) {
            continue;
        }
        let before = boot.troubles.iter().take(number);
        let cause = before.clone().find_map(|before| {
            let text = match &before.event {
                BootEvent::Error(text) => text.clone(),
                BootEvent::LogFailed { path, .. } => format!("could not load {path}"),
                _ => return None,
            };
            text.contains(&dir).then(|| match &before.cause {
                Some(cause) => format!("{text}: {cause}"),
                None => text,
            })
        });
        failures.push(DirFailure {
            dir,
            at: trouble.time,
            cause,
        });
    }
    failures
}

/// Reads the dir of "Shutdown broker because the metadata log dir D has failed".
fn metadata_dir_of(text: &str) -> Option<&str> {
    text.split_once("because the metadata log dir ")?
        .1
        .strip_suffix(" has failed")
}

#[cfg(test)]
mod tests {
    use super::super::reader::LogReader;
    use super::*;

    fn failures(log: &str) -> Vec<(String, Option<String>)> {
        let (mut reader, mut boots) = (LogReader::new(), Boots::default());
        reader.feed(log.as_bytes(), |event| boots.take(event));
        reader.finish(|event| boots.take(event));
        dir_failures(&boots)
            .into_iter()
            .map(|failure| (failure.dir, failure.cause))
            .collect()
    }

    #[test]
    fn the_first_error_that_names_the_dir_is_the_cause() {
        let log = "\
[2026-11-30 14:00:00,000] INFO Starting log manager (kafka.log.LogManager)\n\
[2026-11-30 14:00:01,000] ERROR Error while writing to checkpoint file /d2/x (a.LogDirFailureChannel)\n\
java.io.IOException: Read-only file system\n\
[2026-11-30 14:00:02,000] ERROR Error while writing to checkpoint file /d1/recovery-point-offset-checkpoint (a.LogDirFailureChannel)\n\
java.io.IOException: No space left on device\n\
\tat java.base/x.y(z.java:1)\n\
[2026-11-30 14:00:03,000] WARN [ReplicaManager broker=1] Stopped serving replicas in dir /d1 (kafka.server.ReplicaManager)\n";
        assert_eq!(
            failures(log),
            [(
                "/d1".to_owned(),
                Some(
                    "Error while writing to checkpoint file /d1/recovery-point-offset-checkpoint: \
                     java.io.IOException: No space left on device"
                        .to_owned()
                )
            )]
        );
    }
}
