//! Ports that the broker will bind, and controllers that it must reach.

use super::facts::BootFacts;
use super::problem::{AtBoot, Problem};
use crate::log::{FindingCode, Severity};

/// Each port that cannot be bound now.
pub(super) fn ports(facts: &BootFacts) -> Vec<Problem> {
    let refused = facts.config.ports.iter();
    refused
        .filter_map(|port| Some((port, port.refused.as_ref()?)))
        .map(|(port, cause)| {
            let when = if port.is_controller {
                "the boot ends before its logs are loaded"
            } else {
                "the boot ends after the whole recovery: listeners are bound last"
            };
            let text = format!("{} cannot be bound ({cause}): {when}", port.listener);
            let number = port.listener.rsplit(':').next().unwrap_or("PORT");
            Problem::new(FindingCode::PortInUse, AtBoot::Exits, text)
                .next(format!("who listens: ss -ltnp 'sport = :{number}'"))
        })
        .collect()
}

/// Controllers that cannot be reached: without one that leads no log is loaded.
pub(super) fn controllers(facts: &BootFacts) -> Vec<Problem> {
    let all = &facts.config.controllers;
    let away: Vec<_> = all
        .iter()
        .filter_map(|of| Some((of, of.refused.as_ref()?)))
        .collect();
    let Some(((first, cause), rest)) = away.split_first() else {
        return Vec::new();
    };
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let there = all.len() - away.len();
    let what = format!(
        "{} of the {} controllers of {} cannot be reached: {} ({cause}){more}",
        away.len(),
        all.len(),
        first.key,
        first.address
    );
    let is_controller = all.iter().any(|of| of.is_self);
    // Servers to begin with may be some of the voters; voters are all of them.
    let is_enough = match first.key {
        "controller.quorum.voters" => there * 2 > all.len(),
        _ => there > 0,
    };
    let problem = if is_enough {
        let text = format!("{what}; the others are enough for a leader");
        Problem::new(FindingCode::ControllerAway, AtBoot::Nothing, text).severity(Severity::Warning)
    } else if is_controller {
        let text = format!(
            "{what}: no leader is elected and no log is loaded until a majority is up; start them together"
        );
        Problem::new(FindingCode::ControllerAway, AtBoot::TakesLonger, text)
    } else {
        let text = format!(
            "{what}: no log is loaded before one leads, and the boot ends after 60 s \
             (initial.broker.registration.timeout.ms)"
        );
        Problem::new(FindingCode::ControllerAway, AtBoot::Exits, text)
    };
    vec![problem.next("start the controllers first, or mend names and network: the boot itself asks the same addresses")]
}

#[cfg(test)]
mod tests {
    use super::super::facts::ControllerFacts;
    use super::super::testing::facts;
    use super::*;

    fn told(key: &'static str, all: &[(bool, bool)]) -> Option<(AtBoot, Severity)> {
        let mut facts = facts(Vec::new());
        facts.config.controllers = all
            .iter()
            .map(|(is_self, is_there)| ControllerFacts {
                address: "c:9093".to_owned(),
                key,
                is_self: *is_self,
                refused: (!is_there).then(|| "refused".to_owned()),
            })
            .collect();
        let found = controllers(&facts).into_iter().next();
        found.map(|problem| (problem.at_boot, problem.finding.severity))
    }

    #[test]
    fn voters_need_a_majority_and_servers_to_begin_with_need_one() {
        const VOTERS: &str = "controller.quorum.voters";
        const SERVERS: &str = "controller.quorum.bootstrap.servers";
        let (there, away, own) = ((false, true), (false, false), (true, true));
        let warning = Some((AtBoot::Nothing, Severity::Warning));
        let dies = Some((AtBoot::Exits, Severity::Fatal));
        let waits = Some((AtBoot::TakesLonger, Severity::Warning));
        assert_eq!(told(VOTERS, &[there; 3]), None);
        assert_eq!(told(VOTERS, &[there, there, away]), warning);
        assert_eq!(told(VOTERS, &[there, away, away]), dies);
        assert_eq!(told(VOTERS, &[own, away, away]), waits);
        assert_eq!(told(VOTERS, &[own, there, away]), warning);
        assert_eq!(told(SERVERS, &[there, away, away]), warning);
        assert_eq!(told(SERVERS, &[away, away]), dies);
        assert_eq!(told(VOTERS, &[]), None, "nobody was asked");
    }
}
