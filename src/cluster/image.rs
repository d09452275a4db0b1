//! Topics, partitions, configs and brokers at one offset of the metadata log.

use std::collections::BTreeMap;

use crate::format::metadata_record::{
    BrokerRegistrationChange, ClientQuotaRecord, ConfigRecord, EndPoint, FencingChange,
    MetadataRecord, PartitionChangeRecord, PartitionRecord, QuotaEntity, RegisterBroker,
    ResourceType,
};
use crate::terms::{LeaderEpoch, Offset, Timestamp, TopicPartition, Uuid};

/// The cluster at one offset of its metadata log.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataImage {
    /// The first offset that is not in the image.
    pub next_offset: Offset,
    /// The epoch of the last record in it; −1 if there is none.
    pub epoch: LeaderEpoch,
    /// The time of the last record in it: the image's age. An idle leader writes one every 500 ms.
    pub timestamp: Timestamp,
    /// The ids of the quorum's voters, where they are kept in the log (KIP-853); empty where the nodes' files name them.
    pub voters: Vec<i32>,
    topics: BTreeMap<String, TopicImage>,
    topic_names: BTreeMap<Uuid, String>,
    configs: BTreeMap<(ResourceType, String), BTreeMap<String, String>>,
    brokers: BTreeMap<i32, BrokerImage>,
    features: BTreeMap<String, i16>,
    quotas: BTreeMap<QuotaEntity, BTreeMap<String, f64>>,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicImage {
    /// Its id; a topic that is deleted and created again has another.
    pub topic_id: Uuid,
    /// Its partitions by number.
    pub partitions: BTreeMap<i32, PartitionImage>,
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionImage {
    /// The brokers that hold it, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Those in sync.
    pub isr: Vec<i32>,
    /// The leader; `None` while there is none.
    pub leader: Option<i32>,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// How often the partition changed.
    pub partition_epoch: i32,
    /// The log dir of each replica, in their order; empty in metadata from before 3.7.
    pub directories: Vec<Uuid>,
    /// Who may still lead without loss though it is not in sync (KIP-966).
    pub elr: Vec<i32>,
    /// Who was last eligible, once nobody is.
    pub last_known_elr: Vec<i32>,
}

/// A broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerImage {
    /// Its epoch: the offset of its registration.
    pub broker_epoch: i64,
    /// The run of the broker.
    pub incarnation_id: Uuid,
    /// Its rack.
    pub rack: Option<String>,
    /// Whether it may not serve.
    pub fenced: bool,
    /// The ids of its live log dirs; empty in metadata from before 3.7.
    pub log_dirs: Vec<Uuid>,
    /// Where it listens.
    pub endpoints: Vec<EndPoint>,
}

impl Default for MetadataImage {
    fn default() -> Self {
        Self {
            next_offset: Offset::ZERO,
            epoch: LeaderEpoch(-1),
            timestamp: Timestamp::NONE,
            voters: Vec::new(),
            topics: BTreeMap::new(),
            topic_names: BTreeMap::new(),
            configs: BTreeMap::new(),
            brokers: BTreeMap::new(),
            features: BTreeMap::new(),
            quotas: BTreeMap::new(),
        }
    }
}

impl MetadataImage {
    /// Returns the topics by name.
    pub fn topics(&self) -> impl ExactSizeIterator<Item = (&str, &TopicImage)> {
        self.topics
            .iter()
            .map(|(name, topic)| (name.as_str(), topic))
    }

    /// Returns the topic `name`.
    pub fn topic(&self, name: &str) -> Option<&TopicImage> {
        self.topics.get(name)
    }

    /// Returns the name of the topic with `id`.
    pub fn topic_name(&self, id: Uuid) -> Option<&str> {
        self.topic_names.get(&id).map(String::as_str)
    }

    /// Returns a partition by its topic's name.
    pub fn partition(&self, partition: &TopicPartition) -> Option<&PartitionImage> {
        self.topic(&partition.topic)?
            .partitions
            .get(&partition.partition)
    }

    /// Returns the overrides of the topic `name`, key to value.
    pub fn topic_configs(&self, name: &str) -> impl Iterator<Item = (&str, &str)> {
        self.configs(ResourceType::Topic, name)
    }

    /// Returns the dynamic configs of broker `id`, key to value; `None` for those of all brokers.
    pub fn broker_configs(&self, id: Option<i32>) -> impl Iterator<Item = (&str, &str)> {
        self.configs(ResourceType::Broker, &broker_resource(id))
    }

