//! The one question a screen answers first: what is wrong, how long it takes, what may be done.

use crate::engine::Phase;
use crate::log::Severity;
use crate::plan::{Ask, PlanAct, StopState, Verdict};

use super::boot_words;
use super::broken_job::{broken_off, killed};
use super::confirm::PlanSummary;
use super::facts::Presence;
use super::replica_words;
use super::state::{Beside, State, Work, WorkKind, World, seconds};
use super::text;
use super::volume_words;

/// How urgent the situation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Nothing to do.
    Fine,
    /// Something runs; it is told how far it is.
    Busy,
    /// Something is to be done.
    Work,
    /// Something must not be done.
    Danger,
}

/// The second line of every screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Situation {
    /// How urgent.
    pub urgency: Urgency,
    /// One sentence with a number and a time, as far as they are known.
    pub text: String,
    /// The command that helps.
    pub offer: &'static str,
}

impl Situation {
    pub(super) fn new(urgency: Urgency, text: impl Into<String>, offer: &'static str) -> Self {
        Self {
            urgency,
            text: text.into(),
            offer,
        }
    }

    /// Returns the situation that the shown facts make, the first in the order of precedence.
    pub fn of(state: &State) -> Self {
        let world = state.shown();
        not_open(world)
            .or_else(|| crash_loop(world))
            .or_else(|| world.running().map(|work| running(work, state)))
            .or_else(|| killed(world))
            .or_else(|| broken_off(world))
            .or_else(|| boots(world, state))
            .or_else(|| broker_runs(world, state))
            .or_else(|| destroys(world))
            .or_else(|| is_decided_only(world))
            .or_else(|| full_volume(world))
            .or_else(|| fails(world))
            .or_else(|| unclean(world))
            .or_else(|| volumes(world))
            .unwrap_or_else(|| fine(world))
    }
}

fn not_open(world: &World) -> Option<Situation> {
    if let Some(cause) = &world.list_error {
        let text = format!("the log dirs could not be listed: {cause}");
        return Some(Situation::new(Urgency::Work, text, "r"));
    }
    if world.broker.is_none() {
        let text = match world.choices.len() {
            0 | 1 => "looking at the broker of this host".to_owned(),
            found => format!("{found} brokers were found on this host: choose one"),
        };
        return Some(Situation::new(Urgency::Busy, text, ""));
    }
    world.listed.is_none().then(|| {
        let text = "reading names, sizes and checkpoints of the log dirs";
        Situation::new(Urgency::Busy, text, "")
    })
}

fn running(work: &Work, state: &State) -> Situation {
    let (done, total) = work.progress.bytes();
    let (logs, of_logs) = work.progress.logs();
    let mut text = match work.progress.phase {
        Phase::Listing if work.kind == WorkKind::Preflight => format!(
            "looking what stands in the way of a boot: {} of {}",
            text::count(logs),
            text::plural(of_logs, "log", "logs"),
        ),
        Phase::Listing => "listing the log dirs".to_owned(),
        Phase::Scanning => format!(
            "reading batches: {} in {logs} of {}",
            text::bytes_of(done, total),
            text::plural(of_logs, "log", "logs"),
        ),
        Phase::Checking => "checking locks, space and permissions before the first step".to_owned(),
        Phase::Applying => format!(
            "{}: {} of {}",
            if deletes(state.shown()) {
                "deleting"
            } else {
                "recovering"
            },
            text::count(work.progress.steps_done),
            text::plural(work.progress.steps_total, "step", "steps"),
        ),
        Phase::Syncing => "all steps are done: syncing the volumes".to_owned(),
        Phase::HandingOver => "writing checkpoints and markers".to_owned(),
        Phase::Ended => "ending".to_owned(),
    };
    if work.progress.phase == Phase::Scanning
        && let Some(rate) = work.rate()
    {
        text = format!("{text} at {}", text::rate(rate));
    }
    if matches!(work.progress.phase, Phase::Scanning | Phase::Applying) {
        text = match work.left() {
            Some(left) => {
                let left_ms = i64::try_from(left).unwrap_or(0).saturating_mul(1000);
                let end = crate::terms::Timestamp(state.now.0.saturating_add(left_ms));
                let end = text::clock(end, &state.setup.zone);
                format!("{text}, ~{} left, until {end}", text::duration(left))
            }
            None => format!("{text}, time left ?"),
        };
    }
    if work.stopping {
        text = format!("stopping: {text}");
    }
    Situation::new(
        Urgency::Busy,
        text,
        if work.stopping { "" } else { ":stop" },
    )
}

