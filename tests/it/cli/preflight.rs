//! `preflight`: what stands in the way of a boot is named, mended, and can be taken back.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

use serde_json::Value;

use crate::support::apply::contents;
use crate::support::fixture::{SEGMENT, Tree};
use crate::support::lock::hold_lock;
use crate::support::program::{Ran, run};

fn preflight(tree: &Tree, version: &str, more: &[&str]) -> Ran {
    let mut arguments = vec![
        "--log-dirs",
        "d1,d2",
        "--kafka-version",
        version,
        "--now",
        "1700000400000",
        "preflight",
        "--json",
    ];
    arguments.extend(more);
    run(&tree.path("."), &arguments)
}

/// `T4` with a second, empty log dir, on which nothing stands in the way of a boot.
fn two_dirs() -> Tree {
    let tree = Tree::t4();
    tree.add_log_dir("d2", 2);
    tree
}

/// Looks, checks that nothing was touched, and returns the one finding of a rule beyond routine.
#[track_caller]
fn found(tree: &Tree, version: &str, rule: &str) -> Value {
    let before = tree.fingerprint(".");
    let ran = preflight(tree, version, &["--structure"]).exits(3);
    assert_eq!(tree.fingerprint("."), before, "looking changes nothing");
    let mut beyond = ran.kind("finding");
    beyond.retain(|line| line["severity"] != "routine");
    let told: Vec<String> = beyond
        .iter()
        .map(|line| format!("{}: {}", line["rule"], line["text"]))
        .collect();
    assert_eq!(beyond.len(), 1, "{told:#?}");
    assert_eq!(beyond[0]["rule"], rule, "{told:#?}");
    ran.summary();
    beyond.remove(0)
}

/// Mends, looks that nothing is left, takes it back, and looks that all is as it was.
#[track_caller]
fn mends(tree: &Tree, version: &str) -> Vec<Value> {
    let before = contents(&tree.path("."));
    let shown = preflight(tree, version, &["--fix"]).exits(3);
    let summary = shown.summary();
    let hash = summary["plan"].as_str().unwrap().to_owned();
    assert_eq!(
        (&summary["class"], &summary["stored"]),
        (&"A".into(), &true.into())
    );
    let steps = shown.kind("step");
    assert!(!steps.is_empty());
    let applied = preflight(tree, version, &["--fix", "--apply", "--yes", &hash[..8]]).exits(0);
    assert!(!applied.summary()["job"].is_null());
    preflight(tree, version, &["--structure"]).exits(0);
    let mended = contents(&tree.path("."));
    preflight(tree, version, &["--fix"]).exits(0);
    let undo = [
        "--log-dirs",
        "d1,d2",
        "undo",
        &hash[..8],
        "--apply",
        "--yes-to-all",
    ];
    run(&tree.path("."), &undo).exits(0);
    let after = contents(&tree.path("."));
    assert_ne!(mended, after);
    for (path, bytes) in &before {
        let is_ours = path.starts_with("d1") || path.starts_with("d2");
        let now = after.get(path);
        assert!(
            !is_ours || now == Some(bytes),
            "{} is not as it was: {now:?}",
            path.display()
        );
    }
    steps
}

#[test]
fn an_undamaged_crash_is_safe_to_start() {
    let tree = two_dirs();
    let before = tree.fingerprint(".");
    let ran = preflight(&tree, "4.4.0", &[]).exits(0);
    assert_eq!(tree.fingerprint("."), before);
    assert_eq!(ran.kind("run")[0]["reading"], "as_boot");
    let ran = run(
        &tree.path("."),
        &[
            "--log-dirs",
            "d1,d2",
            "--kafka-version",
            "4.4.0",
            "preflight",
        ],
    )
    .exits(0);
    assert!(ran.out.contains("SAFE TO START"), "{}", ran.out);
}

#[test]
fn what_a_boot_cuts_is_found_by_reading_as_it_does() {
    let tree = two_dirs();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes[60_000] ^= 1);
    preflight(&tree, "4.4.0", &["--structure"]).exits(0);
    let ran = preflight(&tree, "4.4.0", &[]).exits(3);
    let finding = ran.finding("crc_mismatch");
    assert_eq!(finding["partition"], "t-0");
    assert_eq!(finding["severity"], "loss");
}

