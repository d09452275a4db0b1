//! What retention says of a segment, a log and a topic, in words.

use std::fmt::Write as _;

use super::text;
use crate::cluster::{CleanupPolicy, EffectiveSetting, LeveledValue, LogConfigValue};
use crate::plan::retention::{
    Amount, FactSources, HighWatermark, LeftoverKind, LeftoverSegment, LogRetention, RetainedLog,
    RetentionReason, RetentionVerdict, SegmentRetention, TimeSource, TopicBudget, TopicRetention,
};
use crate::terms::Timestamp;

/// Returns a verdict's word as it stands in a row; its letters tell it where colours do not.
pub fn verdict(verdict: RetentionVerdict) -> &'static str {
    match verdict {
        RetentionVerdict::Delete => "DELETE",
        RetentionVerdict::Keep => "KEEP",
        RetentionVerdict::Held => "HELD",
        RetentionVerdict::Compact => "COMPACT",
        RetentionVerdict::Leftover => "LEFTOVER",
    }
}

/// Returns a reason in two or three words.
pub fn reason(reason: RetentionReason) -> &'static str {
    match reason {
        RetentionReason::LogStart => "log start",
        RetentionReason::Size => "size",
        RetentionReason::Time => "time",
        RetentionReason::Active => "active",
        RetentionReason::HighWatermark => "high watermark",
        RetentionReason::FutureTimestamp => "future timestamp",
        RetentionReason::OlderSegment => "older segment",
        RetentionReason::Policy => "cleanup.policy",
        RetentionReason::Unlimited => "no limit",
        RetentionReason::NotUploaded => "not known to be uploaded",
        RetentionReason::CleanerOff => "no cleaner runs",
        RetentionReason::CleanerGaveUp => "a cleaner that gave up",
        RetentionReason::DirtyRatio => "dirty",
        RetentionReason::Compacted => "compacted",
        RetentionReason::CompactionLag => "min.compaction.lag.ms",
        RetentionReason::OpenTransaction => "open transaction",
        RetentionReason::Deleted => ".deleted",
        RetentionReason::Cleaned => ".cleaned",
        RetentionReason::Swap => ".swap",
    }
}

/// Returns the verdict on a segment with its cause and margin: `DELETE time: 1 d 4 h over`.
pub fn segment(log: &RetainedLog, judged: &LogRetention, index: usize, now: Timestamp) -> String {
    let Some(of) = judged.segments.get(index) else {
        return text::UNKNOWN.to_owned();
    };
    let word = verdict(of.verdict);
    match of.verdict {
        RetentionVerdict::Delete => format!("{word} {}", delete_cause(log, of)),
        RetentionVerdict::Held => format!("{word} by {}", hold(log, of, index)),
        RetentionVerdict::Compact => match judged.dirty {
            Some(dirty) => format!(
                "{word} dirty {:.2} of {:.2}{}{}",
                dirty.ratio,
                log.limits.min_cleanable_dirty_ratio,
                if dirty.is_due { ", due" } else { "" },
                if dirty.is_passed_over {
                    ", passed over"
                } else {
                    ""
                }
            ),
            None => word.to_owned(),
        },
        RetentionVerdict::Keep => format!("{word} {}", keep_cause(log, judged, of, now)),
        RetentionVerdict::Leftover => word.to_owned(),
    }
}

fn delete_cause(log: &RetainedLog, of: &SegmentRetention) -> String {
    let also = of
        .also
        .map(|also| format!(", and {}", reason(also)))
        .unwrap_or_default();
    match of.reason {
        RetentionReason::LogStart => {
            format!(
                "log start: it lies before {}",
                text::offset(log.facts.log_start_offset)
            )
        }
        RetentionReason::Time => format!("time: {} over{also}", span(of.over_ms)),
        RetentionReason::Size => format!("size: {} over{also}", amount(of.over_bytes)),
        other => reason(other).to_owned(),
    }
}

