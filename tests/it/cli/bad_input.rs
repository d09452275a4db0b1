//! Log dirs that are not what they should be: a finding or a clear error, never a panic, and nothing touched.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::symlink;

use crate::support::fixture::{BATCH, SEGMENT, Tree};
use crate::support::namespace::{can_mount, inside, mount_tmpfs, unshare};
use crate::support::program::{Ran, run};

fn scan(tree: &Tree, dirs: &str) -> Ran {
    let before = tree.fingerprint("d1");
    let ran = run(&tree.path("."), &["--log-dirs", dirs, "scan", "--json"]);
    assert_eq!(tree.fingerprint("d1"), before);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    ran
}

/// Every error says what to do next.
#[track_caller]
fn clear_error(ran: &Ran, exit: i32, words: &[&str]) {
    assert_eq!(ran.exit, exit, "{} {}", ran.out, ran.err);
    assert!(ran.err.contains("  next: "), "{}", ran.err);
    for word in words {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
}

#[test]
fn a_log_dir_that_is_missing_dangling_or_no_dir() {
    let tree = Tree::t4();
    clear_error(&scan(&tree, "nowhere"), 1, &["nowhere", "does not exist"]);
    symlink("gone", tree.path("dangling")).unwrap();
    clear_error(&scan(&tree, "dangling"), 1, &["is a link to gone"]);
    tree.write("file", "");
    clear_error(&scan(&tree, "file"), 2, &["not a directory"]);
    clear_error(&scan(&tree, "d1/t-0"), 2, &["a partition's dir"]);
    // One that is gone does not hide the others.
    let ran = scan(&tree, "d1,nowhere").exits(3);
    assert_eq!(ran.finding("log_dir")["severity"], "fatal");
    assert_eq!(ran.kind("partition").len(), 1);
}

#[test]
fn a_linked_log_dir_is_followed_and_the_same_dir_twice_is_an_error() {
    let tree = Tree::t4();
    symlink("d1", tree.path("link")).unwrap();
    assert_eq!(scan(&tree, "link").exits(0).kind("partition").len(), 1);
    clear_error(&scan(&tree, "d1,link"), 2, &["the same directory"]);
    clear_error(&scan(&tree, "d1,d1"), 2, &["the same directory"]);
    clear_error(&scan(&tree, ".,d1"), 2, &["lies inside"]);
}

#[test]
fn a_configuration_that_kafka_does_not_take() {
    let tree = Tree::t4();
    let home = tree.path(".");
    let with = |text: &str| {
        tree.write("server.properties", text);
        run(&home, &["--config", "server.properties", "scan"])
    };
    clear_error(&with("log.dirs=\n"), 2, &["log.dirs in", "line 1"]);
    clear_error(
        &with("log.dirs=/x\nlog.segment.bytes=big\n"),
        2,
        &["log.segment.bytes", "line 2"],
    );
    clear_error(&with("a=\\u00zz\n"), 2, &["server.properties"]);
    clear_error(&with("log.dirs=/nowhere/at/all\n"), 1, &["/nowhere/at/all"]);
    clear_error(
        &run(&home, &["--config", "missing.properties", "scan"]),
        1,
        &["missing.properties"],
    );
    clear_error(&run(&home, &["--config", "d1", "scan"]), 1, &["d1"]);
    tree.write("topics", "t\n");
    let ran = run(
        &home,
        &["--log-dirs", "d1", "--topic-config", "topics", "scan"],
    );
    clear_error(&ran, 2, &["topics line 1"]);
}

#[test]
fn an_empty_log_dir_holds_nothing() {
    let tree = Tree::t4();
    fs::create_dir(tree.path("empty")).unwrap();
    let ran = run(&tree.path("."), &["--log-dirs", "empty", "scan", "--json"]);
    assert_eq!(ran.kind("partition").len(), 0);
    // A broker does not start over it, formatted or not mounted.
    let ran = ran.exits(3);
    let found = ran.finding("log_dir");
    assert_eq!(found["severity"], "fatal");
    let text = found["text"].as_str().unwrap();
    assert!(text.contains("the log dir is empty"), "{found}");
    ran.summary();
}

#[test]
fn a_log_dir_that_may_not_be_read_fails_with_its_cause_and_what_to_do() {
    let tree = Tree::t4();
    fs::set_permissions(tree.path("d1"), fs::Permissions::from_mode(0o000)).unwrap();
    let ran = if nix::unistd::geteuid().is_root() {
        as_nobody(&tree)
    } else {
        run(&tree.path("."), &["--log-dirs", "d1", "scan", "--json"])
    };
    fs::set_permissions(tree.path("d1"), fs::Permissions::from_mode(0o755)).unwrap();
    clear_error(
        &ran,
        1,
        &["d1", "ermission denied", "as root or as the broker's user"],
    );
    assert_eq!(ran.summary()["exit"], 1);
}

#[test]
fn a_dir_where_a_file_should_be() {
    for name in [
        "00000000000000003000.log",
        "00000000000000003000.index",
        "leader-epoch-checkpoint",
    ] {
        let tree = Tree::t4();
        let path = tree.path("d1/t-0").join(name);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let ran = scan(&tree, "d1");
        assert_eq!(ran.exit, 3, "{name}: {} {}", ran.out, ran.err);
        ran.summary();
    }
}

/// A boot fails to open such a segment, so nothing is handed over; of a `.log` it sees nothing, and records are missing.
#[test]
fn no_file_where_a_segment_keeps_one() {
    let put = |tree: &Tree, name: &str, is_link: bool| {
        let path = tree.path("d1/t-0").join(name);
        let _ = fs::remove_file(&path);
        if is_link {
            symlink("nowhere", path).unwrap();
        } else {
            fs::create_dir(path).unwrap();
        }
    };
    let hand_over = |tree: &Tree| {
        let arguments = [
            "--log-dirs",
            "d1",
            "--kafka-version",
            "4.4.0",
            "recover",
            "--hand-over",
            "clean",
            "--apply",
            "--yes-to-all",
            "--json",
        ];
        run(&tree.path("."), &arguments)
    };
    for name in [
        "00000000000000001000.txnindex",
        "00000000000000003000.txnindex",
        "00000000000000003000.index",
    ] {
        for is_link in [false, true] {
            let tree = Tree::t4_unflushed();
            put(&tree, name, is_link);
            let ran = hand_over(&tree).exits(3);
            assert!(ran.out.contains(name), "{}", ran.out);
            assert!(!tree.path("d1/.kafka_cleanshutdown").exists(), "{name}");
        }
    }
    let tree = Tree::t4_unflushed();
    put(&tree, "00000000000000001000.log", false);
    let ran = scan(&tree, "d1");
    assert_eq!(
        ran.finding("not_a_file")["file"],
        "00000000000000001000.log"
    );
    let gap = ran.finding("segment_missing");
    assert_eq!(
        (gap["offset"].as_i64(), gap["severity"].as_str()),
        (Some(1000), Some("warning"))
    );
}

/// What cannot be read to an end is not waited for.
#[test]
fn a_pipe_or_an_endless_file_in_place_of_the_dirs_identity() {
    for is_pipe in [true, false] {
        let tree = Tree::t4();
        let path = tree.path("d1/meta.properties");
        fs::remove_file(&path).unwrap();
        if is_pipe {
            nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        } else {
            fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        }
        for command in ["scan", "status"] {
            let ran = run(&tree.path("."), &["--log-dirs", "d1", command, "--json"]);
            assert!(
                ran.err.is_empty() || ran.err.contains("next: "),
                "{}",
                ran.err
            );
            assert!(ran.exit < 4, "{ran:?}");
        }
    }
}

#[test]
fn a_file_that_is_missing() {
    for (file, code) in [
        ("00000000000000001000.index", Some("index_missing")),
        ("00000000000000001000.timeindex", Some("time_index_missing")),
        ("00000000000000003000.log", Some("index_orphaned")),
        ("00000000000000003000.index", None),
        ("leader-epoch-checkpoint", None),
        ("partition.metadata", Some("partition_metadata")),
    ] {
        let tree = Tree::t4();
        fs::remove_file(tree.path("d1/t-0").join(file)).unwrap();
        let ran = scan(&tree, "d1");
        assert!(matches!(ran.exit, 0 | 3), "{file}: {} {}", ran.out, ran.err);
        if let Some(code) = code {
            assert!(
                ran.codes().contains(&code.to_owned()),
                "{file}: {:?}",
                ran.codes()
            );
        }
        ran.summary();
    }
    let tree = Tree::t4();
    fs::remove_file(tree.path("d1/meta.properties")).unwrap();
    scan(&tree, "d1").summary();
}

#[test]
fn a_file_that_vanishes_behind_a_plan() {
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 10));
    let home = tree.path(".");
    let common = [
        "--log-dirs",
        "d1",
        "--kafka-version",
        "4.4.0",
        "recover",
        "--json",
    ];
    let plan = run(&home, &common).exits(3).summary();
    let hash = plan["plan"].as_str().unwrap().to_owned();
    fs::remove_file(tree.t0(3000, "log")).unwrap();
    let before = tree.fingerprint("d1/t-0");
    let mut arguments = common.to_vec();
    arguments.extend(["--apply", "--yes", &hash]);
    let ran = run(&home, &arguments).exits(4);
    assert!(ran.err.contains("00000000000000003000.log"), "{}", ran.err);
    assert_eq!(tree.fingerprint("d1/t-0"), before);
    // A link to nowhere, as a file that goes away between the listing and the look at it.
    symlink("gone", tree.t0(3000, "log")).unwrap();
    assert_eq!(scan(&tree, "d1").exit, 3);
}