#[test]
fn a_malformed_checkpoint_is_named_with_its_line_and_written_from_what_it_says() {
    for (name, text, at_boot) in [
        (
            "recovery-point-offset-checkpoint",
            "0\n9\nt 0 3000\n",
            "dir_offline",
        ),
        (
            "recovery-point-offset-checkpoint",
            "7\n1\nt 0 3000\n",
            "dir_offline",
        ),
        (
            "recovery-point-offset-checkpoint",
            "0\n2\nt 0 3000\nt 0 five\n",
            "takes_longer",
        ),
        (
            "log-start-offset-checkpoint",
            "0\n9\nt 0 3\n",
            "dir_offline",
        ),
        (
            "replication-offset-checkpoint",
            "0\n9\nt 0 3\n",
            "dir_offline",
        ),
        (
            "replication-offset-checkpoint",
            "0\n1\nt 0 five\n",
            "serves_some",
        ),
        (
            "cleaner-offset-checkpoint",
            "0\n1\nt 0 five\n",
            "cleaner_dies",
        ),
        ("cleaner-offset-checkpoint", "\0\0\0", "dir_offline"),
    ] {
        let tree = two_dirs();
        tree.write(&format!("d1/{name}"), text);
        let finding = found(&tree, "4.4.0", "checkpoints");
        assert_eq!(finding["at_boot"], at_boot, "{name} {text:?}");
        assert_eq!(finding["code"], "checkpoint_malformed");
        assert_eq!(finding["file"], name);
        assert_eq!(finding["fix"], true);
        if text.contains("five") {
            let line = text.lines().position(|line| line.contains("five")).unwrap();
            assert_eq!(finding["line"], line + 1);
        }
        let steps = mends(&tree, "4.4.0");
        assert_eq!(steps.len(), 1);
        assert_eq!(steps[0]["partition"], Value::Null);
    }
}

#[test]
fn a_checkpoint_keeps_its_whole_lines_and_a_whole_successor_wins() {
    let tree = two_dirs();
    tree.write(
        "d1/recovery-point-offset-checkpoint",
        "0\n9\nt 0 3000\ngone 7 3\nt 0",
    );
    preflight(&tree, "4.4.0", &["--fix", "--apply", "--yes-to-all"]).exits(0);
    let read = || fs::read_to_string(tree.path("d1/recovery-point-offset-checkpoint")).unwrap();
    assert_eq!(read(), "0\n1\nt 0 3000\n");
    tree.write("d1/recovery-point-offset-checkpoint", "\0\0\0\0");
    tree.write(
        "d1/recovery-point-offset-checkpoint.tmp",
        "0\n1\nt 0 2000\n",
    );
    preflight(&tree, "4.4.0", &["--fix", "--apply", "--yes-to-all"]).exits(0);
    assert_eq!(read(), "0\n1\nt 0 2000\n");
}

#[test]
fn a_leader_epoch_checkpoint_is_written_from_the_batches() {
    for (text, at_boot) in [
        ("0\n1\nx 0\n", "exits"),
        ("0\n5\n0 0\n", "dir_offline"),
        ("0\n1\n-5 0\n", "exits"),
    ] {
        let tree = two_dirs();
        tree.write("d1/t-0/leader-epoch-checkpoint", text);
        let finding = found(&tree, "4.4.0", "leader_epochs");
        assert_eq!(finding["at_boot"], at_boot);
        assert_eq!(finding["partition"], "t-0");
        mends(&tree, "4.4.0");
        preflight(&tree, "4.4.0", &["--fix", "--apply", "--yes-to-all"]).exits(0);
        let written = fs::read_to_string(tree.path("d1/t-0/leader-epoch-checkpoint")).unwrap();
        assert_eq!(written, "0\n1\n0 0\n");
    }
}

#[test]
fn an_empty_meta_properties_gets_the_ids_of_the_other_dirs() {
    for bytes in [
        &b""[..],
        &[0; 300],
        b"version=2\nnode.id=1\n",
        b"version=1\ncluster.id=X\n",
    ] {
        let tree = two_dirs();
        tree.write("d2/meta.properties", bytes);
        let finding = found(&tree, "4.4.0", "meta_properties");
        assert_eq!(finding["severity"], "fatal");
        mends(&tree, "4.4.0");
        preflight(&tree, "4.4.0", &["--fix", "--apply", "--yes-to-all"]).exits(0);
        let written = fs::read_to_string(tree.path("d2/meta.properties")).unwrap();
        for line in [
            "version=1",
            "node.id=1",
            "cluster.id=MkU3OEVBNTcwNTJENDM2Qg",
        ] {
            assert!(written.lines().any(|of| of == line), "{written}");
        }
        assert!(
            !written.contains("directory.id"),
            "a boot makes one: {written}"
        );
    }
}

