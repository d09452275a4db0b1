//! Short words for what is known of volumes and of what fills them.

use std::path::Path;

use crate::log::UsageKind;
use crate::plan::volumes::{DirProblem, DirState, GrowthSource, VolumeReport, VolumeRow};

use super::situation::Urgency;
use super::state::{UsageItem, UsageKey, World};
use super::text;

/// A volume that is full sooner than this at the rate of the last 10 minutes is filling, in seconds.
const SOON_S: u64 = 86_400;

/// Returns the label of a log dir: the shortest end of its path that names it.
pub fn label(world: &World, dir: &Path) -> String {
    let known = world
        .logs
        .dir_at(dir)
        .and_then(|at| world.logs.dirs.get(at));
    known.map_or_else(
        || {
            let name = dir.file_name().unwrap_or(dir.as_os_str());
            name.to_string_lossy().into_owned()
        },
        |row| row.label.clone(),
    )
}

/// Returns bytes, or `?`.
pub fn known(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| text::UNKNOWN.to_owned(), text::bytes)
}

/// Returns when the volume is full at the rates of 10 minutes and of 24 hours.
pub fn full_in(row: &VolumeRow) -> String {
    if row.is_full() || row.full_in.contains(&Some(0)) {
        return "FULL".to_owned();
    }
    let [minutes, day] = [0, 1].map(|window| {
        let full_in = row.full_in.get(window).copied().flatten();
        let growth = row.growth.get(window).copied().flatten();
        match (full_in, growth) {
            (Some(seconds), _) => span(seconds),
            (None, Some(_)) => "never".to_owned(),
            (None, None) => text::UNKNOWN.to_owned(),
        }
    });
    format!("{minutes} / {day}")
}

/// Returns a span in its largest unit.
fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        172_800..63_072_000 => format!("{} d", seconds / 86_400),
        _ => format!("{} y", seconds / 31_536_000),
    }
}

/// Returns the two rates with their sources.
pub fn rates(row: &VolumeRow) -> String {
    let [minutes, day] = row.growth.map(|growth| {
        growth.map_or_else(
            || "? (no look of that age yet)".to_owned(),
            |growth| {
                let sign = if growth.bytes_per_s < 0 { "-" } else { "+" };
                let source = match growth.source {
                    GrowthSource::Samples => "net",
                    GrowthSource::Segments => "written, by segments",
                };
                let rate = text::rate(growth.bytes_per_s.unsigned_abs());
                format!("{sign}{rate} ({source})")
            },
        )
    });
    format!("10 min {minutes} · 24 h {day}")
}

/// Returns what fills a log dir, the kinds that matter first, in one line.
pub fn fills(row: &VolumeRow) -> String {
    let kinds = &row.kinds;
    let take = |kind: UsageKind| kinds.of(kind).allocated;
    let mut parts = vec![format!("topics {}", text::bytes(take(UsageKind::Topics)))];
    let leftovers = row.leftovers().allocated;
    if leftovers > 0 {
        let mut each: Vec<(UsageKind, u64)> = kinds
            .kinds()
            .filter(|(kind, used)| kind.is_leftover() && used.allocated > 0)
            .map(|(kind, used)| (kind, used.allocated))
            .collect();
        each.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let each: Vec<String> = each
            .into_iter()
            .map(|(kind, bytes)| format!("{} {}", kind.word(), text::bytes(bytes)))
            .collect();
        let leftovers = text::bytes(leftovers);
        parts.push(format!("leftovers {leftovers} ({})", each.join(", ")));
    }
    for kind in [
        UsageKind::Internal,
        UsageKind::Metadata,
        UsageKind::IndexCache,
    ] {
        if take(kind) > 0 {
            parts.push(format!("{} {}", kind.word(), text::bytes(take(kind))));
        }
    }
    if row.sparse_indexes() > 0 {
        let sparse = text::bytes(row.sparse_indexes());
        parts.push(format!("indexes look {sparse} larger"));
    }
    parts.push(format!("not Kafka {}", known(row.foreign)));
    if row.held() > 0 {
        parts.push(format!("deleted but held {}", text::bytes(row.held())));
    }
    parts.join(" · ")
}

/// Returns what is to be known of an item beside its numbers.
pub fn item_note(item: &UsageItem) -> String {
    if let Some(note) = &item.note {
        return note.clone();
    }
    match &item.key {
        UsageKey::Kind(kind) => kind_note(*kind).to_owned(),
        UsageKey::Topic(_) => format!(
            "{}, {}",
            text::plural(item.logs, "dir", "dirs"),
            text::plural(item.segments, "segment", "segments")
        ),
        UsageKey::Log(_) => text::plural(item.segments, "segment", "segments"),
        UsageKey::Segment(_) if item.segments == 0 => "no .log".to_owned(),
        UsageKey::Segment(_) | UsageKey::File(_) | UsageKey::Entry(_) => String::new(),
    }
}

/// Returns what a kind is, and who removes it.
fn kind_note(kind: UsageKind) -> &'static str {
    match kind {
        UsageKind::Topics => "goes by retention, or oldest first: f",
        UsageKind::Internal => "offsets and transactions: never cut",
        UsageKind::Metadata => "the cluster's metadata: never touched",
        UsageKind::DeleteDirs => "deleted partitions: a boot removes them; safe",
        UsageKind::StrayDirs => "unknown to the metadata: no broker removes them",
        UsageKind::FutureDirs => "copies on their way: a move goes on with them",
        UsageKind::DeletedFiles | UsageKind::OrphanIndexes => "a boot removes them; safe",
        UsageKind::CleanedFiles => "a compaction broke off: a boot removes them; safe",
        UsageKind::SwapFiles => "a boot ends the swap with them: never rm",
        UsageKind::IndexCache => "fetched again from remote storage",
        UsageKind::Own => "checkpoints and markers",
        UsageKind::Foreign => "listed, never touched",
    }
}

