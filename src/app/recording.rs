//! What the panes saw, with times: a file of JSON lines that can be shown again anywhere.
//!
//! ```text
//! {"recording":1,"krescue":"0.1.0","host":"kafka-07","at":1796047351000}
//! {"at":1796047351020,"broker":{…}}
//! {"at":1796047351044,"listed":[…]}
//! {"at":1796047351310,"boot":{…}}
//! {"at":1796047354310,"cluster":{…}}
//! ```
//!
//! Facts only: no key, no command, no file's content. Times are ms since 1970. A field that is missing has its default; a
//! kind of fact that this krescue does not know is left out, and counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::observe::BootReport;
use crate::terms::Timestamp;

use super::event::Event;
use super::facts::{BrokerFacts, LogDirFacts, PartitionFacts};
use super::state::{ClusterFacts, Logs, World};

/// The layout of the lines: 1 had no facts of a cluster, which is all that parts them.
const LAYOUT: u32 = 2;
/// The first layout that is read.
const OLDEST: u32 = 1;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    recording: u32,
    /// The release of krescue that recorded.
    pub krescue: String,
    /// The host that was recorded.
    pub host: String,
    /// When it began.
    pub at: Timestamp,
}

impl Header {
    /// Returns the first line of a recording of `host`.
    pub fn new(host: &str, at: Timestamp) -> Self {
        Self {
            recording: LAYOUT,
            krescue: env!("CARGO_PKG_VERSION").to_owned(),
            host: host.to_owned(),
            at,
        }
    }

    /// Parses the first line.
    ///
    /// # Errors
    ///
    /// Says why it is none.
    pub fn parse(line: &str) -> Result<Self, String> {
        let header: Self =
            serde_json::from_str(line).map_err(|_| "this is no recording of krescue".to_owned())?;
        if (OLDEST..=LAYOUT).contains(&header.recording) {
            return Ok(header);
        }
        Err(format!(
            "this recording has layout {}, and this krescue reads {OLDEST} to {LAYOUT}: it was made by krescue {}",
            header.recording, header.krescue
        ))
    }
}

/// Something that was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The broker.
    Broker(Box<BrokerFacts>),
    /// Its log dirs by names, sizes and checkpoints.
    Listed(Vec<LogDirFacts>),
    /// A look at its boot.
    Boot(Box<BootReport>),
    /// A look at the living cluster.
    Cluster(Box<ClusterFacts>),
    /// No broker of it answered.
    ClusterLost {
        /// Why.
        cause: String,
    },
}

/// The kinds of [`Fact`] as lines name them.
const KINDS: [&str; 5] = ["broker", "listed", "boot", "cluster", "cluster_lost"];

/// A line behind the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// When it was seen.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub fact: Fact,
}

impl Recorded {
    /// Parses a line behind the first; `None` for a kind of fact that a later krescue recorded.
    ///
    /// # Errors
    ///
    /// Says why it is none.
    pub fn parse(line: &str) -> Result<Option<Self>, String> {
        let wrong = match serde_json::from_str(line) {
            Ok(recorded) => return Ok(Some(recorded)),
            Err(error) => error.to_string(),
        };
        match serde_json::from_str::<Other>(line) {
            Ok(other) if other.kind.len() == 1 && !KINDS.iter().any(|kind| other.has(kind)) => {
                Ok(None)
            }
            _ => Err(wrong),
        }
    }

    /// Returns the event that says it again.
    pub fn into_event(self) -> Event {
        match self.fact {
            Fact::Broker(broker) => Event::Opened(broker),
            Fact::Listed(dirs) => Event::Listed(dirs),
            Fact::Boot(report) => Event::Boot(report),
            Fact::Cluster(facts) => Event::Cluster(facts),
            Fact::ClusterLost { cause } => Event::ClusterLost { cause, at: self.at },
        }
    }
}

/// A line whose fact is of a kind that is not known.
#[derive(Debug, Deserialize)]
struct Other {
    #[serde(rename = "at")]
    _at: Timestamp,
    #[serde(flatten)]
    kind: BTreeMap<String, serde_json::Value>,
}

impl Other {
    fn has(&self, kind: &str) -> bool {
        self.kind.contains_key(kind)
    }
}

impl Fact {
    /// Returns what an event says of the host; `None` of keys, ticks and what krescue does itself.
    pub fn of(event: &Event) -> Option<Self> {
        Some(match event {
            Event::Opened(broker) => Self::Broker(broker.clone()),
            Event::Listed(dirs) => Self::Listed(dirs.clone()),
            Event::Boot(report) => Self::Boot(report.clone()),
            Event::Cluster(facts) => Self::Cluster(facts.clone()),
            Event::ClusterLost { cause, .. } => Self::ClusterLost {
                cause: cause.clone(),
            },
            _ => return None,
        })
    }
}