/// Runs a shell with mounts of its own.
fn with_mounts(tree: &Tree, script: &str) -> Ran {
    let output = unshare()
        .args(["sh", "-ec", script])
        .current_dir(tree.path("."))
        .env("K", env!("CARGO_BIN_EXE_krescue"))
        .env("XDG_STATE_HOME", tree.path("state"))
        .output();
    let ran = crate::support::program::ran(output.unwrap());
    assert!(
        !ran.err.contains("unshare:") && !ran.err.contains("mount:"),
        "{}",
        ran.err
    );
    ran
}

#[test]
fn a_read_only_mount_is_looked_at_and_not_applied_to() {
    if !can_mount() {
        return;
    }
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 10));
    let before = tree.fingerprint("d1");
    let mounted = "mount --bind d1 d1; mount -o remount,ro,bind d1;";
    let look = format!("{mounted} $K --log-dirs d1 scan --json");
    let ran = with_mounts(&tree, &look);
    assert_eq!(
        ran.exits(3).finding("torn_tail")["position"],
        SEGMENT - BATCH
    );
    let apply = format!(
        "{mounted} $K --log-dirs d1 --kafka-version 4.4.0 recover --apply --yes-to-all --json"
    );
    let ran = with_mounts(&tree, &apply).exits(4);
    assert!(
        ran.err.contains("read-only") || ran.err.contains("Read-only"),
        "{}",
        ran.err
    );
    assert_eq!(tree.fingerprint("d1"), before);
}

