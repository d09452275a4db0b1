//! What Kafka's clients told: the lines of `facts-VERSION.txt`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::program::{Ran, run};

/// The releases that golden mirrors are of.
pub(crate) const VERSIONS: [&str; 2] = ["4.3.1", "3.9.1"];

/// A golden mirror, unpacked.
pub(crate) struct Mirror {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) lines: Vec<String>,
}

/// Offsets by topic-partition, in the order of their names.
pub(crate) type Offsets = BTreeMap<String, i64>;

impl Mirror {
    pub(crate) fn unpack(version: &str) -> Self {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/mirror");
        let packed = fs::read(golden.join(format!("active-active-{version}.tar.zst"))).unwrap();
        let folder = tempfile::tempdir().unwrap();
        krescue::disk::unpack(&packed, folder.path()).unwrap();
        let text = fs::read_to_string(golden.join(format!("facts-{version}.txt"))).unwrap();
        Self {
            folder,
            lines: text.lines().map(str::to_owned).collect(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `mirror` over both clusters.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let mut all = vec!["mirror"];
        all.extend(arguments);
        all.extend([
            "--cluster",
            "primary=primary",
            "--cluster",
            "secondary=secondary",
        ]);
        run(self.folder.path(), &all)
    }

    /// Returns the words behind each line that begins so.
    pub(crate) fn told<'a>(&'a self, start: &'a str) -> impl Iterator<Item = &'a str> {
        self.lines
            .iter()
            .filter_map(move |line| line.strip_prefix(start))
    }

    /// Returns the commits of each group of a cluster.
    pub(crate) fn groups(&self, cluster: &str) -> BTreeMap<String, Offsets> {
        self.told(&format!("group {cluster} "))
            .map(|line| {
                let (group, _) = line.split_once(' ').unwrap();
                (group.to_owned(), offsets(line))
            })
            .collect()
    }

    /// Returns the answers of `RemoteClusterUtils`.
    pub(crate) fn answers(&self, source: &str) -> BTreeMap<String, Offsets> {
        self.told(&format!("rcu translateOffsets({source},"))
            .map(|line| {
                let (group, _) = line.split_once(')').unwrap();
                (group.to_owned(), offsets(line))
            })
            .collect()
    }

    /// Returns the ends of each partition of a cluster.
    pub(crate) fn ends(&self, cluster: &str) -> BTreeMap<String, (i64, i64)> {
        let mut ends = BTreeMap::new();
        for line in self.told(&format!("topic {cluster} ")) {
            let (topic, _) = line.split_once(' ').unwrap();
            let (_, logs) = line.split_once("log[").unwrap();
            for log in logs.trim_end_matches(']').split_whitespace() {
                let (partition, range) = log.split_once(':').unwrap();
                let (start, end) = range.split_once("..").unwrap();
                ends.insert(
                    format!("{topic}-{partition}"),
                    (start.parse().unwrap(), end.parse().unwrap()),
                );
            }
        }
        ends
    }
}

/// Parses `{t-0=5/meta, u-1=6}` at the end of a line.
fn offsets(line: &str) -> Offsets {
    let (_, list) = line.rsplit_once('{').unwrap();
    list.trim_end_matches('}')
        .split(", ")
        .filter(|item| !item.is_empty())
        .map(|item| {
            let (partition, offset) = item.split_once('=').unwrap();
            let offset = offset.split('/').next().unwrap();
            (partition.to_owned(), offset.parse().unwrap())
        })
        .collect()
}
