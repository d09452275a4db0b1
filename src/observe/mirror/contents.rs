//! What MirrorMaker 2's own topics hold, fetched from their leaders.

use super::read::{found, from_behind};
use crate::client::{Client, ClientError, ClusterMetadata, Fetched};
use crate::format::batch::{HEADER_UP_TO_MAGIC, frame};
use crate::mirror::{
    ClusterFacts, CommittedRecords, Content, GROUPS_TOPIC, InternalTopic, Thinning,
};
use crate::terms::{Offset, TopicPartition};

/// Bytes that one answer holds, about; a longer batch comes whole.
const AT_ONCE: i32 = 4 << 20;
/// Of a topic of heartbeats only so many offsets at its end are read: of a pair the newest counts, and a user's topic may
/// have that name.
const HEARTBEATS: i64 = 100_000;

/// Reads every topic of MirrorMaker 2 and Connect; those of groups are asked of their coordinators instead.
///
/// # Errors
///
/// None so far: a partition that cannot be read is a finding, and what was read of it counts.
pub(super) async fn read_contents(
    client: &Client,
    described: &ClusterMetadata,
    thinning: Thinning,
    facts: &mut ClusterFacts,
) -> Result<(), ClientError> {
    for (partition, known) in &described.partitions {
        let topic = InternalTopic::of(&partition.topic).filter(|_| partition.topic != GROUPS_TOPIC);
        let (Some(topic), Some(leader)) = (topic, known.leader) else {
            continue;
        };
        let Some(log) = facts.log(&partition.topic, partition.partition) else {
            continue;
        };
        let (start, end) = (log.log_start_offset, log.log_end_offset);
        let from = match topic {
            InternalTopic::Heartbeats => from_behind(start, end, HEARTBEATS),
            _ => start,
        };
        let reader =
            read_content(client, (topic, thinning), (leader, partition), (from, end)).await;
        if let Some(error) = reader.error {
            let text = format!("it was not read to its end: {}", error.in_one_line());
            found(facts, partition.to_string(), text);
        }
        for text in reader.left_out {
            found(facts, partition.to_string(), text);
        }
        let content = reader.content;
        if let Some(error) = content
            .first_error
            .as_ref()
            .filter(|_| topic != InternalTopic::Heartbeats)
        {
            let text = format!(
                "{} of {} records are not understood; the first: {error}",
                content.undecodable, content.records
            );
            found(facts, partition.to_string(), text);
        }
        let logs = facts.logs.get_mut(&partition.topic);
        if let Some(log) = logs.and_then(|logs| logs.get_mut(&partition.partition)) {
            log.content = Some(content);
        }
    }
    Ok(())
}

/// Reads a partition of `topic` from an offset on to another, exclusive; what was read before an error counts.
pub(super) async fn read_content(
    client: &Client,
    (topic, thinning): (InternalTopic, Thinning),
    place: (i32, &TopicPartition),
    range: (Offset, Offset),
) -> Reader {
    let mut reader = Reader {
        content: Content::new(topic, thinning),
        records: CommittedRecords::of_broker(),
        left_out: vec![],
        error: None,
    };
    reader.error = reader.read(client, place, range).await.err();
    reader
}

/// What was read of a partition.
pub(super) struct Reader {
    pub(super) content: Content,
    records: CommittedRecords,
    left_out: Vec<String>,
    pub(super) error: Option<ClientError>,
}

impl Reader {
    /// Reads from `from` on to the end as it was when it was asked for, or to the last stable offset.
    async fn read(
        &mut self,
        client: &Client,
        (leader, partition): (i32, &TopicPartition),
        (from, end): (Offset, Offset),
    ) -> Result<(), ClientError> {
        let mut next = from;
        while next < end {
            let fetched = client.fetch(leader, partition, next, AT_ONCE).await?;
            for (producer, first_offset) in &fetched.aborted {
                self.records.is_to_abort(*producer, *first_offset);
            }
            let before = next;
            next = next.max(self.take(&fetched, next));
            if next == before {
                // Behind the last stable offset, or behind what is left after the cleaner.
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes whole batches; returns the offset behind the last.
    fn take(&mut self, fetched: &Fetched, from: Offset) -> Offset {
        let mut rest = &fetched.records[..];
        let mut next = from;
        while rest.len() >= HEADER_UP_TO_MAGIC {
            let Ok(framed) = frame(rest, rest.len() as u64) else {
                break;
            };
            let size = usize::try_from(framed.size).unwrap_or(usize::MAX);
            let Some((batch, behind)) = rest.split_at_checked(size) else {
                break;
            };
            let content = &mut self.content;
            let taken = self.records.push(framed, batch, &mut |record| {
                // The first batch may begin before what was asked for.
                if record.offset >= from {
                    content.push(record);
                }
            });
            if let Err(text) = taken {
                let text = format!("batch at offset {}: {text}; left out", framed.offset);
                self.left_out.push(text);
            }
            next = next
                .max(framed.offset.plus(1))
                .max(self.records.log_end_offset().unwrap_or(next));
            rest = behind;
        }
        next
    }
}
