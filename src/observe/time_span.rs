//! Spans of time as systemd writes and reads them: `90`, `15min`, `1min 30s`, `infinity`.

/// Returns a span in ms, rounded down; `None` for no limit (`infinity`, 0), and for what is no span.
pub(super) fn span_ms(span: &str) -> Option<u64> {
    whole(parse_ms(span)?.min(1e15))
}

/// Returns a span in seconds, rounded up; `None` for no limit (`infinity`, 0), and for what is no span.
pub fn seconds_of(span: &str) -> Option<u64> {
    let seconds = parse_ms(span)? / 1e3;
    whole(seconds.ceil()).filter(|_| seconds <= 1e12)
}

/// Returns the sum of a span's parts, with or without blanks between them.
fn parse_ms(span: &str) -> Option<f64> {
    let mut sum = 0.0;
    let mut rest = span.trim();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, behind) = rest.split_at(digits.unwrap_or(rest.len()));
        let number: f64 = number.parse().ok()?;
        let behind = behind.trim_start();
        let letters = behind.find(|c: char| !c.is_ascii_alphabetic());
        let (unit, behind) = behind.split_at(letters.unwrap_or(behind.len()));
        sum += number
            * match unit {
                "us" | "usec" => 0.001,
                "ms" | "msec" => 1.0,
                "" | "s" | "sec" | "second" | "seconds" => 1e3,
                "m" | "min" | "minute" | "minutes" => 60e3,
                "h" | "hr" | "hour" | "hours" => 3600e3,
                "d" | "day" | "days" => 86_400e3,
                "w" | "week" | "weeks" => 604_800e3,
                _ => return None,
            };
        rest = behind.trim_start();
    }
    Some(sum)
}

/// Returns the whole part of a bounded number without a sign; `None` for 0, which is no limit to systemd.
fn whole(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a sum of parsed numbers without a sign; a cast of a larger one saturates"
    )]
    let whole = number as u64;
    (whole > 0).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_systemd_reads_them() {
        for (text, seconds) in [
            ("90", Some(90)),
            ("5min 20s", Some(320)),
            ("1h", Some(3600)),
            ("1.5m", Some(90)),
            ("infinity", None),
            ("0", None),
            ("", None),
            ("5 parsecs", None),
        ] {
            assert_eq!(seconds_of(text), seconds, "{text}");
        }
    }

    #[test]
    fn times_are_read_as_systemd_writes_them() {
        for (text, ms) in [
            ("15min", Some(900_000)),
            ("1min 30s", Some(90_000)),
            ("90", Some(90_000)),
            ("2h", Some(7_200_000)),
            ("1.5h", Some(5_400_000)),
            ("infinity", None),
            ("0", None),
            ("", None),
            ("5 parsecs", None),
        ] {
            assert_eq!(span_ms(text), ms, "{text}");
        }
    }

    #[test]
    fn both_take_parts_without_blanks_and_all_units() {
        assert_eq!(span_ms("1min30s"), Some(90_000));
        assert_eq!(span_ms("1001ms"), Some(1001));
        assert_eq!(seconds_of("1500000us"), Some(2));
        assert_eq!(seconds_of("1w"), Some(604_800));
    }
}
