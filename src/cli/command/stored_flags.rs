//! Flags beside `--yes HASH`: the stored plan has its own, and one that says otherwise is an error, never ignored.

use crate::app::lines::hand_over_word;
use crate::cli::args::{HandOverArg, RecoverArgs};
use crate::cli::{CliError, Context};
use crate::engine::StoredPlan;
use crate::log::FindingCode;
use crate::plan::{HandOver, OnLoss, PartitionPlan, Verdict};
use crate::settings::Source;
use crate::terms::TopicPartition;

/// Checks the flags of `recover` beside the hash of `stored`.
pub(super) fn check_recover(
    context: &Context,
    args: &RecoverArgs,
    stored: &StoredPlan,
) -> Result<(), CliError> {
    check_hand_over(args.hand_over, stored)?;
    check_quarantine(context, stored)?;
    check_partitions(&args.partition, stored)?;
    for (partition, way) in &args.decide {
        let mut logs = stored.plan.partitions();
        if !logs.any(|log| log.topic_partition.as_ref() == Some(partition) && takes(log, *way)) {
            return Err(differs(
                &format!("--decide {partition}={}", way_word(*way)),
                stored,
                "it decides otherwise",
            ));
        }
    }
    let is_decided = |log: &PartitionPlan| {
        let mut decided = args.decide.iter().map(|(partition, _)| partition);
        decided.any(|partition| log.topic_partition.as_ref() == Some(partition))
    };
    let mut others = stored.plan.partitions().filter(|log| !is_decided(log));
    let left = others
        .find(|log| matches!(&log.verdict, Verdict::Ask(ask) if ask.decided != OnLoss::LikeKafka));
    match left.filter(|_| args.like_kafka) {
        Some(log) => Err(differs(
            "--like-kafka",
            stored,
            &format!("it does not take Kafka's way with {}", log.dir_name),
        )),
        None => Ok(()),
    }
}

/// Checks `--hand-over`.
pub(super) fn check_hand_over(
    given: Option<HandOverArg>,
    stored: &StoredPlan,
) -> Result<(), CliError> {
    let Some(given) = given else {
        return Ok(());
    };
    let wanted = HandOver::from(given);
    if stored.plan.hand_over == wanted {
        return Ok(());
    }
    Err(differs(
        &format!("--hand-over {}", hand_over_word(wanted)),
        stored,
        &format!("it hands over as {}", hand_over_word(stored.plan.hand_over)),
    ))
}

/// Checks `--quarantine`.
pub(super) fn check_quarantine(context: &Context, stored: &StoredPlan) -> Result<(), CliError> {
    let given = context.settings.quarantine.as_ref();
    if !given.is_some_and(|given| matches!(given.source, Source::Flag { .. })) {
        return Ok(());
    }
    let dirs: Vec<_> = stored
        .plan
        .log_dirs
        .iter()
        .map(|dir| dir.path.clone())
        .collect();
    if context.quarantine(&dirs)? == stored.plan.quarantine {
        return Ok(());
    }
    let place = match &stored.plan.quarantine {
        Some(place) => format!("it keeps what goes in {}", place.display()),
        None => "it keeps nothing".to_owned(),
    };
    Err(differs("--quarantine", stored, &place))
}

fn check_partitions(named: &[TopicPartition], stored: &StoredPlan) -> Result<(), CliError> {
    if named.is_empty() {
        return Ok(());
    }
    let is_selected = |log: &&PartitionPlan| !matches!(log.verdict, Verdict::Skipped { .. });
    let selected = || stored.plan.partitions().filter(is_selected);
    let missing = named
        .iter()
        .find(|partition| !selected().any(|log| log.topic_partition.as_ref() == Some(partition)));
    if let Some(partition) = missing {
        let why = format!("it leaves {partition} out");
        return Err(differs("--partition", stored, &why));
    }
    let more = selected().find(|log| {
        let of = log.topic_partition.as_ref();
        of.is_some_and(|of| !named.contains(of))
    });
    match more {
        Some(log) => {
            let why = format!("it is for {} too", log.dir_name);
            Err(differs("--partition", stored, &why))
        }
        None => Ok(()),
    }
}

/// Says whether a log was planned with this decision, be it that it did not hold.
fn takes(log: &PartitionPlan, way: OnLoss) -> bool {
    let mut findings = log.findings.iter();
    let refused = findings.any(|finding| finding.code == FindingCode::DecisionRefused);
    match &log.verdict {
        Verdict::Ask(ask) if ask.accepted => ask.decided == way,
        _ => refused,
    }
}

fn way_word(way: OnLoss) -> &'static str {
    match way {
        OnLoss::Ask => "ask",
        OnLoss::LikeKafka => "like-kafka",
        OnLoss::CutHere => "cut-here",
        OnLoss::Leave => "leave",
        OnLoss::SetAside => "set-aside",
    }
}

fn differs(flag: &str, stored: &StoredPlan, how: &str) -> CliError {
    let short = stored.hash.get(..8).unwrap_or(&stored.hash);
    CliError::usage(format!(
        "{flag} is not what plan {short} was made with: {how}"
    ))
    .hint("Leave it out to carry that plan out as it was shown.")
    .hint("Or run the same without --apply: that shows the other plan, with its hash.")
}
