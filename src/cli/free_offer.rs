//! What can go to free space on a volume: the same facts for the dialog and for the command line.

use std::path::Path;

use super::cleanup_look::{CleanupAsked, costless, other_ways, shared_quarantine};
use super::target::Presence;
use super::{Context, Look};
use crate::app::state::{FreeOffer, KeptLeftover, free_lines};
use crate::app::text;
use crate::engine::{MadeCleanup, volume_facts};
use crate::log::UsageKind;
use crate::plan::cleanup::{CleanupWish, LeftoverProof};
use crate::terms::TopicPartition;

/// Bytes a second that a boot is taken to read where nobody measured it.
const BOOT_RATE: u64 = 100 << 20;

/// Returns what can go, what was chosen of it for `target` bytes on the volume of `dir`, and what the next boot needs.
pub(crate) fn free_offer(
    context: &Context,
    look: &Look,
    (dir, target): (&Path, u64),
    (asked, made): (&CleanupAsked, &MadeCleanup),
) -> FreeOffer {
    let spec = &asked.spec;
    let is_ranked = matches!(spec.wish, CleanupWish::Free(_));
    let space = volume_facts(&[dir.to_owned()]);
    let elsewhere = |partition: &TopicPartition| {
        let evidence = (spec.replicas)(partition)?;
        Some(evidence.elsewhere(context.now))
    };
    let mut notes = asked.doubts.clone();
    if made.chosen.missing > 0 {
        notes.push(missing(made));
    }
    notes.extend(made.groups.gaps());
    if look.presence != Presence::Down && !spec.beside_broker {
        let beside = format!(
            ", or, on a dir that it has given up, by krescue cleanup --free {target} --on {} --beside-broker",
            dir.display()
        );
        let beside = if is_ranked { beside } else { String::new() };
        notes.push(format!(
            "a broker runs: carried out once it is down{beside}"
        ));
    }
    let (mut costs_nothing, mut ways) = (Vec::new(), Vec::new());
    if is_ranked {
        let found = costless(context, look, Some(dir)).into_iter();
        costs_nothing.extend(found.map(|(_, finding)| finding));
        ways = other_ways(context, look, (asked, made), target);
    }
    FreeOffer {
        dir: dir.to_owned(),
        target,
        space: space.into_iter().find_map(|facts| facts.space),
        costless: costs_nothing,
        lines: free_lines(
            &made.leftovers,
            &made.logs,
            (&made.chosen, &made.groups),
            elsewhere,
        ),
        ways,
        kept: kept(made),
        boot_free: made.boot.free,
        boot_reads: made.boot.reads,
        boot_rate: BOOT_RATE,
        copies_here: shared_quarantine(spec, &spec.on).is_some(),
        notes,
        at: context.now,
    }
}

/// Says how much of what was asked for cannot be freed.
pub(crate) fn missing(made: &MadeCleanup) -> String {
    format!(
        "only {} can be freed, {} less than asked for",
        text::bytes(made.chosen.freed),
        text::bytes(made.chosen.missing)
    )
}

/// Returns the leftovers that stay, and why.
fn kept(made: &MadeCleanup) -> Vec<KeptLeftover> {
    let kept = made.leftovers.iter().filter_map(|leftover| {
        let why = match (&leftover.proof, leftover.kind) {
            (LeftoverProof::Missing(why), _) => why.clone(),
            (LeftoverProof::Proved, UsageKind::StrayDirs) => {
                "a proved stray goes by a plan of its own: cleanup --strays".to_owned()
            }
            _ => return None,
        };
        Some(KeptLeftover {
            dir_name: leftover.dir_name.clone(),
            allocated: leftover.allocated,
            why,
        })
    });
    kept.collect()
}