/// Returns how a log dir stands: its state, since when and by what first error.
pub fn state_line(row: &VolumeRow, now: crate::terms::Timestamp) -> Option<String> {
    row.facts.problems.iter().find_map(|problem| match problem {
        DirProblem::Offline { since, cause } => {
            let since = since.map_or_else(
                || "since ? (no broker's log tells)".to_owned(),
                |since| format!("since {} ({})", since.rfc3339(), text::age(since, now)),
            );
            let cause = cause
                .as_deref()
                .unwrap_or("? its lock is free while others are held");
            Some(format!("offline {since}, first error: {cause}"))
        }
        _ => None,
    })
}

/// Returns what of the volumes needs somebody most: a dir that failed, a full volume, one that is full soon.
pub fn trouble(world: &World) -> Option<(Urgency, String)> {
    let report = &world.volumes.as_ref()?.report;
    failed(world)
        .or_else(|| full(world))
        .or_else(|| filling(world, report))
}

/// Returns which log dir failed worst, since when and why.
pub fn failed(world: &World) -> Option<(Urgency, String)> {
    let report = &world.volumes.as_ref()?.report;
    let is_failed = |row: &&VolumeRow| row.state > DirState::Cordoned;
    let worst = report.rows.iter().filter(is_failed);
    let worst = worst.max_by_key(|row| row.state)?;
    let failed = report.rows.iter().filter(is_failed).count();
    let why = worst
        .facts
        .problems
        .iter()
        .find_map(|problem| match problem {
            DirProblem::Offline { since, cause } => {
                let since = since.map(|since| format!("since {}", since.rfc3339()));
                let told: Vec<String> = since.into_iter().chain(cause.clone()).collect();
                (!told.is_empty()).then(|| format!(" {}", told.join(": ")))
            }
            DirProblem::Failing { errors, .. } => Some(format!(" with {errors} I/O errors")),
            DirProblem::Missing { cause } => Some(format!(": {cause}")),
            _ => None,
        });
    let text = format!(
        "{} is {}{} ({failed} of {} log dirs)",
        label(world, &worst.facts.dir),
        worst.state.word(),
        why.unwrap_or_default(),
        report.rows.len()
    );
    Some((Urgency::Danger, text))
}

/// Returns what fills a volume that has no more room for the broker.
pub fn full(world: &World) -> Option<(Urgency, String)> {
    let report = &world.volumes.as_ref()?.report;
    let row = report.rows.iter().find(|row| row.is_full())?;
    let text = format!(
        "{} is FULL: {} free for the broker; {}",
        label(world, &row.facts.dir),
        known(row.facts.space.map(|space| space.free)),
        fills(row)
    );
    Some((Urgency::Danger, text))
}

fn filling(world: &World, report: &VolumeReport) -> Option<(Urgency, String)> {
    let soonest = report
        .rows
        .iter()
        .filter_map(|row| Some((row.full_in[0]?, row)));
    let (seconds, row) = soonest.min_by_key(|(seconds, _)| *seconds)?;
    if seconds > SOON_S {
        return None;
    }
    let rate = row.growth[0].map_or(0, |growth| growth.bytes_per_s.unsigned_abs());
    let text = format!(
        "{} is full in {} at {} of the last 10 min: {} free; {}",
        label(world, &row.facts.dir),
        text::duration(seconds),
        text::rate(rate),
        known(row.facts.space.map(|space| space.free)),
        fills(row)
    );
    Some((Urgency::Work, text))
}

/// Returns how much is free on the fullest volume: `24 % free on the fullest volume`.
pub fn fullest(world: &World) -> Option<String> {
    let report = &world.volumes.as_ref()?.report;
    let spaces = report.rows.iter().filter_map(|row| row.facts.space);
    let used = spaces.map(|space| space.used_percent()).max()?;
    Some(format!(
        "{} % free on the fullest volume",
        100_u64.saturating_sub(used)
    ))
}

/// Returns a line for each log dir of the overview: the worst first, and how many more there are.
pub fn summary(world: &World, most: usize) -> Vec<(Urgency, String)> {
    let Some(facts) = &world.volumes else {
        return Vec::new();
    };
    let mut rows: Vec<&VolumeRow> = facts.report.rows.iter().collect();
    let used = |row: &VolumeRow| row.facts.space.map(|space| space.used_percent());
    rows.sort_by_key(|row| std::cmp::Reverse((row.state, row.is_full(), used(row))));
    let more = rows.len().saturating_sub(most);
    let mut lines: Vec<(Urgency, String)> = rows
        .into_iter()
        .take(most)
        .map(|row| {
            let urgency = match row.state {
                _ if row.is_full() => Urgency::Danger,
                DirState::Online | DirState::Cordoned => Urgency::Fine,
                _ => Urgency::Danger,
            };
            let space = row.facts.space;
            let shared = match &row.shares_with {
                Some(first) => format!(" · on the volume of {}", label(world, first)),
                None => String::new(),
            };
            let full = match full_in(row) {
                full if row.is_full() => full,
                spans => format!("full in {spans} (rate of 10 min / 24 h)"),
            };
            let text = format!(
                "{} {} · {} of {} free · {full}{shared}",
                label(world, &row.facts.dir),
                row.state.word(),
                known(space.map(|space| space.free)),
                known(space.map(|space| space.total)),
            );
            (urgency, text)
        })
        .collect();
    if more > 0 {
        let dirs = text::plural(more as u64, "log dir", "log dirs");
        lines.push((Urgency::Fine, format!("and {dirs} more: pane 4")));
    }
    lines
}
