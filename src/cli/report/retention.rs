//! What `segments` prints: JSON lines, or tables for people.

use std::io::{self, Write};

use serde::Serialize;

use super::line::path;
use crate::app::retention_words as words;
use crate::app::text;
use crate::cluster::{ConfigSource, SettingsTable};
use crate::plan::retention::{
    Amount, FactSources, HighWatermark, HostRetention, LeftoverKind, LeftoverSegment, LogRetention,
    RetainedLog, RetentionReason, RetentionTotals, RetentionVerdict, TimeSource, TopicRetention,
};
use crate::terms::{Offset, Timestamp};

/// A log as `segments` judges it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RetentionLine<'a> {
    pub(crate) dir: String,
    pub(crate) dir_name: &'a str,
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) cleanup_policy: &'static str,
    /// What judges; −1 is no limit.
    pub(crate) retention_ms: i64,
    pub(crate) retention_ms_source: String,
    pub(crate) retention_bytes: i64,
    pub(crate) retention_bytes_source: String,
    pub(crate) log_start_offset: i64,
    /// Once the next pass is done.
    pub(crate) log_start_offset_after: i64,
    pub(crate) log_end_offset: Option<i64>,
    pub(crate) high_watermark: Option<i64>,
    /// `broker` (its leader was asked), `sole_in_sync` or `checkpoint`.
    pub(crate) high_watermark_source: Option<&'static str>,
    /// `broker` (this host's was asked) or `checkpoint`.
    pub(crate) log_start_offset_source: &'static str,
    /// `broker` (this host's was asked) or `files`: the metadata log, `server.properties`, `--topic-config`.
    pub(crate) settings_source: &'static str,
    /// When the brokers were asked, RFC 3339; null if they were not.
    pub(crate) asked_at: Option<String>,
    /// Where an empty segment is made, since all go.
    pub(crate) rolls_at: Option<i64>,
    /// RFC 3339.
    pub(crate) active_rolls_at: Option<String>,
    /// The earliest moment, where segments draw a part of `segment.jitter.ms`.
    pub(crate) active_rolls_from: Option<String>,
    pub(crate) dirty_ratio: Option<f64>,
    pub(crate) dirty_bytes: Option<u64>,
    pub(crate) clean_bytes: Option<u64>,
    /// Offsets of the dirty part: as many keys at most.
    pub(crate) dirty_offsets: Option<u64>,
    /// Keys that a run of the cleaner takes in at most.
    pub(crate) cleaner_map_keys: i64,
    /// Whether a dirty segment spans more offsets than that.
    pub(crate) dense: Option<bool>,
    /// Whether the cleaner left it although it was due, and compacted others long after.
    pub(crate) passed_over: Option<bool>,
    /// Whether the running broker's cleaner gave it up: when, and why.
    pub(crate) cleaner_gave_up: Option<String>,
    /// The first offset of the earliest open transaction, by the newest producer snapshot.
    pub(crate) open_transaction: Option<i64>,
    /// Whether this broker leads it, by the metadata.
    pub(crate) leads: Option<bool>,
    #[serde(flatten)]
    pub(crate) totals: TotalsLine,
}

/// Sums, in segments and in bytes on the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct TotalsLine {
    pub(crate) segments: u64,
    pub(crate) allocated: u64,
    pub(crate) delete_segments: u64,
    pub(crate) delete_bytes: u64,
    /// Within the 24 h that follow, by time alone.
    pub(crate) next_day_segments: u64,
    pub(crate) next_day_bytes: u64,
    pub(crate) held_segments: u64,
    pub(crate) held_bytes: u64,
    pub(crate) keep_segments: u64,
    pub(crate) keep_bytes: u64,
    pub(crate) compact_segments: u64,
    pub(crate) compact_bytes: u64,
}

impl From<RetentionTotals> for TotalsLine {
    fn from(totals: RetentionTotals) -> Self {
        Self {
            segments: totals.all.segments,
            allocated: totals.all.bytes,
            delete_segments: totals.delete.segments,
            delete_bytes: totals.delete.bytes,
            next_day_segments: totals.next_day.segments,
            next_day_bytes: totals.next_day.bytes,
            held_segments: totals.held.segments,
            held_bytes: totals.held.bytes,
            keep_segments: totals.keep.segments,
            keep_bytes: totals.keep.bytes,
            compact_segments: totals.compact.segments,
            compact_bytes: totals.compact.bytes,
        }
    }
}

