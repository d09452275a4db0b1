//! What an option's text means: sizes, times, partitions, hashes.

use std::path::PathBuf;

use crate::terms::{Timestamp, TopicPartition};

/// Where cut bytes are copied to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuarantineArg {
    /// Nowhere: cut bytes are gone.
    None,
    /// A dir outside the log dirs.
    Dir(PathBuf),
}

/// The leading digits of a plan's hash, lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashPrefix(pub String);

/// Parses `none` or a dir.
pub(super) fn parse_quarantine(text: &str) -> Result<QuarantineArg, String> {
    match text {
        "" => Err("neither a dir nor \"none\"".to_owned()),
        "none" => Ok(QuarantineArg::None),
        dir => Ok(QuarantineArg::Dir(PathBuf::from(dir))),
    }
}

/// Parses at least 8 and at most 64 hex digits.
pub(super) fn parse_hash(text: &str) -> Result<HashPrefix, String> {
    let hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match text.len() {
        8..=64 if hex => Ok(HashPrefix(text.to_ascii_lowercase())),
        0..8 if hex => Err("a plan's hash is given by at least 8 of its hex digits".to_owned()),
        _ => Err("a plan's hash consists of 8 to 64 hex digits".to_owned()),
    }
}

/// Parses `TOPIC-PARTITION`, split at the last dash as Kafka does.
pub(super) fn parse_partition(text: &str) -> Result<TopicPartition, String> {
    let error = || "not of the form TOPIC-PARTITION, such as orders-7".to_owned();
    let (topic, partition) = text.rsplit_once('-').ok_or_else(error)?;
    let partition: i32 = partition.parse().map_err(|_| error())?;
    if topic.is_empty() || partition < 0 {
        return Err(error());
    }
    Ok(TopicPartition::new(topic, partition))
}

/// Parses a time: RFC 3339, or milliseconds since 1970.
pub(super) fn parse_time(text: &str) -> Result<Timestamp, String> {
    if let Ok(ms) = text.parse::<i64>() {
        return if ms < 0 {
            Err("a time before 1970".to_owned())
        } else {
            Ok(Timestamp(ms))
        };
    }
    let time: jiff::Timestamp = text.parse().map_err(|_| {
        "neither RFC 3339 (2026-11-30T14:02:31Z) nor milliseconds since 1970".to_owned()
    })?;
    Ok(Timestamp(time.as_millisecond()))
}

/// Parses a size in bytes: `512`, `64KiB`, `8 GiB`, `8G` (binary), `500MB` (decimal).
pub fn parse_size(text: &str) -> Result<u64, String> {
    let error = || "not a size such as 512MiB or 8GiB".to_owned();
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits).ok_or_else(error)?;
    let unit = unit_bytes(unit.trim()).ok_or_else(error)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().map_err(|_| error())?;
    let part = fraction_of(unit, fraction).ok_or_else(error)?;
    whole
        .checked_mul(unit)
        .and_then(|bytes| bytes.checked_add(part))
        .ok_or_else(error)
}

/// Returns `0.digits` of `unit`, rounded down.
fn fraction_of(unit: u64, digits: &str) -> Option<u64> {
    if digits.is_empty() {
        return Some(0);
    }
    let scale = 10_u128.checked_pow(u32::try_from(digits.len()).ok()?)?;
    let value = digits.parse::<u64>().ok()?;
    u64::try_from(u128::from(unit) * u128::from(value) / scale).ok()
}

/// Parses a rate in bytes per second: a size, with or without `/s`.
pub fn parse_rate(text: &str) -> Result<u64, String> {
    match parse_size(text.trim().trim_end_matches("/s")) {
        Ok(0) => Err("a rate of 0 would never end".to_owned()),
        Ok(rate) => Ok(rate),
        Err(_) => Err("not a rate such as 50MiB/s".to_owned()),
    }
}

/// Returns how many bytes a unit has.
fn unit_bytes(unit: &str) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_unless_their_unit_is_decimal() {
        for (text, want) in [
            ("512", 512),
            ("64KiB", 64 << 10),
            ("8 GiB", 8 << 30),
            ("8G", 8 << 30),
            ("1.5MiB", 1_572_864),
            ("500MB", 500_000_000),
        ] {
            assert_eq!(parse_size(text), Ok(want), "{text}");
        }
        for text in [
            "",
            "GiB",
            "8 parsecs",
            "-1",
            "1e3",
            "99999999999T",
            "1.x",
            "1.2.3",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert_eq!(parse_rate("50MiB/s"), Ok(50 << 20));
        assert!(parse_rate("0").is_err());
    }

    #[test]
    fn times_are_rfc_3339_or_milliseconds() {
        assert_eq!(
            parse_time("1700000000000"),
            Ok(Timestamp(1_700_000_000_000))
        );
        assert_eq!(
            parse_time("2023-11-14T22:13:20Z"),
            Ok(Timestamp(1_700_000_000_000))
        );
        assert_eq!(
            parse_time("2023-11-14T23:13:20+01:00"),
            Ok(Timestamp(1_700_000_000_000))
        );
        assert!(parse_time("yesterday").is_err());
        assert!(parse_time("-5").is_err());
    }

    #[test]
    fn a_partition_is_split_at_its_last_dash() {
        assert_eq!(parse_partition("a-b-7"), Ok(TopicPartition::new("a-b", 7)));
        for text in ["", "orders", "orders-", "-7", "orders-x"] {
            assert!(parse_partition(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_hash_needs_eight_digits() {
        assert_eq!(
            parse_hash("7F3A91C2"),
            Ok(HashPrefix("7f3a91c2".to_owned()))
        );
        assert!(parse_hash("7f3a91c").is_err());
        assert!(parse_hash("7f3a91cx").is_err());
    }
}