fn hold(log: &RetainedLog, of: &SegmentRetention, index: usize) -> String {
    match of.reason {
        RetentionReason::HighWatermark => {
            let next = log
                .facts
                .next_offset(index)
                .map_or_else(unknown, text::offset);
            match log.facts.high_watermark.offset() {
                None => "high watermark: not known".to_owned(),
                Some(at) => format!("high watermark {}, it ends at {next}", text::offset(at)),
            }
        }
        RetentionReason::FutureTimestamp => match (of.held_by, log.facts.segments.get(index)) {
            (Some(by), _) => format!("future timestamp in {}", text::offset(by)),
            (None, Some(segment)) => {
                format!("future timestamp {}", day(segment.largest_timestamp))
            }
            (None, None) => reason(of.reason).to_owned(),
        },
        RetentionReason::OlderSegment => match of.held_by {
            Some(by) => format!("older segment {}, which stays", text::offset(by)),
            None => reason(of.reason).to_owned(),
        },
        RetentionReason::CleanerOff => "log.cleaner.enable=false".to_owned(),
        RetentionReason::CleanerGaveUp => match &log.gave_up {
            Some(gave_up) => format!("cleaner: gave up {}", gave_up.at),
            None => reason(of.reason).to_owned(),
        },
        RetentionReason::OpenTransaction => match log.facts.open_transaction {
            Some(open) => format!(
                "open transaction of producer {} since {}",
                open.producer_id.0,
                text::offset(open.first_offset)
            ),
            None => reason(of.reason).to_owned(),
        },
        other => reason(other).to_owned(),
    }
}

fn keep_cause(
    log: &RetainedLog,
    judged: &LogRetention,
    of: &SegmentRetention,
    now: Timestamp,
) -> String {
    match of.reason {
        RetentionReason::Active => match judged.active_rolls_at {
            Some(at) if at.0 > now.0 => {
                let left = |at: Timestamp| span(Some(at.0.saturating_sub(now.0).max(0)));
                match judged.active_rolls_from.filter(|from| *from < at) {
                    Some(from) => {
                        format!("active: rolls in {} to {} (jitter)", left(from), left(at))
                    }
                    None => format!("active: rolls in {}", left(at)),
                }
            }
            Some(_) => "active: rolls at the next append".to_owned(),
            None => "active".to_owned(),
        },
        RetentionReason::Time => format!("time: {} left", span(of.over_ms)),
        RetentionReason::Size => format!("size: {} under", amount(of.over_bytes)),
        RetentionReason::Policy => format!("cleanup.policy={}", policy(log.limits.policy)),
        RetentionReason::Unlimited => "no limit".to_owned(),
        other => reason(other).to_owned(),
    }
}

/// Returns what a file that outlived its segment is, why it is there and when it goes.
pub fn leftover(
    log: &RetainedLog,
    of: &LeftoverSegment,
    now: Timestamp,
    is_served: bool,
) -> String {
    let age = now.0.saturating_sub(of.changed_at.0).max(0);
    let since = text::duration(age.unsigned_abs() / 1000);
    let left = log.config.file_delete_delay_ms.value.saturating_sub(age);
    match (of.kind, is_served) {
        (LeftoverKind::Deleted, true) if left >= 0 => format!(
            "LEFTOVER .deleted: goes in {} (file.delete.delay.ms)",
            text::duration(left.unsigned_abs() / 1000)
        ),
        (LeftoverKind::Deleted, true) => format!(
            "LEFTOVER .deleted: overdue after {since}, its broker was stopped since; the next boot removes it"
        ),
        (LeftoverKind::Deleted, false) => {
            format!(
                "LEFTOVER .deleted {since}: its timer ended with the broker, the next boot removes it"
            )
        }
        (LeftoverKind::Cleaned, true) => {
            format!(
                "LEFTOVER .cleaned {since}: a compaction writes it, or broke off; a boot removes it"
            )
        }
        (LeftoverKind::Cleaned, false) => {
            format!("LEFTOVER .cleaned {since}: a compaction broke off, the next boot removes it")
        }
        (LeftoverKind::Swap, _) => format!(
            "LEFTOVER .swap {since}: a boot puts it in the place of the segments it was made from"
        ),
    }
}

