//! 53 logs, and what brokers of 3.9.1 and 4.4.0 deleted of them, by which rule.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use krescue::cluster::{ConfigLevels, ConfigMoment, LogConfig};
use krescue::disk::RealStorage;
use krescue::engine::{Beside, RetentionSpec, read_retention};
use krescue::plan::retention::{
    BrokerRules, LogFacts, RetentionLimits, RetentionReason, RetentionVerdict, TimeSource,
    plan_retention,
};
use krescue::terms::Timestamp;
use serde_json::Value;

use crate::support::golden_archive::{Files, below, unpack};

const PACKED: &[u8] = include_bytes!("../../golden/retention/cases.tar.zst");

/// A release's cases: the log dir, and what its broker told.
pub(super) struct Release {
    pub(super) dir: tempfile::TempDir,
    pub(super) told: BTreeMap<String, Value>,
}

pub(super) fn release(files: &Files, version: &str) -> Release {
    let told: BTreeMap<String, Value> =
        serde_json::from_slice(&files[&format!("{version}/told.json")]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for (path, bytes) in below(files, &format!("{version}/before/")) {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if !path.to_string_lossy().ends_with('/') {
            std::fs::write(path, bytes).unwrap();
        }
    }
    for (name, case) in &told {
        for (file, time) in case["log_mtime_ms"].as_object().unwrap() {
            let path = dir.path().join(format!("{name}-0/{file}"));
            set_mtime(&path, time.as_u64().unwrap());
        }
    }
    Release { dir, told }
}

fn set_mtime(path: &Path, ms: u64) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(ms))
        .unwrap();
}

pub(super) fn cases() -> Files {
    unpack(PACKED)
}

/// Reads the logs of a dir whose partitions have no other replica.
pub(super) fn read_alone(dir: &Path) -> Vec<LogFacts> {
    let spec = RetentionSpec {
        log_dirs: vec![dir.to_owned()],
        selection: None,
        beside: Beside::Nobody,
        is_sole_in_sync: Arc::new(|_| true),
        is_compacted: Arc::new(|_| true),
        threads: None,
    };
    let reading = read_retention(&RealStorage, &spec, &|| true).unwrap();
    assert_eq!(reading.findings, []);
    reading.logs
}

fn limits(topic: &str, case: &Value) -> RetentionLimits {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut named = BTreeMap::new();
    for level in ["config_before", "config_set"] {
        for (key, value) in case[level].as_object().unwrap() {
            named.insert(key.clone(), text(value));
        }
    }
    let config = LogConfig::resolve(
        topic,
        &ConfigLevels {
            told: None,
            image: None,
            broker_id: None,
            named: Some(&named),
            server_properties: &BTreeMap::new(),
            moment: ConfigMoment::Running,
        },
    );
    RetentionLimits::of(topic, &config.unwrap(), BrokerRules::default())
}

#[test]
fn each_segment_that_a_broker_deleted_is_told_with_the_rule_and_no_other() {
    let files = cases();
    let mut compared = 0;
    for version in ["3.9.1", "4.4.0"] {
        let release = release(&files, version);
        let logs = read_alone(release.dir.path());
        assert_eq!(logs.len(), release.told.len());
        for log in logs {
            let name = log.topic_partition.topic.as_str();
            let case = &release.told[name];
            let at = Timestamp(case["config_set_at_ms"].as_i64().unwrap());
            let judged = plan_retention(&log, &limits(name, case), at);
            let found: Vec<Value> = judged
                .segments
                .iter()
                .zip(&log.segments)
                .filter(|(judged, _)| judged.verdict == RetentionVerdict::Delete)
                .map(|(judged, segment)| {
                    let reason = match judged.reason {
                        RetentionReason::LogStart => "start",
                        other => other.name(),
                    };
                    let source = match (judged.reason, segment.time_source) {
                        (RetentionReason::Time, TimeSource::FileTime) => Some("mtime"),
                        (RetentionReason::Time, _) => Some("record"),
                        _ => None,
                    };
                    serde_json::json!([segment.base_offset.0, segment.bytes, reason, source])
                })
                .collect();
            let told: Vec<Value> = case["deleted"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| serde_json::json!([it["base"], it["size"], it["reason"], it["source"]]))
                .collect();
            assert_eq!(found, told, "{version} {name}: {}", case["what"]);
            let end = log.log_end_offset.map(|end| end.0);
            assert_eq!(end, case["log_end"].as_i64(), "{version} {name}");
            let start = judged.log_start_offset.0;
            assert_eq!(
                Some(start),
                case["log_start_after"].as_i64(),
                "{version} {name}"
            );
            let rolled = judged.rolls_at.map(|offset| offset.0);
            assert_eq!(rolled, case["rolled_at"].as_i64(), "{version} {name}");
            compared += 1;
        }
    }
    assert_eq!(compared, 53);
}
