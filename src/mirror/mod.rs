//! MirrorMaker 2: which flows run, what they copied, where each group goes on on the other cluster, what will bite.
//!
//! Pure: [`Facts`] come from a properties file, from log dirs or from a live cluster, and every part of them may be
//! absent; an absent fact silences what needs it, and says so. Facts of several hosts are merged.

mod client_keys;
mod committed;
mod content;
mod copied;
mod copy_look;
mod facts;
mod failover;
mod filter;
mod flow;
mod headroom;
mod hidden;
mod known_flows;
mod lag;
mod lint;
mod policy;
mod promote;
mod promote_rights;
mod properties;
mod second_look;
mod secrets;
mod sync_store;
mod syncs;
mod transactions;
mod translate;

pub use client_keys::client_properties;
pub use committed::CommittedRecords;
pub use content::{
    ByGroup, ByPartition, CheckpointFact, CommitFact, Content, Folded, GroupFacts, HeartbeatFact,
    InternalRecord, InternalTopic, PositionFact, StatusFact,
};
pub use copied::{CopiedTo, copied_to, tells_what_is_copied, unread_syncs};
pub use copy_look::{
    CopyFact, CopyLook, CopyProducer, ExcessFact, TransactionalIds, UnlikeFact, copy_looks,
};
pub use facts::{
    AclFact, Acls, ClusterFacts, ClusterMetadata, FACTS_SCHEMA, FactFinding, FactSource, Facts,
    GROUPS_TOPIC, LiveFacts, LogFacts, MissingPartition, ProducerFact, TopicMetadata, UncopiedFact,
};
pub use failover::{FailoverPosition, PositionNote, PositionSource, failover_positions};
pub use filter::{NameFilter, NamePattern, PatternError, Taken, split_list};
pub use flow::{
    ConfigOrigin, Flow, FlowName, FlowState, SyncsLocation, TopicVerdict, default_topics_exclude,
    flows_of_file,
};
pub use headroom::{Headroom, RetainedBy};
pub use hidden::{HiddenMirror, HiddenWhy, hidden_mirrors, may_be_mirrored, shows_a_mirror};
pub use known_flows::{VersionSource, flows_of_connectors, known_flows, version_of};
pub use lag::{FlowStatus, PartitionLag, flow_status, partition_lag};
pub use lint::{Lint, LintReport, LintSeverity, SilentLint, lint};
pub use policy::{HEARTBEATS, PolicyClass, ReplicationPolicy};
pub use promote::{PromoteStep, promote_steps};
pub use properties::{
    ConfigValue, MirrorProperties, MirrorProperty, flow_keys, reaches_every_flow,
};
pub use second_look::{SecondLook, second_look};
pub use sync_store::{SyncPair, SyncStore, Thinning, Translated};
pub use syncs::{PartitionSyncs, SyncEvent, SyncEventKind, SyncsFacts};
pub use translate::{
    CannotTranslate, Translation, Why, is_consumer_group, known_checkpoint, partition_syncs,
    read_again, translate, translations,
};
