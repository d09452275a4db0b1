//! The same as command lines: what the screen shows or would do, to be typed, mailed or scripted.

use crate::plan::retention::WhatIfScope;
use crate::plan::{HandOver, TruncationTarget};

use super::action::PaneId;
use super::effect::{Copies, PlanRequest, Scope};

use super::free_words::command_words;
use super::state::{DetailItem, MirrorPage, MirrorRow, ShownPlan, State};

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
        let words = truncation_words(&shown.request)
            .or_else(|| mend_words(&shown.request))
            .or_else(|| cleanup_words(shown));
        let mut words = match (&words, &shown.plan.undoes) {
            (_, Some(undone)) => vec!["undo", short_hash(undone)],
            (Some(words), None) => words.iter().map(String::as_str).collect(),
            (None, None) => vec!["recover", "--hand-over", hand_over],
        };
        words.extend(["--apply", "--yes", hash]);
        lines.push(line(&words));
    }
    if state.view.pane == PaneId::Segments {
        lines.extend(segment_lines(state, &line));
    }
    if state.view.pane == PaneId::Mirror {
        lines.extend(mirror_lines(state));
    }
    if let Some(row) = state.selected_log() {
        if let Some(ask) = row.open_ask() {
            lines.push("# the ways to decide the selected log".to_owned());
            let name = row.dir_name.as_str();
            let first = ask.no_set_aside.is_none().then_some("set-aside");
            let ways = first
                .into_iter()
                .chain(ask.can_cut_here().then_some("cut-here"))
                .chain(ask.can_leave().then_some("leave"));
            for way in ways.chain(["like-kafka"]) {
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

/// Returns what the segments pane shows, and what sets the limits that are tried there.
fn segment_lines(state: &State, line: &dyn Fn(&[&str]) -> String) -> Vec<String> {
    let view = &state.view.segments;
    let (wish, _) = view.what_if.wish();
    let values = wish.to_string();
    let mut words = vec!["segments"];
    words.extend(view.open.as_ref().map(|(_, name)| name.as_str()));
    if !values.is_empty() {
        words.extend(["--what-if", &values]);
    }
    let mut lines = vec!["# the segments on screen".to_owned(), line(&words)];
    let scope = state
        .shown()
        .retention
        .as_ref()
        .map(|facts| view.scope(facts));
    if let Some(of) = crate::app::act::tried(state, Copies::Kept) {
        let mut words = vec!["cleanup", "--past-retention"];
        words.extend(of.names.iter().map(String::as_str));
        words.extend(["--what-if", &values]);
        lines.push("# deletes what these limits take, with the broker down".to_owned());
        lines.push(line(&words));
    }
    let entity = match scope {
        Some(WhatIfScope::Partition(partition)) => {
            Some(format!("topics --entity-name {}", quote(&partition.topic)))
        }
        Some(WhatIfScope::Topic(topic)) => Some(format!("topics --entity-name {}", quote(&topic))),
        _ => None,
    };
    if let (Some(entity), false) = (entity, values.is_empty()) {
        lines.push("# the same limits on the living cluster, for the whole topic".to_owned());
        lines.push(format!(
            "kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type {entity} --add-config {values}"
        ));
    }
    lines
}

/// Returns what the mirror pane shows, and what writes the positions of the flow that is open.
fn mirror_lines(state: &State) -> Vec<String> {
    let Some(Ok(world)) = &state.shown().mirror else {
        return vec![];
    };
    let line = |words: &[&str]| {
        let words = ["krescue", "mirror"].iter().chain(words).copied();
        let sources = world.words.iter().map(String::as_str);
        let words: Vec<String> = words.chain(sources).map(quote).collect();
        words.join(" ")
    };
    let mut lines = vec![
        "# the mirror".to_owned(),
        line(&["flows", "--partitions"]),
        line(&["lint"]),
    ];
    let flow = match &state.view.mirror.page {
        MirrorPage::Flows => match state.view.mirror.selected() {
            Some(MirrorRow::Flow(name)) => Some(name.to_string()),
            _ => None,
        },
        MirrorPage::Partitions(name) | MirrorPage::Groups(name, _) => Some(name.to_string()),
    };
    if let Some(flow) = flow {
        lines.push("# where its groups go on, and files for kafka-consumer-groups.sh".to_owned());
        lines.push(line(&["failover", &flow, "--csv", "positions"]));
        lines.push(line(&["promote", &flow]));
    }
    lines
}

/// Returns the command that mends, if `request` asks for that.
fn mend_words(request: &PlanRequest) -> Option<Vec<String>> {
    let words = ["preflight", "--fix"].map(str::to_owned);
    (request.scope == Scope::Mends).then(|| words.to_vec())
}

/// Returns the command that deletes what `shown` does, if it is a cleanup.
fn cleanup_words(shown: &ShownPlan) -> Option<Vec<String>> {
    match &shown.request.scope {
        Scope::Cleanup(request) => Some(command_words(request, shown.sum.freed_bytes)),
        _ => None,
    }
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
pub fn quote(word: &str) -> String {
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
