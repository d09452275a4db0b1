//! Whether boots fail one after the other, who will end the present one, and what is shorter: to wait or to recover offline.

use crate::observe::server_log::BootPhase;
use crate::observe::{Attempt, BootReport, History, Span};
use crate::terms::Timestamp;

use super::text;

/// How much longer than a boot a limit is to be.
const MARGIN: u64 = 2;
/// What a stop, and a boot that has nothing to read, take together at least, in seconds.
const RESTART_S: u64 = 60;
/// How far the ends of killed boots may lie apart and still be one limit, in percent.
const ALIKE: i64 = 25;

/// What is known of the present boot.
#[derive(Debug, Clone, Copy)]
pub struct Prospect<'a> {
    /// What came before, and who supervises.
    pub history: &'a History,
    /// When the process began.
    pub began: Option<Timestamp>,
    /// The present.
    pub now: Timestamp,
    /// How long the boot still takes; `None` if nobody knows.
    pub left: Option<Span>,
    /// Bytes that it reads in all.
    pub bytes_total: Option<u64>,
    /// Bytes a second at which krescue reads batches here, else those that the rest of the boot is expected to go at.
    pub rate: Option<u64>,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Foresight {
    /// The crash loop, as a sentence; `None` if there is none.
    pub crash_loop: Option<String>,
    /// Who ends this boot before it is done, and when.
    pub killed: Option<Kill>,
    /// What to do, a sentence.
    pub advice: Option<String>,
}

/// The end of a boot that something outside brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kill {
    /// When.
    pub at: Timestamp,
    /// What does it, with its limit.
    pub who: String,
    /// What is to be raised, and to how much.
    pub raise: String,
}

/// Judges a boot that goes on, or one that has just ended.
pub fn foresee(prospect: &Prospect<'_>) -> Foresight {
    let mut foresight = Foresight {
        killed: kill(prospect),
        ..Foresight::default()
    };
    foresight.crash_loop = crash_loop(prospect, foresight.killed.as_ref());
    foresight.advice = advice(prospect, foresight.killed.as_ref());
    foresight
}

/// Judges the boot of a report; `rate` is that at which krescue reads batches here, if it was measured.
pub fn foresee_report(look: &BootReport, history: &History, rate: Option<u64>) -> Foresight {
    let loading = look.phase <= BootPhase::Loading;
    // krescue is at least as fast as the broker will be over what is left.
    let of_boot = || {
        let progress = look.progress?;
        let left = progress.bytes_total.saturating_sub(progress.bytes_done);
        let seconds = u64::try_from(progress.left?.likely_ms / 1000).ok()?;
        left.checked_div(seconds)
    };
    foresee(&Prospect {
        history,
        began: look.began,
        now: look.at,
        left: look
            .progress
            .and_then(|progress| progress.left)
            .filter(|_| loading),
        bytes_total: look.progress.map(|progress| progress.bytes_total),
        rate: rate.or_else(of_boot),
    })
}

/// Returns the limit that this boot will not keep at its present rate.
fn kill(prospect: &Prospect<'_>) -> Option<Kill> {
    let began = prospect.began?;
    let left = prospect.left?;
    let needs = prospect
        .now
        .0
        .saturating_sub(began.0)
        .saturating_add(left.likely_ms);
    let (limit, who, setting) = limit(prospect)?;
    let limit_ms = i64::try_from(limit).ok()?;
    if needs <= limit_ms {
        return None;
    }
    let minutes = u64::try_from(needs)
        .ok()?
        .saturating_mul(MARGIN)
        .div_ceil(60_000);
    let raise = match setting {
        Setting::Unit(unit, key) => format!(
            "systemctl edit {unit}: [Service] {key}={minutes}min, then systemctl daemon-reload; it counts from the next start on"
        ),
        Setting::Probe => format!(
            "the probe's budget to {minutes} min: startupProbe with periodSeconds: 10 and failureThreshold: {}",
            minutes * 6
        ),
        Setting::Unknown => format!("whatever ends the broker, to more than {minutes} min"),
    };
    Some(Kill {
        at: Timestamp(began.0.saturating_add(limit_ms)),
        who,
        raise,
    })
}

/// What can be raised.
enum Setting<'a> {
    Unit(&'a str, &'static str),
    Probe,
    Unknown,
}