    /// Returns the override `key` of the topic `name`.
    pub fn topic_config(&self, name: &str, key: &str) -> Option<&str> {
        self.config(ResourceType::Topic, name, key)
    }

    /// Returns the dynamic config `key` of broker `id`; `None` for that of all brokers.
    pub fn broker_config(&self, id: Option<i32>, key: &str) -> Option<&str> {
        self.config(ResourceType::Broker, &broker_resource(id), key)
    }

    /// Returns the brokers by id.
    pub fn brokers(&self) -> impl ExactSizeIterator<Item = (i32, &BrokerImage)> {
        self.brokers.iter().map(|(id, broker)| (*id, broker))
    }

    /// Returns broker `id`.
    pub fn broker(&self, id: i32) -> Option<&BrokerImage> {
        self.brokers.get(&id)
    }

    /// Returns the level of a feature; `metadata.version` is one.
    pub fn feature(&self, name: &str) -> Option<i16> {
        self.features.get(name).copied()
    }

    /// Returns the features by name.
    pub fn features(&self) -> impl ExactSizeIterator<Item = (&str, i16)> {
        let features = self.features.iter();
        features.map(|(name, level)| (name.as_str(), *level))
    }

    /// Returns the quotas by their entity, key to value.
    pub fn quotas(&self) -> impl ExactSizeIterator<Item = (&QuotaEntity, &BTreeMap<String, f64>)> {
        self.quotas.iter()
    }

    fn configs<'a>(
        &'a self,
        kind: ResourceType,
        name: &str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let configs = self.configs.get(&(kind, name.to_owned()));
        configs
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    fn config(&self, kind: ResourceType, name: &str, key: &str) -> Option<&str> {
        let configs = self.configs.get(&(kind, name.to_owned()))?;
        configs.get(key).map(String::as_str)
    }

    /// Applies one record; returns false if it names a topic, partition or broker that is not there.
    pub(super) fn apply(&mut self, record: MetadataRecord) -> bool {
        match record {
            MetadataRecord::Topic { name, topic_id } => {
                self.topic_names.insert(topic_id, name.clone());
                let topic = TopicImage {
                    topic_id,
                    partitions: BTreeMap::new(),
                };
                self.topics.insert(name, topic);
                true
            }
            MetadataRecord::RemoveTopic { topic_id } => self.remove_topic(topic_id),
            MetadataRecord::Partition(record) => self.apply_partition(record),
            MetadataRecord::PartitionChange(record) => self.apply_change(record).is_some(),
            MetadataRecord::Config(record) => {
                self.apply_config(record);
                true
            }
            MetadataRecord::FeatureLevel { name, level: 0 } => {
                self.features.remove(&name);
                true
            }
            MetadataRecord::FeatureLevel { name, level } => {
                self.features.insert(name, level);
                true
            }
            MetadataRecord::RegisterBroker(record) => {
                self.register(record);
                true
            }
            MetadataRecord::UnregisterBroker { broker_id } => {
                self.brokers.remove(&broker_id).is_some()
            }
            MetadataRecord::FenceBroker { broker_id, fenced } => {
                let broker = self.brokers.get_mut(&broker_id);
                broker.map(|broker| broker.fenced = fenced).is_some()
            }
            MetadataRecord::BrokerRegistrationChange(record) => {
                self.apply_registration_change(record).is_some()
            }
            MetadataRecord::ClientQuota(record) => {
                self.apply_quota(record);
                true
            }
            MetadataRecord::ClearElr { topic } => self.clear_elr(&topic),
            MetadataRecord::BeginTransaction
            | MetadataRecord::EndTransaction
            | MetadataRecord::AbortTransaction
            | MetadataRecord::Other(_) => true,
        }
    }

    fn remove_topic(&mut self, id: Uuid) -> bool {
        let Some(name) = self.topic_names.remove(&id) else {
            return false;
        };
        self.topics.remove(&name);
        self.configs.remove(&(ResourceType::Topic, name));
        true
    }

    fn apply_quota(&mut self, record: ClientQuotaRecord) {
        match record.value {
            Some(value) => {
                let quotas = self.quotas.entry(record.entity).or_default();
                quotas.insert(record.key, value);
            }
            None => {
                if let Some(quotas) = self.quotas.get_mut(&record.entity) {
                    quotas.remove(&record.key);
                    if quotas.is_empty() {
                        self.quotas.remove(&record.entity);
                    }
                }
            }
        }
    }

