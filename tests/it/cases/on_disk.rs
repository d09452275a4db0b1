//! Small trees through the program itself: what it says of each, what its plans leave, what they leave alone.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use serde_json::{Value, json};

use crate::support::apply::contents;
use crate::support::fixture::{BATCH, BatchSpec, SEGMENT, Tree, indexes, segment};
use crate::support::program::{Ran, run};

const MARKER: &str = "d1/.kafka_cleanshutdown";

/// T4 as a broker leaves it that was stopped in order.
fn clean() -> Tree {
    let tree = Tree::t4();
    tree.write("d1/recovery-point-offset-checkpoint", "0\n1\nt 0 4000\n");
    tree.write(MARKER, r#"{"version":0,"brokerEpoch":77}"#);
    tree
}

fn krescue(tree: &Tree, words: &[&str]) -> Ran {
    let common = ["--log-dirs", "d1", "--kafka-version", "4.4.0"];
    let common = [&common[..], &["--now", "1700000400000"]].concat();
    run(&tree.path("."), &[&common, words].concat())
}

/// The same, and nothing below the log dir may change.
#[track_caller]
fn looks(tree: &Tree, words: &[&str]) -> Ran {
    let before = tree.fingerprint("d1");
    let ran = krescue(tree, words);
    assert_eq!(tree.fingerprint("d1"), before, "looking changes nothing");
    ran
}

fn plan_of(ran: &Ran) -> String {
    ran.summary()["plan"].as_str().unwrap().to_owned()
}

#[track_caller]
fn takes_back(tree: &Tree, plan: &str) {
    krescue(tree, &["undo", plan, "--apply", "--yes-to-all"]).exits(0);
}

fn text<'a>(finding: &'a Value, key: &str) -> &'a str {
    finding[key].as_str().unwrap()
}

/// An entry below the segment's base, and a length that is no whole number of entries.
fn wrong_indexes() -> [Vec<u8>; 2] {
    let below = [(-5_i32).to_be_bytes(), 4604_i32.to_be_bytes()].concat();
    [below, [indexes(1000).0, vec![0; 3]].concat()]
}

#[test]
fn an_index_that_is_wrong_where_no_boot_looks_is_made_again_by_an_act_of_its_own() {
    for wrong in wrong_indexes() {
        for tree in [clean(), Tree::t4()] {
            tree.edit(&tree.t0(1000, "index"), |bytes| bytes.clone_from(&wrong));
            let before = contents(&tree.path("d1"));
            // A recovery does what a boot does, and a boot does not notice.
            let recovery = looks(&tree, &["recover", "--json"]);
            let steps = recovery.kind("step");
            assert!(
                !steps
                    .iter()
                    .any(|step| text(step, "file").contains("1000.index")),
                "{steps:?}"
            );
            looks(&tree, &["verify", "--json"])
                .exits(3)
                .finding("index_corrupt");
            let shown = looks(&tree, &["verify", "--fix", "--json"]).exits(3);
            assert_eq!(shown.summary()["class"], "A");
            let steps = shown.kind("step");
            assert_eq!(steps.len(), 1, "{steps:?}");
            assert_eq!(steps[0]["file"], "00000000000000001000.index");
            let plan = plan_of(&shown);
            let apply = ["verify", "--fix", "--apply", "--yes", &plan, "--json"];
            let other = [&apply[..], &["--quarantine", "none"]].concat();
            let ran = krescue(&tree, &other).exits(2);
            assert!(ran.err.contains("--quarantine"), "{}", ran.err);
            krescue(&tree, &apply).exits(0).summary();
            let mut mended = before.clone();
            mended.insert("t-0/00000000000000001000.index".into(), indexes(1000).0);
            assert!(contents(&tree.path("d1")) == mended, "nothing else changes");
            looks(&tree, &["verify", "--json"]).exits(0);
            let ran = looks(&tree, &["verify", "--fix", "--json"]).exits(0);
            assert!(ran.summary()["plan"].is_null());
            takes_back(&tree, &plan);
            assert!(contents(&tree.path("d1")) == before);
        }
    }
}