/// Returns the limit of a boot in ms, what sets it, and where: the unit's, else the age at which boots before were ended.
fn limit<'a>(prospect: &Prospect<'a>) -> Option<(u64, String, Setting<'a>)> {
    let supervision = &prospect.history.supervision;
    if let Some(unit) = &supervision.unit
        && let Some((ms, key)) = unit.deadline()
    {
        let who = format!("{key}={} of {}", text::duration(ms / 1000), unit.name);
        return Some((ms, who, Setting::Unit(&unit.name, key)));
    }
    let ends = prospect
        .history
        .failed
        .iter()
        .filter(|attempt| attempt.was_killed());
    let ages: Vec<i64> = ends.filter_map(|attempt| attempt.lasted_ms).collect();
    let (least, most) = (*ages.iter().min()?, *ages.iter().max()?);
    let alike = ages.len() >= 2 && (most - least) * 100 <= most * ALIKE;
    if !alike {
        return None;
    }
    let ms = u64::try_from(most).ok()?;
    let age = text::duration(ms / 1000);
    Some(if supervision.in_pod {
        let who = format!(
            "a probe, which ended the {} boots before at about {age}",
            ages.len()
        );
        (ms, who, Setting::Probe)
    } else {
        let who = format!(
            "whatever ended the {} boots before at about {age}",
            ages.len()
        );
        (ms, who, Setting::Unknown)
    })
}

fn crash_loop(prospect: &Prospect<'_>, kill: Option<&Kill>) -> Option<String> {
    let failed = &prospect.history.failed;
    if failed.len() < 2 {
        return None;
    }
    let first = failed.first().and_then(|attempt| attempt.began);
    let last = failed
        .last()
        .and_then(|attempt| Some(attempt.began?.0 + attempt.lasted_ms?));
    let span = first.zip(last).map(|(first, last)| last - first.0);
    let within = span
        .and_then(|ms| u64::try_from(ms / 1000).ok())
        .map_or_else(String::new, |seconds| {
            format!(" after {}", text::duration(seconds))
        });
    let mut sentence = format!(
        "CRASH LOOP: {} boot{within}, {}",
        ordinal(failed.len() + 1),
        ends(failed)
    );
    let supervision = &prospect.history.supervision;
    if let Some(kills) = supervision
        .cgroup
        .as_ref()
        .and_then(|group| group.oom_kills)
        && kills > 0
    {
        sentence = format!(
            "{sentence}; {} for memory in its cgroup",
            text::plural(kills, "kill", "kills")
        );
    }
    let needs = prospect.began.zip(prospect.left).map(|(began, left)| {
        let ms = prospect
            .now
            .0
            .saturating_sub(began.0)
            .saturating_add(left.likely_ms);
        text::duration(u64::try_from(ms / 1000).unwrap_or(0))
    });
    sentence = match (kill, needs) {
        (Some(kill), Some(needs)) => format!(
            "{sentence}: {} is less than the {needs} that this boot needs",
            kill.who
        ),
        (None, Some(needs)) => format!("{sentence}: this boot needs about {needs}"),
        _ => sentence,
    };
    if let Some(unit) = &supervision.unit
        && let (Some(burst), Some(ms)) = (unit.burst.filter(|burst| *burst > 0), unit.burst_ms)
    {
        sentence = format!(
            "{sentence}; systemd gives up after {burst} starts in {}",
            text::duration(ms / 1000)
        );
    }
    Some(sentence)
}

/// Returns how boots ended, together: `each killed at about 58 %`.
fn ends(failed: &[Attempt]) -> String {
    let killed = failed.iter().filter(|attempt| attempt.was_killed()).count();
    let how = match killed {
        all if all == failed.len() => "each killed".to_owned(),
        0 => "each died by itself".to_owned(),
        some => format!("{some} of {} killed", failed.len()),
    };
    let shares: Vec<u64> = failed.iter().filter_map(Attempt::share).collect();
    let sum: u64 = shares.iter().sum();
    match sum.checked_div(shares.len() as u64) {
        Some(share) => format!("{how} at about {share} % of its logs"),
        None => how,
    }
}

fn ordinal(number: usize) -> String {
    match number {
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        4 => "fourth".to_owned(),
        5 => "fifth".to_owned(),
        _ => format!("{number}th"),
    }
}