    fn clear_elr(&mut self, topic: &str) -> bool {
        let mut found = topic.is_empty();
        for (name, of) in &mut self.topics {
            if topic.is_empty() || name == topic {
                found = true;
                for partition in of.partitions.values_mut() {
                    partition.elr.clear();
                    partition.last_known_elr.clear();
                }
            }
        }
        found
    }

    fn topic_by_id(&mut self, id: Uuid) -> Option<&mut TopicImage> {
        self.topics.get_mut(self.topic_names.get(&id)?)
    }

    fn apply_partition(&mut self, record: PartitionRecord) -> bool {
        let Some(topic) = self.topic_by_id(record.topic_id) else {
            return false;
        };
        let partition = PartitionImage {
            replicas: record.replicas,
            isr: record.isr,
            leader: some_broker(record.leader),
            leader_epoch: record.leader_epoch,
            partition_epoch: record.partition_epoch,
            directories: record.directories,
            elr: record.elr,
            last_known_elr: record.last_known_elr,
        };
        topic.partitions.insert(record.partition, partition);
        true
    }

    fn apply_change(&mut self, record: PartitionChangeRecord) -> Option<()> {
        let topic = self.topic_by_id(record.topic_id)?;
        let partition = topic.partitions.get_mut(&record.partition)?;
        partition.partition_epoch = partition.partition_epoch.wrapping_add(1);
        if let Some(isr) = record.isr {
            partition.isr = isr;
        }
        if let Some(leader) = record.leader {
            partition.leader = some_broker(leader);
            partition.leader_epoch = LeaderEpoch(partition.leader_epoch.0.wrapping_add(1));
        }
        if let Some(replicas) = record.replicas {
            partition.replicas = replicas;
        }
        if let Some(directories) = record.directories {
            partition.directories = directories;
        }
        if let Some(elr) = record.elr {
            partition.elr = elr;
        }
        if let Some(last_known_elr) = record.last_known_elr {
            partition.last_known_elr = last_known_elr;
        }
        Some(())
    }

    fn apply_config(&mut self, record: ConfigRecord) {
        let resource = (record.resource_type, record.resource_name);
        match record.value {
            Some(value) => {
                let configs = self.configs.entry(resource).or_default();
                configs.insert(record.key, value);
            }
            None => {
                if let Some(configs) = self.configs.get_mut(&resource) {
                    configs.remove(&record.key);
                    if configs.is_empty() {
                        self.configs.remove(&resource);
                    }
                }
            }
        }
    }

    fn register(&mut self, record: RegisterBroker) {
        let broker = BrokerImage {
            broker_epoch: record.broker_epoch,
            incarnation_id: record.incarnation_id,
            rack: record.rack,
            fenced: record.fenced,
            log_dirs: record.log_dirs,
            endpoints: record.endpoints,
        };
        self.brokers.insert(record.broker_id, broker);
    }

    fn apply_registration_change(&mut self, record: BrokerRegistrationChange) -> Option<()> {
        let broker = self.brokers.get_mut(&record.broker_id)?;
        match record.fenced {
            FencingChange::Fence => broker.fenced = true,
            FencingChange::Unfence => broker.fenced = false,
            FencingChange::None => {}
        }
        if !record.log_dirs.is_empty() {
            broker.log_dirs = record.log_dirs;
        }
        Some(())
    }
}

fn some_broker(id: i32) -> Option<i32> {
    (id >= 0).then_some(id)
}

fn broker_resource(id: Option<i32>) -> String {
    id.map(|id| id.to_string()).unwrap_or_default()
}