/// Says whether the newest plan is one that frees space.
pub(super) fn deletes(world: &World) -> bool {
    let act = world.plan.as_ref().map(|shown| shown.plan.act);
    act == Some(PlanAct::CleanUp)
}

/// Boots fail one after the other.
fn crash_loop(world: &World) -> Option<Situation> {
    let boot = world.boot.as_ref().filter(|boot| !boot.is_up())?;
    let text = boot.foresight(world.measured_rate).crash_loop?;
    Some(Situation::new(Urgency::Danger, text, ":recover"))
}

/// The broker boots, or the boot that was watched has ended and nothing newer is known.
fn boots(world: &World, state: &State) -> Option<Situation> {
    let boot = world.boot.as_ref()?;
    let lost = match boot.losses() {
        0 => String::new(),
        lost => format!("{} so far; ", text::plural(lost, "LOSS", "LOSSES")),
    };
    let urgency = if lost.is_empty() {
        Urgency::Busy
    } else {
        Urgency::Danger
    };
    if boot.goes_on() {
        let text = boot_words::situation(&boot.report, &state.setup.zone);
        if let Some(kill) = boot.foresight(world.measured_rate).killed {
            let at = text::clock(kill.at, &state.setup.zone);
            let text = format!("{lost}WILL BE KILLED at {at} ({}): {text}", kill.who);
            return Some(Situation::new(Urgency::Danger, text, "1"));
        }
        let text = format!("{lost}{text}");
        return Some(Situation::new(urgency, text, "2 watch"));
    }
    if boot.is_up()
        && let Some(seen) = boot
            .report
            .catch_up
            .as_ref()
            .filter(|seen| seen.is_behind())
    {
        let text = boot_words::catch_up(seen, boot.report.at);
        let text = format!("{lost}the broker is up but not back: {text}");
        return Some(Situation::new(urgency.max(Urgency::Work), text, "2"));
    }
    if boot.is_up() {
        let told = lost.replace(" so far; ", " in this boot");
        let text = format!("the broker is up; {told}");
        return (!told.is_empty()).then(|| Situation::new(urgency, text, "2"));
    }
    let end = boot.report.end.as_ref()?;
    let down = matches!(world.presence(), Some(Presence::Down));
    down.then(|| {
        Situation::new(
            Urgency::Danger,
            boot_words::ended_by(end, boot.report.kernel_kill.as_ref()),
            "2",
        )
    })
}

/// A volume is full, failed or filling.
fn volumes(world: &World) -> Option<Situation> {
    let (urgency, text) = volume_words::trouble(world)?;
    // A dir that failed is mended, not emptied.
    let offer = match volume_words::failed(world) {
        Some(_) => "4",
        None => "4 f free",
    };
    Some(Situation::new(urgency, text, offer))
}

/// The broker is down, and a volume has not the room that a boot needs.
fn full_volume(world: &World) -> Option<Situation> {
    let (urgency, text) = volume_words::full(world)?;
    let text = format!("down, a boot will fail: {text}");
    Some(Situation::new(urgency, text, "4 f free"))
}

