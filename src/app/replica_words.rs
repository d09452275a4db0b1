//! What is said of replicas: lag, rates, when they are in sync, why they are not.

use super::metadata_words::features;
use super::state::{ClusterFacts, ClusterSums, ReplicaForecast};
use super::text::{UNKNOWN, age, bytes, count, duration, offset, plural, rate};
use crate::observe::cluster::{Cause, InSyncIn, Quorum, ReplicaRow};
use crate::plan::CutCause;
use crate::terms::Timestamp;

/// Returns records behind the leader: `0`, `1,204,331`, `?`.
pub fn lag_records(row: &ReplicaRow) -> String {
    row.lag_records.map_or_else(|| UNKNOWN.to_owned(), count)
}

/// Returns bytes behind the leader; `~` before an average.
pub fn lag_bytes(row: &ReplicaRow) -> String {
    match row.lag_bytes {
        None => UNKNOWN.to_owned(),
        Some(lag) if row.lag_bytes_exact => bytes(lag),
        Some(lag) => format!("~{}", bytes(lag)),
    }
}

/// Returns how long ago the leader's log ended where the replica's does: `0 s`, `35 s`; `~` before what is told by the leader's
/// present rate.
pub fn lag_time(row: &ReplicaRow) -> String {
    match row.lag_ms {
        None => UNKNOWN.to_owned(),
        Some(ms) if row.lag_ms_exact => duration(ms.div_ceil(1000)),
        Some(ms) => format!("~{}", duration(ms.div_ceil(1000))),
    }
}

/// Returns the bytes a second that a replica takes, `-` where nothing is known yet.
pub fn bytes_rate(row: &ReplicaRow) -> String {
    match row.bytes_per_s {
        None => "-".to_owned(),
        Some(per_second) => format!("+{}", rate(whole(per_second))),
    }
}

/// Returns when a replica is in sync: `now`, `~11 s`, `never`, `?`.
pub fn in_sync_in(row: &ReplicaRow) -> String {
    match row.in_sync_in {
        InSyncIn::Now => "in ISR".to_owned(),
        InSyncIn::Seconds(seconds) => format!("~{}", duration(seconds)),
        InSyncIn::Never => "never".to_owned(),
        InSyncIn::Unknown => UNKNOWN.to_owned(),
    }
}

/// Returns the ISR as Kafka's tools write it; `none` where it is empty.
pub fn ids(list: &[i32]) -> String {
    let ids: Vec<_> = list.iter().map(ToString::to_string).collect();
    if ids.is_empty() {
        "none".to_owned()
    } else {
        ids.join(",")
    }
}

/// Returns what is to be known of a replica, the weightiest first: state of its partition, what it will cut, then causes.
pub fn note(row: &ReplicaRow, forecast: Option<&ReplicaForecast>) -> String {
    // What this host loses comes before what all rows of the partition say.
    let mut notes: Vec<_> = forecast.and_then(will_cut).into_iter().collect();
    notes.extend(state_notes(row));
    notes.extend(row.causes.iter().map(cause));
    notes.join("; ")
}

/// Returns what is to be known of the partition and of the replica, causes aside.
fn state_notes(row: &ReplicaRow) -> Vec<String> {
    let mut notes = Vec::new();
    if row.is_only_in_sync() {
        notes.push("ONLY COPY IN SYNC".to_owned());
    } else if let [only] = row.isr.as_slice()
        && row.replicas.len() > 1
    {
        notes.push(format!("ONLY COPY IN SYNC IS BROKER {only}"));
    }
    if row.is_under_min_isr() == Some(true) {
        notes.push(format!(
            "under min ISR ({} of {})",
            row.isr.len(),
            row.min_isr.unwrap_or(0)
        ));
    }
    if row.is_eligible() {
        notes.push("may be elected (ELR)".to_owned());
    }
    if let Some((dir, left)) = &row.moving {
        let left = count(u64::try_from(*left).unwrap_or(0));
        let until = row
            .moved_in_s
            .map(|seconds| format!(", ~{}", duration(seconds)));
        let until = until.unwrap_or_default();
        notes.push(format!(
            "moving to {}, {left} records left{until}",
            dir.display()
        ));
    }
    notes
}

/// Returns what a replica will cut when it meets its leader; `None` if nothing.
pub fn will_cut(forecast: &ReplicaForecast) -> Option<String> {
    let cut = &forecast.forecast;
    let records = plural(cut.records, "record", "records");
    let mut text = match (cut.cause?, cut.epoch) {
        (CutCause::Diverged, Some(epoch)) => format!("will cut {records} to epoch {epoch}'s end"),
        (CutCause::Diverged, None) => format!("will cut {records} to {}", offset(cut.cut_to)),
        (CutCause::LeaderEndsBefore, _) => {
            format!(
                "will cut {records} to its leader's end {}",
                offset(cut.cut_to)
            )
        }
        (CutCause::LeaderStartsBehind, _) => format!(
            "will drop all {records}: its leader begins at {}",
            offset(cut.cut_to)
        ),
        (CutCause::HighWatermark, _) => format!(
            "will cut {records} to its high watermark {}: it knows no epoch",
            offset(cut.cut_to)
        ),
    };
    if cut.acknowledged > 0 {
        text = format!("{text}, {} of them ACKNOWLEDGED", count(cut.acknowledged));
    }
    Some(text)
}

