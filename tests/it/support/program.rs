//! The program itself, run without a terminal in a clean environment.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// What a run said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Returns the JSON lines.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect()
    }

    /// Returns the JSON lines of one kind.
    pub(crate) fn kind(&self, kind: &str) -> Vec<Value> {
        self.lines()
            .into_iter()
            .filter(|line| line["kind"] == kind)
            .collect()
    }

    /// Returns the last JSON line, which is the summary.
    pub(crate) fn summary(&self) -> Value {
        let last = self.lines().pop().unwrap_or_default();
        assert_eq!(last["kind"], "summary", "{self:?}");
        assert_eq!(last["exit"], self.exit, "{self:?}");
        last
    }

    /// Returns the codes of all findings, sorted, each once.
    pub(crate) fn codes(&self) -> Vec<String> {
        let mut codes: Vec<String> = self
            .kind("finding")
            .iter()
            .map(|line| line["code"].as_str().unwrap().to_owned())
            .collect();
        codes.sort();
        codes.dedup();
        codes
    }

    /// Returns the first finding with a code.
    pub(crate) fn finding(&self, code: &str) -> Value {
        self.kind("finding")
            .into_iter()
            .find(|line| line["code"] == code)
            .unwrap_or_else(|| panic!("no {code} in {}", self.out))
    }

    /// Fails unless the exit is `exit`.
    #[track_caller]
    pub(crate) fn exits(self, exit: i32) -> Self {
        let out: String = self.out.chars().take(6000).collect();
        assert_eq!(self.exit, exit, "{out}\n{}", self.err);
        self
    }
}

/// Returns the program with a state dir in `home` and nothing of the caller's environment.
pub(crate) fn program(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_krescue"));
    command
        .env_clear()
        .env("HOME", home)
        .env("XDG_STATE_HOME", home.join("state"))
        .env("PATH", "/usr/bin:/bin")
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

/// Runs the program in `home`.
pub(crate) fn run(home: &Path, arguments: &[&str]) -> Ran {
    let output = program(home).args(arguments).output().unwrap();
    ran(output)
}

/// Returns what a finished run said.
pub(crate) fn ran(output: Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran {
        exit: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}
