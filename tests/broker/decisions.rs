//! What a broker serves of logs that were cut only where they were bad, or left as they were.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::hand_over::{Record, nothing_recovered, partition_dirs, served_to};
use crate::loading::work_folder;
use crate::support::batches::batches;
use crate::support::checkpoint::RECOVERY_POINT;
use crate::support::krescue::Target;
use crate::support::source::Source;
use crate::support::tree;

/// A batch in the middle of a log whose checksum does not fit.
struct Bad {
    log: PathBuf,
    /// From its first offset to the next segment's: what a cut only there costs.
    lost: std::ops::Range<i64>,
}

#[test]
fn a_log_that_was_cut_only_where_it_is_bad_or_left_is_served_as_promised_4_4_0() {
    let version = "4.4.0";
    let source = Source::shared(version);
    let folder = work_folder("decisions");
    let [whole, hurt] = ["whole", "hurt"].map(|side| folder.join(side));
    for side in [&whole, &hurt] {
        source.copy_to(side);
        // A boot reads all of each log.
        for dir in ["data1", "data2"] {
            let _ = fs::remove_file(side.join(dir).join(RECOVERY_POINT));
        }
    }
    let bad = spoil(&hurt);
    assert!(bad.len() > 3, "{} logs", bad.len());
    let before = served_to(&source.kafka, &whole, "true", |_| {});
    let mut compared = 0;
    for (way, hand_over) in [
        ("cut-here", "none"),
        ("cut-here", "verify"),
        ("cut-here", "clean"),
        ("leave", "verify"),
        ("leave", "clean"),
    ] {
        let side = folder.join(format!("{way}-{hand_over}"));
        tree::copy(&hurt, &side);
        let target = Target {
            folder: &side,
            version,
            now: source.now,
        };
        let decisions: Vec<String> = bad.keys().map(|name| format!("{name}={way}")).collect();
        let mut words = vec!["recover", "--json", "--hand-over", hand_over];
        words.extend(["--quarantine", "none", "--apply", "--yes-to-all"]);
        words.extend(decisions.iter().flat_map(|decision| ["--decide", decision]));
        let answer = target.run(&words);
        assert_eq!(answer.exit, 0, "{way} {hand_over}: {}", answer.tail());
        let left = |side: &Path| -> Vec<Vec<u8>> {
            bad.values()
                .map(|bad| fs::read(side.join(&bad.log)).unwrap())
                .collect()
        };
        let kept = left(&side);
        // A consumer that checks would stop at the batch that was left.
        let checks = if way == "leave" { "false" } else { "true" };
        let found = served_to(&source.kafka, &side, checks, |log| {
            if hand_over == "clean" {
                nothing_recovered(log);
            }
            assert!(
                !log.contains("Corruption found"),
                "{way} {hand_over}: {log}"
            );
        });
        assert!(left(&side) == kept, "{way} {hand_over}: a boot cut more");
        assert!(way != "leave" || left(&hurt) == kept, "krescue cut");
        let ends = answer.ends();
        for (partition, records) in &found {
            if partition.contains("compacted") || partition.starts_with("__") {
                continue;
            }
            let lost = bad.get(partition).filter(|_| way == "cut-here");
            let promised: Vec<&Record> = before[partition]
                .iter()
                .filter(|(offset, _)| *offset < ends[partition])
                .filter(|(offset, _)| !lost.is_some_and(|bad| bad.lost.contains(offset)))
                .collect();
            let records: Vec<&Record> = records.iter().collect();
            assert_eq!(promised, records, "{way} {hand_over}: {partition}");
            compared += records.len();
        }
    }
    eprintln!(
        "{version}: {compared} records served as promised in 5 boots over {} logs with a bad batch",
        bad.len()
    );
    fs::remove_dir_all(&folder).unwrap();
}

/// Changes the checksum of a batch in a middle segment of each log that has one, the second of at least three.
fn spoil(folder: &Path) -> BTreeMap<String, Bad> {
    let mut done = BTreeMap::new();
    for dir in ["data1", "data2"] {
        for name in partition_dirs(&folder.join(dir)) {
            // A boot may die of a preallocated tail although the marker says clean: such a log keeps its dir from it.
            let unfit = ["__", "preallocated"];
            if unfit.iter().any(|start| name.starts_with(start)) || name.contains("compacted") {
                continue;
            }
            let place = Path::new(dir).join(&name);
            let mut bases: Vec<i64> = fs::read_dir(folder.join(&place))
                .unwrap()
                .filter_map(|entry| {
                    let name = entry.unwrap().file_name().into_string().unwrap();
                    name.strip_suffix(".log").map(|base| base.parse().unwrap())
                })
                .collect();
            bases.sort_unstable();
            let [.., base, next, _] = bases[..] else {
                continue;
            };
            let log = place.join(format!("{base:020}.log"));
            let mut bytes = fs::read(folder.join(&log)).unwrap();
            let found = batches(&bytes);
            if found.len() < 3 {
                continue;
            }
            let first = found[1].base_offset;
            bytes[found[1].position + 17] ^= 0xff;
            fs::write(folder.join(&log), &bytes).unwrap();
            let bad = Bad {
                log,
                lost: first..next,
            };
            done.insert(name, bad);
        }
    }
    done
}