#[test]
fn a_full_volume_is_refused_before_any_change() {
    if !can_mount() {
        return;
    }
    let tree = Tree::t4();
    // 512 KiB: the four logs fill 116 of 128 pages; the indexes are gone and two pages stay free.
    let script = "mount -t tmpfs -o size=512k none mnt; rm d1/t-0/*index; cp -a d1 mnt/d1; cd mnt; \
        free=$(stat -f -c %a .); if [ $free -gt 2 ]; then head -c $(( (free - 2) * 4096 )) /dev/zero > fill; fi; \
        find d1 -type f | sort | xargs md5sum > ../before; \
        rc=0; $K --log-dirs d1 --kafka-version 4.4.0 recover --apply --yes-to-all || rc=$?; \
        find d1 -type f ! -name .lock | sort | xargs md5sum > ../after; exit $rc";
    fs::create_dir(tree.path("mnt")).unwrap();
    tree.write("d1/recovery-point-offset-checkpoint", "");
    let ran = with_mounts(&tree, script).exits(4);
    assert!(
        ran.err.contains("free") || ran.err.contains("space") || ran.err.contains("room"),
        "{}",
        ran.err
    );
    let read = |name: &str| fs::read_to_string(tree.path(name)).unwrap();
    assert_eq!(read("before"), read("after"));
}

/// What is cut is copied where the log's own volume is another one, and there is no room for it.
#[test]
fn a_full_quarantine_is_refused_with_the_way_without_one() {
    if !inside() {
        return;
    }
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[57_650] ^= 0xff);
    mount_tmpfs(&tree.path("mount"), "size=128k");
    // The lock file of the dir aside, which an apply makes.
    let before = tree.fingerprint("d1/t-0");
    let recover = |quarantine| {
        let words = ["--log-dirs", "d1", "--kafka-version", "4.4.0", "recover"];
        let apply = ["--like-kafka", "--apply", "--yes-to-all", "--quarantine"];
        let words = [&words[..], &apply, &[quarantine]].concat();
        run(&tree.path("."), &words)
    };
    let ran = recover("mount/kept").exits(4);
    for words in ["for the quarantine", "--quarantine none", "mount"] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    assert_eq!(tree.fingerprint("d1/t-0"), before);
    recover("none").exits(0);
}

