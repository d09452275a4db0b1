//! What the JMX exporter of Prometheus prints.
//!
//! ```text
//! kafka_log_LogManager_Value{dir="\"/var/lib/kafka\"",name="remainingLogsToRecover"} 7.0     rule ".*"
//! kafka_log_logmanager_remaininglogstorecover{dir="/var/lib/kafka"} 7.0                      the usual rules
//! ```

use super::object_name::unquoted;
use super::sample::{BootMetrics, Gauge, count, plain};

/// Returns what the exporter's `text` says of a boot; lines that are no sample are passed over.
pub(super) fn parse(text: &str) -> BootMetrics {
    let mut metrics = BootMetrics::default();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        // Most lines of a broker are about something else.
        if memchr::memmem::find(line.as_bytes(), b"ecover").is_some() {
            take(line, &mut metrics);
        }
    }
    metrics
}

fn take(line: &str, metrics: &mut BootMetrics) -> Option<()> {
    let (name, rest) = line.split_once('{')?;
    let (labels, rest) = labels(rest)?;
    let label = |key: &str| {
        let found = labels.iter().find(|(name, _)| plain(name) == key);
        found.map(|(_, value)| value.as_str())
    };
    let gauge = Gauge::of(name).or_else(|| Gauge::of(label("name")?))?;
    // Behind the value may stand a time.
    let value = count(rest.split_whitespace().next()?.parse().ok()?)?;
    let thread = label("threadnum").and_then(|thread| thread.parse().ok());
    metrics.take(gauge, unquoted(label("dir")?), thread, value);
    Some(())
}

/// Splits `KEY="VALUE",…} REST`.
fn labels(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (key, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut letters = after.char_indices();
        rest = loop {
            match letters.next()? {
                (at, '"') => break after.get(at + 1..)?,
                (_, '\\') => match letters.next()? {
                    (_, 'n') => value.push('\n'),
                    (_, c) => value.push(c),
                },
                (_, c) => value.push(c),
            }
        };
        labels.push((key.trim().to_owned(), value));
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::SegmentsLeft;
    use super::*;

    #[test]
    fn rules_change_names_and_not_what_is_said() {
        let usual = "# TYPE kafka_log_logmanager_remaininglogstorecover gauge\n\
            kafka_log_logmanager_remaininglogstorecover{dir=\"/d 1\",} 7.0\n\
            kafka_log_LogManager_remaining_segments_to_recover{thread_num=\"3\",dir=\"/d 1\"} 2.0 1700000000\n";
        let said = parse(usual);
        assert_eq!(said.logs_left, [("/d 1".to_owned(), 7)]);
        let left = SegmentsLeft {
            dir: "/d 1".to_owned(),
            thread: 3,
            segments: 2,
        };
        assert_eq!(said.segments_left, [left]);
    }

    /// What the exporter 1.0.1 printed in the middle of a real load, of two log dirs with two threads each.
    #[test]
    fn real_answers_are_read() {
        let of_3_9_1 = include_str!("../../../tests/golden/metrics/3.9.1-jmx_exporter.txt");
        let of_4_4_0 = include_str!("../../../tests/golden/metrics/4.4.0-jmx_exporter.txt");
        for (text, logs, segments) in [
            (of_3_9_1, [13, 1216], [1, 3, 1, 1]),
            (of_4_4_0, [21, 1222], [1, 1, 0, 1]),
        ] {
            let said = parse(text);
            let dirs = ["/var/lib/kafka/data1", "/var/lib/kafka/data2"].map(str::to_owned);
            let left: Vec<_> = dirs.iter().cloned().zip(logs).collect();
            assert_eq!(said.logs_left, left);
            let told = said.segments_left.iter();
            let places: Vec<_> = told
                .clone()
                .map(|of| (of.dir.as_str(), of.thread))
                .collect();
            let [first, second] = &dirs;
            assert_eq!(
                places,
                [(first.as_str(), 0), (first, 1), (second, 0), (second, 1)]
            );
            assert_eq!(told.map(|of| of.segments).collect::<Vec<_>>(), segments);
        }
    }

    #[test]
    fn what_is_no_sample_says_nothing() {
        for line in [
            "kafka_log_LogManager_Value{name=\"remainingLogsToRecover\"} 7.0",
            "kafka_log_LogManager_Value{dir=\"/d\",name=\"remainingLogsToRecover\"} NaN",
            "kafka_log_LogManager_Value{dir=\"/d\",name=\"remainingLogsToRecover\"} -1",
            "kafka_log_LogManager_Value{dir=\"/d\",name=\"remainingLogsToRecover\"}",
            "kafka_log_LogManager_Value{dir=\"/d",
            "x_remaininglogstorecover",
            "x_remaininglogstorecover{",
            "<html>Recover</html>",
        ] {
            assert_eq!(parse(line), BootMetrics::default(), "{line}");
        }
    }
}
