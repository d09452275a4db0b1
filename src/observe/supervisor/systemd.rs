//! The limits of a systemd unit, from systemd itself where it answers, else from its files.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::observe::time_span::span_ms;

/// What is asked of systemd.
const PROPERTIES: &str = "Type,TimeoutStartUSec,TimeoutStopUSec,RuntimeMaxUSec,NRestarts,StartLimitBurst,StartLimitIntervalUSec";

/// What a unit allows its process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UnitLimits {
    /// The unit.
    pub name: String,
    /// `simple`, `notify`, `forking` …; `None` where nobody knows.
    pub kind: Option<String>,
    /// How long a start may take, in ms; it counts for `notify` and `forking` only. `None` for no limit, or unknown.
    pub start_ms: Option<u64>,
    /// How long a stop may take before it is a kill, in ms.
    pub stop_ms: Option<u64>,
    /// How long the process may live at all, in ms.
    pub life_ms: Option<u64>,
    /// How often systemd has started it again.
    pub restarts: Option<u64>,
    /// So many starts within [`UnitLimits::burst_ms`] are allowed.
    pub burst: Option<u64>,
    /// The time in which they are counted, in ms.
    pub burst_ms: Option<u64>,
}

impl UnitLimits {
    /// Returns the time after which systemd ends a boot, in ms, and the setting that says so.
    pub fn deadline(&self) -> Option<(u64, &'static str)> {
        // A `simple` unit is started at once, whatever its process does.
        let waits = matches!(
            self.kind.as_deref(),
            Some("notify" | "notify-reload" | "forking" | "dbus")
        );
        let start = self
            .start_ms
            .filter(|_| waits)
            .map(|ms| (ms, "TimeoutStartSec"));
        let life = self.life_ms.map(|ms| (ms, "RuntimeMaxSec"));
        start.into_iter().chain(life).min()
    }

    fn take(&mut self, key: &str, value: &str) {
        let value = value.trim();
        let number = || value.parse().ok();
        match key.trim() {
            "Type" => self.kind = Some(value.to_owned()),
            "TimeoutStartUSec" | "TimeoutStartSec" => self.start_ms = span_ms(value),
            "TimeoutStopUSec" | "TimeoutStopSec" => self.stop_ms = span_ms(value),
            "TimeoutSec" => (self.start_ms, self.stop_ms) = (span_ms(value), span_ms(value)),
            "RuntimeMaxUSec" | "RuntimeMaxSec" => self.life_ms = span_ms(value),
            "StartLimitIntervalUSec" | "StartLimitIntervalSec" => self.burst_ms = span_ms(value),
            "NRestarts" => self.restarts = number(),
            "StartLimitBurst" => self.burst = number(),
            _ => {}
        }
    }
}

/// Returns the limits of `unit`; `root` is `/`, another folder in tests, where systemd is not asked.
pub(super) fn unit_limits(root: &Path, unit: &str) -> UnitLimits {
    let mut limits = UnitLimits {
        name: unit.to_owned(),
        ..UnitLimits::default()
    };
    let told = (root == Path::new("/")).then(|| ask(unit)).flatten();
    let text = told.unwrap_or_else(|| {
        // systemd's defaults, as long as no file says otherwise.
        let defaults = "Type=simple\nTimeoutStartSec=90\nTimeoutStopSec=90\n";
        format!("{defaults}{}", crate::observe::unit::text_of(root, unit))
    });
    for line in text.lines().map(str::trim) {
        if let Some((key, value)) = line
            .split_once('=')
            .filter(|_| !line.starts_with(['#', ';']))
        {
            limits.take(key, value);
        }
    }
    limits
}

fn ask(unit: &str) -> Option<String> {
    let output = Command::new("systemctl")
        .args(["show", "--no-pager", "-p", PROPERTIES, "--", unit])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && text.contains('=')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_tell_where_systemd_does_not_and_a_drop_in_wins() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().join("etc/systemd/system");
        std::fs::create_dir_all(dir.join("kafka.service.d")).unwrap();
        std::fs::write(
            dir.join("kafka.service"),
            "[Unit]\nStartLimitBurst=3\nStartLimitIntervalSec=1h\n[Service]\nType=notify\nExecStart=/opt/kafka/bin/kafka-server-start.sh x\n",
        )
        .unwrap();
        std::fs::write(
            dir.join("kafka.service.d/10.conf"),
            "[Service]\n# TimeoutStartSec=1\nTimeoutStartSec=15min\n",
        )
        .unwrap();
        let limits = unit_limits(tmp.path(), "kafka.service");
        assert_eq!(limits.deadline(), Some((900_000, "TimeoutStartSec")));
        assert_eq!((limits.burst, limits.burst_ms), (Some(3), Some(3_600_000)));
        assert_eq!(limits.stop_ms, Some(90_000));
    }

    #[test]
    fn a_simple_unit_waits_for_no_boot() {
        let mut limits = UnitLimits::default();
        for (key, value) in [("Type", "simple"), ("TimeoutStartUSec", "1min 30s")] {
            limits.take(key, value);
        }
        assert_eq!(limits.deadline(), None);
        limits.take("RuntimeMaxUSec", "1h");
        assert_eq!(limits.deadline(), Some((3_600_000, "RuntimeMaxSec")));
    }
}