/// A setting of a topic, with the levels that have a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SettingLine<'a> {
    pub(crate) topic: &'a str,
    pub(crate) key: String,
    /// In force.
    pub(crate) value: String,
    /// `topic`, `dynamic broker`, `dynamic default`, `server.properties` or `default`.
    pub(crate) source: String,
    /// The key as it stands on that level: `log.retention.hours`.
    pub(crate) source_key: String,
    /// What would count without it, the nearest level first.
    pub(crate) behind: Vec<BehindLine>,
}

/// A value that another one hides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BehindLine {
    pub(crate) value: String,
    pub(crate) source: String,
    pub(crate) source_key: String,
}

/// Returns the lines of a topic's settings.
pub(crate) fn setting_lines<'a>(table: &SettingsTable, topic: &'a str) -> Vec<SettingLine<'a>> {
    let settings = table.of(topic).into_iter();
    settings
        .map(|of| SettingLine {
            topic,
            key: of.name,
            value: of.in_force.value,
            source: of.in_force.source.to_string(),
            source_key: of.in_force.key,
            behind: of
                .behind
                .into_iter()
                .map(|of| BehindLine {
                    value: of.value,
                    source: of.source.to_string(),
                    source_key: of.key,
                })
                .collect(),
        })
        .collect()
}

/// A segment as `segments` judges it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct JudgedLine<'a> {
    pub(crate) dir: String,
    pub(crate) dir_name: &'a str,
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) base_offset: Option<i64>,
    /// Exclusive.
    pub(crate) next_offset: Option<i64>,
    pub(crate) bytes: u64,
    /// Of the `.log` on the volume.
    pub(crate) allocated: u64,
    /// Of all its files on the volume.
    pub(crate) freed: u64,
    /// RFC 3339.
    pub(crate) largest_timestamp: Option<String>,
    /// `time_index`, `batches` or `file_time`.
    pub(crate) timestamp_source: Option<&'static str>,
    pub(crate) verdict: RetentionVerdict,
    pub(crate) reason: RetentionReason,
    /// A second rule that would take it too.
    pub(crate) also: Option<RetentionReason>,
    /// Past `retention.ms`; negative before.
    pub(crate) over_ms: Option<i64>,
    /// Past `retention.bytes` up to this segment; negative before.
    pub(crate) over_bytes: Option<i64>,
    /// When time alone changes the verdict, RFC 3339.
    pub(crate) changes_at: Option<String>,
    /// The base offset of the older segment that holds it.
    pub(crate) held_by: Option<i64>,
    /// Of a leftover: when it was renamed, RFC 3339.
    pub(crate) renamed_at: Option<String>,
    /// Of a leftover: when the running broker's timer unlinks it; `null` where the next boot does.
    pub(crate) unlinked_at: Option<String>,
    /// Of a leftover: why it is there, and when it goes.
    pub(crate) text: Option<String>,
}