/// Returns an image of topics with one partition each, by who is in sync.
#[cfg(test)]
pub(crate) fn image_of(topics: &[(&str, Vec<i32>)]) -> MetadataImage {
    let mut image = MetadataImage::default();
    for ((name, isr), id) in topics.iter().zip(1_u8..) {
        let topic_id = Uuid([id; 16]);
        image.apply(MetadataRecord::Topic {
            name: (*name).to_owned(),
            topic_id,
        });
        image.apply(MetadataRecord::Partition(PartitionRecord {
            topic_id,
            partition: 0,
            replicas: isr.clone(),
            isr: isr.clone(),
            leader: isr.first().copied().unwrap_or(-1),
            leader_epoch: LeaderEpoch(0),
            partition_epoch: 0,
            directories: vec![],
            elr: vec![],
            last_known_elr: vec![],
        }));
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str, id: u8) -> MetadataRecord {
        MetadataRecord::Topic {
            name: name.to_owned(),
            topic_id: Uuid([id; 16]),
        }
    }

    fn partition(id: u8) -> MetadataRecord {
        MetadataRecord::Partition(PartitionRecord {
            topic_id: Uuid([id; 16]),
            partition: 0,
            replicas: vec![1, 2],
            isr: vec![1, 2],
            leader: 1,
            leader_epoch: LeaderEpoch(4),
            partition_epoch: 7,
            directories: vec![],
            elr: vec![],
            last_known_elr: vec![],
        })
    }

    fn change(id: u8) -> PartitionChangeRecord {
        PartitionChangeRecord {
            topic_id: Uuid([id; 16]),
            partition: 0,
            isr: None,
            leader: None,
            replicas: None,
            directories: None,
            elr: None,
            last_known_elr: None,
        }
    }

    fn config(value: Option<&str>) -> MetadataRecord {
        MetadataRecord::Config(ConfigRecord {
            resource_type: ResourceType::Topic,
            resource_name: "t".to_owned(),
            key: "retention.ms".to_owned(),
            value: value.map(str::to_owned),
        })
    }

    #[test]
    fn an_election_of_the_same_leader_still_raises_the_leader_epoch() {
        let mut image = MetadataImage::default();
        assert!(image.apply(topic("t", 1)));
        assert!(image.apply(partition(1)));
        let shrink = PartitionChangeRecord {
            isr: Some(vec![1]),
            ..change(1)
        };
        assert!(image.apply(MetadataRecord::PartitionChange(shrink)));
        let elect = PartitionChangeRecord {
            leader: Some(1),
            ..change(1)
        };
        assert!(image.apply(MetadataRecord::PartitionChange(elect)));
        let partition = image.partition(&TopicPartition::new("t", 0)).unwrap();
        assert_eq!(partition.isr, [1]);
        assert_eq!(partition.leader_epoch, LeaderEpoch(5));
        assert_eq!(partition.partition_epoch, 9);
    }

    #[test]
    fn a_deleted_topic_takes_its_configs_along() {
        let mut image = MetadataImage::default();
        image.apply(topic("t", 1));
        image.apply(config(Some("5")));
        assert_eq!(image.topic_config("t", "retention.ms"), Some("5"));
        assert!(image.apply(MetadataRecord::RemoveTopic {
            topic_id: Uuid([1; 16])
        }));
        image.apply(topic("t", 2));
        assert_eq!(image.topic_config("t", "retention.ms"), None);
        assert_eq!(image.topic("t").unwrap().topic_id, Uuid([2; 16]));
        assert_eq!(image.topic_name(Uuid([1; 16])), None);
    }

    #[test]
    fn eligible_leaders_follow_their_records_and_are_cleared_by_topic_or_all() {
        let mut image = MetadataImage::default();
        for (name, id) in [("t", 1), ("u", 2)] {
            image.apply(topic(name, id));
            image.apply(partition(id));
            let shrink = PartitionChangeRecord {
                isr: Some(vec![]),
                leader: Some(-1),
                elr: Some(vec![2]),
                last_known_elr: Some(vec![1]),
                ..change(id)
            };
            assert!(image.apply(MetadataRecord::PartitionChange(shrink)));
            // What a change does not name stays.
            let other = PartitionChangeRecord {
                directories: Some(vec![]),
                ..change(id)
            };
            assert!(image.apply(MetadataRecord::PartitionChange(other)));
        }
        let of = |image: &MetadataImage, name: &str| {
            let partition = image.partition(&TopicPartition::new(name, 0)).unwrap();
            (
                partition.leader,
                partition.elr.clone(),
                partition.last_known_elr.clone(),
            )
        };
        assert_eq!(of(&image, "t"), (None, vec![2], vec![1]));
        let clear = |topic: &str| MetadataRecord::ClearElr {
            topic: topic.to_owned(),
        };
        assert!(image.apply(clear("t")) && !image.apply(clear("nobody")));
        assert_eq!(of(&image, "t"), (None, vec![], vec![]));
        assert_eq!(of(&image, "u"), (None, vec![2], vec![1]));
        assert!(image.apply(clear("")));
        assert_eq!(of(&image, "u"), (None, vec![], vec![]));
    }

    #[test]
    fn a_null_value_removes_a_config() {
        let mut image = MetadataImage::default();
        image.apply(config(Some("5")));
        image.apply(config(None));
        assert_eq!(image.topic_configs("t").count(), 0);
    }

    #[test]
    fn what_names_nothing_known_is_told() {
        let mut image = MetadataImage::default();
        assert!(!image.apply(partition(1)));
        assert!(!image.apply(MetadataRecord::PartitionChange(change(1))));
        assert!(!image.apply(MetadataRecord::UnregisterBroker { broker_id: 1 }));
    }
}
