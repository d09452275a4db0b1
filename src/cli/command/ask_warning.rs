//! What a boot would do to logs that ask, and the command that decides them.

use super::again::named_options;
use crate::app::situation::do_not_start;
use crate::cli::Context;
use crate::format::file_name::PartitionFile;
use crate::log::Severity;
use crate::plan::{Ask, PartitionPlan, RecoveryPlan, Verdict};

/// Returns what a boot would delete as long as logs of `plan` ask, and the command by which they are decided, with the ways
/// that hold for the one that loses most; `None` if none asks.
pub(super) fn ask_warning(plan: &RecoveryPlan, context: &Context) -> Option<String> {
    let open = || plan.partitions().filter_map(open_ask);
    let mut asks: Vec<(&str, &Ask)> = open()
        .map(|(log, ask)| (log.dir_name.as_str(), ask))
        .collect();
    let danger = do_not_start(&mut asks)?;
    let (worst, _) = asks.first()?;
    let (log, ask) = open().find(|(log, _)| log.dir_name == *worst)?;
    Some(format!(
        "{danger}; decide: krescue{} recover --decide TP={}",
        named_options(context),
        ways(log, ask).join("|")
    ))
}

fn open_ask(log: &PartitionPlan) -> Option<(&PartitionPlan, &Ask)> {
    match &log.verdict {
        Verdict::Ask(ask) if !ask.accepted => Some((log, ask)),
        _ => None,
    }
}

/// Returns the ways of `--decide` that hold under the default hand-over.
fn ways(log: &PartitionPlan, ask: &Ask) -> Vec<&'static str> {
    let is_local = ask.can_cut_here();
    let ways = [
        ("set-aside", ask.no_set_aside.is_none()),
        ("like-kafka", true),
        ("cut-here", is_local),
        // A boot reads the last segment again.
        ("leave", is_local && !is_bad_in_last(log)),
    ];
    let holds = ways.into_iter().filter(|(_, holds)| *holds);
    holds.map(|(way, _)| way).collect()
}

/// Says whether what is bad lies in the log's last segment.
fn is_bad_in_last(log: &PartitionPlan) -> bool {
    let names = log.stamps.iter().map(|stamp| stamp.name.as_str());
    let logs = names.filter(|name| PartitionFile::parse(name).is_log());
    let Some(last) = logs.max() else {
        return false;
    };
    let bad = log
        .findings
        .iter()
        .filter(|found| found.severity >= Severity::Loss && found.position.is_some());
    bad.filter_map(|found| found.file.as_deref())
        .any(|file| file == last)
}
