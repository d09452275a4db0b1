//! Records that are deleted from the begin of a log.

use crate::cli::CliError;
use crate::cli::live_facts::{sizes, unknown_partition};
use crate::cli::live_groups_below::groups_below;
use crate::cli::live_loss::Cuts;
use crate::cli::live_mirrors::mirrors_below;
use crate::client::{Client, Special};
use crate::plan::{LiveAct, LiveLoss, LivePlan, RecordsTo};
use crate::terms::{Offset, TopicPartition};

/// Plans to delete records up to an offset, a time, or so that about so many bytes go.
pub(super) async fn plan(
    client: &Client,
    partition: &TopicPartition,
    to: RecordsTo,
) -> Result<LivePlan, CliError> {
    let metadata = client
        .metadata(Some(std::slice::from_ref(&partition.topic)))
        .await?;
    let known = metadata
        .partitions
        .get(partition)
        .ok_or_else(|| unknown_partition(partition))?;
    let leader = known
        .leader
        .ok_or_else(|| CliError::refused(format!("{partition} has no leader")))?;
    let high_watermark = known_offset(client, leader, Special::HighWatermark, partition).await?;
    let log_start = known_offset(client, leader, Special::LocalLogStart, partition).await?;
    let size = sizes(client, leader).await.ok();
    let size = size.and_then(|sizes| sizes.get(partition).copied());
    let all = u64::try_from(high_watermark.0 - log_start.0).unwrap_or(0);
    let before = match to {
        RecordsTo::Offset(offset) => offset,
        // No record is as young: all that is committed goes.
        RecordsTo::Time(time) => offset(client, leader, Special::Since(time.0), partition)
            .await?
            .unwrap_or(high_watermark),
        RecordsTo::Free(bytes) => {
            let size = size.filter(|size| *size > 0).ok_or_else(|| {
                CliError::refused(format!(
                    "broker {leader} does not tell the size of {partition}"
                ))
                .hint("Name an offset or a time: --to-offset N, --to-time TIME.")
            })?;
            let records = u128::from(bytes) * u128::from(all);
            let records = records.div_ceil(u128::from(size)).min(u128::from(all));
            Offset(
                log_start
                    .0
                    .saturating_add(i64::try_from(records).unwrap_or(i64::MAX)),
            )
        }
    };
    if before > high_watermark {
        return Err(CliError::refused(format!(
            "{before} lies behind the high watermark {high_watermark}"
        ))
        .hint("Only what all in-sync replicas have can be deleted."));
    }
    let gone = u64::try_from(before.0 - log_start.0).unwrap_or(0);
    let share = |size: u64| {
        let part = u128::from(size) * u128::from(gone) / u128::from(all.max(1));
        u64::try_from(part).unwrap_or(u64::MAX)
    };
    let cuts = Cuts::from([(partition.clone(), (log_start, before))]);
    let groups = groups_below(client, Some(&cuts)).await?;
    Ok(LivePlan {
        schema: 1,
        topic_id: None,
        made_anew: false,
        cluster_id: metadata.cluster_id.clone(),
        act: LiveAct::DeleteRecords {
            partition: partition.clone(),
            before,
            log_start,
        },
        restores: None,
        loss: LiveLoss {
            bytes: size.map(share),
            records: Some(gone),
        },
        groups: groups.below,
        groups_unasked: groups.unasked,
        notes: Vec::new(),
        mirrors: mirrors_below(client, &partition.topic, Some(&cuts)).await?,
    })
}

async fn offset(
    client: &Client,
    leader: i32,
    special: Special,
    partition: &TopicPartition,
) -> Result<Option<Offset>, CliError> {
    let one = std::slice::from_ref(partition);
    let mut answers = client.offsets(leader, special, one).await?;
    Ok(answers
        .remove(partition)
        .and_then(|answer| answer.ok().flatten()))
}

async fn known_offset(
    client: &Client,
    leader: i32,
    special: Special,
    partition: &TopicPartition,
) -> Result<Offset, CliError> {
    let told = offset(client, leader, special, partition).await?;
    told.ok_or_else(|| CliError::failed(format!("broker {leader} tells no offsets of {partition}")))
}
