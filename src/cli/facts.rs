//! What is known of a broker before any batch is read, as facts.

use std::path::Path;

use super::target::{self, VersionBasis};
use super::{Context, Look};
use crate::app::facts::{BrokerFacts, LogDirFacts, PartitionFacts, Presence, Supervisor};
use crate::app::metadata_words;
use crate::disk::{RealStorage, Storage as _};
use crate::format::file_name::META_PROPERTIES;
use crate::format::meta_properties::MetaProperties;
use crate::log::Severity;
use crate::plan::{LogDirPlan, RecoveryPlan, StopState};
use crate::settings::Source;
use crate::terms::Timestamp;

/// Returns what names, sizes and checkpoints say, by a plan that read no batch; log dirs that could not be looked at are
/// among them, so that nobody takes them for empty.
pub(crate) fn listed_facts(plan: &RecoveryPlan, look: &Look) -> Vec<LogDirFacts> {
    let mut facts: Vec<LogDirFacts> = plan.log_dirs.iter().map(dir_facts).collect();
    add_broken(&mut facts, look);
    facts
}

fn dir_facts(dir: &LogDirPlan) -> LogDirFacts {
    let fatal = dir
        .findings
        .iter()
        .any(|finding| finding.severity == Severity::Fatal);
    // A dir that could not be listed has nothing in it, and nobody knows how its broker stopped.
    let stop = (!fatal || !dir.partitions.is_empty()).then_some(dir.stop);
    let why = match stop {
        Some(StopState::Clean) => ".kafka_cleanshutdown lies there",
        Some(StopState::Unclean) => "no .kafka_cleanshutdown",
        None => "",
    };
    LogDirFacts {
        path: dir.path.clone(),
        stop,
        why: why.to_owned(),
        findings: dir.findings.clone(),
        partitions: dir
            .partitions
            .iter()
            .map(|log| PartitionFacts {
                dir_name: log.dir_name.clone(),
                segments: log.segments.len() as u64,
                bytes: log.segments.iter().map(|segment| segment.bytes).sum(),
                boot_reads: Some(log.scan_bytes),
                findings: log.findings.clone(),
            })
            .collect(),
    }
}

fn add_broken(facts: &mut Vec<LogDirFacts>, look: &Look) {
    for (dir, finding) in look.findings() {
        let Some(path) = dir else { continue };
        match facts.iter_mut().find(|facts| facts.path == path) {
            Some(known) => known.findings.push(finding),
            None => facts.push(LogDirFacts {
                path,
                stop: None,
                why: String::new(),
                findings: vec![finding],
                partitions: Vec::new(),
            }),
        }
    }
}

/// Returns a presence as the state knows it.
fn presence_facts(presence: &target::Presence) -> Presence {
    match presence {
        target::Presence::Down => Presence::Down,
        target::Presence::Running { pid, .. } => Presence::Running { pid: *pid },
        target::Presence::Unknown { why } => Presence::Unknown { why: why.clone() },
    }
}

/// Returns what is known of the broker at `at`.
pub(crate) fn broker_facts(context: &Context, look: &Look, at: Timestamp) -> BrokerFacts {
    let broker = &look.candidate.broker;
    let identity = look.log_dirs.iter().find_map(|dir| identity(dir));
    BrokerFacts {
        node_id: broker
            .node_id
            .as_ref()
            .map(|id| id.value)
            .or_else(|| identity.as_ref().and_then(|identity| identity.node_id)),
        cluster_id: identity.and_then(|identity| identity.cluster_id),
        version: look.version.version,
        version_source: look.version.source.clone(),
        config: broker.path.clone(),
        presence: presence_facts(&look.presence),
        supervisor: look.candidate.unit.as_ref().map(|unit| Supervisor {
            name: unit.clone(),
            hold: format!("systemctl mask --runtime {unit}"),
            release: format!("systemctl unmask --runtime {unit}"),
        }),
        flags: flags(context, look),
        metadata: metadata_lines(look),
        act_refused: act_refused(look),
        at,
    }
}

/// Returns what the disk says of the cluster, a sentence each.
pub(crate) fn metadata_lines(look: &Look) -> Vec<String> {
    match &look.topics.node {
        Some(node) => metadata_words::lines(node),
        None if look.topics.is_zookeeper => vec![
            "ZooKeeper mode: none on disk; topic settings: --topic-config FILE, or live with --bootstrap"
                .to_owned(),
        ],
        None => Vec::new(),
    }
}

/// Returns the flags that name this broker, whatever the environment says there.
fn flags(context: &Context, look: &Look) -> Vec<String> {
    let broker = &look.candidate.broker;
    let mut flags = Vec::new();
    if let Some(path) = &broker.path {
        flags.extend(["--config".to_owned(), path.display().to_string()]);
    }
    if !look.candidate.own_log_dirs() || broker.path.is_none() {
        let dirs: Vec<String> = broker
            .log_dirs
            .value
            .iter()
            .map(|dir| dir.display().to_string())
            .collect();
        flags.extend(["--log-dirs".to_owned(), dirs.join(",")]);
    }
    if look.version.basis == VersionBasis::Given {
        flags.extend([
            "--kafka-version".to_owned(),
            look.version.version.to_string(),
        ]);
    }
    if let Some(dir) = &context.settings.state_dir
        && let Source::Flag { .. } = dir.source
    {
        flags.extend(["--state-dir".to_owned(), dir.value.display().to_string()]);
    }
    flags
}

/// Returns why no plan of this broker may be carried out, as the command line says it.
fn act_refused(look: &Look) -> Option<String> {
    let version = &look.version;
    if version.basis == VersionBasis::Assumed {
        return Some(format!(
            "the broker's Kafka release is not known ({}): start krescue with --kafka-version V",
            version.source
        ));
    }
    (!version.version.is_compared()).then(|| {
        format!(
            "Kafka {} is outside of what krescue was compared with (3.7 to 4.4)",
            version.version
        )
    })
}

fn identity(log_dir: &Path) -> Option<MetaProperties> {
    const MOST: usize = 64 << 10;
    let file = RealStorage.open(&log_dir.join(META_PROPERTIES)).ok()?;
    let len = usize::try_from(file.file_len().ok()?).ok()?.min(MOST);
    let mut bytes = vec![0; len];
    let read = file.read_at(&mut bytes, 0).ok()?;
    MetaProperties::parse(bytes.get(..read)?).ok()
}