/// Compares what is left of this boot with a stop, an offline recovery and a boot that reads nothing.
fn advice(prospect: &Prospect<'_>, kill: Option<&Kill>) -> Option<String> {
    let left = u64::try_from(prospect.left?.likely_ms).ok()?.div_ceil(1000);
    let offline = prospect
        .bytes_total
        .zip(prospect.rate.filter(|rate| *rate > 0))
        .map(|(bytes, rate)| bytes / rate + RESTART_S);
    let offline_text = offline.map_or_else(
        || "an unknown time".to_owned(),
        |s| format!("about {}", text::duration(s)),
    );
    let stop = "stopping throws all progress away";
    if kill.is_some() {
        return Some(format!(
            "this boot will not end: raise the limit, or stop it, recover offline (:recover) and boot, {offline_text} in all"
        ));
    }
    Some(match offline {
        Some(offline) if offline < left => format!(
            "stop, recover offline and boot is shorter: {offline_text} against {}, though {stop}",
            text::duration(left)
        ),
        _ => format!(
            "wait: {} are left, stop and offline recovery take {offline_text}, and {stop}",
            text::duration(left)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::server_log::{BootEnd, LineTime};
    use crate::observe::{Cgroup, Supervision, UnitLimits};

    const MIN: i64 = 60_000;

    fn attempt(began_min: i64, lasted_min: i64, done: u64, end: BootEnd) -> Attempt {
        Attempt {
            began: Some(LineTime(began_min * MIN)),
            lasted_ms: Some(lasted_min * MIN),
            logs: (done, 400),
            end,
        }
    }

    fn killed_twice() -> History {
        History {
            failed: vec![
                attempt(0, 15, 230, BootEnd::Killed),
                attempt(
                    16,
                    15,
                    234,
                    BootEnd::Stopped {
                        signal: "SIGTERM".to_owned(),
                    },
                ),
            ],
            supervision: Supervision::default(),
        }
    }

    fn prospect(history: &History, left_min: i64) -> Prospect<'_> {
        Prospect {
            history,
            began: Some(Timestamp(0)),
            now: Timestamp(2 * MIN),
            left: Some(Span {
                least_ms: left_min * MIN,
                likely_ms: left_min * MIN,
                most_ms: left_min * MIN,
            }),
            bytes_total: Some(600 << 30),
            rate: Some(1 << 30),
        }
    }

    fn unit(kind: &str) -> UnitLimits {
        UnitLimits {
            name: "kafka.service".to_owned(),
            kind: Some(kind.to_owned()),
            start_ms: Some(900_000),
            burst: Some(5),
            burst_ms: Some(3_600_000),
            ..UnitLimits::default()
        }
    }

    #[test]
    fn systemd_s_limit_is_named_with_what_to_raise() {
        let mut history = killed_twice();
        history.supervision.unit = Some(unit("notify"));
        let seen = foresee(&prospect(&history, 29));
        let kill = seen.killed.unwrap();
        assert_eq!(kill.at, Timestamp(15 * MIN));
        assert!(
            kill.raise
                .contains("systemctl edit kafka.service: [Service] TimeoutStartSec=62min"),
            "{kill:?}"
        );
        assert_eq!(
            seen.crash_loop.unwrap(),
            "CRASH LOOP: third boot after 31 min, each killed at about 57 % of its logs: TimeoutStartSec=15 min of \
             kafka.service is less than the 31 min that this boot needs; systemd gives up after 5 starts in 1 h 0 min"
        );
        assert!(seen.advice.unwrap().starts_with("this boot will not end"));
    }

    #[test]
    fn a_simple_unit_kills_nothing_but_what_killed_before_will_again() {
        let mut history = killed_twice();
        history.supervision.unit = Some(unit("simple"));
        history.supervision.in_pod = true;
        let kill = foresee(&prospect(&history, 29)).killed.unwrap();
        assert!(
            kill.who.starts_with("a probe") && kill.raise.contains("failureThreshold: 372"),
            "{kill:?}"
        );
        // It is done before that.
        assert_eq!(foresee(&prospect(&history, 5)).killed, None);
    }

    #[test]
    fn ends_that_are_not_alike_are_no_limit() {
        let mut history = killed_twice();
        history.failed[1].lasted_ms = Some(3 * MIN);
        let seen = foresee(&prospect(&history, 29));
        assert_eq!(seen.killed, None);
        assert!(
            seen.crash_loop
                .unwrap()
                .ends_with("this boot needs about 31 min")
        );
    }

    #[test]
    fn one_failed_boot_is_no_loop_and_memory_is_named() {
        let mut history = killed_twice();
        history.supervision.cgroup = Some(Cgroup {
            oom_kills: Some(2),
            ..Cgroup::default()
        });
        assert!(
            foresee(&prospect(&history, 5))
                .crash_loop
                .unwrap()
                .contains("2 kills for memory")
        );
        history.failed.pop();
        assert_eq!(foresee(&prospect(&history, 5)).crash_loop, None);
    }

    #[test]
    fn the_shorter_way_is_advised() {
        let history = History::default();
        // 600 GiB at 1 GiB/s: 11 min with the restart.
        let long = foresee(&prospect(&history, 90)).advice.unwrap();
        assert!(
            long.starts_with(
                "stop, recover offline and boot is shorter: about 11 min against 1 h 30 min"
            ),
            "{long}"
        );
        let short = foresee(&prospect(&history, 5)).advice.unwrap();
        assert!(
            short.starts_with("wait: 5 min are left")
                && short.ends_with("stopping throws all progress away"),
            "{short}"
        );
    }
}
