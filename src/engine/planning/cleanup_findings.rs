//! What a cleanup says of a log whose head goes: of its mirrors, its consumer groups, its other replicas.

use crate::log::{Finding, FindingCode, Severity};
use crate::plan::cleanup::{DeletionCost, MirrorCopy, groups_in_words};
use crate::plan::{GroupBelow, ReplicaEvidence};
use crate::terms::{Offset, Timestamp};

/// Returns what of a log's head a mirror may not have.
pub(super) fn mirror_finding(mirror: &MirrorCopy, begin: Offset, end: Offset) -> Option<Finding> {
    let uncopied = mirror.uncopied(begin, end);
    let copied = mirror.copied.map_or_else(
        || "has copied nothing of it".to_owned(),
        |copied| format!("has copied it up to {copied}"),
    );
    let newest = mirror
        .last_sync
        .map_or_else(|| "?".to_owned(), Timestamp::rfc3339);
    let text = format!(
        "{} {copied} for certain (its newest sync: {newest}): {uncopied} of the offsets that go may be nowhere else",
        mirror.mirror
    );
    (uncopied > 0).then(|| {
        Finding::new(FindingCode::NotMirrored, Severity::Loss, text)
            .next("Let MirrorMaker 2 catch up first, or take space elsewhere.")
    })
}

/// Returns that a mirror may lack all that goes.
pub(super) fn unknown_mirror_finding(why: &str) -> Finding {
    let text = format!("whether a mirror has what goes is not known: {why}");
    Finding::new(FindingCode::NotMirrored, Severity::Loss, text)
        .next("Look with krescue mirror flows, with both clusters named, or take space elsewhere.")
}

/// Returns which groups have not read all of what goes.
pub(super) fn groups_finding(below: &[GroupBelow], start: Offset) -> Finding {
    let count = match below.len() {
        1 => "1 group has".to_owned(),
        count => format!("{count} groups have"),
    };
    Finding::new(
        FindingCode::GroupsBelowStart,
        Severity::Warning,
        format!(
            "{count} committed below {start}: {}; what they have not read of it they never will: each goes on where its \
             auto.offset.reset says",
            groups_in_words(below)
        ),
    )
    .next("Let them catch up first, or set their offsets to the new log start.")
}

/// Returns what is known of the other replicas of a log whose head goes.
pub(super) fn head_finding(
    evidence: &ReplicaEvidence,
    now: Timestamp,
    cost: DeletionCost,
) -> Finding {
    let source = evidence.source(now);
    let Some(others) = evidence.others_in_words() else {
        let severity = if cost == DeletionCost::Records {
            Severity::Loss
        } else {
            Severity::Routine
        };
        let text = format!("no other replica is in sync {source}: what goes here is nowhere else");
        return Finding::new(FindingCode::LastInSyncCopy, severity, text);
    };
    Finding::new(
        FindingCode::OtherReplicas,
        Severity::Warning,
        format!(
            "{others} in sync {source}; once this broker leads, also by the automatic preferred election, they raise their \
             log start to its own and delete the same"
        ),
    )
    .next("Take this broker from the front of the partition's replicas first, if they are to keep it.")
}

/// Says why nothing of a log's records goes although it could lose some.
pub(super) fn unfinished_finding() -> Finding {
    let text = "a compaction or a split waits for its end here: which segments the log has is decided at the next boot, so none goes";
    Finding::new(FindingCode::SwapIncomplete, Severity::Warning, text)
        .next("Recover the log first (recover --partition), then clean up.")
}
