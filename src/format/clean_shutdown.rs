//! The marker of a clean stop, `.kafka_cleanshutdown`.
//!
//! ```text
//! {"version":0,"brokerEpoch":77}       nothing at all up to 3.6
//! ```
//!
//! That it is there is all that log recovery asks. The epoch goes to the controller, which takes any other than its own
//! for an unclean stop; what does not parse reads as no epoch.

use serde_json::Value;

/// Returns the broker epoch in a marker, if there is one.
pub fn parse_broker_epoch(bytes: &[u8]) -> Option<i64> {
    // Jackson reads the first value and leaves what follows it.
    let value = serde_json::Deserializer::from_slice(bytes)
        .into_iter::<Value>()
        .next()?
        .ok()?;
    let version = value.get("version").unwrap_or(&Value::Null);
    if !version.is_null() && integer(version).is_none_or(|it| i32::try_from(it).is_err()) {
        return None;
    }
    integer(value.get("brokerEpoch")?)
}

/// Returns a number as Jackson makes a `long` of it: also of a fraction, also of text.
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            // 2^53 and more are written without a fraction, so nothing is lost that Kafka keeps.
            let whole = number.as_f64()?.trunc();
            format!("{whole:.0}").parse().ok()
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Encodes a marker with `broker_epoch`, as releases since 3.7 do; an empty file is a marker too.
pub fn encode(broker_epoch: i64) -> Vec<u8> {
    format!("{{\"version\":0,\"brokerEpoch\":{broker_epoch}}}").into_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_marker_that_parses_has_an_epoch() {
        for (text, epoch) in [
            (r#"{"version":0,"brokerEpoch":77}"#, Some(77)),
            (r#"{"version":0,"brokerEpoch":-1}"#, Some(-1)),
            (r#"{"brokerEpoch":"77","more":[]} x"#, Some(77)),
            (r#"{"version":0}"#, None),
            (r#"{"version":"x","brokerEpoch":77}"#, None),
            (r#"{"version":0,"brokerEpoch":null}"#, None),
            (r#"{"version":0,"brokerEpoch":77"#, None),
            ("", None),
            ("\0\0\0\0", None),
            ("[]", None),
        ] {
            assert_eq!(parse_broker_epoch(text.as_bytes()), epoch, "{text:?}");
        }
        assert_eq!(encode(-1), br#"{"version":0,"brokerEpoch":-1}"#);
    }

    proptest! {
        #[test]
        fn epochs_survive_the_way_there_and_back(epoch: i64) {
            prop_assert_eq!(parse_broker_epoch(&encode(epoch)), Some(epoch));
        }

        #[test]
        fn any_bytes_are_parsed_without_a_panic(bytes: Vec<u8>) {
            let _ = parse_broker_epoch(&bytes);
        }
    }
}
