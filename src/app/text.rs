//! Numbers as a person reads them: exact where they are small, three digits where they are not, `?` where unknown.

use jiff::tz::TimeZone;

use crate::terms::Timestamp;

/// What stands for a number that nobody knows.
pub const UNKNOWN: &str = "?";

/// Returns `bytes` with a binary unit and about three digits: `823 B`, `31.2 GiB`.
pub fn bytes(bytes: u64) -> String {
    crate::plan::size_text(bytes)
}

/// Returns `done` and `total` in the unit of `total`: `31.2/48.0 GiB`.
pub fn bytes_of(done: u64, total: u64) -> String {
    let (done, total) = (bytes(done), bytes(total));
    match (done.split_once(' '), total.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number}/{total}"),
        _ => format!("{done}/{total}"),
    }
}

/// Returns `number` with a comma between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns an offset with a comma between thousands and its sign.
pub fn offset(offset: crate::terms::Offset) -> String {
    let sign = if offset.0 < 0 { "-" } else { "" };
    format!("{sign}{}", count(offset.0.unsigned_abs()))
}

/// Returns `one` or `many` behind the count: `1 log`, `12 logs`.
pub fn plural(number: u64, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{} {noun}", count(number))
}

/// Returns a span of `seconds`, in its two largest units: `45 s`, `18 min`, `1 h 12 min`, `3 d 4 h`.
pub fn duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, 1..10) if !seconds.is_multiple_of(60) => format!("{minutes} min {} s", seconds % 60),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// Returns a rate in bytes a second: `412 MiB/s`.
pub fn rate(bytes_per_second: u64) -> String {
    format!("{}/s", bytes(bytes_per_second))
}

/// Returns `part` of `whole` in percent, rounded down so that 100 means all; `None` of nothing.
pub fn percent(part: u64, whole: u64) -> Option<u64> {
    let percent = u128::from(part) * 100 / u128::from(whole.max(1));
    (whole > 0).then(|| u64::try_from(percent).unwrap_or(u64::MAX).min(100))
}

/// Returns the time of day in `zone`: `14:02:31`.
pub fn clock(at: Timestamp, zone: &TimeZone) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(
        |_| UNKNOWN.to_owned(),
        |at| at.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string(),
    )
}

/// A year of the Gregorian calendar in ms, on average.
const YEAR_MS: i64 = 31_556_952_000;

/// Returns date and time in `zone` to the second; `-` for Kafka's "none", the year alone where no calendar reaches: of
/// microseconds taken for milliseconds that is what shows the mistake.
pub fn date_time(at: Timestamp, zone: &TimeZone) -> String {
    if at.0 < 0 {
        return "-".to_owned();
    }
    jiff::Timestamp::from_millisecond(at.0).map_or_else(
        |_| format!("year {}", 1970 + at.0 / YEAR_MS),
        |at| {
            at.to_zoned(zone.clone())
                .strftime("%Y-%m-%d %H:%M:%S")
                .to_string()
        },
    )
}

/// Returns how long ago `then` was: `3 s ago`; `now` within the second.
pub fn age(then: Timestamp, now: Timestamp) -> String {
    match u64::try_from(now.0.saturating_sub(then.0)).unwrap_or(0) / 1000 {
        0 => "now".to_owned(),
        seconds => format!("{} ago", duration(seconds)),
    }
}

/// Returns how long it is until `then`: `3 h 20 min`; `now` if it has come.
pub fn until(then: Timestamp, now: Timestamp) -> String {
    match u64::try_from(then.0.saturating_sub(now.0)).unwrap_or(0) / 1000 {
        0 => "now".to_owned(),
        seconds => duration(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_three_digits_and_small_numbers_are_exact() {
        for (number, want) in [
            (0, "0 B"),
            (823, "823 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1151, "1.12 KiB"),
            (33_501_470_228, "31.2 GiB"),
            (412 << 20, "412 MiB"),
            (u64::MAX, "15.9 EiB"),
        ] {
            assert_eq!(bytes(number), want);
        }
        assert_eq!(bytes_of(33_501_470_228, 48 << 30), "31.2/48.0 GiB");
        assert_eq!(bytes_of(0, 48 << 30), "0 B/48.0 GiB");
    }

    #[test]
    fn counts_have_commas() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(13_900_000), "13,900,000");
        assert_eq!(offset(crate::terms::Offset(-1)), "-1");
        assert_eq!(plural(1, "log", "logs"), "1 log");
    }

    #[test]
    fn durations_keep_two_units() {
        for (seconds, want) in [
            (0, "0 s"),
            (59, "59 s"),
            (90, "1 min 30 s"),
            (120, "2 min"),
            (1_125, "18 min"),
            (4_320, "1 h 12 min"),
            (273_600, "3 d 4 h"),
        ] {
            assert_eq!(duration(seconds), want);
        }
    }

    #[test]
    fn a_percentage_reaches_100_only_at_the_end() {
        assert_eq!(percent(999, 1000), Some(99));
        assert_eq!(percent(1000, 1000), Some(100));
        assert_eq!(percent(0, 0), None);
        assert_eq!(percent(u64::MAX, u64::MAX), Some(100));
    }

    #[test]
    fn times_are_shown_in_their_zone() {
        let at = Timestamp(1_700_000_000_000);
        assert_eq!(clock(at, &TimeZone::UTC), "22:13:20");
        assert_eq!(date_time(at, &TimeZone::UTC), "2023-11-14 22:13:20");
        assert_eq!(date_time(Timestamp::NONE, &TimeZone::UTC), "-");
        assert_eq!(clock(Timestamp(i64::MAX), &TimeZone::UTC), "?");
    }
}
