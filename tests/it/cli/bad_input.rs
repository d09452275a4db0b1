//! Log dirs that are not what they should be: a finding or a clear error, never a panic, and nothing touched.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::symlink;

use crate::support::fixture::{BATCH, SEGMENT, Tree};
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
    assert!(matches!(ran.exit, 0 | 3), "{ran:?}");
    ran.summary();
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
    if nix::unistd::geteuid().is_root() {
        // Root reads everything: run as another user where the system has the means.
        let tree = Tree::t4();
        fs::set_permissions(tree.t0(3000, "log"), fs::Permissions::from_mode(0o000)).unwrap();
        let Ok(output) = as_nobody(&tree) else {
            eprintln!("skipped: setpriv is not there");
            return;
        };
        assert!(matches!(output.exit, 1 | 3), "{output:?}");
        return;
    }
    let tree = Tree::t4();
    fs::set_permissions(tree.t0(3000, "log"), fs::Permissions::from_mode(0o000)).unwrap();
    let ran = scan(&tree, "d1").exits(3);
    assert!(
        ran.codes().contains(&"unreadable".to_owned()),
        "{:?}",
        ran.codes()
    );
}

/// Scans as a user without rights.
fn as_nobody(tree: &Tree) -> std::io::Result<Ran> {
    // The folder itself must be open to everybody.
    fs::set_permissions(tree.path("."), fs::Permissions::from_mode(0o755))?;
    let program = tree.path("krescue");
    fs::copy(env!("CARGO_BIN_EXE_krescue"), &program)?;
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
        .output()?;
    Ok(crate::support::program::ran(output))
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
    for file in files {
        for bytes in [&junk[..], &junk[..7], b""] {
            let tree = Tree::t4();
            tree.write(file, bytes);
            let ran = scan(&tree, "d1");
            assert!(matches!(ran.exit, 0 | 3), "{file}: {} {}", ran.out, ran.err);
            ran.summary();
        }
    }
}
