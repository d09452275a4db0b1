//! Kafka's own clients, one command a line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::kafka::Kafka;

/// A running `AdminShell`; ends with its standard input.
#[derive(Debug)]
pub(crate) struct Admin {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Admin {
    /// Starts it.
    pub(crate) fn start(kafka: &Kafka, bootstrap: &str) -> Self {
        let mut command = kafka.java("256m", "AdminShell");
        command
            .arg(bootstrap)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
        }
    }

    /// Runs `words`; fails unless Kafka does it.
    #[track_caller]
    pub(crate) fn run(&mut self, words: &str) -> String {
        let answer = self.try_run(words);
        answer.unwrap_or_else(|error| panic!("{words}: {error}"))
    }

    /// Runs `words`; returns Kafka's answer or error.
    pub(crate) fn try_run(&mut self, words: &str) -> Result<String, String> {
        writeln!(self.input.as_mut().unwrap(), "{words}").unwrap();
        loop {
            // What it logs goes the same way.
            let mut line = String::new();
            assert!(
                self.output.read_line(&mut line).unwrap() > 0,
                "{words}: the shell has ended"
            );
            if let Some(answer) = line.strip_prefix("OK") {
                return Ok(answer.trim().to_owned());
            }
            if let Some(error) = line.strip_prefix("ERROR ") {
                return Err(error.trim().to_owned());
            }
        }
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