fn broker_runs(world: &World, state: &State) -> Option<Situation> {
    let Some(Presence::Running { pid }) = world.presence() else {
        return None;
    };
    let pid = pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    if let Some(of_volumes) = volumes(world) {
        let text = format!("the broker runs{pid}: {}", of_volumes.text);
        return Some(Situation { text, ..of_volumes });
    }
    if let Some(facts) = &world.cluster.facts {
        let sums = facts.sums();
        if sums.out_of_sync + sums.under_min_isr + sums.without_leader > 0 {
            let text = format!(
                "the broker runs{pid}: {}",
                replica_words::state_words(&sums)
            );
            return Some(Situation::new(Urgency::Work, text, "5"));
        }
    }
    if let [first, more @ ..] = world.in_force.as_slice() {
        let more = match more.len() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let text = format!(
            "EMERGENCY VALUE IN FORCE, set {}: {}{more}",
            text::age(first.since, state.now),
            first.plan.sentence()
        );
        return Some(Situation::new(Urgency::Work, text, "5 x"));
    }
    let logs = text::plural(world.logs.len(), "log", "logs");
    let bytes = world.logs.rows().filter_map(|row| row.bytes).sum();
    let fullest = volume_words::fullest(world);
    let fullest = fullest.map_or_else(String::new, |free| format!(", {free}"));
    let text = format!(
        "the broker runs{pid}: {logs}, {}{fullest}; looking costs it nothing, reading batches must be asked for",
        text::bytes(bytes),
    );
    Some(Situation::new(Urgency::Fine, text, ":scan"))
}

/// Returns what a boot would delete of the logs that ask, by their dirs' names, the worst first; `None` if none asks.
pub fn do_not_start(asks: &mut [(&str, &Ask)]) -> Option<String> {
    asks.sort_by_key(|(_, ask)| std::cmp::Reverse((ask.lost_bytes, ask.lost_segments)));
    let (name, worst) = asks.first()?;
    let what = match worst.lost_segments {
        0 => "good batches".to_owned(),
        segments => text::plural(segments, "segment", "segments"),
    };
    let others = match asks.len() - 1 {
        0 => String::new(),
        1 => ", and of 1 log more".to_owned(),
        more => format!(", and of {more} logs more"),
    };
    Some(format!(
        "DO NOT START: a boot deletes {what} of {name} ({}){others}",
        text::bytes(worst.lost_bytes)
    ))
}

fn destroys(world: &World) -> Option<Situation> {
    let mut asks: Vec<(&str, &Ask)> = world
        .logs
        .rows()
        .filter_map(|row| Some((row.dir_name.as_str(), row.open_ask()?)))
        .collect();
    let danger = do_not_start(&mut asks)?;
    let reads = boot_reads(world).map_or_else(String::new, |bytes| {
        format!("; it reads {}{}", text::bytes(bytes), time_of(world, bytes))
    });
    let rest = match summary(world) {
        Some(sum) if sum.changed > 0 => {
            format!(
                "; {} can be recovered",
                text::plural(sum.changed, "log", "logs")
            )
        }
        _ => String::new(),
    };
    let text = format!("{danger}{reads}{rest}");
    Some(Situation::new(Urgency::Danger, text, "2 decide"))
}

/// A decision that is not carried out keeps no boot from Kafka's way.
fn is_decided_only(world: &World) -> Option<Situation> {
    let mut decided = world.logs.rows().filter(|row| row.is_decided_only());
    let first = &decided.next()?.dir_name;
    let others = match decided.count() {
        0 => String::new(),
        more => format!(
            " and {}",
            text::plural(more as u64, "log more", "logs more")
        ),
    };
    let text = format!(
        "DO NOT START before the plan is carried out: a boot deletes good records of {first}{others}"
    );
    Some(Situation::new(Urgency::Danger, text, ":plan"))
}

fn unclean(world: &World) -> Option<Situation> {
    let dirs = &world.logs.dirs;
    let unclean = dirs
        .iter()
        .filter(|dir| dir.stop == Some(StopState::Unclean))
        .count();
    if unclean == 0 {
        return None;
    }
    let reads = boot_reads(world);
    let mut text = match unclean {
        _ if unclean == dirs.len() => "down, unclean".to_owned(),
        _ => format!("down, {unclean} of {} log dirs unclean", dirs.len()),
    };
    if matches!(world.presence(), Some(Presence::Unknown { .. }) | None) {
        text = text.replacen("down", "down ?", 1);
    }
    match reads {
        Some(bytes) => {
            let time = time_of(world, bytes);
            text = format!("{text}: a boot reads {}{time}", text::bytes(bytes));
        }
        None => text.push_str(": a boot reads ? bytes"),
    }
    let Some(sum) = summary(world) else {
        text.push_str(" and cuts ?: batches were not read");
        return Some(Situation::new(Urgency::Work, text, ":recover"));
    };
    let urgency = if sum.changed > 0 || sum.left() > 0 {
        Urgency::Work
    } else {
        Urgency::Fine
    };
    text = match (sum.cut_logs, sum.changed) {
        (0, 0) => format!("{text} and changes nothing"),
        (0, changed) => format!(
            "{text}, cuts nothing, rebuilds files of {}",
            text::plural(changed, "log", "logs")
        ),
        (cut, changed) => format!(
            "{text}, cuts {} off {}, rebuilds files of {}",
            text::bytes(sum.cut_bytes),
            text::plural(cut, "log", "logs"),
            text::plural(changed, "log", "logs")
        ),
    };
    if let Some(why) = stays(&sum) {
        text = format!("{text}; {why}");
    }
    let offer = if urgency == Urgency::Fine {
        ""
    } else {
        ":recover"
    };
    Some(Situation::new(urgency, text, offer))
}

