//! `preflight` against a real boot whose metadata log is lost: it is named before, `watch` names the strays after, and once
//! all is put back a broker comes up.

use std::fs;
use std::path::{Path, PathBuf};

use crate::preflight::Bench;

const STARTED: &str = "Kafka Server started";

#[test]
fn a_lost_metadata_log_is_named_and_put_back_4_4_0() {
    let mut bench = Bench::named("4.4.0", "preflight-metadata");
    loses_its_metadata_log(&mut bench);
    bench.comes_up();
}

/// Without its metadata log a node of one controller makes an empty cluster, to which every log is a stray.
fn loses_its_metadata_log(bench: &mut Bench) {
    let log = bench.path("data1/__cluster_metadata-0");
    let aside = bench.path("metadata-aside");
    fs::rename(&log, &aside).unwrap();
    let found = bench.found("metadata_log");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        (&found[0]["at_boot"], &found[0]["severity"]),
        (&"marks_stray".into(), &"fatal".into())
    );
    let logs: usize = ["data1", "data2"]
        .iter()
        .map(|dir| partition_dirs(&bench.path(dir)).len())
        .sum();
    bench.boot_until(&[STARTED]);
    let lines = bench.watched(3);
    let strays = lines.iter().filter(|line| line["code"] == "stray");
    assert_eq!(strays.count(), logs, "{lines:#?}");
    // As the finding says: restore it, rename the -stray dirs back.
    let next = found[0]["next"].as_str().unwrap();
    assert!(
        next.contains("restore it, rename the -stray dirs back"),
        "{next}"
    );
    fs::remove_dir_all(&log).unwrap();
    fs::rename(&aside, &log).unwrap();
    let mut back = 0;
    for dir in ["data1", "data2"] {
        for path in partition_dirs(&bench.path(dir)) {
            let name = path.file_name().unwrap().to_str().unwrap();
            if let Some((of, _)) = name
                .strip_suffix("-stray")
                .and_then(|of| of.rsplit_once('.'))
            {
                fs::rename(&path, path.with_file_name(of)).unwrap();
                back += 1;
            }
        }
    }
    assert_eq!(back, logs);
    bench.is_safe();
    let output = bench.boot_until(&[STARTED]);
    assert!(!output.contains("-stray"), "{output}");
    bench.proved.push("metadata_log lost");
}

/// Returns the dirs of logs, the metadata log left out.
fn partition_dirs(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .filter(|entry| entry.file_name() != "__cluster_metadata-0")
        .map(|entry| entry.path())
        .collect()
}
