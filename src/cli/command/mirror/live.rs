//! Living clusters, by the addresses and the security that the command line and MirrorMaker 2's own file give.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::cli::args::ClusterPlace;
use crate::cli::live::{Live, client_of};
use crate::cli::{CliError, Context};
use crate::client::{Address, Client, ClientError};
use crate::format::properties::{Properties, Property};
use crate::mirror::{ClusterFacts, FactFinding, Facts, SecondLook, Thinning, client_properties};
use crate::observe::mirror::{LiveRequest, look_again, read_live_facts};
use crate::settings::read_client_properties;

/// How long clusters that do not answer may hold up a run, all together.
const UNANSWERED: Duration = Duration::from_secs(30);
/// How long clusters are read, all together: one whose brokers hang is given up in the middle.
const READING: Duration = Duration::from_mins(5);

/// How long living clusters are still waited for.
pub(super) struct Patience {
    unanswered: Duration,
    reading: Duration,
}

impl Patience {
    /// Returns that of a run that begins.
    pub(super) fn new() -> Self {
        Self {
            unanswered: UNANSWERED,
            reading: READING,
        }
    }

    /// Returns how long the next cluster may take, or why it is not asked.
    fn left(&self) -> Result<Duration, String> {
        if self.unanswered.is_zero() {
            return Err(format!(
                "not asked: the clusters before it took {} s and did not answer; name it first, or without them",
                UNANSWERED.as_secs()
            ));
        }
        if self.reading.is_zero() {
            return Err(format!(
                "not asked: the clusters before it took {} s; name it first, or without them",
                READING.as_secs()
            ));
        }
        Ok(self.reading)
    }

    /// Takes what a cluster took.
    fn spend(&mut self, took: Duration, answered: bool) {
        self.reading = self.reading.saturating_sub(took);
        if !answered {
            self.unanswered = self.unanswered.saturating_sub(took);
        }
    }
}

/// Returns a client of a living cluster: with the security of `--command-config`, else of the keys that MirrorMaker 2's
/// own file has for it, else none.
///
/// # Errors
///
/// An address or a setting that cannot be used.
pub(super) fn connect(
    context: &Context,
    (alias, address): (&str, &str),
    mm2: Option<&Properties>,
) -> Result<Live, CliError> {
    let list = Address::parse_list(address)
        .map_err(|cause| CliError::usage(format!("--cluster {alias}={address}: {cause}")))?;
    let (properties, file) = match (&context.command_config, mm2) {
        (Some(path), _) => {
            let file = path.display().to_string();
            (Some(read_client_properties(path)?), file)
        }
        (None, Some(mm2)) => (
            Some(client_properties(mm2, alias)),
            format!("the keys of {alias} in MirrorMaker 2's file"),
        ),
        (None, None) => (None, String::new()),
    };
    let mut entries = properties.iter().flat_map(|it| &it.entries);
    let indirect = entries.find(|it| context.command_config.is_none() && is_indirect(it));
    if let Some(Property { key, line, .. }) = indirect {
        return Err(CliError::usage(format!(
            "{file}: {key} in line {line} is told by a config provider, which krescue cannot ask"
        ))
        .hint("Name a file with the values themselves: --command-config FILE."));
    }
    let client: Result<Client, ClientError> = client_of(list, properties.as_ref());
    let client =
        client.map_err(|error| CliError::usage(format!("{file}: {}", error.in_one_line())))?;
    Live::of(client, "--cluster")
}

/// Says whether a client's value stands elsewhere: `${PROVIDER:KEY}`.
fn is_indirect(entry: &Property) -> bool {
    let value = entry.value.as_str();
    let inner = value
        .split_once("${")
        .and_then(|(_, rest)| rest.split_once('}'));
    inner.is_some_and(|(inner, _)| inner.contains(':'))
}

/// Reads a living cluster into `facts`; one that does not answer, or for which no time is left, is noted there, for in a
/// disaster that is the usual case.
///
/// # Errors
///
/// An address or a setting that cannot be used.
pub(super) fn read(
    context: &Context,
    (place, address): (&ClusterPlace, &str),
    mm2: Option<&Properties>,
    thinning: Thinning,
    (facts, patience): (&mut Facts, &mut Patience),
) -> Result<Option<Live>, CliError> {
    let left = match patience.left() {
        Ok(left) => left,
        Err(why) => {
            facts.unreached.insert(place.alias.clone(), why);
            return Ok(None);
        }
    };
    let live = connect(context, (&place.alias, address), mm2)?;
    let request = LiveRequest {
        address,
        now: context.now,
        thinning,
    };
    let begin = Instant::now();
    let reading = read_live_facts(&live.client, request);
    let read = live.run(async { tokio::time::timeout(left, reading).await });
    patience.spend(begin.elapsed(), matches!(read, Ok(Ok(_))));
    match read {
        Ok(Ok(cluster)) => {
            facts.merge_cluster(&place.alias, cluster);
            Ok(Some(live))
        }
        failed => {
            let cause = match failed {
                Ok(Err(error)) => error.in_one_line(),
                _ => format!("given up after {} s: it is read too slowly", left.as_secs()),
            };
            facts.unreached.insert(place.alias.clone(), cause);
            Ok(None)
        }
    }
}

/// Asks what only the flows make worth asking; a cluster that has died meanwhile leaves it unanswered.
pub(super) fn read_again(live: &Live, look: &SecondLook, facts: &mut ClusterFacts) {
    if let Err(error) = live.run(look_again(&live.client, look, facts)) {
        facts.findings.push(FactFinding {
            place: "its brokers".to_owned(),
            text: error.in_one_line(),
        });
    }
}

/// Returns the error of a run in which no cluster answered and nothing else was named.
pub(super) fn unreached(causes: &BTreeMap<String, String>) -> CliError {
    let told: Vec<String> = causes
        .iter()
        .map(|(alias, cause)| format!("{alias}: {cause}"))
        .collect();
    CliError::failed(format!("no cluster answers: {}", told.join("; ")))
        .hint("A dead one is read from its log dirs: --cluster ALIAS=DIR[,DIR].")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_dead_clusters_together_have_a_limit() {
        let mut patience = Patience::new();
        let ten = Duration::from_secs(10);
        for _ in 0..3 {
            assert_eq!(patience.left().ok(), Some(patience.reading));
            patience.spend(ten, false);
        }
        let why = patience.left().unwrap_err();
        assert!(why.contains("took 30 s and did not answer"), "{why}");
    }

    #[test]
    fn clusters_that_answer_slowly_have_one_too() {
        let mut patience = Patience::new();
        patience.spend(Duration::from_secs(299), true);
        assert_eq!(patience.left(), Ok(Duration::from_secs(1)));
        patience.spend(Duration::from_secs(2), true);
        let why = patience.left().unwrap_err();
        assert!(why.contains("took 300 s; name it first"), "{why}");
    }
}
