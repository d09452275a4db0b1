//! `krescue dump` over the files of real and damaged log dirs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use krescue::cli::Exit;
use krescue::cli::command::{DumpDepth, dump};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::golden_archive::{Files, below, unpack};

const CASES: &[u8] = include_bytes!("../golden/recovery/cases.tar.zst");
const NODES: &[u8] = include_bytes!("../golden/metadata/nodes.tar.zst");

fn dump_rows(path: &Path, depth: DumpDepth) -> (Exit, Vec<Value>) {
    let mut out = vec![];
    let exit = dump(path, depth, true, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
    (exit, rows.collect())
}

fn write(files: &Files, root: &Path) {
    for (path, bytes) in files {
        let path = root.join(path);
        if !path.to_string_lossy().ends_with('/') {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }
}

/// Dumps every file of a case; returns the codes of what is wrong.
fn codes(files: &Files, case: &str) -> BTreeSet<String> {
    let dir = tempfile::tempdir().unwrap();
    let before = below(files, &format!("{case}/before/"));
    write(&before, dir.path());
    let mut codes = BTreeSet::new();
    for path in before
        .keys()
        .filter(|path| !path.is_empty() && !path.ends_with('/'))
    {
        let (exit, rows) = dump_rows(&dir.path().join(path), DumpDepth::Records);
        assert_eq!(rows[0]["kind"], "file", "{path}");
        let summary = rows.last().unwrap();
        assert_eq!(summary["kind"], "summary", "{path}");
        assert_eq!(summary["exit"], exit.code(), "{path}");
        let found: Vec<_> = rows.iter().filter(|row| row["kind"] == "finding").collect();
        assert_eq!(summary["findings"], found.len(), "{path}");
        assert_eq!(exit == Exit::Findings, !found.is_empty(), "{path}");
        codes.extend(
            found
                .iter()
                .map(|row| row["code"].as_str().unwrap().to_owned()),
        );
    }
    codes
}

#[test]
fn each_damage_is_a_finding_and_none_an_error() {
    let files = unpack(CASES);
    for (case, wanted) in [
        ("undamaged", &[][..]),
        ("open-transaction", &[]),
        ("compacted-gaps", &[]),
        ("message-format-0", &[]),
        ("message-format-1", &[]),
        ("producers-collide", &[]),
        ("torn-tail", &["torn_tail"]),
        ("torn-append", &["torn_tail"]),
        ("junk-17-bytes", &["torn_tail"]),
        ("length-past-end", &["torn_tail"]),
        ("zeros-added", &["zero_tail"]),
        ("length-13", &["length_too_small"]),
        ("bit-flip-last-batch", &["crc_mismatch"]),
        ("bit-flip-first-segment", &["crc_mismatch"]),
        ("control-key-short", &["control_record_invalid"]),
        ("txnindex-version-1", &["txn_index_corrupt"]),
        ("epochs-wrong-count", &["checkpoint_malformed"]),
        ("epochs-not-a-number", &["checkpoint_malformed"]),
        ("recovery-point-malformed", &["checkpoint_malformed"]),
        ("message-format-1-bad-gzip", &["record_invalid"]),
        ("snapshots-corrupt", &["snapshot_corrupt"]),
    ] {
        let found = codes(&files, case);
        for code in wanted {
            assert!(found.contains(*code), "{case}: {found:?}");
        }
        assert!(!wanted.is_empty() || found.is_empty(), "{case}: {found:?}");
    }
}

#[test]
fn every_file_of_every_case_is_dumped() {
    let files = unpack(CASES);
    let cases: BTreeSet<_> = files.keys().filter_map(|it| it.split('/').next()).collect();
    assert!(cases.len() > 50);
    for case in cases.into_iter().step_by(3) {
        codes(&files, case);
    }
}

#[test]
fn records_of_the_metadata_have_names_and_secrets_none() {
    let dir = tempfile::tempdir().unwrap();
    write(&below(&unpack(NODES), "4.4.0-crashed/"), dir.path());
    let log = "__cluster_metadata-0/00000000000000000000.log";
    let (exit, rows) = dump_rows(&dir.path().join(log), DumpDepth::Records);
    assert_eq!(exit, Exit::Ok);
    let of = |kind: &str| {
        rows.iter()
            .filter(|row| row["kind"] == kind)
            .collect::<Vec<_>>()
    };
    let types: BTreeSet<_> = of("metadata_record")
        .iter()
        .map(|row| row["type"].as_str().unwrap())
        .collect();
    for name in [
        "Topic",
        "Partition",
        "PartitionChange",
        "Config",
        "RegisterBroker",
        "RemoveTopic",
        "NoOp",
    ] {
        assert!(types.contains(name), "{types:?}");
    }
    assert_eq!(of("control_record")[0]["type"], "LEADER_CHANGE");
    assert_eq!(of("control_record")[0]["leader_id"], 1);
    // Without --records the same batches and nothing of them.
    let (_, batches) = dump_rows(&dir.path().join(log), DumpDepth::Batches);
    assert_eq!(batches.len(), of("batch").len() + 2);

    let secret = dir.path().join("server.properties");
    fs::write(&secret, "ssl.key.password=hunter2\nnode.id=1\n").unwrap();
    let (_, rows) = dump_rows(&secret, DumpDepth::Batches);
    assert_eq!(rows[1]["value"], "[hidden]");
    assert_eq!(rows[2]["value"], "1");
}

#[test]
fn a_file_is_dumped_as_text_a_row_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("recovery-point-offset-checkpoint");
    let text = |content: &[u8]| {
        fs::write(&path, content).unwrap();
        let mut out = vec![];
        dump(&path, DumpDepth::Batches, false, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.replace(&*path.to_string_lossy(), "FILE")
    };
    insta::assert_snapshot!(text(b"0\n1\nt 0 3000\n"), @"
    file  path FILE  content offset_checkpoint  bytes 13
    checkpoint_entry  topic t  partition 0  offset 3000
    summary  entries 1  findings 0  exit 0
    ");
    insta::assert_snapshot!(text(b"0\n2\nt 0 3000\naa\n"), @r#"
    file  path FILE  content offset_checkpoint  bytes 16
    finding  code checkpoint_malformed  severity fatal  file recovery-point-offset-checkpoint  position 0  text "Malformed line in checkpoint file [FILE]: aa; Kafka takes every entry of the file for missing and the log dir offline"
    summary  entries 0  findings 1  exit 3
    "#);
}

#[test]
fn a_file_that_is_not_there_or_has_no_meaning_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let fails = |name: &str| {
        let result = dump(
            &dir.path().join(name),
            DumpDepth::Batches,
            true,
            &mut vec![],
        );
        result.unwrap_err().exit
    };
    assert_eq!(fails("00000000000000000000.log"), Exit::Failed);
    assert_eq!(fails(".lock"), Exit::Usage);
}

/// A change of some bytes of a file.
#[derive(Debug, Clone)]
enum Damage {
    Cut(prop::sample::Index),
    Flip(prop::sample::Index, u8),
    Overwrite(prop::sample::Index, Vec<u8>),
    Insert(prop::sample::Index, Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    let bytes = || prop::collection::vec(any::<u8>(), 1..40);
    prop_oneof![
        any::<prop::sample::Index>().prop_map(Damage::Cut),
        (any::<prop::sample::Index>(), 1_u8..).prop_map(|(at, by)| Damage::Flip(at, by)),
        (any::<prop::sample::Index>(), bytes()).prop_map(|(at, by)| Damage::Overwrite(at, by)),
        (any::<prop::sample::Index>(), bytes()).prop_map(|(at, by)| Damage::Insert(at, by)),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    let place = |at: &prop::sample::Index, bytes: &Vec<u8>| at.index(bytes.len() + 1);
    match damage {
        Damage::Cut(at) => bytes.truncate(place(at, bytes)),
        Damage::Flip(at, by) => {
            let at = place(at, bytes);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= by;
            }
        }
        Damage::Overwrite(at, by) => {
            for (to, from) in bytes.iter_mut().skip(at.index(by.len() * 9)).zip(by) {
                *to = *from;
            }
        }
        Damage::Insert(at, by) => {
            let at = place(at, bytes);
            bytes.splice(at..at, by.iter().copied());
        }
    }
}

#[test]
fn a_real_file_with_any_damage_is_dumped() {
    let mut files = below(&unpack(CASES), "message-format-1/before/");
    files.extend(below(&unpack(CASES), "open-transaction/before/"));
    files.extend(below(&unpack(NODES), "4.4.0-crashed/"));
    files.retain(|path, _| path != "told.json" && !path.is_empty() && !path.ends_with('/'));
    let paths: Vec<_> = files.keys().cloned().collect();
    let dir = tempfile::tempdir().unwrap();
    write(&files, dir.path());
    let damages = prop::collection::vec(damage(), 1..4);
    let config = ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(path in prop::sample::select(paths), damages in damages)| {
        let mut bytes = files[&path].clone();
        for damage in &damages {
            apply(&mut bytes, damage);
        }
        let path = dir.path().join(path);
        fs::write(&path, bytes).unwrap();
        let (exit, rows) = dump_rows(&path, DumpDepth::Records);
        prop_assert!(matches!(exit, Exit::Ok | Exit::Findings));
        prop_assert_eq!(&rows.last().unwrap()["kind"], "summary");
    });
}
