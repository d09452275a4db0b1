//! The same as command lines: what the screen shows or would do, to be typed, mailed or scripted.

use crate::plan::{HandOver, TruncationTarget};

use super::effect::{PlanRequest, Scope};

use super::state::{DetailItem, State};

/// Returns the command lines that do what this screen shows.
pub fn lines(state: &State) -> Vec<String> {
    let broker = state.shown().broker.as_ref();
    let flags = broker
        .map(|broker| broker.flags.clone())
        .unwrap_or_default();
    let line = |words: &[&str]| {
        let words = ["krescue"]
            .into_iter()
            .chain(flags.iter().map(String::as_str))
            .chain(words.iter().copied());
        words.map(quote).collect::<Vec<_>>().join(" ")
    };
    let world = state.shown();
    let mut lines = vec!["# look".to_owned(), line(&["scan"]), line(&["recover"])];
    if let Some(broker) = &world.broker
        && let Some(supervisor) = &broker.supervisor
    {
        lines.push(format!("# before an act: keep {} down", supervisor.name));
        lines.push(supervisor.hold.clone());
        lines.push("# after it".to_owned());
        lines.push(supervisor.release.clone());
    }
    if let Some(shown) = world.plan.as_ref().filter(|shown| !shown.applied) {
        lines.push(format!(
            "# the plan on screen ({})",
            short_hash(&shown.hash)
        ));
        let hand_over = hand_over_word(shown.request.hand_over);
        let hash = short_hash(&shown.hash);
        let truncation = truncation_words(&shown.request);
        let mut words = match &truncation {
            Some(words) => words.iter().map(String::as_str).collect(),
            None => vec!["recover", "--hand-over", hand_over],
        };
        words.extend(["--apply", "--yes", hash]);
        lines.push(line(&words));
    }
    if let Some(row) = state.selected_log() {
        if row.open_ask().is_some() {
            lines.push("# the ways to decide the selected log".to_owned());
            let name = row.dir_name.as_str();
            for way in ["cut-here", "leave", "like-kafka"] {
                let decision = format!("{name}={way}");
                let words = ["recover", "--partition", name, "--decide", &decision];
                lines.push(line(&words));
            }
        }
        if let Some(detail) = &state.view.detail
            && let Some((path, _)) = detail.place(world)
        {
            lines.push("# the selected file".to_owned());
            let path = path.display().to_string();
            lines.push(format!("krescue dump {}", quote(&path)));
            let kind = crate::app::state::Detail::items(world, row);
            if matches!(kind.get(detail.cursor), Some(DetailItem::Segment(_))) {
                let path = quote(&path);
                lines.push(format!("kafka-dump-log.sh --files {path} --deep-iteration"));
            }
        }
    }
    if let Some(super::state::WorkKind::Apply { job, .. }) = world.work.as_ref().map(|w| &w.kind) {
        lines.push("# the job".to_owned());
        lines.push("krescue jobs".to_owned());
        lines.push(format!("krescue stop {}", quote(job)));
    }
    lines
}

/// Returns the command that truncates what `request` names, if it is a truncation.
fn truncation_words(request: &PlanRequest) -> Option<Vec<String>> {
    let (target, Scope::Logs(logs)) = (request.truncation?, &request.scope) else {
        return None;
    };
    let (_, name) = logs.first()?;
    let mut words = vec!["truncate".to_owned(), name.clone()];
    words.extend(truncation_option(target).split(' ').map(str::to_owned));
    Some(words)
}

/// Returns the option of `truncate` that says `target`.
pub fn truncation_option(target: TruncationTarget) -> String {
    match target {
        TruncationTarget::Offset(offset) => format!("--to-offset {offset}"),
        TruncationTarget::Epoch(epoch) => format!("--to-epoch {epoch}"),
        TruncationTarget::HighWatermark => "--to-high-watermark".to_owned(),
        TruncationTarget::LastStable => "--to-last-stable".to_owned(),
    }
}

/// Returns the word of `--hand-over`.
pub fn hand_over_word(hand_over: HandOver) -> &'static str {
    match hand_over {
        HandOver::None => "none",
        HandOver::Verify => "verify",
        HandOver::Clean => "clean",
    }
}

/// Returns the first eight digits of a hash, which is what a person compares.
pub fn short_hash(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

/// Returns a word as a shell takes it.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quote("/var/lib/kafka,/x"), "/var/lib/kafka,/x");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), "'it'\\''s'");
        assert_eq!(quote(""), "''");
    }
}
