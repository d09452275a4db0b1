//! What mirrors have of the logs from which segments could go.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use super::{Context, Look};
use crate::app::text::plural;
use crate::disk::{RealStorage, Storage as _};
use crate::engine::{FactsRequest, read_copied_facts};
use crate::mirror::{CopiedTo, Thinning, copied_to, unread_syncs};
use crate::plan::cleanup::{FreeableLog, MirrorCopy};

/// How the topics of offset syncs begin.
const SYNCS_PREFIX: &str = "mm2-offset-syncs.";

/// Names the mirrors of each log, by the offset syncs in the log dirs; returns what is doubtful about them too.
///
/// Beside a running broker, of which nobody asked to read the batches (`may_read`), syncs that lie here are only named.
/// Without a topic of syncs in the dirs or in the metadata nothing says that there is a mirror, and nothing is told.
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
        let unread = syncs_here(&look.log_dirs);
        let doubt = unread.first().map(|first| {
            format!(
                "whether a mirror has what goes is not known: {first} lies here, and the batches of a running broker are not read \
                 (krescue mirror flows asks the cluster)"
            )
        });
        return (logs, doubt.into_iter().collect());
    }
    let counter = AtomicU64::new(0);
    let request = FactsRequest {
        log_dirs: &look.log_dirs,
        host: &context.host,
        now: context.now,
        thinning: Thinning::default(),
        counter: &counter,
    };
    let facts = match read_copied_facts(&RealStorage, request, look.topics.image.as_deref()) {
        Ok(facts) => facts,
        Err(error) => {
            let text = format!(
                "what mirrors have copied is not known: {}",
                error.sentence()
            );
            return (logs, vec![text]);
        }
    };
    let mirrors = copied_to(&facts);
    let logs: Vec<FreeableLog> = logs
        .into_iter()
        .map(|log| {
            let copies = copies(&mirrors, &log);
            log.mirrored_by(copies)
        })
        .collect();
    let mut doubts = lacking(&logs);
    for unread in unread_syncs(&facts) {
        let brokers: Vec<String> = unread.brokers.iter().map(ToString::to_string).collect();
        doubts.push(format!(
            "whether a mirror has what goes is not known: {}-{} lies on broker {} (krescue mirror flows there, or the \
             cluster itself, tells it)",
            unread.topic,
            unread.partition,
            brokers.join(", ")
        ));
    }
    let findings = facts.findings.iter();
    let findings = findings.filter(|it| it.place.contains("mm2-offset-syncs"));
    doubts.extend(findings.map(|it| format!("{}: {}", it.place, it.text)));
    (logs, doubts)
}

/// Returns the partition dirs of offset syncs, by their names.
fn syncs_here(log_dirs: &[PathBuf]) -> Vec<String> {
    let dirs = log_dirs.iter();
    let listed = dirs.filter_map(|dir| RealStorage.list(dir).ok()).flatten();
    let names = listed.map(|entry| entry.name);
    let mut names: Vec<String> = names
        .filter(|name| name.starts_with(SYNCS_PREFIX))
        .collect();
    names.sort();
    names
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