#[test]
fn an_index_whose_segment_is_bad_too_stays_as_it_is() {
    let tree = clean();
    let [wrong, _] = wrong_indexes();
    for base in [1000, 2000] {
        tree.edit(&tree.t0(base, "index"), |bytes| bytes.clone_from(&wrong));
    }
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[57_650] ^= 0xff);
    let ran = krescue(
        &tree,
        &["verify", "--fix", "--apply", "--yes-to-all", "--json"],
    )
    .exits(3);
    ran.summary();
    let index = |base| fs::read(tree.t0(base, "index")).unwrap();
    assert_eq!(index(1000), wrong);
    assert_eq!(index(2000), indexes(2000).0);
    let ran = looks(&tree, &["verify", "--fix"]).exits(3);
    assert!(
        ran.out.contains("its indexes stay as they are"),
        "{}",
        ran.out
    );
}

#[test]
fn a_time_index_that_says_too_much_is_made_again() {
    let tree = clean();
    tree.edit(&tree.t0(2000, "timeindex"), |bytes| {
        let last = bytes.len() - 12;
        bytes[last + 2] ^= 1;
    });
    krescue(&tree, &["verify", "--fix", "--apply", "--yes-to-all"]).exits(0);
    assert_eq!(
        fs::read(tree.t0(2000, "timeindex")).unwrap(),
        indexes(2000).1
    );
    assert!(tree.path(MARKER).exists());
}

#[test]
fn a_missing_index_costs_a_full_read_in_spite_of_the_marker() {
    let tree = clean();
    fs::remove_file(tree.t0(1000, "index")).unwrap();
    let ran = looks(&tree, &["recover", "--json"]).exits(3);
    let finding = ran.finding("index_missing");
    assert!(
        text(&finding, "text").contains("whatever the marker"),
        "{finding}"
    );
    assert_eq!(finding["file"], "00000000000000001000.index");
    let ran = looks(&tree, &["preflight", "--json"]).exits(3);
    let finding = ran.finding("index_missing");
    assert!(
        text(&finding, "text").contains("115100 bytes in full"),
        "{finding}"
    );
    let apply = ["recover", "--hand-over", "clean", "--apply", "--yes-to-all"];
    krescue(&tree, &apply).exits(0);
    for base in [0, 1000, 2000, 3000] {
        let (offsets, times) = indexes(base);
        assert_eq!((offsets.len(), times.len()), (192, 300));
        assert_eq!(fs::read(tree.t0(base, "index")).unwrap(), offsets);
        assert_eq!(fs::read(tree.t0(base, "timeindex")).unwrap(), times);
        assert_eq!(fs::read(tree.t0(base, "log")).unwrap(), segment(base));
    }
    assert_eq!(fs::read(tree.path(MARKER)).unwrap(), b"");
}

#[test]
fn preallocated_indexes_take_no_space_and_have_the_entries_that_are_in_them() {
    let tree = Tree::t4();
    let sizes = [("index", 10_485_760, 24), ("timeindex", 10_485_756, 25)];
    for (suffix, len, entries) in sizes {
        let path = tree.t0(3000, suffix);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_len(len).unwrap();
        assert!(fs::metadata(&path).unwrap().blocks() * 512 <= 8192);
        let dumped = run(&tree.path("."), &["dump", path.to_str().unwrap(), "--json"]).exits(0);
        assert_eq!(
            dumped.lines().pop().unwrap()["entries"],
            entries,
            "{suffix}"
        );
    }
    let ran = looks(&tree, &["segments", "t-0", "--json"]);
    let last = ran.kind("segment").pop().unwrap();
    assert_eq!(last["base_offset"], 3000);
    let (bytes, allocated) = (&last["bytes"], &last["allocated"]);
    assert!(bytes.as_u64().unwrap() < 21_200_000, "{last}");
    assert!(allocated.as_u64().unwrap() < 200_000, "{last}");
    krescue(&tree, &["recover", "--apply", "--yes-to-all"]).exits(0);
    assert_eq!(fs::read(tree.t0(3000, "index")).unwrap(), indexes(3000).0);
    assert_eq!(
        fs::read(tree.t0(3000, "timeindex")).unwrap(),
        indexes(3000).1
    );
}