/// Returns what the cleaner has before it in a compacted log, and what keeps it from it; `None` of one without `compact`.
pub fn backlog(log: &RetainedLog, judged: &LogRetention) -> Option<String> {
    let dirty = judged.dirty?;
    let mut words = format!(
        "backlog {} of {}, up to {} keys",
        text::bytes(dirty.dirty_bytes),
        text::bytes(log.facts.bytes()),
        text::count(dirty.dirty_offsets),
    );
    if let Some(gave_up) = &log.gave_up {
        let cause = gave_up.cause.as_deref().unwrap_or("no cause is logged");
        let _ = write!(
            words,
            " · the cleaner gave it up {} until the broker's next start: {cause}",
            gave_up.at
        );
    } else if dirty.is_passed_over {
        words.push_str(
            " · passed over: others here were compacted more than an hour after this one was due; the cleaner may have given it up \
             (log-cleaner.log: \"as uncleanable\")",
        );
    }
    if dirty.is_dense {
        let _ = write!(
            words,
            " · a segment spans more offsets than the cleaner's map holds keys ({}): one run may not get through it; raise \
             log.cleaner.dedupe.buffer.size",
            text::count(log.limits.cleaner_map_keys.unsigned_abs())
        );
    }
    Some(words)
}

/// Returns a cleanup policy as it is written.
pub fn policy(policy: CleanupPolicy) -> &'static str {
    match policy {
        CleanupPolicy::Delete => "delete",
        CleanupPolicy::Compact => "compact",
        CleanupPolicy::CompactDelete => "compact,delete",
        CleanupPolicy::Nothing => "\"\"",
    }
}

/// Returns what a log holds, against its limits, each with the level that set it.
pub fn limits(log: &RetainedLog) -> String {
    let config = &log.config;
    let ms = |value: i64| {
        if value < 0 {
            "no end".to_owned()
        } else {
            text::duration(value.unsigned_abs() / 1000)
        }
    };
    let bytes = |value: i64| match u64::try_from(value) {
        Ok(value) => text::bytes(value),
        Err(_) => "no limit".to_owned(),
    };
    let mut words = format!(
        "retention.bytes {} ({}) · retention.ms {} ({}) · {} ({})",
        bytes(log.limits.retention_bytes),
        source(&config.retention_bytes),
        ms(log.limits.retention_ms),
        source(&config.retention_ms),
        policy(log.limits.policy),
        source(&config.cleanup_policy),
    );
    if log.limits.tiered {
        words.push_str(" · local limits of a tiered topic");
    }
    words
}

/// Returns where the high watermark, the log start and the settings of a log are from, and how old each is.
pub fn sources(log: &RetainedLog, sources: &FactSources, now: Timestamp) -> String {
    let facts = &log.facts;
    let files = sources.checkpoints.get(&facts.log_dir);
    let old = |at: Option<Timestamp>| {
        at.map_or_else(
            || "no file".to_owned(),
            |at| format!("file, {}", text::age(at, now)),
        )
    };
    let asked = sources.asked.map(|at| text::age(at, now));
    let asked = asked.unwrap_or_else(unknown);
    let start_told = sources.log_starts.contains(&facts.topic_partition);
    let settings_told = sources.settings.contains(&facts.topic_partition.topic);
    if let (HighWatermark::Told(at), true, true) = (facts.high_watermark, start_told, settings_told)
    {
        let (at, start) = (text::offset(at), text::offset(facts.log_start_offset));
        return format!(
            "high watermark {at}, log start {start}, settings: by the brokers, {asked}"
        );
    }
    let high_watermark = match facts.high_watermark {
        HighWatermark::Told(at) => format!("{} (leader, {asked})", text::offset(at)),
        HighWatermark::SoleInSync(at) => format!("{} (alone in sync)", text::offset(at)),
        HighWatermark::Checkpoint(at) => {
            let files = files.and_then(|files| files.high_watermarks);
            format!("{} ({})", text::offset(at), old(files))
        }
        HighWatermark::Unknown => unknown(),
    };
    let start = text::offset(facts.log_start_offset);
    let start = if start_told {
        format!("{start} (broker, {asked})")
    } else {
        format!(
            "{start} ({})",
            old(files.and_then(|files| files.log_starts))
        )
    };
    let settings = if settings_told {
        format!("broker, {asked}")
    } else {
        sources.metadata.map_or_else(
            || "files".to_owned(),
            |at| format!("metadata, {}", text::age(at, now)),
        )
    };
    let all = format!("high watermark {high_watermark} · log start {start} · settings: {settings}");
    match &sources.silence {
        Some(why) => format!("{all} · not asked: {why}"),
        None => all,
    }
}

