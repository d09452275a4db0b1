//! Who could end a boot, and who ended the boots before: a clause each, the likeliest first.

use crate::observe::server_log::BootEnd;
use crate::observe::{Attempt, History};

use super::text;

/// How far the ends of boots may lie apart and still be one limit, in percent.
const ALIKE: i64 = 25;

/// Returns who could end a boot, by what came before it and by who supervises it; none where nothing of that is known.
pub fn killers(history: &History) -> Vec<String> {
    let supervision = &history.supervision;
    let mut found = Vec::new();
    found.extend(probe(&history.failed, supervision.in_pod));
    if let Some(last) = supervision.kills.last() {
        let times = match supervision.kills.len() {
            1 => "once".to_owned(),
            more => format!("{more} times"),
        };
        let limit = if last.by_cgroup {
            "at its cgroup's limit"
        } else {
            "as the host's memory was full"
        };
        found.push(format!(
            "the kernel killed java for memory {times} since the host began, last pid {} {limit}",
            last.pid
        ));
    }
    if let Some(group) = &supervision.cgroup
        && let Some(max) = group.memory_max
    {
        let now = group
            .memory_now
            .map_or_else(|| text::UNKNOWN.to_owned(), text::bytes);
        let kills = match group.oom_kills {
            Some(0) | None => String::new(),
            Some(kills) => format!(", {} there", text::plural(kills, "kill", "kills")),
        };
        found.push(format!(
            "the memory limit of its cgroup, {now} of {}{kills}",
            text::bytes(max)
        ));
    }
    if let Some(unit) = &supervision.unit {
        if let Some((ms, key)) = unit.deadline() {
            let limit = text::duration(ms / 1000);
            found.push(format!("{key}={limit} of {}", unit.name));
        }
        if let (Some(burst), Some(ms)) = (unit.burst.filter(|burst| *burst > 0), unit.burst_ms) {
            let restarts = match unit.restarts {
                Some(0) | None => String::new(),
                Some(restarts) => format!(", restarted {restarts} times so far"),
            };
            let span = text::duration(ms / 1000);
            found.push(format!(
                "systemd gives {} up after {burst} starts in {span}{restarts}",
                unit.name
            ));
        }
    }
    found
}

/// Returns the pattern of a probe: boot after boot gets a signal at about the same age.
fn probe(failed: &[Attempt], in_pod: bool) -> Option<String> {
    let signalled = failed.iter().filter(
        |attempt| matches!(&attempt.end, BootEnd::Stopped { signal } if signal == "SIGTERM"),
    );
    let ages: Vec<i64> = signalled.filter_map(|attempt| attempt.lasted_ms).collect();
    let (least, most) = (*ages.iter().min()?, *ages.iter().max()?);
    if ages.len() < 2 || (most - least) * 100 > most * ALIKE {
        return None;
    }
    let who = if in_pod {
        "a liveness or startup probe: its port is closed until the end of the boot"
    } else {
        "a probe or a supervisor"
    };
    let age = text::duration(u64::try_from(most / 1000).ok()?);
    Some(format!(
        "{who}; {} boots before got SIGTERM at about {age}",
        ages.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{Cgroup, KernelKill, Supervision, UnitLimits};

    fn attempt(seconds: i64, end: BootEnd) -> Attempt {
        Attempt {
            began: None,
            lasted_ms: Some(seconds * 1000),
            logs: (1, 9),
            end,
        }
    }

    fn stopped() -> BootEnd {
        BootEnd::Stopped {
            signal: "SIGTERM".to_owned(),
        }
    }

    #[test]
    fn boots_that_get_a_signal_at_one_age_have_a_probe() {
        let history = |failed: Vec<Attempt>, in_pod| History {
            failed,
            supervision: Supervision {
                in_pod,
                ..Supervision::default()
            },
        };
        let same = vec![
            attempt(300, stopped()),
            attempt(4, BootEnd::Killed),
            attempt(310, stopped()),
        ];
        assert_eq!(
            killers(&history(same.clone(), true)),
            [
                "a liveness or startup probe: its port is closed until the end of the boot; 2 boots before got SIGTERM at \
                 about 5 min 10 s"
            ]
        );
        assert!(killers(&history(same, false))[0].starts_with("a probe or a supervisor; 2 boots"));
        let other = vec![attempt(10, stopped()), attempt(310, stopped())];
        assert_eq!(killers(&history(other, true)), [""; 0]);
        let killed = vec![attempt(9, BootEnd::Killed), attempt(9, BootEnd::Killed)];
        assert_eq!(killers(&history(killed, true)), [""; 0]);
    }

    #[test]
    fn kernel_cgroup_and_unit_are_told() {
        let kill = |pid, by_cgroup| KernelKill {
            pid,
            at_s: 7,
            by_cgroup,
        };
        let history = History {
            failed: Vec::new(),
            supervision: Supervision {
                unit: Some(UnitLimits {
                    name: "kafka.service".to_owned(),
                    burst: Some(5),
                    burst_ms: Some(10_000),
                    restarts: Some(4),
                    ..UnitLimits::default()
                }),
                cgroup: Some(Cgroup {
                    path: "/a".to_owned(),
                    memory_max: Some(4 << 30),
                    memory_now: Some(3 << 30),
                    oom_kills: Some(2),
                }),
                in_pod: false,
                kills: vec![kill(7, false), kill(812, true)],
                unseen: Vec::new(),
            },
        };
        assert_eq!(
            killers(&history),
            [
                "the kernel killed java for memory 2 times since the host began, last pid 812 at its cgroup's limit",
                "the memory limit of its cgroup, 3.00 GiB of 4.00 GiB, 2 kills there",
                "systemd gives kafka.service up after 5 starts in 10 s, restarted 4 times so far",
            ]
        );
    }
}
