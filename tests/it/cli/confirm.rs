//! Confirmations on a terminal, by class.

use std::fs;
use std::io::{Read as _, Write as _};
use std::time::Duration;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::support::fixture::{SEGMENT, Tree};

/// What came of an answer.
struct Answered {
    exit: u32,
    screen: String,
}

/// Runs `recover --apply` on a terminal: types `ahead` at once and `answer` behind the question.
fn apply(tree: &Tree, more: &[&str], ahead: &str, answer: &str) -> Answered {
    let pty = native_pty_system();
    let pair = pty
        .openpty(PtySize {
            rows: 50,
            cols: 200,
            pixel_width: 0,
            pixel_height: 0,
        })
        .unwrap();
    let home = tree.path(".");
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_krescue"));
    command.env_clear();
    command.env("HOME", &home);
    command.env("XDG_STATE_HOME", home.join("state"));
    command.cwd(&home);
    command.args([
        "--log-dirs",
        "d1",
        "--kafka-version",
        "4.4.0",
        "recover",
        "--apply",
    ]);
    command.args(more);
    let mut writer = pair.master.take_writer().unwrap();
    writer.write_all(ahead.as_bytes()).unwrap();
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut screen = Vec::new();
    let mut answered = false;
    let mut buffer = [0; 4096];
    // Ends when the program does.
    while let Ok(read @ 1..) = reader.read(&mut buffer) {
        screen.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&screen);
        if !answered && (text.contains("to go on: ") || text.contains("y/N ")) {
            answered = true;
            std::thread::sleep(Duration::from_millis(100));
            writer.write_all(answer.as_bytes()).unwrap();
        }
    }
    Answered {
        exit: child.wait().unwrap().exit_code(),
        screen: String::from_utf8_lossy(&screen).into_owned(),
    }
}

/// A tree whose plan has class A: an index is missing.
fn class_a() -> Tree {
    let tree = Tree::t4();
    fs::remove_file(tree.t0(3000, "index")).unwrap();
    tree
}

/// A tree whose plan has class B: a torn tail.
fn class_b() -> Tree {
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 10));
    tree
}

/// A tree whose plan has class C with `--like-kafka`: good segments go.
fn class_c() -> Tree {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[57_650] ^= 0xff);
    tree
}

#[track_caller]
fn refused(tree: &Tree, more: &[&str], ahead: &str, answer: &str) -> String {
    let before = tree.fingerprint("d1");
    let answered = apply(tree, more, ahead, answer);
    assert_eq!(answered.exit, 4, "{}", answered.screen);
    assert_eq!(tree.fingerprint("d1"), before);
    answered.screen
}

#[test]
fn what_can_be_made_again_needs_a_yes_and_no_is_the_default() {
    let tree = class_a();
    for answer in ["\n", "n\n", "yes please\n", "t-0\n"] {
        refused(&tree, &[], "", answer);
    }
    let answered = apply(&tree, &[], "", "y\n");
    assert_eq!(answered.exit, 0, "{}", answered.screen);
    assert_eq!(fs::metadata(tree.t0(3000, "index")).unwrap().len(), 192);
}

#[test]
fn a_cut_needs_the_partition_s_name() {
    let tree = class_b();
    for answer in ["y\n", "1\n", "t-1\n"] {
        refused(&tree, &[], "", answer);
    }
    let answered = apply(&tree, &[], "", "t-0\n");
    assert_eq!(answered.exit, 0, "{}", answered.screen);
}

#[test]
fn several_cuts_need_their_number() {
    let tree = class_b();
    tree.add_partition("d1", "u-0", 1);
    tree.edit(&tree.path("d1/u-0/00000000000000000000.log"), |bytes| {
        bytes.truncate(SEGMENT - 10);
    });
    refused(&tree, &[], "", "t-0\n");
    let answered = apply(&tree, &[], "", "2\n");
    assert_eq!(answered.exit, 0, "{}", answered.screen);
}

#[test]
fn a_loss_needs_host_and_bytes() {
    let tree = class_c();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim();
    for answer in ["y\n", "t-0\n", &format!("{host}\n")] {
        let screen = refused(&tree, &["--like-kafka"], "", answer);
        assert!(screen.contains("class C"), "{screen}");
    }
    let answered = apply(&tree, &["--like-kafka"], "", &format!("{host} 279 KiB\n"));
    assert_eq!(answered.exit, 0, "{}", answered.screen);
    assert!(!tree.t0(2000, "log").exists());
}

#[test]
fn what_was_typed_ahead_is_thrown_away() {
    let tree = class_a();
    refused(&tree, &[], "y\ny\ny\n", "\n");
    let tree = class_b();
    refused(&tree, &[], "t-0\n", "\n");
}