/// Returns what a size limit of a partition comes to over the whole topic; `None` without one.
pub fn budget(log: &RetainedLog) -> Option<String> {
    let budget = TopicBudget::of(log)?;
    Some(format!(
        "{} x {} x RF {} = {}; at its peak {}, and up to {} wait as .deleted",
        text::bytes(budget.limit),
        text::plural(budget.partitions, "partition", "partitions"),
        budget.replicas,
        text::bytes(budget.nominal()),
        text::bytes(budget.peak()),
        text::bytes(budget.pending()),
    ))
}

/// Returns a setting with its value, the level and the key that set it, and what stands behind.
pub fn setting(of: &EffectiveSetting) -> String {
    let level = |value: &LeveledValue| {
        if value.key == of.name {
            value.source.to_string()
        } else {
            format!("{} {}", value.source, value.key)
        }
    };
    let mut words = format!(
        "{:<32} {:<20} {}",
        of.name,
        of.in_force.value,
        level(&of.in_force)
    );
    for value in &of.behind {
        let _ = write!(words, " · over {} ({})", value.value, level(value));
    }
    words
}

/// Returns the level that set a value.
pub fn source<T>(value: &LogConfigValue<T>) -> String {
    value.source.to_string()
}

/// Returns why a topic's bytes stay: what holds them, else what keeps the most.
pub fn why(topic: &TopicRetention) -> String {
    let name = |(cause, amount): &(RetentionReason, Amount)| {
        format!("{} {}", reason(*cause), text::bytes(amount.bytes))
    };
    let held: Vec<String> = topic.held_by.iter().map(name).collect();
    if !held.is_empty() {
        return format!("held by {}", held.join(", "));
    }
    topic
        .kept_by
        .first()
        .map_or_else(|| "-".to_owned(), |kept| format!("kept by {}", name(kept)))
}

/// Returns a largest timestamp's day and minute; `*` behind it says that it is the file's time.
pub fn largest(segment: &crate::plan::retention::SegmentFacts) -> String {
    let mark = if segment.time_source == TimeSource::FileTime {
        "*"
    } else {
        ""
    };
    format!("{}{mark}", day(segment.largest_timestamp))
}

/// Returns a time in UTC to the minute.
pub fn day(at: Timestamp) -> String {
    let full = text::date_time(at, &jiff::tz::TimeZone::UTC);
    match full.rsplit_once(':') {
        Some((minute, _)) => minute.to_owned(),
        None => full,
    }
}

/// Returns a margin in ms without its sign.
fn span(ms: Option<i64>) -> String {
    ms.map_or_else(unknown, |ms| text::duration(ms.unsigned_abs() / 1000))
}

/// Returns a margin in bytes without its sign.
fn amount(bytes: Option<i64>) -> String {
    bytes.map_or_else(unknown, |bytes| text::bytes(bytes.unsigned_abs()))
}

fn unknown() -> String {
    text::UNKNOWN.to_owned()
}
