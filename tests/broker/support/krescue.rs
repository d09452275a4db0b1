//! The tool under test, called as a script calls it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A node to recover.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    /// Holds `server.properties`, `data1` and `data2`.
    pub(crate) folder: &'a Path,
    pub(crate) version: &'a str,
    pub(crate) now: i64,
}

/// What a call said.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) exit: i32,
    pub(crate) lines: Vec<Value>,
    pub(crate) text: String,
}

/// Returns `watch` on the node in `folder`, with options of its own before it.
pub(crate) fn watch_command(folder: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_krescue"));
    command
        .env_remove("XDG_STATE_HOME")
        .arg("--config")
        .arg(folder.join("server.properties"))
        .args(options)
        .args(["watch", "--json"])
        .stdin(Stdio::null());
    command
}

impl Target<'_> {
    /// Runs krescue on this node with `arguments` after the global ones.
    pub(crate) fn run(self, arguments: &[&str]) -> Answer {
        let mut command = Command::new(env!("CARGO_BIN_EXE_krescue"));
        let folder = self.folder;
        command
            .env_remove("XDG_STATE_HOME")
            .arg("--config")
            .arg(folder.join("server.properties"))
            .arg("--log-dirs")
            .arg(format!("{0}/data1,{0}/data2", folder.display()))
            .args([
                "--kafka-version",
                self.version,
                "--now",
                &self.now.to_string(),
            ])
            .arg("--state-dir")
            .arg(self.state());
        // Of data that another release lent: the metadata log there has keys that this one does not know.
        let topic_config = folder.join("topic-config");
        if topic_config.exists() {
            command.arg("--topic-config").arg(topic_config);
        }
        command.args(arguments);
        let output = command.output().unwrap();
        Answer::new(&output)
    }

    /// Recovers as Kafka would: `hand_over` is `none`, `verify` or `clean`.
    pub(crate) fn recover(self, hand_over: &str) -> Answer {
        let answer = self.run(&[
            "recover",
            "--json",
            "--like-kafka",
            "--hand-over",
            hand_over,
            "--quarantine",
            "none",
            "--apply",
            "--yes-to-all",
        ]);
        assert!(
            matches!(answer.exit, 0 | 3),
            "exit {}\n{}",
            answer.exit,
            answer.tail()
        );
        answer
    }

    fn state(self) -> PathBuf {
        self.folder.with_extension("state")
    }
}

impl Answer {
    pub(crate) fn new(output: &Output) -> Self {
        let out = String::from_utf8_lossy(&output.stdout);
        Self {
            exit: output.status.code().unwrap_or(-1),
            lines: out
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect(),
            text: format!("{out}{}", String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// Returns the last lines it said, and what it said on its error output.
    pub(crate) fn tail(&self) -> String {
        let lines: Vec<_> = self
            .text
            .lines()
            .filter(|line| !line.contains("\"kind\":\"step\""))
            .collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    }

    /// Returns the new log end offset of each partition.
    pub(crate) fn ends(&self) -> BTreeMap<String, i64> {
        let partitions = self.lines.iter().filter(|line| line["kind"] == "partition");
        partitions
            .filter_map(|line| {
                let name = format!(
                    "{}-{}",
                    line["topic"].as_str()?,
                    line["partition"].as_i64()?
                );
                Some((name, line["log_end_offset"].as_i64()?))
            })
            .collect()
    }

    /// Returns the findings' codes and texts by `dir/partition`, as far as they name a partition.
    pub(crate) fn findings(&self) -> BTreeMap<String, Vec<(String, String)>> {
        let mut findings: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for line in self.lines.iter().filter(|line| line["kind"] == "finding") {
            let field = |name: &str| line[name].as_str().map(str::to_owned);
            if let (Some(dir), Some(partition), Some(code)) =
                (field("dir"), field("partition"), field("code"))
            {
                let dir = Path::new(&dir)
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy();
                let finding = (code, field("text").unwrap_or_default());
                findings
                    .entry(format!("{dir}/{partition}"))
                    .or_default()
                    .push(finding);
            }
        }
        findings
    }
}
