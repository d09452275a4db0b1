//! Carries out a plan on a living cluster, told apart from who asked for it: checks, does, reads back, keeps, audits.

use super::live_facts::{
    check_interval, follow_move, leader_of, own_value, replica_sizes, topic_values,
};
use super::live_plan::{is_another, topic_id};
use super::{CliError, Context, clock};
use crate::app::live_words;
use crate::client::{Alter, Client, ClientError, ConfigChange, ConfigResource, Whom};
use crate::engine::{Confirmed, LiveStore, audit_live, audit_refusal};
use crate::plan::{CORDONED_LOG_DIRS, LiveAct, LivePlan, ReplicaSize};
use crate::terms::Timestamp;
use std::time::{Duration, Instant};

/// How long a change of settings may take to reach every broker.
const REACH_LIMIT: Duration = Duration::from_secs(15);
/// How long from one question to the next.
const PAUSE: Duration = Duration::from_millis(200);

/// Whether a move is waited for, and who hears how far it is.
pub enum MoveEnd<'a> {
    /// It is followed to its end; told the records that are left.
    Follow(&'a mut (dyn FnMut(i64) + Send)),
    /// The broker goes on alone.
    LeaveRunning,
}

/// What a plan is carried out with.
pub struct LiveApply<'a> {
    /// Settings and host.
    pub context: &'a Context,
    /// The cluster.
    pub client: &'a Client,
    /// The plan's hash.
    pub hash: &'a str,
    /// The plan.
    pub plan: &'a LivePlan,
    /// How it was confirmed.
    pub confirmed: Confirmed,
    /// The words that make the plan again.
    pub words: &'a str,
    /// Kafka's own line for the same.
    pub line: &'a str,
}

/// What came of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// What was done, a sentence each.
    pub lines: Vec<String>,
    /// What could not be done, a line each.
    pub left: Vec<String>,
    /// When it was done.
    pub at: Timestamp,
    /// The replicas just before, of which segments are to go; empty where none is.
    pub before: Vec<ReplicaSize>,
}

impl Done {
    fn all(lines: Vec<String>) -> Self {
        Self::new(lines, Vec::new())
    }

    /// Returns what was done and what could not be, just now.
    pub(super) fn new(lines: Vec<String>, left: Vec<String>) -> Self {
        Self {
            lines,
            left,
            at: clock::now(),
            before: Vec::new(),
        }
    }

    fn outcome(&self) -> String {
        let done = self.lines.join("; ");
        if self.left.is_empty() {
            return done;
        }
        format!("{done}; left: {}", self.left.join("; "))
    }
}

