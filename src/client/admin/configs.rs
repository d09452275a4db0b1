//! Settings of topics and brokers: what is in force and where it is from, and how it is changed
//! (`DescribeConfigs`, `IncrementalAlterConfigs`).

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::DescribeConfigsSynonym;
use kafka_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use kafka_protocol::messages::{DescribeConfigsRequest, IncrementalAlterConfigsRequest};
use kafka_protocol::protocol::StrBytes;

use crate::client::cluster::{Client, Whom, refused};
use crate::client::error::{ClientError, KafkaError};

/// Whose settings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigResource {
    /// A topic.
    Topic(String),
    /// A broker.
    Broker(i32),
    /// All brokers: the cluster-wide dynamic default.
    ClusterDefault,
}

impl ConfigResource {
    fn code(&self) -> i8 {
        match self {
            Self::Topic(_) => 2,
            Self::Broker(_) | Self::ClusterDefault => 4,
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Topic(name) => name.clone(),
            Self::Broker(id) => id.to_string(),
            Self::ClusterDefault => String::new(),
        }
    }

    fn of(code: i8, name: &str) -> Option<Self> {
        match (code, name) {
            (2, name) => Some(Self::Topic(name.to_owned())),
            (4, "") => Some(Self::ClusterDefault),
            (4, id) => id.parse().ok().map(Self::Broker),
            _ => None,
        }
    }

    /// Returns who is asked: a broker answers for itself, any for the rest.
    fn whom(&self) -> Whom {
        match self {
            Self::Broker(id) => Whom::Broker(*id),
            _ => Whom::Any,
        }
    }
}

impl std::fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Topic(name) => write!(f, "topic {name}"),
            Self::Broker(id) => write!(f, "broker {id}"),
            Self::ClusterDefault => f.write_str("all brokers"),
        }
    }
}

/// Where a value is from, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigOrigin {
    /// Set on the topic.
    Topic,
    /// Set on this broker while it ran.
    Broker,
    /// Set on all brokers while they ran.
    ClusterDefault,
    /// In the broker's file.
    File,
    /// Kafka's default.
    Default,
    /// Something that krescue does not know.
    Other,
}

impl ConfigOrigin {
    fn of(code: i8) -> Self {
        match code {
            1 => Self::Topic,
            2 => Self::Broker,
            3 => Self::ClusterDefault,
            4 => Self::File,
            5 => Self::Default,
            _ => Self::Other,
        }
    }
}

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    /// The value; `None` where it is secret or not set.
    pub value: Option<String>,
    /// Where it is from.
    pub origin: ConfigOrigin,
    /// Whether a running broker does not take another value.
    pub read_only: bool,
    /// What counts once the topic's own value is taken away; `None` where that is not told: it is asked for with all keys only.
    pub weaker: Option<String>,
}

/// A change of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigChange {
    /// The key.
    pub key: String,
    /// The value; `None` takes the setting away, so that the next weaker one counts.
    pub value: Option<String>,
}

/// What is done with a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alter {
    /// The broker checks it and changes nothing.
    Validate,
    /// It is made.
    Commit,
}

/// The settings of a resource by key, or why they are not told.
pub type ResourceConfigs = Result<BTreeMap<String, ConfigEntry>, KafkaError>;

impl Client {
    /// Asks `whom` for the settings `keys` of `resources`; an empty list means all keys.
    ///
    /// # Errors
    ///
    /// No broker answers; what one refuses stands beside its resource.
    pub async fn configs(
        &self,
        whom: Whom,
        resources: &[ConfigResource],
        keys: &[&str],
    ) -> Result<BTreeMap<ConfigResource, ResourceConfigs>, ClientError> {
        let build = |_| {
            let names = (!keys.is_empty()).then(|| {
                let name = |key: &&str| StrBytes::from_string((*key).to_owned());
                keys.iter().map(name).collect::<Vec<_>>()
            });
            let resource = |resource: &ConfigResource| {
                DescribeConfigsResource::default()
                    .with_resource_type(resource.code())
                    .with_resource_name(StrBytes::from_string(resource.name()))
                    .with_configuration_keys(names.clone())
            };
            DescribeConfigsRequest::default()
                .with_resources(resources.iter().map(resource).collect())
                .with_include_synonyms(keys.is_empty())
        };
        let (response, _) = self.ask(whom, build).await?;
        let mut found = BTreeMap::new();
        for result in response.results {
            let Some(resource) = ConfigResource::of(result.resource_type, &result.resource_name)
            else {
                continue;
            };
            let entries = result.configs.into_iter().map(|config| {
                let entry = ConfigEntry {
                    weaker: weaker(&config.synonyms),
                    value: config.value.map(|value| value.to_string()),
                    origin: ConfigOrigin::of(config.config_source),
                    read_only: config.read_only,
                };
                (config.name.to_string(), entry)
            });
            let answer = match KafkaError::of(result.error_code) {
                Some(error) => Err(error),
                None => Ok(entries.collect()),
            };
            found.insert(resource, answer);
        }
        Ok(found)
    }

    /// Changes settings of a resource, all or none of them.
    ///
    /// # Errors
    ///
    /// The broker refuses the change, or does not answer in time.
    pub async fn alter_configs(
        &self,
        resource: &ConfigResource,
        changes: &[ConfigChange],
        alter: Alter,
    ) -> Result<(), ClientError> {
        const SET: i8 = 0;
        const DELETE: i8 = 1;
        let build = |_| {
            let configs = changes.iter().map(|change| {
                AlterableConfig::default()
                    .with_name(StrBytes::from_string(change.key.clone()))
                    .with_config_operation(if change.value.is_some() { SET } else { DELETE })
                    .with_value(change.value.clone().map(StrBytes::from_string))
            });
            let resource = AlterConfigsResource::default()
                .with_resource_type(resource.code())
                .with_resource_name(StrBytes::from_string(resource.name()))
                .with_configs(configs.collect());
            IncrementalAlterConfigsRequest::default()
                .with_resources(vec![resource])
                .with_validate_only(alter == Alter::Validate)
        };
        let whom = match resource.whom() {
            Whom::Any => Whom::Controller,
            other => other,
        };
        let check = |response: &kafka_protocol::messages::IncrementalAlterConfigsResponse| {
            response.responses.iter().try_for_each(|answer| {
                let what = || format!("changing settings of {resource}");
                refused(answer.error_code, answer.error_message.as_deref(), what)
            })
        };
        self.insist(whom, RETRY_LIMIT, build, check)
            .await
            .map(|_| ())
    }
}

/// Returns the first value that is not the topic's own, in the unit of the topic's key.
fn weaker(synonyms: &[DescribeConfigsSynonym]) -> Option<String> {
    let mut others = synonyms.iter().filter(|synonym| {
        let is_own = ConfigOrigin::of(synonym.source) == ConfigOrigin::Topic;
        !is_own && synonym.value.is_some()
    });
    let first = others.next()?;
    let value = first.value.as_deref()?;
    // Topics have milliseconds only; brokers have longer names for longer times.
    let unit = match first.name.rsplit_once('.') {
        Some((_, "hours")) => 3_600_000,
        Some((_, "minutes")) => 60_000,
        _ => return Some(value.to_owned()),
    };
    let number: i64 = value.trim().parse().ok()?;
    // Below zero it is for ever, whatever the unit.
    let ms = if number < 0 {
        -1
    } else {
        number.checked_mul(unit)?
    };
    Some(ms.to_string())
}

/// How long a change is tried while the controller moves.
const RETRY_LIMIT: Duration = Duration::from_secs(15);