/// Plans and copies in memory are lost with it: that is said, to programs on the standard error.
#[test]
fn a_state_dir_in_memory_is_warned_of() {
    if !inside() {
        return;
    }
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 10));
    mount_tmpfs(&tree.path("mount"), "size=4m");
    let words = ["--log-dirs", "d1", "--state-dir", "mount/state", "recover"];
    let warning = "warning: the state dir mount/state lies on a tmpfs";
    let ran = run(&tree.path("."), &words).exits(3);
    assert!(ran.out.contains(warning), "{}", ran.out);
    let ran = run(&tree.path("."), &[&words[..], &["--json"]].concat()).exits(3);
    assert!(ran.err.contains(warning), "{}", ran.err);
    // The output has lines of JSON only.
    assert!(!ran.lines().is_empty());
}

#[test]
fn a_foreign_dir_stops_a_boot() {
    let tree = Tree::t4();
    fs::create_dir(tree.path("d1/lost+found")).unwrap();
    let ran = scan(&tree, "d1").exits(3);
    let finding = ran.finding("foreign_name");
    assert_eq!(finding["severity"], "fatal");
    assert!(
        finding["text"].as_str().unwrap().contains("lost+found"),
        "{finding}"
    );
    assert_ne!(finding["next"], "");
}

#[test]
fn the_same_partition_in_two_dirs_is_refused_in_both() {
    let tree = Tree::t4();
    tree.add_log_dir("d2", 2);
    tree.add_partition("d2", "t-0", 1);
    let ran = scan(&tree, "d1,d2").exits(3);
    let partitions = ran.kind("partition");
    assert_eq!(partitions.len(), 2);
    assert!(
        partitions.iter().all(|line| line["verdict"] == "refused"),
        "{partitions:?}"
    );
    assert!(ran.codes().contains(&"duplicate_partition".to_owned()));
    let before = [tree.fingerprint("d1"), tree.fingerprint("d2")];
    for more in [&[][..], &["--like-kafka", "--hand-over", "clean"]] {
        let apply = ["--log-dirs", "d1,d2", "--kafka-version", "4.4.0", "recover"];
        let words = [&apply[..], &["--apply", "--yes-to-all", "--json"], more].concat();
        let ran = run(&tree.path("."), &words).exits(3);
        let lines = ran.kind("partition");
        assert_eq!(lines.len(), 2, "{}", ran.out);
        for line in lines {
            assert_eq!(line["verdict"], "refused", "{line}");
            assert_eq!(line["applied"], false, "{line}");
        }
        assert_eq!([tree.fingerprint("d1"), tree.fingerprint("d2")], before);
    }
}

#[test]
fn names_that_are_not_utf_8() {
    let tree = Tree::t4();
    let name = OsStr::from_bytes(b"t-\xff-1");
    fs::create_dir(tree.path("d1").join(name)).unwrap();
    let file = OsStr::from_bytes(b"\xfe\xff.log");
    fs::write(tree.path("d1/t-0").join(file), "x").unwrap();
    let ran = scan(&tree, "d1");
    assert_eq!(ran.exit, 3, "{} {}", ran.out, ran.err);
    ran.summary();
}

#[test]
fn what_may_not_be_read_is_said() {
    let tree = Tree::t4();
    fs::set_permissions(tree.t0(3000, "log"), fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads everything, and becomes somebody who does not.
    let ran = if nix::unistd::geteuid().is_root() {
        as_nobody(&tree)
    } else {
        scan(&tree, "d1")
    };
    let ran = ran.exits(3);
    assert_eq!(ran.kind("partition")[0]["verdict"], "unreadable");
    let finding = ran.finding("unreadable");
    assert_eq!(finding["partition"], "t-0");
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("t-0/00000000000000003000.log"), "{finding}");
    assert!(text.contains("ermission denied"), "{finding}");
    assert_ne!(finding["next"], "");
}