#[test]
fn a_dir_without_meta_properties_is_not_formatted() {
    let tree = two_dirs();
    fs::remove_file(tree.path("d2/meta.properties")).unwrap();
    let finding = found(&tree, "4.4.0", "meta_properties");
    assert_eq!(
        (&finding["at_boot"], &finding["fix"]),
        (&"exits".into(), &false.into())
    );
    assert!(finding["next"].as_str().unwrap().contains("mounted"));
    fs::remove_dir(tree.path("d2")).unwrap();
    let finding = found(&tree, "4.4.0", "log_dir");
    assert_eq!(finding["at_boot"], "exits");
}

#[test]
fn ids_that_contradict_are_told_side_by_side() {
    for (from, to, says) in [
        (
            "cluster.id=MkU3OEVBNTcwNTJENDM2Qg",
            "cluster.id=other",
            "Invalid cluster.id",
        ),
        (
            "AAAAAAAAAAAAAAAAAAA02A",
            "AAAAAAAAAAAAAAAAAAA01A",
            "Duplicate directory ID",
        ),
    ] {
        let tree = two_dirs();
        let text = fs::read_to_string(tree.path("d2/meta.properties")).unwrap();
        tree.write("d2/meta.properties", text.replace(from, to));
        let finding = found(&tree, "4.4.0", "ids");
        assert!(
            finding["text"].as_str().unwrap().contains(says),
            "{finding}"
        );
        assert!(finding["line"].is_u64(), "{finding}");
        assert_eq!(finding["fix"], false, "ids are never edited away");
    }
    let tree = two_dirs();
    tree.write(
        "server.properties",
        format!(
            "process.roles=broker\nnode.id=7\nlisteners=PLAINTEXT://127.0.0.1:0\nlog.dirs={},{}\nmetadata.log.dir={}\n",
            tree.path("d1").display(),
            tree.path("d2").display(),
            tree.path("d2").display()
        ),
    );
    let arguments = [
        "--config",
        "server.properties",
        "--kafka-version",
        "4.4.0",
        "preflight",
        "--structure",
        "--json",
    ];
    let ran = run(&tree.path("."), &arguments).exits(3);
    let text = ran.finding("identity_mismatch")["text"].to_string();
    assert!(
        text.contains("node.id is 1 and server.properties has 7"),
        "{text}"
    );
}

#[test]
fn an_empty_lost_and_found_is_removed_and_a_full_one_is_not() {
    let tree = two_dirs();
    fs::create_dir(tree.path("d1/lost+found")).unwrap();
    let finding = found(&tree, "4.4.0", "dir_names");
    assert_eq!(
        (&finding["at_boot"], &finding["file"]),
        (&"exits".into(), &"lost+found".into())
    );
    let steps = mends(&tree, "4.4.0");
    assert_eq!(steps[0]["action"], "remove_dir");
    tree.write("d1/lost+found/#12", "saved");
    let finding = found(&tree, "4.4.0", "dir_names");
    assert_eq!(finding["fix"], false);
    for name in [".snapshot", "backup", "t1-x"] {
        let tree = two_dirs();
        fs::create_dir(tree.path("d2").join(name)).unwrap();
        assert_eq!(found(&tree, "4.4.0", "dir_names")["file"], name);
    }
}

#[test]
fn a_name_without_an_offset_is_found() {
    let tree = two_dirs();
    tree.write("d1/t-0/x.log", "");
    let finding = found(&tree, "4.4.0", "file_names");
    assert_eq!(finding["file"], "x.log");
}

#[test]
fn something_that_is_no_file_empties_a_segment_from_4_0_on() {
    for (version, at_boot) in [("4.4.0", "empties_segments"), ("3.9.1", "dir_offline")] {
        let tree = two_dirs();
        fs::create_dir(tree.path("d1/t-0/00000000000000004000.snapshot")).unwrap();
        assert_eq!(found(&tree, version, "not_a_file")["at_boot"], at_boot);
    }
}