#[test]
fn zeros_under_a_clean_marker_are_cut_in_one_step_and_come_back() {
    for hand_over in ["verify", "clean", "none"] {
        let tree = clean();
        tree.edit(&tree.t0(3000, "log"), |bytes| bytes.resize(1 << 20, 0));
        let before = contents(&tree.path("d1"));
        let told = looks(&tree, &["recover", "--json"]).exits(3);
        assert_eq!(told.kind("partition")[0]["verdict"], "refused");
        let next = told.finding("zero_tail")["next"].clone();
        assert!(
            next.as_str().unwrap().contains("recover --distrust-marker"),
            "{next}"
        );
        let words = [
            "recover",
            "--distrust-marker",
            "--hand-over",
            hand_over,
            "--json",
        ];
        let shown = looks(&tree, &words).exits(3);
        assert_eq!(shown.summary()["class"], "B");
        assert_eq!(shown.kind("partition")[0]["log_end_offset"], 4000);
        let plan = plan_of(&shown);
        let apply = [&words[..], &["--apply", "--yes-to-all"]].concat();
        assert_eq!(plan_of(&krescue(&tree, &apply).exits(0)), plan);
        assert_eq!(fs::read(tree.t0(3000, "log")).unwrap(), segment(3000));
        let marker = fs::read(tree.path(MARKER)).ok();
        assert_eq!(marker, (hand_over == "clean").then(Vec::new));
        // Nothing is left to do, with or without the marker.
        looks(&tree, &["recover", "--json"]).exits(0);
        takes_back(&tree, &plan);
        assert!(contents(&tree.path("d1")) == before, "{hand_over}");
    }
}

#[test]
fn a_marker_that_is_not_trusted_stays_where_nothing_is_to_be_done() {
    let tree = clean();
    let handed_over = ["recover", "--hand-over", "clean", "--apply", "--yes-to-all"];
    krescue(&tree, &handed_over);
    let before = contents(&tree.path("d1"));
    assert!(tree.path(MARKER).exists());
    let words = [
        "recover",
        "--distrust-marker",
        "--apply",
        "--yes-to-all",
        "--json",
    ];
    let ran = krescue(&tree, &words).exits(0);
    let told = ran.finding("unclean_stop");
    assert!(text(&told, "text").contains("not trusted"), "{told}");
    assert!(contents(&tree.path("d1")) == before);
}

#[test]
fn an_empty_recovery_point_checkpoint_is_no_error_and_makes_a_boot_read_all() {
    let tree = Tree::t4();
    let read = |tree: &Tree| {
        let ran = looks(tree, &["recover", "--json"]);
        assert!(!ran.codes().contains(&"checkpoint_malformed".to_owned()));
        ran.kind("partition")[0]["scan_bytes"].clone()
    };
    assert_eq!(read(&tree), SEGMENT);
    tree.write("d1/recovery-point-offset-checkpoint", "");
    assert_eq!(read(&tree), 4 * SEGMENT);
}

#[test]
fn leader_epochs_of_zeros_are_written_from_the_batches_once_that_is_confirmed() {
    let tree = Tree::t4();
    for base in [2000, 3000] {
        tree.edit(&tree.t0(base, "log"), |bytes| {
            // The epoch lies before what the checksum covers.
            for batch in bytes.chunks_mut(BATCH) {
                batch[12..16].copy_from_slice(&3_i32.to_be_bytes());
            }
        });
    }
    tree.write("d1/t-0/leader-epoch-checkpoint", [0; 33]);
    let ran = looks(&tree, &["preflight", "--structure", "--json"]).exits(3);
    let finding = ran.finding("checkpoint_malformed");
    assert_eq!(finding["at_boot"], "exits", "it is the only log dir");
    assert!(text(&finding, "next").contains("2 epochs"), "{finding}");
    assert!(text(&finding, "next").contains("diverge"), "{finding}");
    looks(&tree, &["preflight", "--fix", "--json"]).exits(3);
    krescue(&tree, &["preflight", "--fix", "--apply", "--yes-to-all"]).exits(0);
    let written = fs::read_to_string(tree.path("d1/t-0/leader-epoch-checkpoint"));
    assert_eq!(written.unwrap(), "0\n2\n0 0\n3 2000\n");
    let kept = contents(&tree.path("state"));
    assert!(
        kept.values().any(|bytes| *bytes == [0; 33]),
        "the old file is kept"
    );
}

#[test]
fn a_dir_that_is_to_be_deleted_counts_with_the_space_that_it_takes() {
    let tree = Tree::t4();
    let dir = "d1/t-9.3f0c1e9ad2b64c1c8a7be6f1a2b3c4d5-delete";
    fs::create_dir(tree.path(dir)).unwrap();
    let log = format!("{dir}/00000000000000000000.log");
    tree.write(&log, segment(0));
    let takes = fs::metadata(tree.path(&log)).unwrap().blocks() * 512;
    let ran = looks(&tree, &["cleanup", "--leftovers", "--json"]).exits(3);
    assert_eq!(ran.summary()["class"], "A");
    let freed = ran.kind("partition");
    let freed = freed.iter().filter_map(|line| line["freed_bytes"].as_u64());
    let freed: u64 = freed.sum();
    // A file system may count the dir itself too.
    assert!(
        (takes..=takes + 8192).contains(&freed),
        "{freed} of {takes}"
    );
}

