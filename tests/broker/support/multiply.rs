//! Many damaged partitions out of a few crashed ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::checkpoint::{self, LOG_START, Offsets, RECOVERY_POINT};
use super::damage::{Kind, Victim, damage};
use super::random::Random;
use super::source::Source;
use super::tree;

/// What was done to each partition dir, by its path relative to the node's folder.
pub(crate) type Damaged = BTreeMap<String, Vec<String>>;

/// How many partitions to make and what to do to them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) seed: u64,
    /// Damaged copies of each partition of the source, beside the one as the crash left it.
    pub(crate) copies: u32,
    pub(crate) kinds: &'a [Kind],
}

/// Makes a node in the new folder `to`: every partition of `source` as it is, and damaged copies under other numbers.
pub(crate) fn multiply(source: &Source, to: &Path, plan: Plan<'_>) -> Damaged {
    let mut random = Random::new(plan.seed);
    source.copy_to(to);
    let mut points = [RECOVERY_POINT, LOG_START]
        .map(|name| ["data1", "data2"].map(|dir| checkpoint::read(&to.join(dir).join(name))));
    let mut done = Damaged::new();
    let originals: Vec<_> = ["data1", "data2"]
        .into_iter()
        .enumerate()
        .flat_map(|(dir, name)| {
            partitions(&to.join(name))
                .into_iter()
                .map(move |partition| (dir, name, partition))
        })
        .collect();
    // Every kind comes first once before one does again.
    let mut first = random.below(plan.kinds.len());
    for copy in 0..=plan.copies {
        for (from, dir, (topic, number)) in &originals {
            let relative = format!("{dir}/{topic}-{number}");
            if copy == 0 {
                done.insert(relative, Vec::new());
                continue;
            }
            let target = random.below(2);
            let key = (topic.clone(), number + copy * 100);
            let path = to
                .join(["data1", "data2"][target])
                .join(format!("{topic}-{}", key.1));
            tree::copy(&source.folder.join(&relative), &path);
            let was = |kind: usize, points: &[[Offsets; 2]; 2]| {
                points[kind][*from].get(&(topic.clone(), *number)).copied()
            };
            let mut victim = Victim {
                path,
                recovery_point: was(0, &points),
                log_start: was(1, &points),
                only_last: false,
            };
            let what = damage(&mut victim, plan.kinds, first, &mut random);
            first += 1;
            for (kind, offset) in [victim.recovery_point, victim.log_start]
                .into_iter()
                .enumerate()
            {
                if let Some(offset) = offset {
                    points[kind][target].insert(key.clone(), offset);
                }
            }
            done.insert(
                victim
                    .path
                    .strip_prefix(to)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned(),
                what,
            );
        }
    }
    for (name, dirs) in [RECOVERY_POINT, LOG_START].iter().zip(&points) {
        for (dir, offsets) in ["data1", "data2"].iter().zip(dirs) {
            checkpoint::write(&to.join(dir).join(name), offsets);
        }
    }
    done
}

/// Returns topic and number of each partition dir in `log_dir`, but the metadata log's.
fn partitions(log_dir: &Path) -> Vec<(String, u32)> {
    let mut found: Vec<_> = fs::read_dir(log_dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name != "__cluster_metadata-0")
        .filter_map(|name| {
            let (topic, number) = name.rsplit_once('-')?;
            Some((topic.to_owned(), number.parse().ok()?))
        })
        .collect();
    found.sort();
    found
}
