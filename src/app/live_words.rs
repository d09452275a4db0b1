//! What is said of acts on a living cluster.

use super::state::Freeing;
use super::text::{UNKNOWN, age, bytes, duration, offset, plural};
use crate::plan::{BrokerFreed, Class, GroupPositions, LiveAct, LiveMirrors, LivePlan};
use crate::terms::Timestamp;

/// Groups that are named; of more the number is told.
const NAMED_GROUPS: usize = 8;
/// How the line begins that says when the brokers act.
const NEXT_PASS: &str = "each broker's next pass";
/// Positions that are told one by one.
const NAMED_POSITIONS: usize = 24;

/// Returns a plan line by line, for people.
pub fn plan_lines(hash: &str, plan: &LivePlan) -> Vec<String> {
    let short = hash.get(..8).unwrap_or(hash);
    let mut lines = vec![
        format!("PLAN {short} · class {:?}", plan.class()),
        format!("  {}", plan.sentence()),
        format!("  goes       {}", loss(plan)),
    ];
    if plan.made_anew {
        let text =
            "it was deleted and made anew since: what is put back was set on the topic before it";
        lines.push(format!("  topic      {text}"));
    }
    for below in plan.groups.iter().take(NAMED_GROUPS) {
        lines.push(format!(
            "  group      {} has committed {} of {}: it has not read all that goes",
            below.group, below.committed, below.partition
        ));
    }
    if plan.groups.len() > NAMED_GROUPS {
        lines.push(format!(
            "  group      and {} more",
            plan.groups.len() - NAMED_GROUPS
        ));
    }
    let unasked = plan.groups_unasked.iter().take(NAMED_GROUPS);
    lines.extend(unasked.map(|what| format!("  group      {UNKNOWN}: {what}")));
    if plan.groups_unasked.len() > NAMED_GROUPS {
        let more = plan.groups_unasked.len() - NAMED_GROUPS;
        lines.push(format!(
            "  group      {UNKNOWN}: and {more} more that could not be asked"
        ));
    }
    lines.extend(plan.notes.iter().map(|note| format!("  note       {note}")));
    lines.extend(mirror_lines(&plan.mirrors));
    if plan.can_be_restored() {
        lines.push(format!(
            "  kept       the old value, until: krescue {}",
            restore_words(plan)
        ));
    }
    if let LiveAct::GroupPositions(positions) = &plan.act {
        lines.extend(position_lines(positions));
    }
    if let LiveAct::TopicConfigs { changes, .. } = &plan.act
        && !plan.loses_nothing()
        && !changes
            .iter()
            .any(|change| change.key == "file.delete.delay.ms")
    {
        let text = "files go file.delete.delay.ms (60 s) after the brokers' pass; --set file.delete.delay.ms=0 beside it saves that";
        lines.push(format!("  when       {text}"));
    }
    if let LiveAct::ProducerQuota { .. } = plan.act {
        let text = "a cap holds for each broker apart; the protocol does not tell which client writes how much";
        lines.push(format!("  note       {text}"));
    }
    lines
}

/// Returns which mirrors may not have what goes.
fn mirror_lines(mirrors: &LiveMirrors) -> Vec<String> {
    let mut lines = Vec::new();
    for below in mirrors.below.iter().take(NAMED_GROUPS) {
        let copied = below.copied.map_or_else(
            || "nothing".to_owned(),
            |copied| format!("it up to {}", offset(copied)),
        );
        let last = below.last_sync;
        lines.push(format!(
            "  mirror     {} has {copied} of {} for certain: {} go that it may not have (its newest sync: {})",
            below.mirror,
            below.partition,
            plural(below.uncopied, "offset", "offsets"),
            last.map_or_else(|| UNKNOWN.to_owned(), Timestamp::rfc3339)
        ));
    }
    if mirrors.below.len() > NAMED_GROUPS {
        let more = mirrors.below.len() - NAMED_GROUPS;
        lines.push(format!("  mirror     and {more} more partitions"));
    }
    let unread = mirrors.unread.iter();
    lines.extend(unread.map(|why| format!("  mirror     {UNKNOWN}: {why}")));
    lines
}