/// Gives the tree to a user for whom modes count, where the tests run as one for whom they do not.
fn give_away(tree: &Tree) {
    if nix::unistd::geteuid().is_root() {
        for path in [".", "d1", "d2"] {
            for entry in fs::read_dir(tree.path(path)).unwrap() {
                chown(entry.unwrap().path(), Some(1234), Some(1234)).unwrap();
            }
        }
        for entry in fs::read_dir(tree.path("d1/t-0")).unwrap() {
            chown(entry.unwrap().path(), Some(1234), Some(1234)).unwrap();
        }
    }
}

#[test]
fn what_the_broker_cannot_change_is_given_to_it() {
    let mode = |tree: &Tree, path: &str, mode| {
        fs::set_permissions(tree.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    for (version, path, bits, at_boot) in [
        ("4.4.0", "d1/t-0", 0o555, "empties_segments"),
        ("3.9.1", "d1/t-0", 0o555, "dir_offline"),
        (
            "4.4.0",
            "d1/t-0/00000000000000003000.log",
            0o444,
            "dir_offline",
        ),
        (
            "4.4.0",
            "d1/t-0/00000000000000001000.index",
            0o000,
            "dir_offline",
        ),
        (
            "4.4.0",
            "d1/recovery-point-offset-checkpoint",
            0o000,
            "dir_offline",
        ),
    ] {
        // Another user's file that cannot be read could not be put right by this one either.
        if bits == 0 && !nix::unistd::geteuid().is_root() {
            continue;
        }
        let tree = two_dirs();
        give_away(&tree);
        mode(&tree, path, bits);
        let finding = found(&tree, version, "owner");
        assert_eq!(finding["at_boot"], at_boot, "{path}");
        let steps = mends(&tree, version);
        assert_eq!(steps[0]["action"], "set_owner");
        let bits_now = fs::metadata(tree.path(path)).unwrap().permissions().mode();
        assert_eq!(bits_now & 0o777, bits, "the undo gave it back");
    }
}

#[test]
fn a_link_is_not_given_away() {
    let tree = two_dirs();
    give_away(&tree);
    let elsewhere = tree.path("elsewhere");
    fs::rename(tree.path("d1/t-0"), &elsewhere).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o555)).unwrap();
    symlink(&elsewhere, tree.path("d1/t-0")).unwrap();
    let ran = preflight(&tree, "4.4.0", &["--fix", "--apply", "--yes-to-all"]).exits(4);
    assert!(ran.err.contains("is a link"), "{}", ran.err);
    let mode = fs::metadata(&elsewhere).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o555);
}

#[test]
fn of_two_copies_the_empty_one_is_set_aside_and_of_two_full_ones_none() {
    let tree = two_dirs();
    fs::create_dir(tree.path("d2/t-0")).unwrap();
    tree.write("d2/t-0/00000000000000000000.log", "");
    tree.write(
        "d2/t-0/partition.metadata",
        fs::read(tree.path("d1/t-0/partition.metadata")).unwrap(),
    );
    let finding = found(&tree, "3.9.1", "twice");
    assert_eq!(finding["at_boot"], "exits");
    let next = finding["next"].as_str().unwrap();
    assert!(next.contains("/d1: the other one is empty"), "{next}");
    let steps = mends(&tree, "3.9.1");
    assert_eq!(steps[0]["action"], "rename_dir");
    assert!(steps[0]["new_name"].as_str().unwrap().ends_with("-stray"));
    tree.add_partition("d2", "t-0", 5);
    let finding = found(&tree, "3.9.1", "twice");
    assert_eq!(finding["fix"], false);
    let next = finding["next"].as_str().unwrap();
    assert!(next.contains("/d2 reaches further"), "{next}");
}

#[test]
fn a_lock_that_no_broker_holds_keeps_the_boot_out() {
    let tree = two_dirs();
    tree.write("d1/.lock", "");
    let ran = preflight(&tree, "4.4.0", &["--structure"]).exits(0);
    let free = ran.kind("finding");
    let free = free.iter().find(|line| line["rule"] == "lock").unwrap();
    assert_eq!(
        (&free["severity"], &free["at_boot"]),
        (&"routine".into(), &"nothing".into())
    );
    let _lock = hold_lock(&tree.path("d2"));
    // Reading the file here would let the lock go.
    let found = preflight(&tree, "4.4.0", &["--structure"]).exits(3);
    let found = found.kind("finding");
    let held = |line: &&Value| line["rule"] == "lock" && line["severity"] != "routine";
    let finding = found.iter().find(held).unwrap();
    assert_eq!(
        (&finding["severity"], &finding["at_boot"]),
        (&"fatal".into(), &"exits".into())
    );
    let me = format!("process {}", std::process::id());
    assert!(finding["text"].as_str().unwrap().contains(&me), "{finding}");
}