/// Scans as a user without rights.
fn as_nobody(tree: &Tree) -> Ran {
    // The folder itself must be open to everybody.
    fs::set_permissions(tree.path("."), fs::Permissions::from_mode(0o755)).unwrap();
    let program = tree.path("krescue");
    fs::copy(env!("CARGO_BIN_EXE_krescue"), &program).unwrap();
    let output = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args([
            "--log-dirs",
            "d1",
            "--state-dir",
            "/nonexistent/state",
            "scan",
            "--json",
        ])
        .current_dir(tree.path("."))
        .env_clear()
        .output();
    assert!(output.is_ok(), "root needs setpriv of util-linux");
    crate::support::program::ran(output.unwrap())
}

#[test]
fn a_batch_that_claims_gigabytes_allocates_nothing() {
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| {
        let at = 50 * BATCH + 8;
        bytes[at..at + 4].copy_from_slice(&i32::MAX.to_be_bytes());
    });
    let before = tree.fingerprint("d1");
    let output = crate::support::program::program(&tree.path("."))
        .args(["--log-dirs", "d1", "scan", "--json", "--threads", "1"])
        .output()
        .unwrap();
    let ran = crate::support::program::ran(output).exits(3);
    assert_eq!(ran.finding("length_past_end")["position"], 50 * BATCH);
    assert_eq!(tree.fingerprint("d1"), before);
}

#[test]
fn checkpoints_of_any_bytes() {
    for (text, code) in [
        ("", None),
        ("0\n2\nt 0 3000\naa\n", Some("checkpoint_malformed")),
        ("0\n1\nt 0 x\n", Some("checkpoint_malformed")),
        ("\u{0}\u{0}\u{0}", Some("checkpoint_malformed")),
    ] {
        let tree = Tree::t4();
        tree.write("d1/recovery-point-offset-checkpoint", text);
        let ran = scan(&tree, "d1");
        assert_eq!(
            ran.kind("partition")[0]["scan_bytes"],
            SEGMENT * 4,
            "{text:?}"
        );
        match code {
            Some(code) => assert!(
                ran.codes().contains(&code.to_owned()),
                "{text:?}: {:?}",
                ran.codes()
            ),
            None => assert_eq!(ran.exit, 0, "{text:?}: {}", ran.out),
        }
    }
}

#[test]
fn any_bytes_in_any_file() {
    // The same junk in each file in turn: nothing panics, and the run ends with its summary.
    let junk: Vec<u8> = (0..5000_u32)
        .map(|i| u8::try_from(i.wrapping_mul(2_654_435_761) >> 24).unwrap())
        .collect();
    let files = [
        "d1/t-0/00000000000000000000.log",
        "d1/t-0/00000000000000003000.log",
        "d1/t-0/00000000000000003000.index",
        "d1/t-0/00000000000000003000.timeindex",
        "d1/t-0/00000000000000003000.txnindex",
        "d1/t-0/00000000000000003000.snapshot",
        "d1/t-0/leader-epoch-checkpoint",
        "d1/t-0/partition.metadata",
        "d1/recovery-point-offset-checkpoint",
        "d1/replication-offset-checkpoint",
        "d1/log-start-offset-checkpoint",
        "d1/cleaner-offset-checkpoint",
        "d1/meta.properties",
    ];
    let metadata = [
        "d1/__cluster_metadata-0/quorum-state",
        "d1/__cluster_metadata-0/00000000000000000000.log",
        "d1/__cluster_metadata-0/00000000000000000007-0000000001.checkpoint",
    ];
    for file in files
        .into_iter()
        .chain(metadata)
        .chain(["d1/.kafka_cleanshutdown"])
    {
        for bytes in [&junk[..], &junk[..7], b""] {
            let tree = Tree::t4();
            if file.contains("__cluster_metadata") {
                fs::create_dir(tree.path("d1/__cluster_metadata-0")).unwrap();
                // Each of them is looked at beside the others, which are there.
                for other in metadata {
                    tree.write(other, "");
                }
            }
            tree.write(file, bytes);
            let before = tree.fingerprint("d1");
            let ran = scan(&tree, "d1");
            assert!(matches!(ran.exit, 0 | 3), "{file}: {} {}", ran.out, ran.err);
            ran.summary();
            let words = [
                "--log-dirs",
                "d1",
                "--kafka-version",
                "4.4.0",
                "recover",
                "--json",
            ];
            let ran = run(&tree.path("."), &words);
            assert!(matches!(ran.exit, 0 | 3), "{file}: {} {}", ran.out, ran.err);
            ran.summary();
            assert_eq!(tree.fingerprint("d1"), before, "{file}");
        }
    }
}
