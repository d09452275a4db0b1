//! `status --prometheus`: a text file for `node_exporter`'s textfile collector.

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::cli::CliError;
use crate::cli::report::StatusLine;

/// Writes the file in one piece: a reader sees the old one or the new one.
pub(super) fn write_prometheus(
    path: &Path,
    status: &StatusLine,
    log_dirs: &[PathBuf],
    now_s: i64,
) -> Result<(), CliError> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if log_dirs.iter().any(|dir| absolute.starts_with(dir)) {
        return Err(CliError::usage(format!(
            "--prometheus {}: nothing is written into a log dir",
            path.display()
        )));
    }
    let failed = |error: std::io::Error| {
        CliError::failed(format!("{} cannot be written", path.display()))
            .because(&error)
            .hint("The folder is node_exporter's --collector.textfile.directory.")
    };
    // The collector reads names that end in .prom only.
    let half = absolute.with_extension(format!("{}.tmp", std::process::id()));
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::options()
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o644)
            .open(&half)?;
        file.write_all(text(status, now_s).as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&half, &absolute)
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&half);
        failed(error)
    })
}

/// Returns the metrics; what is unknown is left out, never 0.
fn text(status: &StatusLine, now_s: i64) -> String {
    let node = status
        .run
        .node_id
        .map_or_else(String::new, |id| id.to_string());
    let labels = format!(
        "node_id=\"{node}\",cluster_id=\"{}\"",
        escape(status.run.cluster_id.as_deref().unwrap_or_default())
    );
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, samples: &[(String, Option<f64>)]| {
        let known: Vec<_> = samples
            .iter()
            .filter_map(|(more, value)| Some((more, (*value)?)))
            .collect();
        if known.is_empty() {
            return;
        }
        let _ = writeln!(text, "# HELP krescue_{name} {help}");
        let _ = writeln!(text, "# TYPE krescue_{name} gauge");
        for (more, value) in known {
            let comma = if more.is_empty() { "" } else { "," };
            let _ = writeln!(text, "krescue_{name}{{{labels}{comma}{more}}} {value}");
        }
    };
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
    let number = |value: u64| Some(value as f64);
    let running = match status.run.broker {
        "running" => Some(1.0),
        "down" => Some(0.0),
        _ => None,
    };
    gauge(
        "broker_running",
        "Whether a broker runs on the log dirs.",
        &[(String::new(), running)],
    );
    let counts = &status.preflight;
    gauge(
        "preflight_findings",
        "What stands in the way of the next boot, by severity.",
        &[
            ("severity=\"fatal\"".to_owned(), number(counts.fatal)),
            ("severity=\"loss\"".to_owned(), number(counts.loss)),
            ("severity=\"warning\"".to_owned(), number(counts.warning)),
            ("severity=\"routine\"".to_owned(), number(counts.routine)),
        ],
    );
    gauge(
        "crash_cost_bytes",
        "Bytes that a boot reads again: after a crash now, or after the one that was.",
        &[(String::new(), status.crash_cost_bytes.and_then(number))],
    );
    gauge(
        "undecided_asks",
        "Logs of which the latest plan asks whether Kafka may remove good records.",
        &[(String::new(), status.undecided_asks.and_then(number))],
    );
    for (name, help, value) in boot_gauges(status) {
        gauge(name, help, &[(String::new(), value)]);
    }
    let dirs: Vec<(String, Option<f64>)> = status
        .dirs
        .iter()
        .map(|dir| {
            let unclean = match dir.state {
                "unclean" => Some(1.0),
                "clean" => Some(0.0),
                _ => None,
            };
            (format!("dir=\"{}\"", escape(&dir.dir)), unclean)
        })
        .collect();
    gauge(
        "log_dir_unclean",
        "Whether a log dir lacks the marker of a clean stop; a running broker's always does.",
        &dirs,
    );
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
    gauge(
        "status_timestamp_seconds",
        "When this was written.",
        &[(String::new(), Some(now_s as f64))],
    );
    text
}

/// Returns how far the broker's boot is: names, helps and values.
#[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
fn boot_gauges(status: &StatusLine) -> [(&'static str, &'static str, Option<f64>); 7] {
    let boot = status.boot.as_ref();
    let of = |value: Option<u64>| value.map(|value| value as f64);
    let booting = status.booting.map(|booting| f64::from(u8::from(booting)));
    [
        (
            "broker_booting",
            "Whether the broker is between its start and its first client.",
            booting,
        ),
        (
            "boot_bytes_done",
            "Bytes of segments that the present boot has read.",
            of(boot.and_then(|boot| boot.bytes_done)),
        ),
        (
            "boot_bytes_total",
            "Bytes of segments that the present boot reads.",
            of(boot.and_then(|boot| boot.bytes_total)),
        ),
        (
            "boot_bytes_per_second",
            "Bytes a second at which the present boot reads.",
            of(boot.and_then(|boot| boot.bytes_per_s)),
        ),
        (
            "boot_logs_done",
            "Logs that the present boot is done with.",
            of(boot.map(|boot| boot.logs_done)),
        ),
        (
            "boot_logs_total",
            "Logs that the present boot loads.",
            of(boot.map(|boot| boot.logs_total)),
        ),
        (
            "boot_end_timestamp_seconds",
            "When the logs of the present boot will be loaded, as it goes now.",
            boot.and_then(|boot| boot.end_s).map(|end| end as f64),
        ),
    ]
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
