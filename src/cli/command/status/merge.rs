//! `status --merge`: many hosts' status lines as one table, worst first; of those that are down, who has the newest logs.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::path::Path;

use serde::Deserialize;

use super::cold_start;
use crate::app::text::bytes;
use crate::cli::{CliError, Exit};
use crate::plan::{DownHost, HeldEnd, HostVote};

/// The longest line that is taken for one.
const MAX_LINE: u64 = 16 << 20;

/// What the table tells of a host; a line of another release of krescue may lack some of it.
#[derive(Debug, Deserialize)]
struct Host {
    kind: String,
    #[serde(rename = "host")]
    name: Option<String>,
    cluster_id: Option<String>,
    node_id: Option<i64>,
    broker: Option<String>,
    scan_bytes: Option<u64>,
    undecided_asks: Option<u64>,
    #[serde(default)]
    preflight: Counts,
    situation: Option<String>,
    #[serde(default)]
    exit: u64,
    ends: Option<Vec<HeldEnd>>,
    vote: Option<HostVote>,
    /// The line itself.
    #[serde(skip)]
    line: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counts {
    fatal: u64,
    loss: u64,
    warning: u64,
}

/// Names of the columns before the situation.
const COLUMNS: [&str; 7] = [
    "HOST",
    "BROKER",
    "STATE",
    "FATAL",
    "LOSS",
    "WARN",
    "BOOT READS",
];

impl Host {
    /// Takes a line; what stands before the object (Ansible's host names) is passed over.
    fn parse(line: &[u8]) -> Option<Self> {
        let start = line.iter().position(|byte| *byte == b'{')?;
        let object = std::str::from_utf8(line.get(start..)?).ok()?.trim_end();
        let host: Self = serde_json::from_str(object).ok()?;
        (host.kind == "status").then(|| Self {
            line: object.to_owned(),
            ..host
        })
    }

    /// How bad it is: a boot that deletes good records comes before one that fails; of equals the one that reads most
    /// is worse.
    fn badness(&self) -> [u64; 6] {
        let counts = &self.preflight;
        let reads = self.scan_bytes.unwrap_or(0);
        // What a plan asks is of no boot while the broker runs.
        let is_running = self.broker.as_deref() == Some("running");
        let asks = self.undecided_asks.filter(|_| !is_running).unwrap_or(0);
        [
            asks,
            counts.fatal,
            counts.loss,
            self.exit,
            counts.warning,
            reads,
        ]
    }

    /// Returns what it says of its logs, if it is down and told them.
    fn down(&mut self) -> Option<DownHost> {
        let node_id = i32::try_from(self.node_id?).ok()?;
        Some(DownHost {
            host: self.name.clone().unwrap_or_else(|| "?".to_owned()),
            node_id,
            ends: self.ends.take()?,
            vote: self.vote.take(),
        })
    }

    fn cells(&self) -> [String; 7] {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "?".to_owned());
        let counts = &self.preflight;
        [
            text(&self.name),
            self.node_id
                .map_or_else(|| "?".to_owned(), |id| id.to_string()),
            text(&self.broker),
            counts.fatal.to_string(),
            counts.loss.to_string(),
            counts.warning.to_string(),
            self.scan_bytes.map_or_else(|| "?".to_owned(), bytes),
        ]
    }
}

/// Runs `status --merge`: reads lines, prints a table or the lines, worst first.
pub(super) fn merge(from: &Path, json: bool, out: &mut dyn Write) -> Result<Exit, CliError> {
    let (mut hosts, odd) = if from == Path::new("-") {
        read(&mut io::stdin().lock())
    } else {
        let file = File::open(from).map_err(|error| {
            CliError::failed(format!("{} cannot be read", from.display())).because(&error)
        })?;
        read(&mut BufReader::new(file))
    };
    if hosts.is_empty() {
        return Err(CliError::failed("no line is a status").hint(
            "Each host: krescue status --json; then all lines into krescue status --merge -",
        ));
    }
    hosts.sort_by_key(|host| (Reverse(host.badness()), host.name.clone()));
    if json {
        for host in &hosts {
            writeln!(out, "{}", host.line)?;
        }
    } else {
        table(&hosts, out)?;
        if odd > 0 {
            writeln!(
                out,
                "{odd} lines are no status of krescue: a host without it, or an error of ssh"
            )?;
        }
    }
    let equal = cold_starts(&mut hosts, json, out)?;
    let fine = odd == 0 && equal && hosts.iter().all(|host| host.exit == 0);
    Ok(if fine { Exit::Ok } else { Exit::Findings })
}

/// Tells of each cluster that is down as a whole what its hosts come to; says whether nothing of it needs a look.
fn cold_starts(hosts: &mut [Host], json: bool, out: &mut dyn Write) -> io::Result<bool> {
    let mut clusters: BTreeMap<Option<String>, Vec<&mut Host>> = BTreeMap::new();
    for host in hosts {
        clusters
            .entry(host.cluster_id.clone())
            .or_default()
            .push(host);
    }
    let mut equal = true;
    for (cluster_id, mut hosts) in clusters {
        let lives = hosts
            .iter()
            .any(|host| host.broker.as_deref() != Some("down"));
        let down: Vec<DownHost> = hosts.iter_mut().filter_map(|host| host.down()).collect();
        // One host alone has nobody to be compared with; of a cluster that lives its leaders know better.
        if down.len() < 2 || lives {
            continue;
        }
        let mut ids: Vec<i32> = down.iter().map(|host| host.node_id).collect();
        ids.sort_unstable();
        let twice = ids.windows(2).find(|pair| pair.first() == pair.last());
        if let Some(id) = twice.and_then(|pair| pair.first()) {
            equal = false;
            if !json {
                let cluster = cluster_id.as_deref().unwrap_or("?");
                writeln!(
                    out,
                    "two hosts of cluster {cluster} say that they are broker {id}: their logs are not compared"
                )?;
            }
            continue;
        }
        equal &= cold_start::tell(&down, json, out)?;
    }
    Ok(equal)
}

/// Reads every line; returns the hosts, and how many lines are none.
fn read(from: &mut dyn BufRead) -> (Vec<Host>, u64) {
    let (mut hosts, mut odd) = (Vec::new(), 0);
    loop {
        let mut line = Vec::new();
        match from.take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return (hosts, odd),
            Ok(_) => {}
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match Host::parse(&line) {
            Some(host) => hosts.push(host),
            None => odd += 1,
        }
    }
}

fn table(hosts: &[Host], out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<[String; 7]> = std::iter::once(COLUMNS.map(str::to_owned))
        .chain(hosts.iter().map(Host::cells))
        .collect();
    let mut widths = [0_usize; 7];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let situations = std::iter::once("SITUATION").chain(
        hosts
            .iter()
            .map(|host| host.situation.as_deref().unwrap_or("?")),
    );
    for (row, situation) in rows.iter().zip(situations) {
        for (cell, width) in row.iter().zip(widths) {
            write!(out, "{cell:<width$}  ")?;
        }
        writeln!(out, "{situation}")?;
    }
    Ok(())
}
