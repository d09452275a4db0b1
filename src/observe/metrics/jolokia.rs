//! What Jolokia answers: one JSON object with a value for each bean.

use serde_json::Value;

use super::object_name::properties;
use super::sample::{BootMetrics, Gauge, count};

/// What is asked for, behind the agent's own path.
pub(super) const REQUEST: &str = "/read/kafka.log:type=LogManager,name=remaining*,*/Value";

/// Returns what an answer says of a boot; without the beans, which are there only while logs are recovered, nothing.
///
/// # Errors
///
/// What is no answer of Jolokia's.
pub(super) fn parse(text: &[u8]) -> Result<BootMetrics, String> {
    let answer: Value = serde_json::from_slice(text)
        .map_err(|error| format!("this is no answer of Jolokia's: {error}"))?;
    let mut metrics = BootMetrics::default();
    match answer.get("status").and_then(Value::as_u64) {
        Some(200) => {}
        // No bean has such a name: nothing is recovered now.
        Some(404) => return Ok(metrics),
        status => {
            let status = status.map_or_else(|| "no status".to_owned(), |n| format!("status {n}"));
            let why = answer.get("error").and_then(Value::as_str).unwrap_or("");
            return Err(format!("Jolokia answers {status} {why}")
                .trim_end()
                .to_owned());
        }
    }
    let beans = answer.get("value").and_then(Value::as_object);
    for (name, bean) in beans.into_iter().flatten() {
        take(name, bean, &mut metrics);
    }
    Ok(metrics)
}

fn take(name: &str, bean: &Value, metrics: &mut BootMetrics) -> Option<()> {
    let found = properties(name);
    let of = |key: &str| found.iter().find(|(k, _)| k == key).map(|(_, v)| v);
    let gauge = Gauge::of(of("name")?)?;
    let value = count(bean.get("Value")?.as_f64()?)?;
    let thread = of("threadNum").and_then(|thread| thread.parse().ok());
    metrics.take(gauge, of("dir")?.clone(), thread, value);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Jolokia 2.1.2 answered in the middle of a real load, and after it.
    #[test]
    fn real_answers_are_read() {
        let of_3_9_1 = include_bytes!("../../../tests/golden/metrics/3.9.1-jolokia.json");
        let of_4_4_0 = include_bytes!("../../../tests/golden/metrics/4.4.0-jolokia.json");
        for (text, logs, segments) in [
            (&of_3_9_1[..], [2, 1204], [4, 3, 3, 1]),
            (&of_4_4_0[..], [7, 1214], [2, 1, 0, 0]),
        ] {
            let mut said = parse(text).unwrap();
            said.logs_left.sort();
            let dirs = ["/var/lib/kafka/data1", "/var/lib/kafka/data2"].map(str::to_owned);
            let left: Vec<_> = dirs.into_iter().zip(logs).collect();
            assert_eq!(said.logs_left, left);
            said.segments_left
                .sort_by_key(|of| (of.dir.clone(), of.thread));
            let told = said.segments_left.iter().map(|of| of.segments);
            assert_eq!(told.collect::<Vec<_>>(), segments);
        }
        let after = include_bytes!("../../../tests/golden/metrics/4.4.0-jolokia-after.json");
        assert_eq!(parse(after), Ok(BootMetrics::default()));
    }

    #[test]
    fn other_answers_are_told() {
        assert_eq!(parse(br#"{"status":404}"#), Ok(BootMetrics::default()));
        assert!(parse(b"<html>").unwrap_err().contains("no answer"));
        let refused = br#"{"status":403,"error":"java.lang.SecurityException : no"}"#;
        assert_eq!(
            parse(refused).unwrap_err(),
            "Jolokia answers status 403 java.lang.SecurityException : no"
        );
        assert_eq!(parse(b"[]").unwrap_err(), "Jolokia answers no status");
        let odd = br#"{"status":200,"value":{"kafka.log:name=remainingLogsToRecover":{"Value":"x"},"":1}}"#;
        assert_eq!(parse(odd), Ok(BootMetrics::default()));
    }
}