#[test]
fn too_few_open_files_are_told_before_a_boot_empties_segments() {
    let tree = two_dirs();
    let arguments = [
        "--log-dirs",
        "d1,d2",
        "preflight",
        "--structure",
        "--json",
        "--kafka-version",
    ];
    let under = |limit: u64, version: &str| {
        let output = std::process::Command::new("prlimit")
            .arg(format!("--nofile={limit}:{limit}"))
            .arg(env!("CARGO_BIN_EXE_krescue"))
            .args(arguments)
            .arg(version)
            .current_dir(tree.path("."))
            .env("XDG_STATE_HOME", tree.path("state"))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut lines = lines.filter(|line| line["rule"] == "open_files");
        lines.next().map(|line| {
            let of = |key: &str| line[key].as_str().unwrap().to_owned();
            (of("severity"), of("at_boot"))
        })
    };
    let told = |severity: &str, at_boot: &str| Some((severity.to_owned(), at_boot.to_owned()));
    // A boot needs 150 files and one for each of a few segments.
    assert_eq!(under(140, "4.4.0"), told("fatal", "empties_segments"));
    assert_eq!(under(140, "3.9.1"), told("fatal", "dir_offline"));
    assert_eq!(under(200, "4.4.0"), told("warning", "fails_later"));
    assert_eq!(under(1000, "4.4.0"), None);
}

#[test]
fn partition_metadata_and_quorum_state_are_read() {
    for (bytes, at_boot) in [("", "exits"), ("garbage", "dir_offline")] {
        let tree = two_dirs();
        tree.write("d1/t-0/partition.metadata", bytes);
        assert_eq!(
            found(&tree, "4.4.0", "partition_metadata")["at_boot"],
            at_boot
        );
    }
    let tree = two_dirs();
    fs::create_dir(tree.path("d2/__cluster_metadata-0")).unwrap();
    tree.write(
        "d2/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
        "x",
    );
    tree.write("d2/__cluster_metadata-0/quorum-state", "{\"leaderId\":");
    let finding = found(&tree, "4.4.0", "metadata_log");
    assert_eq!(
        (&finding["at_boot"], &finding["file"]),
        (&"exits".into(), &"quorum-state".into())
    );
}

#[test]
fn a_lost_metadata_log_of_the_only_controller_blocks_the_boot() {
    let tree = two_dirs();
    let config = |roles: &str, voters: &str| {
        format!(
            "process.roles={roles}\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:0\ncontroller.quorum.voters={voters}\n\
             log.dirs={},{}\n",
            tree.path("d1").display(),
            tree.path("d2").display()
        )
    };
    let arguments = [
        "--config",
        "server.properties",
        "--kafka-version",
        "4.4.0",
        "preflight",
        "--structure",
        "--json",
    ];
    tree.write(
        "server.properties",
        config("broker,controller", "1@localhost:9093"),
    );
    let ran = run(&tree.path("."), &arguments).exits(3);
    let finding = ran.finding("metadata_log");
    assert_eq!(
        (&finding["severity"], &finding["at_boot"]),
        (&"fatal".into(), &"marks_stray".into())
    );
    assert_eq!(finding["lost_bytes"], SEGMENT * 4);
    tree.write("server.properties", config("broker", "2@a:1,3@b:1,4@c:1"));
    let ran = run(&tree.path("."), &arguments).exits(3);
    assert_eq!(ran.finding("metadata_log")["severity"], "warning");
}