/// Returns what to do about a forecast, and how far it holds.
fn forecast_advice(forecast: &ReplicaForecast) -> Vec<(String, Advice)> {
    let again = "A boot reads this log again first: a torn or bad tail ends it earlier.";
    let first = match will_cut(forecast) {
        Some(text) => vec![
            (text, Advice::Says),
            (
                "Copy its log dir before the boot if those records matter: nothing keeps them."
                    .to_owned(),
                Advice::Next,
            ),
        ],
        None => vec![(
            "cuts nothing when it meets its leader".to_owned(),
            Advice::Says,
        )],
    };
    let again = forecast
        .is_recovered
        .then(|| (again.to_owned(), Advice::Says));
    first.into_iter().chain(again).collect()
}

/// Returns why a replica is behind, in a few words.
pub fn cause(cause: &Cause) -> String {
    match cause {
        Cause::BrokerGone => "its broker is down, or fenced by the controller".to_owned(),
        Cause::NoAnswer { failure } => format!("its broker does not answer: {failure}"),
        Cause::DirOffline { dir: Some(dir) } => format!("its log dir {} is offline", dir.display()),
        Cause::DirOffline { dir: None } => "its log dir is offline".to_owned(),
        Cause::LeaderSilent => "its leader does not answer".to_owned(),
        Cause::NoLeader => "no leader".to_owned(),
        Cause::UncleanElection => {
            "unclean election is allowed: if the last copy in sync goes, one that lacks records leads".to_owned()
        }
        Cause::Throttled { rate: per_second } => {
            format!("a replication throttle of {} is set", rate(*per_second))
        }
        Cause::SlowerThanLeader { takes, appends } => format!(
            "takes {} records/s, its leader appends {}",
            count(whole(*takes)),
            count(whole(*appends))
        ),
        Cause::StandsStill { seconds } => {
            format!("nothing has reached it for {}", duration(*seconds))
        }
        Cause::AheadOfLeader { records } => {
            format!(
                "ends {} records behind its leader's end: it will cut them",
                count(*records)
            )
        }
        Cause::NotTakenIn { seconds } => {
            format!(
                "has all records for {} and is not taken into the ISR",
                duration(*seconds)
            )
        }
        Cause::Refused { error } => format!("its broker answers {error}"),
    }
}

/// Returns what to do or to look at.
pub fn next(cause: &Cause) -> &'static str {
    match cause {
        Cause::BrokerGone => "Look at that host: krescue status, krescue watch.",
        Cause::NoAnswer { .. } => "Is it stopped, in a long garbage collection, or its disk stuck?",
        Cause::DirOffline { .. } => {
            "It stays offline until the broker restarts: krescue status on its host says why."
        }
        Cause::LeaderSilent => "No follower gets on until it answers or another leads.",
        Cause::NoLeader => {
            "Boot a broker of the last ISR or of the ELR first; an unclean election loses records."
        }
        Cause::UncleanElection => {
            "krescue retention TOPIC --set unclean.leader.election.enable=false lets it wait for the copy in sync instead."
        }
        Cause::Throttled { .. } => {
            "Take it away once no reassignment runs: kafka-reassign-partitions.sh --verify, or kafka-configs.sh --alter --delete-config."
        }
        Cause::SlowerThanLeader { .. } => {
            "Cap the writers (client quotas), or give it more num.replica.fetchers."
        }
        Cause::StandsStill { .. } => {
            "Look for \"marked as failed\" or RecordTooLargeException in its server.log; a restart of that broker, or another leader, starts its fetcher anew."
        }
        Cause::AheadOfLeader { .. } => "Copy its log dir first if those records matter.",
        Cause::NotTakenIn { .. } => {
            "Is its broker fenced? After a log dir changed, another leader cures it: kafka-leader-election.sh --election-type preferred."
        }
        Cause::Refused { .. } => "Kafka's protocol names that error; it may pass by itself.",
    }
}

/// Returns a rate without its fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate that is shown; the cast saturates"
)]
fn whole(per_second: f64) -> u64 {
    per_second.round() as u64
}

/// Returns the title of the table: whose replicas, how old, what is wrong.
pub fn title(facts: &ClusterFacts, scope: &str, now: Timestamp) -> String {
    let brokers = plural(facts.brokers.len() as u64, "broker", "brokers");
    let mut parts = vec![
        scope.to_owned(),
        format!("{brokers}, {}", age(facts.at, now)),
    ];
    parts.extend(state_parts(facts));
    parts.push(format!("{} requests, {} ms", facts.requests, facts.took_ms));
    parts.join(" · ")
}

/// Returns a look at a cluster in a line: its brokers and what is wrong.
pub fn state(facts: &ClusterFacts) -> String {
    let brokers = plural(facts.brokers.len() as u64, "broker", "brokers");
    let all = std::iter::once(brokers).chain(state_parts(facts));
    all.collect::<Vec<_>>().join(" · ")
}

