//! What an option's text means: times, partitions, hashes. Sizes are those of the settings.

use crate::plan::OnLoss;
use crate::terms::{Timestamp, TopicPartition};

/// The leading digits of a plan's hash, lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashPrefix(pub String);

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

/// Parses `orders-7=cut-here`.
pub(super) fn parse_decision(text: &str) -> Result<(TopicPartition, OnLoss), String> {
    let (partition, way) = text
        .rsplit_once('=')
        .ok_or_else(|| "it has no \"=\", as in orders-7=cut-here".to_owned())?;
    let way = match way {
        "like-kafka" => OnLoss::LikeKafka,
        "cut-here" => OnLoss::CutHere,
        "leave" => OnLoss::Leave,
        "set-aside" => OnLoss::SetAside,
        other => {
            return Err(format!(
                "\"{other}\" is none of set-aside, like-kafka, cut-here, leave"
            ));
        }
    };
    Ok((parse_partition(partition)?, way))
}

/// Parses a duration in seconds: a number with s, m, h or d behind it.
pub(super) fn parse_duration(text: &str) -> Result<u64, String> {
    let error = || "not of the form 30d, 12h, 90m or 45s".to_owned();
    let unit = text.chars().last().ok_or_else(error)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(error()),
    };
    let number = text.strip_suffix(unit).unwrap_or_default();
    let number: u64 = number.parse().map_err(|_| error())?;
    number.checked_mul(seconds).ok_or_else(error)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_duration_has_a_unit() {
        assert_eq!(parse_duration("30d"), Ok(2_592_000));
        assert_eq!(parse_duration("0s"), Ok(0));
        for text in ["", "30", "d", "-1h", "1w", "1.5h", "99999999999999999999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
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
