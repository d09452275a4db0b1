//! The dialog that frees space.
//!
//! ```text
//! ┌ free 50.0 GiB on data1 · 0 B free of 1.80 TiB ──────────────────────────────────────────────────────┐
//! │ costs no data  90.0 GiB are reserved for root and cost nothing                                      │
//! │     $ tune2fs -m 0 /dev/sdb1                                                                        │
//! │ [x] A  71.0 GiB  leftover -delete   old-3.3f0c…-delete                                              │
//! │ [x] B  3.00 GiB  past retention     orders-7  3 of 3 segments                                       │
//! │ [ ] C  0 B       oldest records     clicks-3  0 of 46 segments, 46.0 GiB                            │
//! │     B  47.0 GiB  move to a volume   orders-7 to /data2                                              │
//! │     $ krescue move orders-7 --to /data2                                                             │
//! │ MARKED    74.0 GiB of 50.0 GiB · class B · loses no good record                                     │
//! └ Space mark · + - segments · n keep no copy · t target · Enter plan · Esc leave ─────────────────────┘
//! ```

use ratatui::style::Style;

use crate::app::confirm::class_word;
use crate::app::effect::Copies;
use crate::app::free_words as words;
use crate::app::state::{FreeDialog, FreeLine, FreeOffer, FreeStage, State};
use crate::app::{text, volume_words};
use crate::plan::Class;
use crate::plan::cleanup::DeletionCost;

use super::overlays::with_cursor;
use super::theme::Theme;
use super::widgets::{ListBox, Long};

/// Returns the box of the dialog.
pub(super) fn free_space(dialog: &FreeDialog, state: &State, theme: &Theme) -> ListBox {
    let label = volume_words::label(state.shown(), &dialog.dir);
    match &dialog.stage {
        FreeStage::Asking => asking(dialog, &label, theme),
        FreeStage::Looking => ListBox {
            title: format!("free space on {label}"),
            lines: vec![vec![(
                "Leftovers, retention and the metadata are being looked at.".to_owned(),
                theme.dim,
            )]],
            keys: "Esc leave".to_owned(),
            border: theme.border,
            ..ListBox::default()
        },
        FreeStage::Ranked(offer) => ranked(dialog, offer, &label, theme),
    }
}

fn asking(dialog: &FreeDialog, label: &str, theme: &Theme) -> ListBox {
    let input = &dialog.input;
    let mut below = Vec::new();
    if let Some(error) = &dialog.error {
        below.push(vec![(error.clone(), theme.warn)]);
    }
    ListBox {
        title: format!("free space on {label}"),
        lines: vec![
            vec![
                ("How much more is to become free?  ".to_owned(), theme.text),
                (with_cursor(input.value(), input.cursor()), theme.title),
            ],
            vec![(
                "50GiB, 512MiB. What can go is ranked then, the safest first; nothing is done yet."
                    .to_owned(),
                theme.dim,
            )],
        ],
        below,
        keys: "Enter rank · Esc leave".to_owned(),
        border: theme.border,
        ..ListBox::default()
    }
}

fn ranked(dialog: &FreeDialog, offer: &FreeOffer, label: &str, theme: &Theme) -> ListBox {
    let space = offer.space;
    let title = format!(
        "free {} on {label} · {} free of {}",
        text::bytes(offer.target),
        volume_words::known(space.map(|space| space.free)),
        volume_words::known(space.map(|space| space.total)),
    );
    let mut lines: Vec<Vec<(String, Style)>> = Vec::new();
    for finding in &offer.costless {
        lines.push(vec![
            ("costs no data  ".to_owned(), theme.good),
            (finding.text.clone(), theme.text),
        ]);
        lines.push(vec![(format!("    $ {}", finding.next), theme.key)]);
    }
    for note in &offer.notes {
        lines.push(vec![(note.clone(), theme.warn)]);
    }
    let first = lines.len();
    lines.extend(dialog.lines.iter().map(|line| row(line, theme)));
    if dialog.lines.is_empty() {
        lines.push(vec![("Nothing here can go.".to_owned(), theme.warn)]);
    }
    for way in &offer.ways {
        let (what, command) = words::way(way);
        lines.push(vec![
            ("    ".to_owned(), theme.dim),
            (format!("{}  ", words::letter(way.class)), theme.text),
            (format!("{:>9}  ", text::bytes(way.freed)), theme.text),
            (what, theme.text),
        ]);
        lines.push(vec![(format!("    $ {command}"), theme.key)]);
    }
    for kept in &offer.kept {
        lines.push(vec![
            (" stays ".to_owned(), theme.dim),
            (format!("{:>9}  ", text::bytes(kept.allocated)), theme.dim),
            (
                format!("{}: {}", words::short_dir(&kept.dir_name), kept.why),
                theme.dim,
            ),
        ]);
    }
    ListBox {
        title,
        lines,
        long: Long::Cut,
        cursor: (!dialog.lines.is_empty()).then_some(first + dialog.cursor),
        below: below(dialog, offer, theme),
        keys: "Space mark · + - segments · n copies · t target · Enter plan · Esc".to_owned(),
        border: match dialog.class() {
            Some(Class::C) => theme.danger,
            _ => theme.border,
        },
        ..ListBox::default()
    }
}