/// Returns what a class means for a living cluster.
pub fn class_words(class: Class) -> &'static str {
    match class {
        Class::A => "class A: nothing is lost",
        Class::B => "class B: what the brokers delete then",
        Class::C => "class C: good data is lost",
    }
}

/// Returns where each group goes on.
fn position_lines(positions: &GroupPositions) -> Vec<String> {
    let mut lines: Vec<String> = positions
        .changes
        .iter()
        .take(NAMED_POSITIONS)
        .map(|change| {
            let before = change.before.as_ref();
            let before = before.map_or_else(|| "none".to_owned(), |it| offset(it.offset));
            format!(
                "  position   {} in {}: {before} -> {}",
                change.group,
                change.partition,
                offset(change.to.offset)
            )
        })
        .collect();
    if positions.changes.len() > NAMED_POSITIONS {
        let more = positions.changes.len() - NAMED_POSITIONS;
        lines.push(format!("  position   and {more} more (--json tells all)"));
    }
    lines.push(
        "  note       stop MirrorMaker 2 first: its group sync moves groups forward again"
            .to_owned(),
    );
    lines
}

/// Returns what goes.
pub fn loss(plan: &LivePlan) -> String {
    let records = plan
        .loss
        .records
        .map(|records| plural(records, "record", "records"));
    match (plan.loss.bytes, records) {
        (Some(0), _) => "nothing".to_owned(),
        (Some(size), Some(records)) => {
            format!(
                "at most {} on each replica, {records} (whole segments only)",
                bytes(size)
            )
        }
        (Some(size), None) => format!("at most {} on each replica", bytes(size)),
        (None, _) => format!("{UNKNOWN}: it depends on what comes into force then"),
    }
}

/// Returns what must be typed beside the host for a loss.
pub fn loss_phrase(plan: &LivePlan) -> String {
    plan.loss.bytes.map_or_else(|| plan.object(), bytes)
}

/// Returns the words of the command that puts the old values back.
pub fn restore_words(plan: &LivePlan) -> String {
    match &plan.act {
        LiveAct::TopicConfigs { topic, .. } => format!("retention {topic} --restore"),
        LiveAct::ProducerQuota { client_id, .. } => {
            let client = client_id
                .as_ref()
                .map_or_else(String::new, |id| format!(" --client-id {id}"));
            format!("quota --restore{client}")
        }
        LiveAct::GroupPositions(positions) => format!(
            "mirror failover '{}' --restore --cluster {}",
            positions.flow, positions.target
        ),
        LiveAct::DeleteRecords { .. } | LiveAct::MoveReplica { .. } | LiveAct::Cordon { .. } => {
            String::new()
        }
    }
}

/// Returns when the brokers act on a change of settings.
pub fn next_pass(every_ms: Option<u64>) -> String {
    let when = every_ms.map_or_else(|| UNKNOWN.to_owned(), |ms| duration(ms.div_ceil(1000)));
    format!("{NEXT_PASS} comes within {when} (log.retention.check.interval.ms)")
}

/// Returns how long the next pass takes at most, for a change made at `since`.
pub fn next_pass_in(since: Timestamp, every_ms: Option<u64>, now: Timestamp) -> String {
    let Some(every) = every_ms else {
        return format!("each broker's next pass: {UNKNOWN}");
    };
    let gone = u64::try_from(now.0.saturating_sub(since.0)).unwrap_or(0);
    match every.checked_sub(gone) {
        Some(left) if left > 0 => {
            let left = duration(left.div_ceil(1000));
            format!("each broker's first pass since the change comes within {left}")
        }
        _ => "every broker has made a pass since the change".to_owned(),
    }
}