impl LiveApply<'_> {
    /// Carries the plan out; returns what came of it.
    ///
    /// # Errors
    ///
    /// Refused before any change, or the brokers did not do it; the audit has either.
    pub async fn run(&self, end: MoveEnd<'_>) -> Result<Done, CliError> {
        self.allowed()?;
        self.same_as_before().await?;
        let mut before = match &self.plan.act {
            LiveAct::TopicConfigs { topic, .. } => replica_sizes(self.client, topic).await,
            LiveAct::DeleteRecords { partition, .. } => {
                replica_sizes(self.client, &partition.topic).await
            }
            _ => Vec::new(),
        };
        if let LiveAct::DeleteRecords { partition, .. } = &self.plan.act {
            before.retain(|of| of.partition == partition.partition);
        }
        let done = self.carry_out(end).await;
        let outcome = match &done {
            Ok(done) => done.outcome(),
            Err(error) => format!("failed: {}", error.in_one_line()),
        };
        let who = self.context.who();
        let state_dir = self.context.state_dir()?.value.clone();
        if done.is_ok() {
            let store = LiveStore::new(&state_dir);
            store.carried_out((self.hash, self.plan), before.clone(), &who, clock::now())?;
        }
        audit_live(
            &state_dir,
            (&who, clock::now()),
            (self.hash, self.plan),
            self.confirmed,
            (self.line, &outcome),
        )?;
        Ok(Done { before, ..done? })
    }

    /// Asks the session and the host's policy.
    fn allowed(&self) -> Result<(), CliError> {
        let policy = &self.context.settings.policy;
        let class = self.plan.class();
        let rule = policy.no_classes.iter().find(|rule| rule.value == class);
        let why = self
            .context
            .forbidden()
            .or_else(|| {
                policy
                    .forbids_yes_to_all()
                    .filter(|_| self.confirmed == Confirmed::YesToAll)
            })
            .or_else(|| Some(format!("class {class:?} is forbidden ({})", rule?.place)));
        let Some(why) = why else { return Ok(()) };
        if let Some(dir) = &self.context.settings.state_dir {
            // The refusal stands whether or not it can be written down.
            let who = self.context.who();
            let _ = audit_refusal(&dir.value, (&who, clock::now()), self.words, &why);
        }
        Err(CliError::refused(why))
    }

    /// Refuses where the cluster, or what is to be changed, is another than the plan saw.
    async fn same_as_before(&self) -> Result<(), CliError> {
        let client = self.client;
        let metadata = client.metadata(Some(&[])).await?;
        if metadata.cluster_id != self.plan.cluster_id {
            return Err(CliError::refused("the plan is for another cluster"));
        }
        let changed = |what: &str| {
            Err(
                CliError::refused(format!("{what} was changed since the plan was made"))
                    .hint(format!("Make the plan again: krescue {}", self.words)),
            )
        };
        if let Some(topic) = self.plan.topic() {
            let id = topic_id(client, topic).await?;
            if id.is_none() && self.plan.topic_id.is_some() {
                return Err(CliError::refused(format!(
                    "there is no topic {topic} any more"
                )));
            }
            if is_another(self.plan, id.as_ref()) {
                let text =
                    format!("topic {topic} was deleted and made anew since the plan was made");
                return Err(CliError::refused(text)
                    .hint(format!("Make the plan again: krescue {}", self.words)));
            }
        }
        match &self.plan.act {
            LiveAct::TopicConfigs { topic, changes } => {
                let now = topic_values(client, topic).await?;
                for change in changes {
                    if own_value(&now, &change.key) != change.before {
                        return changed(&change.key);
                    }
                }
            }
            LiveAct::ProducerQuota {
                client_id, before, ..
            } => {
                let now = client.producer_quota(client_id.as_deref()).await?;
                if now != *before {
                    return changed("the quota");
                }
            }
            LiveAct::Cordon { broker, before, .. } => {
                if super::live_plan::cordoned(client, *broker).await? != *before {
                    return changed(CORDONED_LOG_DIRS);
                }
            }
            LiveAct::GroupPositions(positions) => {
                if let Some(what) = super::live_groups::moved(client, positions).await? {
                    return changed(&what);
                }
            }
            LiveAct::DeleteRecords { .. } | LiveAct::MoveReplica { .. } => {}
        }
        Ok(())
    }

    async fn carry_out(&self, end: MoveEnd<'_>) -> Result<Done, ClientError> {
        let client = self.client;
        if let Some((resource, changes)) = config_changes_of(&self.plan.act) {
            client
                .alter_configs(&resource, &changes, Alter::Commit)
                .await?;
            let mut lines = read_back(client, &resource, &changes).await;
            if let LiveAct::TopicConfigs { .. } = self.plan.act {
                lines.push(live_words::next_pass(check_interval(client).await));
            }
            return Ok(Done::all(lines));
        }
        let text = match &self.plan.act {
            LiveAct::DeleteRecords {
                partition, before, ..
            } => {
                let leader = leader_of(client, partition).await?;
                let low = client.delete_records(leader, partition, *before).await?;
                format!("the log of {partition} begins at {low} now, on every living replica")
            }
            LiveAct::MoveReplica {
                partition,
                broker,
                from,
                to,
            } => {
                client
                    .move_replica(*broker, partition, std::path::Path::new(to))
                    .await?;
                match end {
                    _ if from == to => "the move has ended".to_owned(),
                    MoveEnd::Follow(told) => {
                        match follow_move(client, *broker, partition, to, told).await? {
                            Ok(text) => text,
                            Err(left) => return Ok(Done::new(Vec::new(), vec![left])),
                        }
                    }
                    MoveEnd::LeaveRunning => format!(
                        "broker {broker} copies {partition} to {to}; the replicas pane tells how much is left"
                    ),
                }
            }
            LiveAct::ProducerQuota {
                client_id,
                bytes_per_s,
                ..
            } => {
                client
                    .set_producer_quota(client_id.as_deref(), *bytes_per_s)
                    .await?;
                "the brokers hold writers to it from now on".to_owned()
            }
            LiveAct::GroupPositions(positions) => {
                return Ok(super::live_groups::set(client, positions).await);
            }
            LiveAct::TopicConfigs { .. } | LiveAct::Cordon { .. } => String::new(),
        };
        Ok(Done::all(vec![text]))
    }
}

/// Returns whose settings an act changes, and how; `None` if it changes none.
pub(super) fn config_changes_of(act: &LiveAct) -> Option<(ConfigResource, Vec<ConfigChange>)> {
    match act {
        LiveAct::TopicConfigs { topic, changes } => {
            let change = |change: &crate::plan::KeyChange| ConfigChange {
                key: change.key.clone(),
                value: change.value.clone(),
            };
            let changes = changes.iter().map(change).collect();
            Some((ConfigResource::Topic(topic.clone()), changes))
        }
        LiveAct::Cordon { broker, value, .. } => {
            let change = ConfigChange {
                key: CORDONED_LOG_DIRS.to_owned(),
                value: value.clone(),
            };
            Some((ConfigResource::Broker(*broker), vec![change]))
        }
        _ => None,
    }
}

/// Asks each broker whether it has taken a change, again until all have or the time is over; says which have.
async fn read_back(
    client: &Client,
    resource: &ConfigResource,
    changes: &[ConfigChange],
) -> Vec<String> {
    let mut waiting = match resource {
        ConfigResource::Broker(id) => vec![*id],
        _ => client.brokers(),
    };
    let mut has = Vec::new();
    let begin = Instant::now();
    let keys: Vec<&str> = changes.iter().map(|change| change.key.as_str()).collect();
    loop {
        let mut still = Vec::new();
        for broker in waiting {
            let one = std::slice::from_ref(resource);
            let found = client.configs(Whom::Broker(broker), one, &keys).await;
            let entries = found
                .ok()
                .and_then(|mut found| found.remove(resource)?.ok());
            let is_there = entries.is_some_and(|entries| {
                changes.iter().all(|change| {
                    own_value(&entries, &change.key).filter(|value| !value.is_empty())
                        == change.value
                })
            });
            if is_there {
                has.push(broker);
            } else {
                still.push(broker);
            }
        }
        waiting = still;
        if waiting.is_empty() || begin.elapsed() >= REACH_LIMIT {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    live_words::read_back(&has, &waiting)
}