fn row(line: &FreeLine, theme: &Theme) -> Vec<(String, Style)> {
    let is_marked = line.marked > 0;
    let style = match (is_marked, line.cost.class()) {
        (false, _) => theme.dim,
        (true, Class::A) => theme.good,
        (true, Class::B) => theme.warn,
        (true, Class::C) => theme.danger,
    };
    let bytes = if is_marked {
        line.freed()
    } else {
        line.whole()
    };
    let count = match line.cost {
        DeletionCost::Leftover(_) | DeletionCost::Stray => String::new(),
        _ => format!("  {} of {} segments", line.marked, line.pieces.len()),
    };
    vec![
        (
            if is_marked { "[x] " } else { "[ ] " }.to_owned(),
            theme.key,
        ),
        (format!("{}  ", words::letter(line.cost.class())), style),
        (format!("{:>9}  ", text::bytes(bytes)), style),
        (format!("{:<20} ", line.cost.words()), style),
        (
            format!("{}{count}", words::short_dir(&line.dir_name)),
            theme.text,
        ),
    ]
}

/// Returns what is to be known of the line under the cursor, the running total, and what is wrong.
fn below(dialog: &FreeDialog, offer: &FreeOffer, theme: &Theme) -> Vec<Vec<(String, Style)>> {
    let mut below = Vec::new();
    let pair = |label: &str, text: String, style: Style| {
        vec![(format!("{label:<10}"), theme.dim), (text, style)]
    };
    if let Some(line) = dialog.lines.get(dialog.cursor) {
        let style = match line.cost {
            DeletionCost::Records if line.marked > 0 => theme.danger,
            _ => theme.text,
        };
        below.push(pair("loses", words::loses(line), style));
        let elsewhere = line.elsewhere.clone();
        let elsewhere = elsewhere.unwrap_or_else(|| match line.cost {
            DeletionCost::Leftover(_) => "nobody needs it".to_owned(),
            _ => "? no metadata here says who else has it".to_owned(),
        });
        below.push(pair("elsewhere", elsewhere, theme.text));
        if let Some(groups) = words::groups(line) {
            below.push(pair("groups", groups, style));
        }
        below.push(pair("at boot", words::at_boot(line), theme.text));
    }
    let copies = match (dialog.copies, offer.copies_here) {
        (Copies::None, _) => ("none: what goes is gone for good", theme.danger),
        (Copies::Kept, false) => (
            "in the quarantine, on another volume: undo brings them back",
            theme.text,
        ),
        (Copies::Kept, true) => (
            "of leftovers none: the quarantine lies on this volume, where they free nothing",
            theme.warn,
        ),
    };
    below.push(pair("copies", copies.0.to_owned(), copies.1));
    let freed = dialog.freed();
    let style = if freed >= offer.target {
        theme.good
    } else {
        theme.warn
    };
    let lost = match dialog.lost() {
        0 => "no good record".to_owned(),
        lost => text::bytes(lost),
    };
    below.push(pair(
        "MARKED",
        format!(
            "{} of {} · {} · loses {lost}",
            text::bytes(freed),
            text::bytes(offer.target),
            class_word(dialog.class()),
        ),
        style,
    ));
    below.push(pair("next boot", words::boot_needs(offer), theme.text));
    if let Some(error) = &dialog.error {
        below.push(vec![(error.clone(), theme.warn)]);
    }
    below
}
