//! Ports that the broker will bind.

use super::facts::BootFacts;
use super::problem::{AtBoot, Problem};
use crate::log::FindingCode;

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
