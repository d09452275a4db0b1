//! The box of a plan for the living cluster, the question, and what came of it.

use crate::app::lines::short_hash;
use crate::app::live_words::class_words;
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
    let lines = dialog.lines.iter().skip(1).map(|line| {
        let (label, rest) = line.trim_start().split_once("  ").unwrap_or(("", line));
        if line.starts_with("  ") && !label.is_empty() && label.len() <= 10 {
            let label = format!("{label:<11}");
            return vec![
                (label, theme.dim),
                (rest.trim_start().to_owned(), theme.text),
            ];
        }
        vec![(line.trim_start().to_owned(), theme.title)]
    });
    let keys = "a carry out · : command · s save · Esc leave";
    let (below, keys) = match (&dialog.outcome, &dialog.prompt, &dialog.refused) {
        (Some(Ok(lines)), _, _) => {
            let done = lines
                .iter()
                .map(|line| vec![(format!("done: {line}"), theme.good)]);
            let restore = dialog.plan.can_be_restored().then(|| {
                let words = crate::app::live_words::restore_words(&dialog.plan);
                vec![(
                    format!("put it back: o in the acts (x), or krescue {words} --apply"),
                    theme.key,
                )]
            });
            (done.chain(restore).collect(), "s save · Esc leave")
        }
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
        lines: lines.collect(),
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