/// Returns the line of a log.
pub(crate) fn log_line<'a>(
    log: &'a RetainedLog,
    judged: &LogRetention,
    sources: &FactSources,
) -> RetentionLine<'a> {
    let facts = &log.facts;
    let told = |is_told: bool, else_of: &'static str| if is_told { "broker" } else { else_of };
    let topic = &facts.topic_partition.topic;
    let number = |offset: Option<Offset>| offset.map(|offset| offset.0);
    RetentionLine {
        dir: path(&facts.log_dir),
        dir_name: &facts.dir_name,
        topic: &facts.topic_partition.topic,
        partition: facts.topic_partition.partition,
        cleanup_policy: match words::policy(log.limits.policy) {
            "\"\"" => "",
            other => other,
        },
        retention_ms: log.limits.retention_ms,
        retention_ms_source: words::source(&log.config.retention_ms),
        retention_bytes: log.limits.retention_bytes,
        retention_bytes_source: words::source(&log.config.retention_bytes),
        log_start_offset: facts.log_start_offset.0,
        log_start_offset_after: judged.log_start_offset.0,
        log_end_offset: number(facts.log_end_offset),
        high_watermark: number(facts.high_watermark.offset()),
        high_watermark_source: match facts.high_watermark {
            HighWatermark::SoleInSync(_) => Some("sole_in_sync"),
            HighWatermark::Told(_) => Some("broker"),
            HighWatermark::Checkpoint(_) => Some("checkpoint"),
            HighWatermark::Unknown => None,
        },
        log_start_offset_source: told(
            sources.log_starts.contains(&facts.topic_partition),
            "checkpoint",
        ),
        settings_source: told(sources.settings.contains(topic), "files"),
        asked_at: sources.asked.map(Timestamp::rfc3339),
        rolls_at: number(judged.rolls_at),
        active_rolls_at: judged.active_rolls_at.map(Timestamp::rfc3339),
        active_rolls_from: judged.active_rolls_from.map(Timestamp::rfc3339),
        dirty_ratio: judged.dirty.map(|dirty| dirty.ratio),
        dirty_bytes: judged.dirty.map(|dirty| dirty.dirty_bytes),
        clean_bytes: judged.dirty.map(|dirty| dirty.clean_bytes),
        dirty_offsets: judged.dirty.map(|dirty| dirty.dirty_offsets),
        cleaner_map_keys: log.limits.cleaner_map_keys,
        dense: judged.dirty.map(|dirty| dirty.is_dense),
        passed_over: judged.dirty.map(|dirty| dirty.is_passed_over),
        cleaner_gave_up: log.gave_up.as_ref().map(|gave_up| {
            let cause = gave_up.cause.as_deref().unwrap_or("no cause is logged");
            format!("{}: {cause}", gave_up.at)
        }),
        open_transaction: facts.open_transaction.map(|open| open.first_offset.0),
        leads: log.leads,
        totals: judged.totals.into(),
    }
}

/// Returns the lines of a log's segments, then of its leftovers.
pub(crate) fn segment_lines<'a>(
    host: &HostRetention,
    log: &'a RetainedLog,
    judged: &'a LogRetention,
) -> impl Iterator<Item = JudgedLine<'a>> {
    let facts = &log.facts;
    let (now, is_served) = (host.now, host.is_served);
    let segments = facts.segments.iter().zip(&judged.segments).enumerate();
    let segments = segments.map(move |(index, (segment, of))| JudgedLine {
        dir: path(&facts.log_dir),
        dir_name: &facts.dir_name,
        topic: &facts.topic_partition.topic,
        partition: facts.topic_partition.partition,
        base_offset: Some(segment.base_offset.0),
        next_offset: facts.next_offset(index).map(|offset| offset.0),
        bytes: segment.bytes,
        allocated: segment.allocated,
        freed: segment.freed,
        largest_timestamp: Some(segment.largest_timestamp.rfc3339()),
        timestamp_source: Some(match segment.time_source {
            TimeSource::TimeIndex => "time_index",
            TimeSource::Batches => "batches",
            TimeSource::FileTime => "file_time",
        }),
        verdict: of.verdict,
        reason: of.reason,
        also: of.also,
        over_ms: of.over_ms,
        over_bytes: of.over_bytes,
        changes_at: of.changes_at.map(Timestamp::rfc3339),
        held_by: of.held_by.map(|offset| offset.0),
        renamed_at: None,
        unlinked_at: None,
        text: None,
    });
    let leftovers = facts.leftovers.iter();
    segments.chain(leftovers.map(move |of| leftover_line(log, of, (now, is_served))))
}

fn leftover_line<'a>(
    log: &'a RetainedLog,
    of: &LeftoverSegment,
    (now, is_served): (Timestamp, bool),
) -> JudgedLine<'a> {
    let facts = &log.facts;
    let delay = log.config.file_delete_delay_ms.value;
    let unlinked = Timestamp(of.changed_at.0.saturating_add(delay));
    let has_timer = of.kind == LeftoverKind::Deleted && is_served && unlinked >= now;
    JudgedLine {
        dir: path(&facts.log_dir),
        dir_name: &facts.dir_name,
        topic: &facts.topic_partition.topic,
        partition: facts.topic_partition.partition,
        base_offset: of.base_offset.map(|offset| offset.0),
        next_offset: None,
        bytes: of.bytes,
        allocated: of.allocated,
        freed: of.allocated,
        largest_timestamp: None,
        timestamp_source: None,
        verdict: RetentionVerdict::Leftover,
        reason: match of.kind {
            LeftoverKind::Deleted => RetentionReason::Deleted,
            LeftoverKind::Cleaned => RetentionReason::Cleaned,
            LeftoverKind::Swap => RetentionReason::Swap,
        },
        also: None,
        over_ms: None,
        over_bytes: None,
        changes_at: None,
        held_by: None,
        renamed_at: Some(of.changed_at.rfc3339()),
        unlinked_at: has_timer.then(|| unlinked.rfc3339()),
        text: Some(words::leftover(log, of, now, is_served)),
    }
}

