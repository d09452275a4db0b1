//! The box of a plan for the living cluster, the question, and what came of it.

use ratatui::style::Style;

use crate::app::lines::short_hash;
use crate::app::live_words::{self, Told, class_words};
use crate::app::state::{LiveDialog, State};
use crate::app::text;
use crate::plan::Class;

use super::confirm::question;
use super::theme::Theme;
use super::widgets::{ListBox, Long};

/// Returns the box of a plan.
pub(super) fn plan(dialog: &LiveDialog, state: &State, theme: &Theme) -> ListBox {
    let class = dialog.plan.class();
    let cluster = dialog.plan.cluster_id.as_deref().unwrap_or(text::UNKNOWN);
    let title = format!(
        "{} · cluster {cluster} · PLAN {} · {}",
        state.setup.host,
        short_hash(&dialog.hash),
        class_words(class)
    );
    let lines = match &dialog.outcome {
        Some(Ok(done)) => outcome(dialog, done, state, theme),
        _ => plan_lines(dialog, theme),
    };
    let keys = "a carry out · : command · s save · Esc leave";
    let (below, keys) = match (&dialog.outcome, &dialog.prompt, &dialog.refused) {
        (Some(Ok(_)), _, Some(why)) => (
            vec![vec![(format!("not now: {why}"), theme.warn)]],
            "s save · Esc leave; :freed shows it again",
        ),
        (Some(Ok(_)), _, None) => (Vec::new(), "s save · Esc leave; :freed shows it again"),
        (Some(Err(cause)), _, _) => (
            vec![vec![(cause.clone(), theme.danger)]],
            "s save · Esc leave",
        ),
        (None, Some(prompt), _) => (question(prompt, state, theme), "Esc: no"),
        (None, None, Some(why)) => (vec![vec![(format!("not now: {why}"), theme.warn)]], keys),
        (None, None, None) if dialog.applied => {
            let text = "asking the brokers; Esc leaves, and the log tells what came of it";
            (vec![vec![(text.to_owned(), theme.warn)]], "Esc leave")
        }
        (None, None, None) => (Vec::new(), keys),
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
            Class::C => theme.danger,
            _ if state.session.is_armed() => theme.armed,
            _ => theme.border,
        },
    }
}

/// Returns the lines of a plan that was not carried out.
fn plan_lines(dialog: &LiveDialog, theme: &Theme) -> Vec<Vec<(String, Style)>> {
    let line = |line: &String| {
        let (label, rest) = line.trim_start().split_once("  ").unwrap_or(("", line));
        if line.starts_with("  ") && !label.is_empty() && label.len() <= 10 {
            return labelled(label, rest.trim_start(), theme.text, theme);
        }
        vec![(line.trim_start().to_owned(), theme.title)]
    };
    dialog.lines.iter().skip(1).map(line).collect()
}

/// Returns what came of a plan: what was done, freed, and stays.
fn outcome(
    dialog: &LiveDialog,
    done: &[String],
    state: &State,
    theme: &Theme,
) -> Vec<Vec<(String, Style)>> {
    let freeing = state.freeing(&dialog.hash);
    let lines = live_words::outcome_lines(&dialog.plan, done, freeing, state.now);
    let line = |(told, label, text): (Told, &str, String)| match (told, label) {
        (Told::Act, "") => vec![(text, theme.title)],
        (Told::Act | Told::Freed, _) => labelled(label, &text, theme.text, theme),
        (Told::Done, _) => labelled(label, &text, theme.good, theme),
        (Told::Stays, _) => labelled(label, &text, theme.warn, theme),
        (Told::Next, _) => labelled(label, &text, theme.key, theme),
    };
    lines.into_iter().map(line).collect()
}

fn labelled(label: &str, text: &str, style: Style, theme: &Theme) -> Vec<(String, Style)> {
    vec![
        (format!("{label:<11}"), theme.dim),
        (text.to_owned(), style),
    ]
}