#[test]
fn segments_that_are_too_long_emptied_or_without_an_index_are_told() {
    let tree = two_dirs();
    fs::write(tree.t0(1000, "log"), b"").unwrap();
    assert_eq!(found(&tree, "4.4.0", "segments")["code"], "segment_emptied");
    let tree = two_dirs();
    fs::File::options()
        .write(true)
        .open(tree.t0(1000, "log"))
        .unwrap()
        .set_len(1 << 31)
        .unwrap();
    assert_eq!(
        found(&tree, "4.4.0", "segments")["code"],
        "segment_too_large"
    );
    let tree = two_dirs();
    fs::remove_file(tree.t0(1000, "index")).unwrap();
    let finding = found(&tree, "4.4.0", "indexes");
    assert_eq!(finding["at_boot"], "takes_longer");
    assert!(
        finding["text"]
            .as_str()
            .unwrap()
            .contains(&SEGMENT.to_string())
    );
}

#[test]
fn a_segment_that_is_missing_from_the_middle_is_told_but_not_of_a_compacted_log() {
    let tree = two_dirs();
    for kind in ["log", "index", "timeindex"] {
        fs::remove_file(tree.t0(1000, kind)).unwrap();
    }
    let finding = found(&tree, "4.4.0", "segments");
    assert_eq!(finding["code"], "segment_missing");
    assert_eq!(
        (&finding["severity"], &finding["at_boot"]),
        (&"warning".into(), &"nothing".into())
    );
    let text = finding["text"].as_str().unwrap();
    assert!(
        text.starts_with("offsets 1000 to 1999 are in no segment"),
        "{text}"
    );
    tree.write("d1/cleaner-offset-checkpoint", "0\n1\nt 0 2000\n");
    let ran = preflight(&tree, "4.4.0", &["--json"]);
    let codes: Vec<_> = ran
        .kind("finding")
        .iter()
        .map(|line| line["code"].clone())
        .collect();
    assert!(!codes.contains(&"segment_missing".into()), "{codes:?}");
}

#[test]
fn a_port_that_is_taken_is_named_before_hours_of_recovery() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let tree = two_dirs();
    tree.write(
        "server.properties",
        format!(
            "process.roles=broker\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:{port}\nlog.dirs={},{}\nmetadata.log.dir={}\n",
            tree.path("d1").display(),
            tree.path("d2").display(),
            tree.path("d2").display()
        ),
    );
    let arguments = [
        "--config",
        "server.properties",
        "--kafka-version",
        "4.4.0",
        "preflight",
        "--structure",
        "--json",
    ];
    let ran = run(&tree.path("."), &arguments).exits(3);
    let finding = ran.finding("port_in_use");
    assert!(
        finding["text"]
            .as_str()
            .unwrap()
            .contains(&port.to_string()),
        "{finding}"
    );
    drop(taken);
    let ran = run(&tree.path("."), &arguments);
    assert!(!ran.codes().contains(&"port_in_use".to_owned()));
}

#[test]
fn controllers_that_cannot_be_reached_are_named() {
    let tree = two_dirs();
    let controllers = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let addresses = controllers
        .each_ref()
        .map(|of| of.local_addr().unwrap().to_string());
    let voters: Vec<String> = addresses
        .iter()
        .zip(7..)
        .map(|(address, id)| format!("{id}@{address}"))
        .collect();
    let text = format!(
        "process.roles=broker\nnode.id=1\nlog.dirs={},{}\nlisteners=PLAINTEXT://127.0.0.1:0\n\
         controller.quorum.voters={}\n",
        tree.path("d1").display(),
        tree.path("d2").display(),
        voters.join(",")
    );
    tree.write("server.properties", text);
    let look = || {
        let words = ["--config", "server.properties", "--kafka-version", "4.4.0"];
        let words = [&words[..], &["preflight", "--structure", "--json"]].concat();
        let mut found = run(&tree.path("."), &words).kind("finding");
        found.retain(|line| line["rule"] == "controllers");
        found
    };
    assert_eq!(look(), [Value::Null; 0]);
    let mut left = controllers.into_iter();
    drop(left.next());
    let found = look();
    assert_eq!(found[0]["severity"], "warning", "{found:#?}");
    drop(left.next());
    let found = look();
    assert_eq!(
        (&found[0]["code"], &found[0]["at_boot"]),
        (&"controller_away".into(), &"exits".into())
    );
    let text = found[0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("2 of the 3 controllers of controller.quorum.voters")
            && text.contains(&addresses[0]),
        "{text}"
    );
    // A status asks nobody.
    let words = ["--config", "server.properties", "status", "--json"];
    let status = run(&tree.path("."), &words);
    assert!(
        !status
            .out
            .contains("controllers of controller.quorum.voters"),
        "{}",
        status.out
    );
}