/// Prints the topics of a host, the most bytes first.
pub(crate) fn write_topics(out: &mut dyn Write, topics: &[TopicRetention]) -> io::Result<()> {
    writeln!(
        out,
        "\n{:<32} {:>4} {:>10} {:>10} {:>10} {:>10}  WHY",
        "TOPIC", "LOGS", "BYTES", "FREED NOW", "IN 24 H", "HELD"
    )?;
    let mut all = RetentionTotals::default();
    for topic in topics {
        all += topic.totals;
        writeln!(
            out,
            "{:<32} {:>4} {:>10} {:>10} {:>10} {:>10}  {}",
            topic.topic,
            topic.logs.len(),
            text::bytes(topic.totals.all.bytes),
            amount(topic.totals.delete),
            amount(topic.totals.next_day),
            amount(topic.totals.held),
            words::why(topic),
        )?;
    }
    let logs: usize = topics.iter().map(|topic| topic.logs.len()).sum();
    writeln!(
        out,
        "{:<32} {:>4} {:>10} {:>10} {:>10} {:>10}",
        "all",
        logs,
        text::bytes(all.all.bytes),
        amount(all.delete),
        amount(all.next_day),
        amount(all.held),
    )
}

/// Prints a log's segments.
pub(crate) fn write_segments(
    out: &mut dyn Write,
    (host, settings): (&HostRetention, &SettingsTable),
    log: &RetainedLog,
    judged: &LogRetention,
) -> io::Result<()> {
    let facts = &log.facts;
    writeln!(
        out,
        "\n{} in {} · {} · {}\n  {}",
        facts.dir_name,
        facts.log_dir.display(),
        text::plural(facts.segments.len() as u64, "segment", "segments"),
        text::bytes(facts.bytes()),
        words::limits(log),
    )?;
    if let Some(budget) = words::budget(log) {
        writeln!(out, "  the topic: {budget}")?;
    }
    writeln!(
        out,
        "  log start {} · high watermark {} · log end {}",
        text::offset(facts.log_start_offset),
        optional(facts.high_watermark.offset()),
        optional(facts.log_end_offset),
    )?;
    let settings = settings.of(&facts.topic_partition.topic).into_iter();
    for setting in settings.filter(|of| of.in_force.source != ConfigSource::Default) {
        writeln!(out, "  {}", words::setting(&setting))?;
    }
    if let Some(backlog) = words::backlog(log, judged) {
        writeln!(out, "  {backlog}")?;
    }
    writeln!(
        out,
        "  {:>16} {:>10}  {:<17} VERDICT",
        "BASE OFFSET", "SIZE", "LARGEST TS (UTC)"
    )?;
    for (index, segment) in facts.segments.iter().enumerate() {
        writeln!(
            out,
            "  {:>16} {:>10}  {:<17} {}",
            text::offset(segment.base_offset),
            text::bytes(segment.bytes),
            words::largest(segment),
            words::segment(log, judged, index, host.now),
        )?;
    }
    for of in &facts.leftovers {
        writeln!(
            out,
            "  {:>16} {:>10}  {:<17} {}",
            optional(of.base_offset),
            text::bytes(of.bytes),
            "",
            words::leftover(log, of, host.now, host.is_served),
        )?;
    }
    writeln!(
        out,
        "  {} delete ({}) · {} next 24 h ({}) · {} held · {} keep · {} compact",
        judged.totals.delete.segments,
        text::bytes(judged.totals.delete.bytes),
        judged.totals.next_day.segments,
        text::bytes(judged.totals.next_day.bytes),
        judged.totals.held.segments,
        judged.totals.keep.segments,
        judged.totals.compact.segments,
    )
}

fn amount(amount: Amount) -> String {
    if amount.segments == 0 {
        "-".to_owned()
    } else {
        text::bytes(amount.bytes)
    }
}

fn optional(offset: Option<Offset>) -> String {
    offset.map_or_else(|| text::UNKNOWN.to_owned(), text::offset)
}
