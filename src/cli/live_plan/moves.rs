//! A replica that goes to another log dir of its broker.

use std::path::Path;

use super::make::harmless;
use crate::cli::CliError;
use crate::cli::live_facts::unknown_partition;
use crate::client::{Client, LogDirReport};
use crate::plan::{LiveAct, LivePlan};
use crate::terms::TopicPartition;

/// Plans a move to `to`, or the end of the one that runs.
pub(super) async fn plan(
    client: &Client,
    partition: &TopicPartition,
    broker: i32,
    to: Option<&str>,
) -> Result<LivePlan, CliError> {
    let metadata = client
        .metadata(Some(std::slice::from_ref(&partition.topic)))
        .await?;
    if !metadata.partitions.contains_key(partition) {
        return Err(unknown_partition(partition));
    }
    let dirs = client.log_dirs(broker).await?;
    let holds = |future: bool| {
        dirs.iter().find_map(|dir| {
            let mut replicas = dir.replicas.iter();
            let found = replicas
                .find(|replica| replica.partition == *partition && replica.is_future == future)?;
            Some((dir, found.bytes))
        })
    };
    let (from, bytes) = holds(false).ok_or_else(|| {
        CliError::refused(format!("broker {broker} holds no replica of {partition}"))
    })?;
    let from = from.path.display().to_string();
    let to = match to {
        None if holds(true).is_none() => {
            return Err(CliError::refused(format!("{partition} is not being moved")));
        }
        None => from.clone(),
        Some(to) => {
            let known = known_dir(&dirs, broker, to)?;
            if known.error.is_some() {
                return Err(CliError::refused(format!("{to} is offline")));
            }
            if *to == from {
                return Err(CliError::refused(format!("{partition} lies there already"))
                    .hint("--cancel ends a move that runs."));
            }
            if known.usable.is_some_and(|usable| usable < bytes) {
                let text = format!(
                    "{to} has not the room: {} are needed",
                    crate::app::text::bytes(bytes)
                );
                return Err(CliError::refused(text));
            }
            to.to_owned()
        }
    };
    let act = LiveAct::MoveReplica {
        partition: partition.clone(),
        broker,
        from,
        to,
    };
    Ok(harmless(metadata.cluster_id, act, None))
}

/// Returns the log dir `dir` of a broker, or which ones it has.
pub(super) fn known_dir<'a>(
    dirs: &'a [LogDirReport],
    broker: i32,
    dir: &str,
) -> Result<&'a LogDirReport, CliError> {
    let known = dirs.iter().find(|known| known.path == Path::new(dir));
    known.ok_or_else(|| {
        let error = CliError::refused(format!("broker {broker} has no log dir {dir}"));
        let hint = |error: CliError, dir: &LogDirReport| {
            error.hint(format!("It has {}", dir.path.display()))
        };
        dirs.iter().fold(error, hint)
    })
}
