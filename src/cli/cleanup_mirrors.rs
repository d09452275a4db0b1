//! What mirrors have of the logs from which segments could go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;

use super::{Context, Look};
use crate::app::text::plural;
use crate::disk::{RealStorage, Storage as _};
use crate::engine::{FactsRequest, read_copied_facts};
use crate::mirror::{
    ClusterFacts, CopiedTo, HiddenMirror, Thinning, copied_to, hidden_mirrors, may_be_mirrored,
    shows_a_mirror, unread_syncs,
};
use crate::plan::cleanup::{FreeableLog, MirrorCopy};

/// How the topics of offset syncs begin.
const SYNCS_PREFIX: &str = "mm2-offset-syncs.";

/// Names the mirrors of each log, by the offset syncs in the log dirs; returns what is doubtful about them too.
///
/// Beside a running broker, of which nobody asked to read the batches (`may_read`), topics that show a mirror are only named.
/// Without one in the dirs or in the metadata nothing says that there is a mirror, and nothing is told.
pub(super) fn with_mirrors(
    context: &Context,
    look: &Look,
    logs: Vec<FreeableLog>,
    may_read: bool,
) -> (Vec<FreeableLog>, Vec<String>) {
    if logs.is_empty() {
        return (logs, Vec::new());
    }
    if !may_read {
        let first = dir_of_a_mirror(look);
        let why = first.map(|first| {
            format!(
                "{first} lies here, and the batches of a running broker are not read (krescue mirror flows asks the cluster)"
            )
        });
        return known_by(logs, &[], &[], why.as_slice());
    }
    let counter = AtomicU64::new(0);
    let request = FactsRequest {
        log_dirs: &look.log_dirs,
        host: &context.host,
        now: context.now,
        thinning: Thinning::default(),
        counter: &counter,
    };
    match read_copied_facts(&RealStorage, request, look.topics.image.as_deref()) {
        Ok(facts) => {
            let (logs, mut doubts) = known_by(
                logs,
                &copied_to(&facts),
                &hidden_mirrors(&facts),
                &unread(&facts),
            );
            let findings = facts.findings.iter();
            let findings = findings.filter(|it| it.place.contains("mm2-offset-syncs"));
            doubts.extend(findings.map(|it| format!("{}: {}", it.place, it.text)));
            (logs, doubts)
        }
        Err(error) => {
            let why = format!("what mirrors have copied: {}", error.sentence());
            known_by(logs, &[], &[], &[why])
        }
    }
}

/// Names the mirrors of each log: those of which it is known how far they are, those of which it is not, and why nothing is
/// known of others.
fn known_by(
    logs: Vec<FreeableLog>,
    mirrors: &[CopiedTo],
    hidden: &[HiddenMirror],
    unread: &[String],
) -> (Vec<FreeableLog>, Vec<String>) {
    let of = |log: FreeableLog| {
        let topic = log.topic_partition.topic.clone();
        let copies = copies(mirrors, &log);
        let hidden = hidden.iter().filter(|it| it.may_copy(&topic));
        let mut unknown: Vec<String> = hidden.map(ToString::to_string).collect();
        if may_be_mirrored(&topic) {
            unknown.extend(unread.iter().cloned());
        }
        log.mirrored_by(copies, unknown)
    };
    let logs: Vec<FreeableLog> = logs.into_iter().map(of).collect();
    let mut doubts = lacking(&logs);
    let unknown: BTreeSet<&String> = logs.iter().flat_map(|log| &log.unknown_mirrors).collect();
    let unknown = unknown.into_iter().map(|why| {
        format!(
            "whether a mirror has what goes is not known, and it counts as good records (class C): {why}"
        )
    });
    doubts.extend(unknown);
    (logs, doubts)
}

/// Says which syncs lie on other brokers.
fn unread(facts: &ClusterFacts) -> Vec<String> {
    let unread = unread_syncs(facts).into_iter();
    let unread = unread.map(|unread| {
        let brokers: Vec<String> = unread.brokers.iter().map(ToString::to_string).collect();
        format!(
            "{}-{} lies on broker {} (krescue mirror flows there, or the cluster itself, tells it)",
            unread.topic,
            unread.partition,
            brokers.join(", ")
        )
    });
    unread.collect()
}

/// Returns a partition dir that shows a mirror, one of offset syncs before others.
fn dir_of_a_mirror(look: &Look) -> Option<String> {
    let dirs = look.log_dirs.iter();
    let listed = dirs.filter_map(|dir| RealStorage.list(dir).ok()).flatten();
    let here = listed.map(|entry| entry.name).filter(|name| {
        let topic = name.rsplit_once('-').map(|(topic, _)| topic);
        topic.is_some_and(shows_a_mirror)
    });
    here.min_by(|a, b| {
        let [a, b] = [a, b].map(|name| (!name.starts_with(SYNCS_PREFIX), name));
        a.cmp(&b)
    })
}

fn copies(mirrors: &[CopiedTo], log: &FreeableLog) -> Vec<MirrorCopy> {
    let copies = mirrors.iter().filter_map(|mirror| {
        Some(MirrorCopy {
            mirror: mirror.mirror.clone(),
            // A sync beyond the log's end is of a topic that was made anew since.
            copied: mirror
                .copied(&log.topic_partition)?
                .filter(|copied| log.log_end_offset.is_none_or(|end| *copied < end)),
            last_sync: mirror.last_sync,
        })
    });
    copies.collect()
}

/// Says of how many partitions a mirror may lack what could go.
fn lacking(logs: &[FreeableLog]) -> Vec<String> {
    let mut by_mirror: BTreeMap<&str, u64> = BTreeMap::new();
    for log in logs {
        let Some(end) = log.segments.last().map(|last| last.next_offset) else {
            continue;
        };
        for mirror in &log.mirrors {
            if mirror.uncopied(log.log_start_offset, end) > 0 {
                *by_mirror.entry(&mirror.mirror).or_default() += 1;
            }
        }
    }
    let lacking = by_mirror.into_iter().map(|(mirror, count)| {
        format!(
            "{mirror} may not have copied all that could go of {}: what it may lack counts as good records (class C), and stays \
             where no metadata says who else has it",
            plural(count, "partition", "partitions")
        )
    });
    lacking.collect()
}
