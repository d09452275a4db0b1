//! A process that looks like a broker.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A process that looks like a broker, ended when dropped.
pub(crate) struct FakeBroker(Child);

impl FakeBroker {
    /// Starts one of these settings.
    pub(crate) fn start(config: &Path) -> Self {
        Self::writing(config, Stdio::inherit())
    }

    /// Starts one whose log goes to `out`.
    pub(crate) fn writing(config: &Path, out: impl Into<Stdio>) -> Self {
        let child = Command::new("sh")
            .arg0("java")
            .args([
                "-c",
                "read line",
                "-cp",
                "/opt/kafka/libs/kafka_2.13-4.1.2.jar",
                "kafka.Kafka",
            ])
            .arg(config)
            .stdin(Stdio::piped())
            .stdout(out)
            .spawn()
            .unwrap();
        Self(child)
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for FakeBroker {
    fn drop(&mut self) {
        // The end of its input ends it.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
