//! Replicas for people.

use std::io::{self, Write};

use super::run::Seen;
use crate::app::replica_words;
use crate::app::replica_words::{
    bytes_rate, cut_sentence, ids, in_sync_in, lag_bytes, lag_records, lag_time, next, note,
};
use crate::app::text::{age, plural};
use crate::cli::args::ReplicasArgs;
use crate::cli::clock;
use crate::cli::report::ReplicasSummaryLine;
use crate::observe::cluster::{Cause, ReplicaRow};

const HEADS: [&str; 10] = [
    "PARTITION",
    "LEADER",
    "ISR",
    "REPLICA",
    "LAG msgs",
    "LAG bytes",
    "LAG time",
    "RATE",
    "IN ISR IN",
    "NOTE",
];

/// Writes the replicas that need a look (all with `--all`), then what there is to do, then the sums.
pub(super) fn write_rows(
    seen: &Seen,
    summary: &ReplicasSummaryLine,
    args: &ReplicasArgs,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rows: Vec<&ReplicaRow> = seen
        .rows
        .iter()
        .filter(|row| {
            args.all
                || (row.needs_attention()
                    && !(row.is_leader() && row.is_in_sync() && has_follower_shown(seen, row)))
        })
        .collect();
    if !rows.is_empty() {
        let mut table = vec![HEADS.map(str::to_owned)];
        table.extend(rows.iter().map(|row| cells(seen, row)));
        write_table(&table, out)?;
    }
    for (id, broker) in &seen.sample.brokers {
        if let Some(failure) = &broker.failure {
            writeln!(out, "broker {id} does not answer: {failure}")?;
        }
    }
    if let Some(quorum) = &seen.quorum {
        writeln!(out, "{}", replica_words::quorum(quorum))?;
    }
    let mut told: Vec<&Cause> = Vec::new();
    for cause in rows.iter().filter_map(|row| row.causes.first()) {
        let kind = std::mem::discriminant(cause);
        if told
            .iter()
            .all(|other| std::mem::discriminant(*other) != kind)
        {
            told.push(cause);
        }
    }
    for cause in told {
        writeln!(out, "  next: {}", next(cause))?;
    }
    let forecasts = rows.iter().filter_map(|row| seen.forecast(row));
    if let Some(cut) = cut_sentence(forecasts) {
        writeln!(out, "{cut}")?;
    }
    writeln!(out, "{}", sentence(seen, summary))
}

/// Says whether a follower of the same partition is shown, which says all that the leader's row would.
fn has_follower_shown(seen: &Seen, leader: &ReplicaRow) -> bool {
    seen.rows.iter().any(|row| {
        row.partition == leader.partition && row.broker != leader.broker && row.needs_attention()
    })
}

fn cells(seen: &Seen, row: &ReplicaRow) -> [String; 10] {
    let role = if row.is_leader() { " leads" } else { "" };
    [
        row.partition.to_string(),
        row.leader
            .map_or_else(|| "none".to_owned(), |id| id.to_string()),
        ids(&row.isr),
        format!("{}{role}", row.broker),
        lag_records(row),
        lag_bytes(row),
        lag_time(row),
        bytes_rate(row),
        in_sync_in(row),
        note(row, seen.forecast(row)),
    ]
}

fn write_table(table: &[[String; 10]], out: &mut dyn Write) -> io::Result<()> {
    let mut widths = [0; 10];
    for row in table {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in table {
        let cells = row
            .iter()
            .zip(widths)
            .enumerate()
            .map(|(at, (cell, width))| match at {
                // Numbers stand to the right.
                4..=7 => format!("{cell:>width$}"),
                _ => format!("{cell:<width$}"),
            });
        let line = cells.collect::<Vec<_>>().join("  ");
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn sentence(seen: &Seen, summary: &ReplicasSummaryLine) -> String {
    let all = format!(
        "{} of {}",
        plural(summary.replicas, "replica", "replicas"),
        plural(summary.partitions, "partition", "partitions")
    );
    let mut parts = Vec::new();
    for (count, words) in [
        (summary.out_of_sync, "not in sync"),
        (summary.offline, "offline"),
        (summary.under_min_isr, "under min ISR"),
        (summary.without_leader, "without a leader"),
        (summary.only_one_in_sync, "with one copy in sync"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {words}"));
        }
    }
    let state = if parts.is_empty() {
        "all in sync".to_owned()
    } else {
        parts.join(", ")
    };
    format!(
        "{all}: {state} ({} brokers asked {}, {} requests, {} ms)",
        seen.sample.metadata.brokers.len(),
        age(seen.sample.at, clock::now()),
        seen.sample.requests,
        seen.sample.took_ms
    )
}