fn state_parts(facts: &ClusterFacts) -> Vec<String> {
    let failed = facts.brokers.iter().filter(|(_, why)| why.is_some());
    let silent = failed.count() as u64;
    let silent = (silent > 0).then(|| plural(silent, "does not answer", "do not answer"));
    let state = state_words(&facts.sums());
    let cut = cut_sentence(facts.forecasts.values());
    silent.into_iter().chain([state]).chain(cut).collect()
}

/// Returns who controls, who of the voters is gone, and how many more may fail.
pub fn quorum(quorum: &Quorum) -> String {
    let voters: Vec<i32> = quorum.voters.iter().map(|voter| voter.id).collect();
    let mut text = format!(
        "quorum: controller {} (epoch {}), voters {}",
        quorum.leader,
        quorum.epoch,
        ids(&voters)
    );
    let (Some(current), Some(may_fail)) = (quorum.current_voters(), quorum.may_fail()) else {
        return text;
    };
    let gone: Vec<i32> = voters
        .into_iter()
        .filter(|id| !current.contains(id))
        .collect();
    if !gone.is_empty() {
        text = format!("{text}; {} does not fetch", ids(&gone));
    }
    match may_fail {
        0 => format!("WITH ONE MORE DOWN no controller can be elected; {text}"),
        more => format!("{text}; {} more may fail", count(more as u64)),
    }
}

/// Returns who controls, and the features of the cluster; `None` if neither is known.
pub fn cluster_line(facts: &ClusterFacts) -> Option<String> {
    let quorum_words = facts.quorum.as_ref().map(quorum);
    let levels = (!facts.features.is_empty()).then(|| features(&facts.features));
    let parts: Vec<String> = quorum_words.into_iter().chain(levels).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// Returns what this host's replicas will cut in all; `None` if nothing.
pub fn cut_sentence<'a>(forecasts: impl Iterator<Item = &'a ReplicaForecast>) -> Option<String> {
    let cut: Vec<u64> = forecasts
        .map(|forecast| forecast.forecast.records)
        .filter(|records| *records > 0)
        .collect();
    let records = plural(cut.iter().sum(), "record", "records");
    let logs = plural(cut.len() as u64, "log", "logs");
    (!cut.is_empty()).then(|| format!("this host's boot will cut {records} of {logs}"))
}

/// Returns what is wrong with the cluster's replicas in a few words.
pub fn state_words(sums: &ClusterSums) -> String {
    let mut parts = Vec::new();
    if sums.without_leader > 0 {
        parts.push(plural(
            sums.without_leader,
            "partition without a leader",
            "partitions without a leader",
        ));
    }
    if sums.out_of_sync > 0 {
        let last = sums.in_sync_in.map_or_else(String::new, |seconds| {
            format!(", the last in ~{}", duration(seconds))
        });
        parts.push(format!(
            "{} not in sync{last}",
            plural(sums.out_of_sync, "replica", "replicas")
        ));
    }
    if sums.under_min_isr > 0 {
        parts.push(format!("{} under min ISR", sums.under_min_isr));
    }
    if sums.only_here > 0 {
        parts.push(format!("ONLY COPY IN SYNC HERE OF {}", sums.only_here));
    }
    if parts.is_empty() {
        return format!(
            "{} all in sync",
            plural(sums.partitions, "partition,", "partitions,")
        );
    }
    parts.join(", ")
}

/// Returns what a replica said of itself, with its age.
pub fn sentence(row: &ReplicaRow, now: Timestamp) -> String {
    let mut parts = vec![format!("{} on broker {}", row.partition, row.broker)];
    parts.push(match (row.log_end, row.log_end_at) {
        (Some(end), Some(at)) => format!("log end {} ({})", offset(end), age(at, now)),
        _ => format!("log end {UNKNOWN}"),
    });
    if row.lag_records.is_some_and(|lag| lag > 0) {
        parts.push(format!("{} behind", lag_time(row)));
    }
    if let Some(start) = row.log_start {
        parts.push(format!("begins at {}", offset(start)));
    }
    if let Some(size) = row.bytes {
        parts.push(bytes(size));
    }
    if let Some(dir) = &row.dir {
        parts.push(dir.display().to_string());
    }
    if let Some(takes) = row.records_per_s {
        let verb = if row.is_leader() { "appends" } else { "takes" };
        parts.push(format!("{verb} {} records/s", count(whole(takes))));
    }
    parts.join(" · ")
}

/// Returns the partition's state, what will be cut, then causes, each followed by what to do.
pub fn advice(row: &ReplicaRow, forecast: Option<&ReplicaForecast>) -> Vec<(String, Advice)> {
    let state = state_notes(row).join("; ");
    let state = (!state.is_empty()).then_some((state, Advice::Says));
    let causes = row.causes.iter().flat_map(|known| {
        [
            (cause(known), Advice::Says),
            (next(known).to_owned(), Advice::Next),
        ]
    });
    let forecast = forecast.map(forecast_advice).unwrap_or_default();
    state.into_iter().chain(forecast).chain(causes).collect()
}

/// What a line of advice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// What is so.
    Says,
    /// What to do.
    Next,
}
