//! What `cleanup` ranks: JSON lines, or a table for people.

use std::io::{self, Write};

use serde::Serialize;

use super::line::path;
use super::{Align, Columns};
use crate::app::free_words as words;
use crate::app::state::{FreeLine, FreeOffer};
use crate::app::text::{bytes, plural};
use crate::log::UsageKind;
use crate::plan::cleanup::DeletionCost;
use crate::plan::{Class, GroupBelow};

/// Lines of what is not chosen that people are shown.
const MOST_SPARE: usize = 12;

/// Something that can go, ranked; of what is not chosen all numbers are of the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FreeableLine<'a> {
    /// From 1, the safest first.
    pub(crate) rank: u64,
    pub(crate) dir: String,
    pub(crate) dir_name: &'a str,
    /// `leftover`, `past_retention` or `oldest_records`.
    pub(crate) cost: &'static str,
    pub(crate) leftover: Option<UsageKind>,
    pub(crate) class: Class,
    /// Whether the plan takes it.
    pub(crate) chosen: bool,
    /// Bytes on the volume that become free.
    pub(crate) allocated: u64,
    /// Bytes that the plan has freed up to this line.
    pub(crate) total: u64,
    /// Of a log.
    pub(crate) segments: Option<u64>,
    pub(crate) segments_of: Option<u64>,
    pub(crate) log_start_offset: Option<i64>,
    /// Of good batches.
    pub(crate) lost_bytes: u64,
    /// What is lost, in words.
    pub(crate) loses: String,
    /// Who else has it; `null` where nothing says, and of what nobody needs.
    pub(crate) elsewhere: Option<&'a str>,
    /// Groups that have not read all of it; `null` where nothing of groups is known.
    pub(crate) groups: Option<Vec<GroupBelow>>,
    /// What the next boot does.
    pub(crate) at_boot: String,
}

/// What makes room by an act of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct WayLine {
    pub(crate) class: Class,
    pub(crate) allocated: u64,
    pub(crate) text: String,
    pub(crate) command: String,
}

/// What the next boot needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct BootNeedsLine {
    /// On each volume.
    pub(crate) free_bytes: u64,
    pub(crate) read_bytes: u64,
    pub(crate) seconds: u64,
    /// The rate that the seconds are by.
    pub(crate) bytes_per_s: u64,
    /// Whether the rate was measured on this host.
    pub(crate) measured: bool,
}

/// Something that is assumed, or that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct DoubtLine<'a> {
    pub(crate) text: &'a str,
}

/// Returns the ranked lines of an offer.
pub(crate) fn freeable_lines(offer: &FreeOffer) -> Vec<FreeableLine<'_>> {
    let mut total = 0_u64;
    let lines = offer.lines.iter().zip(1_u64..);
    lines
        .map(|(line, rank)| {
            let shown = shown(line);
            total = total.saturating_add(line.freed());
            let (cost, leftover) = match line.cost {
                DeletionCost::Leftover(kind) => ("leftover", Some(kind)),
                DeletionCost::Stray => ("stray", None),
                DeletionCost::PastRetention => ("past_retention", None),
                DeletionCost::Records => ("oldest_records", None),
            };
            let of_log = line.log_start.is_some();
            FreeableLine {
                rank,
                dir: path(&line.log_dir),
                dir_name: &line.dir_name,
                cost,
                leftover,
                class: line.cost.class(),
                chosen: line.marked > 0,
                allocated: shown.freed(),
                total,
                segments: of_log.then_some(shown.marked as u64),
                segments_of: of_log.then_some(line.pieces.len() as u64),
                log_start_offset: shown.next_start().map(|offset| offset.0),
                lost_bytes: shown.lost(),
                loses: words::loses(&shown),
                elsewhere: line.elsewhere.as_deref(),
                groups: shown.groups_below(),
                at_boot: words::at_boot(&shown),
            }
        })
        .collect()
}

/// Returns the other ways of an offer.
pub(crate) fn way_lines(offer: &FreeOffer) -> Vec<WayLine> {
    let line = |way| {
        let (text, command) = words::way(way);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        WayLine {
            class: way.class,
            allocated: way.freed,
            text,
            command,
        }
    };
    offer.ways.iter().map(line).collect()
}

/// Writes an offer as a table: what is chosen, some of what else could go, and other ways.
pub(crate) fn write_offer(out: &mut dyn Write, offer: &FreeOffer) -> io::Result<()> {
    writeln!(
        out,
        "\nwhat can go, the safest first; * is chosen to free {}",
        bytes(offer.target)
    )?;
    let mut columns = Columns::new(&[
        ("*", Align::Left),
        ("CLASS", Align::Left),
        ("FREES", Align::Right),
        ("TOTAL", Align::Right),
        ("WHAT", Align::Left),
        ("WHERE", Align::Left),
    ]);
    let (mut total, mut spare) = (0_u64, 0_usize);
    let mut hidden = (0_u64, 0_u64);
    for line in &offer.lines {
        let is_chosen = line.marked > 0;
        total = total.saturating_add(line.freed());
        spare += usize::from(!is_chosen);
        if !is_chosen && spare > MOST_SPARE {
            hidden = (hidden.0 + 1, hidden.1.saturating_add(line.whole()));
            continue;
        }
        row(&mut columns, line, is_chosen.then_some(total));
    }
    columns.write(out)?;
    if hidden.0 > 0 {
        let lines = plural(hidden.0, "line", "lines");
        writeln!(
            out,
            "{lines} more, {} in all (--json has each)",
            bytes(hidden.1)
        )?;
    }
    if offer.lines.is_empty() {
        writeln!(out, "nothing here can go")?;
    }
    for way in way_lines(offer) {
        writeln!(
            out,
            "or, class {}, {}: {}\n    $ {}",
            words::letter(way.class),
            bytes(way.allocated),
            way.text,
            way.command
        )?;
    }
    Ok(())
}

fn row(columns: &mut Columns, line: &FreeLine, total: Option<u64>) {
    let shown = shown(line);
    let segments = match line.log_start {
        Some(_) => format!(
            ", {} of {} segments that can go",
            line.marked,
            line.pieces.len()
        ),
        None => String::new(),
    };
    columns.row(vec![
        if total.is_some() { "*" } else { "" }.to_owned(),
        words::letter(line.cost.class()).to_owned(),
        bytes(shown.freed()),
        total.map_or_else(|| "–".to_owned(), bytes),
        line.cost.words(),
        format!("{}{segments}", line.log_dir.join(&line.dir_name).display()),
    ]);
    columns.under(format!(
        "    loses {}; {}",
        words::loses(&shown),
        words::at_boot(&shown)
    ));
    if line.log_start.is_some() {
        let elsewhere = line.elsewhere.as_deref();
        columns.under(format!(
            "    elsewhere: {}; groups: {}",
            elsewhere.unwrap_or("? no metadata here says who else has it"),
            words::groups(&shown).unwrap_or_default()
        ));
    }
}

/// Returns what of a line is told: what the plan takes, or all of what it leaves.
fn shown(line: &FreeLine) -> FreeLine {
    if line.marked > 0 {
        line.clone()
    } else {
        line.whole_line()
    }
}