/// Returns which brokers were asked for a change and have it, and which do not say so.
pub fn read_back(has: &[i32], has_not: &[i32]) -> Vec<String> {
    let brokers = |ids: &[i32]| {
        let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
        let word = if ids.len() == 1 { "broker" } else { "brokers" };
        format!("{word} {}", ids.join(", "))
    };
    let has = (!has.is_empty()).then(|| format!("in force, read back from {}", brokers(has)));
    let has_not = (!has_not.is_empty()).then(|| format!("NOT read back from {}", brokers(has_not)));
    has.into_iter().chain(has_not).collect()
}

/// Returns what a broker has freed since a change, against what was promised.
pub fn freed_line(of: &BrokerFreed, promised: Option<u64>) -> String {
    let promised = promised.map_or_else(
        || "what goes was not foretold".to_owned(),
        |promised| format!("at most {} were promised", bytes(promised)),
    );
    let broker = of.broker;
    let (Some(now), Some(freed)) = (of.now, of.freed()) else {
        return format!("broker {broker}: {UNKNOWN}; {promised}");
    };
    let records = plural(of.records, "record", "records");
    format!(
        "broker {broker}: {} ({} -> {}), its logs begin {records} later; {promised}",
        bytes(freed),
        bytes(of.before),
        bytes(now)
    )
}

/// Returns what a change has freed so far, in a sentence: the brokers, what was promised, and until when more may come.
pub fn freed_so_far(freeing: &Freeing, now: Timestamp) -> String {
    let so_far = &freeing.so_far;
    let brokers: Vec<String> = so_far
        .brokers
        .iter()
        .map(|of| {
            let freed = of.freed().map_or_else(|| UNKNOWN.to_owned(), bytes);
            format!("broker {} {freed}", of.broker)
        })
        .collect();
    let promised = so_far.promised.map_or_else(
        || UNKNOWN.to_owned(),
        |promised| format!("at most {}", bytes(promised)),
    );
    let until = match freeing.stays {
        Some(_) => "it is over".to_owned(),
        None => next_pass_in(so_far.since, so_far.every_ms, now),
    };
    format!(
        "{} freed: {}, of {promised} each; {until}; :freed tells all",
        freeing.plan.object(),
        brokers.join(", ")
    )
}

/// What a line of the box of a plan that was carried out is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// What was done.
    Act,
    /// What came of it at once.
    Done,
    /// What was freed, or how long that takes.
    Freed,
    /// What stays, and why.
    Stays,
    /// What can be done next.
    Next,
}

/// Returns what came of a plan, line by line: a word and the rest.
pub fn outcome_lines(
    plan: &LivePlan,
    done: &[String],
    freeing: Option<&Freeing>,
    now: Timestamp,
) -> Vec<(Told, &'static str, String)> {
    let mut lines = vec![
        (Told::Act, "", plan.sentence()),
        (Told::Act, "goes", loss(plan)),
    ];
    // A countdown says the same, and goes on.
    let is_pass = |line: &&String| freeing.is_none() || !line.starts_with(NEXT_PASS);
    let done = done.iter().filter(is_pass);
    lines.extend(done.map(|line| (Told::Done, "done", line.clone())));
    if let Some(freeing) = freeing {
        let so_far = &freeing.so_far;
        if freeing.stays.is_none() {
            let text = next_pass_in(so_far.since, so_far.every_ms, now);
            lines.push((Told::Freed, "pass", text));
        }
        let freed = so_far.brokers.iter();
        let freed = freed.map(|of| freed_line(of, so_far.promised));
        lines.extend(freed.map(|text| (Told::Freed, "freed", text)));
        let stays = freeing.stays.iter().flatten();
        lines.extend(stays.map(|text| (Told::Stays, "stays", text.clone())));
    }
    if plan.can_be_restored() {
        let text = format!(
            "o in the acts (x), or krescue {} --apply",
            restore_words(plan)
        );
        lines.push((Told::Next, "put back", text));
    }
    lines
}

/// Returns the reminder of a change whose old values are not back.
pub fn reminder(plan: &LivePlan, since: Timestamp, now: Timestamp) -> String {
    format!(
        "in force, set {}: {}; put it back: krescue {} --apply",
        age(since, now),
        plan.sentence(),
        restore_words(plan)
    )
}
