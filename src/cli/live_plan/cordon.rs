//! A log dir that takes no new replica (KIP-1066, 4.3 and newer): the broker's `cordoned.log.dirs`.

use super::make::harmless;
use super::moves::known_dir;
use crate::cli::CliError;
use crate::client::{Client, ClientError, ConfigResource, KafkaError, Whom};
use crate::plan::{CORDONED_LOG_DIRS, LiveAct, LivePlan};

/// Plans to cordon a log dir, or to lift that.
pub(super) async fn plan(
    client: &Client,
    broker: i32,
    dir: &str,
    on: bool,
) -> Result<LivePlan, CliError> {
    let metadata = client.metadata(Some(&[])).await?;
    let dirs = client.log_dirs(broker).await?;
    known_dir(&dirs, broker, dir)?;
    let before = cordoned(client, broker).await?;
    let list: Vec<&str> = before
        .as_deref()
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|dir| !dir.is_empty())
        .collect();
    let is_on = list.iter().any(|listed| *listed == dir || *listed == "*");
    if is_on == on {
        let state = if on {
            "cordoned already"
        } else {
            "not cordoned"
        };
        return Err(CliError::refused(format!("{dir} is {state}")));
    }
    if !on && list.contains(&"*") {
        return Err(CliError::refused(
            "all log dirs are cordoned by *: one alone cannot be let go",
        )
        .hint("kafka-configs.sh --alter --entity-type brokers --delete-config cordoned.log.dirs lets all go."));
    }
    let mut wanted: Vec<&str> = list.into_iter().filter(|listed| *listed != dir).collect();
    if on {
        wanted.push(dir);
    }
    let act = LiveAct::Cordon {
        broker,
        dir: dir.to_owned(),
        on,
        value: (!wanted.is_empty()).then(|| wanted.join(",")),
        before,
    };
    Ok(harmless(metadata.cluster_id, act, None))
}

/// Returns the broker's own `cordoned.log.dirs`; `None` if none is set.
pub(in crate::cli) async fn cordoned(
    client: &Client,
    broker: i32,
) -> Result<Option<String>, CliError> {
    let resource = ConfigResource::Broker(broker);
    let mut found = client
        .configs(
            Whom::Broker(broker),
            std::slice::from_ref(&resource),
            &[CORDONED_LOG_DIRS],
        )
        .await?;
    let refused = |code: KafkaError| ClientError::Refused {
        what: format!("the settings of broker {broker}"),
        code,
        message: None,
    };
    let entries = found
        .remove(&resource)
        .unwrap_or(Err(KafkaError::UNKNOWN_TOPIC_OR_PARTITION))
        .map_err(refused)?;
    let entry = entries.get(CORDONED_LOG_DIRS).ok_or_else(|| {
        CliError::refused(format!(
            "broker {broker} knows no {CORDONED_LOG_DIRS}: cordoning came with Kafka 4.3"
        ))
        .hint("Move replicas off the dir instead: krescue move TP --to DIR.")
    })?;
    Ok(entry.value.clone().filter(|value| !value.is_empty()))
}