fn fails(world: &World) -> Option<Situation> {
    let dir = world.logs.dirs.iter().find_map(|dir| {
        let fatal = |finding: &&crate::log::Finding| finding.severity == Severity::Fatal;
        Some((dir, dir.findings.iter().find(fatal)?))
    });
    if let Some((dir, finding)) = dir {
        let place = match &finding.file {
            Some(file) => format!("{}/{file}", dir.label),
            None => dir.label.clone(),
        };
        let text = format!("down, a boot will fail: {place}: {}", finding.text);
        return Some(Situation::new(Urgency::Danger, text, ":mend"));
    }
    let row = world.logs.rows().find_map(|row| {
        let Some(Verdict::Refused { cause }) = &row.verdict else {
            return None;
        };
        Some((row, cause))
    })?;
    let text = format!("a boot fails at {}: {}", row.0.dir_name, row.1);
    Some(Situation::new(Urgency::Danger, text, "2"))
}

fn fine(world: &World) -> Situation {
    let dirs = world.logs.dirs.len() as u64;
    if dirs == 0 {
        return Situation::new(Urgency::Work, "there is no log dir to look at", "");
    }
    let unknown = world
        .logs
        .dirs
        .iter()
        .filter(|dir| dir.stop.is_none())
        .count();
    if unknown > 0 {
        let text = format!("{unknown} of {dirs} log dirs could not be read");
        return Situation::new(Urgency::Work, text, "2");
    }
    let logs = text::plural(world.logs.len(), "log", "logs");
    let dirs = text::plural(dirs, "log dir", "log dirs");
    match summary(world) {
        Some(sum) if sum.changed > 0 || sum.left() > 0 => {
            let text = format!(
                "down, clean, but {} would change at a boot",
                text::plural(sum.changed + sum.left(), "log", "logs")
            );
            Situation::new(Urgency::Work, text, ":recover")
        }
        Some(_) => {
            let text =
                format!("down, clean: a boot loads {logs} in {dirs} and reads no batch again");
            Situation::new(Urgency::Fine, text, "")
        }
        None => {
            let text = format!("down, clean: {logs} in {dirs}; batches were not read");
            Situation::new(Urgency::Fine, text, "")
        }
    }
}

fn stays(sum: &PlanSummary) -> Option<String> {
    let parts: Vec<String> = [(sum.refused, "REFUSED"), (sum.unreadable, "UNREADABLE")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns the newest plan in numbers, if it speaks of the files as they are.
fn summary(world: &World) -> Option<PlanSummary> {
    let shown = world.plan.as_ref()?;
    let is_recovery = !matches!(shown.plan.act, PlanAct::Mend | PlanAct::CleanUp);
    (!shown.applied && shown.beside == Beside::Nobody && is_recovery).then_some(shown.sum)
}

/// Returns how long `bytes` take at the rate that was measured here; empty where none was.
fn time_of(world: &World, bytes: u64) -> String {
    let Some(rate) = world.measured_rate else {
        return String::new();
    };
    seconds(bytes, rate).map_or_else(String::new, |left| {
        format!(" (~{} at {})", text::duration(left), text::rate(rate))
    })
}

fn boot_reads(world: &World) -> Option<u64> {
    world.logs.rows().map(|row| row.boot_reads).sum()
}