/// Returns what is known already, for a recording that begins in the middle.
pub fn known(world: &World) -> Vec<Fact> {
    let broker = world
        .broker
        .clone()
        .map(|broker| Fact::Broker(Box::new(broker)));
    let boot = world
        .boot
        .as_ref()
        .map(|boot| Fact::Boot(Box::new(boot.whole())));
    let listed = world.listed.map(|_| Fact::Listed(listing(&world.logs)));
    let cluster = world.cluster.facts.clone();
    let cluster = cluster.map(|facts| Fact::Cluster(Box::new(facts)));
    let all = broker.into_iter().chain(listed).chain(boot);
    all.chain(cluster).collect()
}

fn listing(logs: &Logs) -> Vec<LogDirFacts> {
    let dirs = logs.dirs.iter().enumerate();
    dirs.map(|(index, dir)| LogDirFacts {
        path: dir.path.clone(),
        stop: dir.stop,
        why: dir.why.clone(),
        findings: dir.findings.clone(),
        partitions: logs
            .rows()
            .filter(|row| row.dir == index)
            .map(|row| PartitionFacts {
                dir_name: row.dir_name.clone(),
                segments: row.segments.unwrap_or(0),
                bytes: row.bytes.unwrap_or(0),
                boot_reads: row.boot_reads,
                findings: row.findings.clone(),
            })
            .collect(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::state::ReplicaForecast;
    use crate::plan::{CutCause, TruncationForecast};
    use crate::terms::{Offset, TopicPartition};

    #[test]
    fn a_line_says_what_it_said() {
        let header = Header::new("kafka-07", Timestamp(5));
        let line = serde_json::to_string(&header).unwrap();
        assert_eq!(Header::parse(&line), Ok(header));
        let recorded = Recorded {
            at: Timestamp(7),
            fact: Fact::Listed(Vec::new()),
        };
        let line = serde_json::to_string(&recorded).unwrap();
        assert_eq!(line, r#"{"at":7,"listed":[]}"#);
        assert_eq!(Recorded::parse(&line), Ok(Some(recorded)));
    }

    #[test]
    fn what_is_seen_of_a_cluster_is_read_as_it_was_written() {
        let partition = TopicPartition::new("orders", 7);
        let forecast = ReplicaForecast {
            forecast: TruncationForecast {
                log_end: Offset(9),
                cut_to: Offset(7),
                records: 2,
                acknowledged: 0,
                epoch: None,
                cause: Some(CutCause::LeaderEndsBefore),
            },
            is_recovered: true,
        };
        let facts = ClusterFacts {
            at: Timestamp(6),
            took_ms: 1,
            requests: 9,
            found_by: "--bootstrap".to_owned(),
            node_id: Some(3),
            brokers: vec![(1, None), (2, Some("it does not answer".to_owned()))],
            rows: Vec::new(),
            forecasts: BTreeMap::from([(partition, forecast)]),
            quorum: None,
            features: BTreeMap::new(),
        };
        for fact in [
            Fact::Cluster(Box::new(facts)),
            Fact::ClusterLost {
                cause: "refused".to_owned(),
            },
        ] {
            let recorded = Recorded {
                at: Timestamp(7),
                fact,
            };
            let line = serde_json::to_string(&recorded).unwrap();
            assert_eq!(Recorded::parse(&line), Ok(Some(recorded)), "{line}");
        }
    }

    #[test]
    fn each_kind_is_known_and_what_is_none_is_left_out() {
        for kind in KINDS {
            let line = format!(r#"{{"at":7,"{kind}":7}}"#);
            assert!(Recorded::parse(&line).is_err(), "{line}");
        }
        assert_eq!(Recorded::parse(r#"{"at":1,"metrics":{"x":[1]}}"#), Ok(None));
        // Layout 1 knew no cluster, and its looks had fewer fields.
        let old = r#"{"recording":1,"krescue":"0.1.0","host":"h","at":1}"#;
        assert!(Header::parse(old).is_ok());
        for line in [
            r#"{"at":1}"#,
            r#"{"metrics":1}"#,
            r#"{"at":1,"a":1,"b":2}"#,
            "7",
        ] {
            assert!(Recorded::parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn what_is_no_recording_is_said_to_be_none() {
        assert!(
            Header::parse("[2026-11-30 07:51:11,146] INFO x (y)")
                .unwrap_err()
                .contains("no recording")
        );
        let later = r#"{"recording":9,"krescue":"7.0.0","host":"h","at":1}"#;
        assert!(Header::parse(later).unwrap_err().contains("krescue 7.0.0"));
    }

    #[test]
    fn keys_are_no_facts() {
        assert_eq!(Fact::of(&Event::Tick(Timestamp(1))), None);
    }
}