#[test]
fn a_lost_partition_metadata_is_told_before_the_boot_by_what_a_release_makes_of_it() {
    for (version, at_boot, severity) in [
        ("3.7.0", "exits", "fatal"),
        ("3.7.1", "marks_stray", "loss"),
        ("4.4.0", "marks_stray", "loss"),
    ] {
        let tree = Tree::t4();
        fs::remove_file(tree.path("d1/t-0/partition.metadata")).unwrap();
        let words = ["--log-dirs", "d1", "--kafka-version", version];
        let words = [&words[..], &["preflight", "--structure", "--json"]].concat();
        let ran = run(&tree.path("."), &words).exits(3);
        let finding = ran.finding("stray_partition");
        assert!(!ran.codes().contains(&"partition_metadata".to_owned()));
        assert_eq!(finding["lost_bytes"], 460_400);
        assert_eq!(finding["at_boot"], at_boot, "{version}: {finding}");
        assert_eq!(finding["severity"], severity, "{version}: {finding}");
    }
}

/// Retention by the batches themselves: the last one of a segment was made by a clock that is wrong.
fn with_time(timestamp: i64) -> Tree {
    let tree = Tree::t4();
    tree.edit(&tree.t0(1000, "log"), |bytes| {
        let batch = &mut bytes[SEGMENT - BATCH..];
        batch[35..43].copy_from_slice(&timestamp.to_be_bytes());
        let checksum = crc32c::crc32c(&batch[21..]);
        batch[17..21].copy_from_slice(&checksum.to_be_bytes());
    });
    tree.edit(&tree.t0(1000, "timeindex"), |bytes| {
        let last = bytes.len() - 12;
        bytes[last..last + 8].copy_from_slice(&timestamp.to_be_bytes());
    });
    tree.write("topics", "t retention.ms=86400000\n");
    tree
}

fn retained(tree: &Tree, more: &[&str]) -> Ran {
    let words = ["--log-dirs", "d1", "--topic-config", "topics"];
    let words = [&words[..], &["--now", "1700300000000", "segments", "t-0"]].concat();
    run(&tree.path("."), &[&words, more].concat())
}

#[test]
fn a_batch_from_the_future_keeps_all_that_is_newer() {
    let tree = with_time(4_102_444_800_000);
    let ran = retained(&tree, &["--json"]).exits(0);
    let segments = ran.kind("segment");
    let verdicts: Vec<&str> = segments.iter().map(|line| text(line, "verdict")).collect();
    assert_eq!(verdicts, ["delete", "held", "held", "held"]);
    assert_eq!(segments[1]["changes_at"], "2100-01-02T00:00:00.001Z");
    for later in &segments[2..] {
        assert_eq!(later["reason"], "future_timestamp");
        assert_eq!(later["held_by"], 1000);
    }
    let held = segments[1..].iter().map(|line| line["bytes"].as_u64());
    assert_eq!(held.sum::<Option<u64>>(), Some(345_300));
    // What a deletion would free: the blocks of logs and indexes.
    let log = &ran.kind("retention")[0];
    assert_eq!(log["held_segments"], 3);
    let freed = log["delete_bytes"].as_u64().unwrap();
    assert_eq!(log["held_bytes"], 3 * freed, "{log}");
    // The scan of the batches says the same.
    let ran = looks(&tree, &["verify", "--json"]).exits(3);
    assert_eq!(ran.codes(), ["future_timestamp"]);
}

#[test]
fn microseconds_for_milliseconds_are_told_by_their_year() {
    let tree = with_time(1_700_000_000_000_000);
    let ran = retained(&tree, &["--json"]).exits(0);
    assert_eq!(ran.kind("segment")[3]["held_by"], json!(1000));
    let ran = retained(&tree, &[]).exits(0);
    assert!(ran.out.contains("year 55840"), "{}", ran.out);
}

/// What the batches of the fixture are made by, so that the edits above are of the right place.
#[test]
fn the_largest_timestamp_lies_where_it_is_changed() {
    let spec = BatchSpec::new(1990);
    let batch = spec.encode();
    assert_eq!(batch[35..43], (spec.timestamp + 9).to_be_bytes());
    assert_eq!(segment(1000)[SEGMENT - BATCH..], batch);
}
