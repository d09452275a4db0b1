//! The plan's box, and the question whether it is carried out.
//!
//! ```text
//! ┌─ kafka-07 · broker 3 · PLAN 7f3a91c2 · class B: what a boot would cut anyway ─┐
//! │ cuts       notifications-0 on data1: −1.10 KiB, new end 4,000: torn tail      │
//! │ Type  notifications-0  and Enter to go on; Esc leaves                         │
//! │ › notific▏                                                                    │
//! └─ a carry out · h hand-over · : command · Esc leave ───────────────────────────┘
//! ```

use ratatui::style::Style;

use crate::app::confirm::{Phrase, class_words};
use crate::app::lines::short_hash;
use crate::app::state::{PlanDialog, Prompt, State};
use crate::plan::Class;

use super::overlays::with_cursor;
use super::theme::Theme;
use super::widgets::{ListBox, Long};

/// Returns the box of a plan.
pub(super) fn plan(dialog: &PlanDialog, state: &State, theme: &Theme) -> ListBox {
    let shown = state.world.plan.as_ref();
    let class = shown.and_then(|shown| shown.plan.class());
    let broker = state.world.broker.as_ref();
    let node = broker
        .and_then(|broker| broker.node_id)
        .map_or_else(|| "broker ?".to_owned(), |id| format!("broker {id}"));
    let title = format!(
        "{} · {node} · PLAN {} · {}",
        state.setup.host,
        short_hash(&dialog.hash),
        class_words(class)
    );
    let lines = dialog
        .lines
        .iter()
        .map(|line| {
            vec![
                (format!("{:<11}", line.label), theme.dim),
                (line.text.clone(), theme.tone(line.tone)),
            ]
        })
        .collect();
    let (below, keys) = match (&dialog.prompt, &dialog.refused) {
        (Some(prompt), _) => (question(prompt, state, theme), "Esc: no"),
        (None, Some(why)) => (
            vec![vec![(format!("not now: {why}"), theme.warn)]],
            "a carry out · h hand-over · : command · Esc leave",
        ),
        (None, None) => (
            Vec::new(),
            "a carry out · h hand-over · : command · Esc leave",
        ),
    };
    ListBox {
        title,
        lines,
        long: Long::Wraps,
        cursor: None,
        scroll: dialog.scroll,
        below,
        keys: keys.to_owned(),
        border: match class {
            Some(Class::C) => theme.danger,
            _ if state.session.is_armed() => theme.armed,
            _ => theme.border,
        },
    }
}

pub(super) fn question(prompt: &Prompt, state: &State, theme: &Theme) -> Vec<Vec<(String, Style)>> {
    let deaf = prompt.is_deaf(state.now);
    match &prompt.phrase {
        Phrase::Yes => vec![vec![
            ("Carry it out?  ".to_owned(), theme.title),
            ("y".to_owned(), theme.key),
            (" / ".to_owned(), theme.text),
            ("N".to_owned(), theme.title),
            (waits(deaf).to_owned(), theme.dim),
        ]],
        Phrase::Exactly(phrase) => vec![
            vec![
                ("Type  ".to_owned(), theme.title),
                (phrase.clone(), theme.danger),
                ("  and Enter to go on; Esc leaves".to_owned(), theme.title),
                (waits(deaf).to_owned(), theme.dim),
            ],
            vec![
                ("› ".to_owned(), theme.key),
                (
                    with_cursor(prompt.input.value(), prompt.input.cursor()),
                    theme.text,
                ),
                (
                    if prompt.wrong {
                        "   that is not it; nothing was done"
                    } else {
                        ""
                    }
                    .to_owned(),
                    theme.warn,
                ),
            ],
        ],
    }
}

/// For a moment the prompt hears nothing: what was typed ahead was not meant for it.
fn waits(deaf: bool) -> &'static str {
    if deaf { "  (wait …)" } else { "" }
}
