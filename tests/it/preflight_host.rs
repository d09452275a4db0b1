//! A preflight over volumes that are not mounted, full, read-only, and inside of a container's plain namespace.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;

use crate::support::apply::copy_tree;
use crate::support::fixture::Tree;
use crate::support::namespace::{inside, is_root, mount, mount_tmpfs};
use crate::support::program::{Ran, program, ran, run};
use crate::support::volumes::remount_tmpfs;

fn preflight(tree: &Tree, log_dirs: &str, version: &str) -> Ran {
    let arguments = [
        "--log-dirs",
        log_dirs,
        "--kafka-version",
        version,
        "preflight",
        "--structure",
        "--json",
    ];
    run(&tree.path("."), &arguments)
}

#[test]
fn a_volume_that_is_not_mounted_blocks_the_boot_with_the_cause() {
    if !inside() {
        return;
    }
    let tree = Tree::t4();
    fs::create_dir(tree.path("d2")).unwrap();
    let fstab = format!(
        "UUID=0000-none {} xfs defaults,nofail 0 2\n",
        tree.path("d2").display()
    );
    tree.write("fstab", fstab);
    if !std::path::Path::new("/etc/fstab").exists() {
        mount_tmpfs(std::path::Path::new("/etc"), "");
        fs::write("/etc/fstab", "").unwrap();
    }
    mount(
        &["--bind", tree.path("fstab").to_str().unwrap()],
        std::path::Path::new("/etc/fstab"),
    );
    let ran = preflight(&tree, "d1,d2", "4.4.0").exits(3);
    let finding = ran.finding("not_mounted");
    assert_eq!(
        (&finding["severity"], &finding["at_boot"]),
        (&"fatal".into(), &"exits".into())
    );
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("/etc/fstab line 1"), "{text}");
    assert!(
        text.contains("/dev/disk/by-uuid/0000-none does not exist"),
        "{text}"
    );
    mount_tmpfs(&tree.path("d2"), "");
    let codes = preflight(&tree, "d1,d2", "4.4.0").codes();
    assert!(!codes.contains(&"not_mounted".to_owned()), "{codes:?}");
}

#[test]
fn without_inodes_a_4_x_boot_empties_segments_and_a_3_x_boot_loses_the_dir() {
    if !inside() {
        return;
    }
    let tree = Tree::t4_unflushed();
    mount_tmpfs(&tree.path("mount"), "nr_inodes=40");
    copy_tree(&tree.path("d1"), &tree.path("mount/d1"));
    let mut number = 0;
    while fs::write(tree.path(&format!("mount/filler-{number}")), "").is_ok() {
        number += 1;
    }
    let ran = preflight(&tree, "mount/d1", "4.4.0").exits(3);
    assert_eq!(ran.finding("no_inodes")["at_boot"], "empties_segments");
    let ran = preflight(&tree, "mount/d1", "3.9.1").exits(3);
    assert_eq!(
        ran.finding("no_inodes")["at_boot"],
        "exits",
        "it is the only dir"
    );
}

#[test]
fn a_full_and_a_read_only_volume_are_told() {
    if !inside() {
        return;
    }
    let tree = Tree::t4_unflushed();
    mount_tmpfs(&tree.path("mount"), "size=1m");
    copy_tree(&tree.path("d1"), &tree.path("mount/d1"));
    let mut filler = fs::File::create(tree.path("mount/filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[1; 4096]).is_ok() {}
    drop(filler);
    let ran = preflight(&tree, "mount/d1", "4.4.0").exits(3);
    assert_eq!(ran.finding("no_space")["at_boot"], "exits");
    remount_tmpfs(&tree.path("mount"), "ro");
    let ran = preflight(&tree, "mount/d1", "4.4.0").exits(3);
    assert_eq!(ran.finding("read_only_volume")["severity"], "fatal");
}

/// What a hand-over leaves to a boot is what the boot may destroy: each plan says so first.
#[test]
fn a_recovery_tells_what_makes_the_boot_behind_it_destroy_data() {
    if !inside() {
        return;
    }
    let risk = |tree: &Tree, hand_over: &str| {
        let words = ["--log-dirs", "mount/d1", "--kafka-version", "4.4.0"];
        let more = ["recover", "--hand-over", hand_over, "--json"];
        let ran = run(&tree.path("."), &[&words[..], &more].concat()).exits(3);
        let findings = ran.kind("finding");
        let is_fatal = |line: &&serde_json::Value| {
            line["code"] == "log_dir" && line["severity"] == "fatal" && line["partition"].is_null()
        };
        findings.iter().find(is_fatal).cloned()
    };
    for (hand_over, options, word) in [
        ("none", "nr_inodes=60", "inodes are free"),
        ("verify", "nr_inodes=60", "inodes are free"),
        ("none", "size=1m", "bytes are free"),
        ("verify", "size=1m", "bytes are free"),
    ] {
        let tree = Tree::t4_unflushed();
        mount_tmpfs(&tree.path("mount"), options);
        copy_tree(&tree.path("d1"), &tree.path("mount/d1"));
        // The same plan is made twice; the second time something else is to be told of it.
        assert_eq!(risk(&tree, hand_over), None, "{options}: there is room");
        let mut number = 0;
        let filler = |number| tree.path(&format!("mount/filler-{number}"));
        while fs::write(filler(number), [1; 4096]).is_ok() {
            number += 1;
        }
        let told = risk(&tree, hand_over).unwrap();
        let text = told["text"].as_str().unwrap();
        assert!(text.contains(word), "{text}");
        assert!(text.contains("empties segments"), "{text}");
        assert_ne!(told["next"], "");
    }
}

/// The broker's user in the pod.
const UID: u32 = 1001;

/// What the page for containers tells to do: the claim's volume in a pod of its own, as the broker's user.
#[test]
fn a_debug_pod_with_the_brokers_uid_mends_and_recovers_the_volume() {
    if !inside() {
        return;
    }
    let is_root = is_root();
    let tree = Tree::t4_unflushed();
    mount_tmpfs(&tree.path("claim"), "mode=0777");
    copy_tree(&tree.path("d1"), &tree.path("claim/data"));
    fs::create_dir(tree.path("claim/krescue")).unwrap();
    fs::write(
        tree.path("claim/data/t-0/leader-epoch-checkpoint"),
        "0\n9\n0 0\n",
    )
    .unwrap();
    let mut all = vec![tree.path("claim/data"), tree.path("claim/krescue")];
    while let Some(path) = all.pop() {
        // In a namespace of a user without rights there is but one uid, which then is the broker's.
        if is_root {
            chown(&path, Some(UID), Some(UID)).unwrap();
        }
        if path.is_dir() {
            all.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
    }
    fs::set_permissions(
        tree.path("."),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let pod = |arguments: &[&str]| {
        let mut command = program(&tree.path("claim"));
        command.args([
            "--log-dirs",
            "data",
            "--kafka-version",
            "3.9.1",
            "--state-dir",
            "krescue",
        ]);
        command.args(arguments);
        if is_root {
            command.uid(UID).gid(UID);
        }
        ran(command.output().unwrap())
    };
    pod(&["preflight"]).exits(3);
    pod(&["preflight", "--fix", "--apply", "--yes-to-all"]).exits(0);
    pod(&["preflight"]).exits(0);
    pod(&["recover", "--apply", "--yes-to-all"]).exits(0);
    let mut all = vec![tree.path("claim/data")];
    let owner = fs::metadata(tree.path("claim/data")).unwrap().uid();
    while let Some(path) = all.pop() {
        assert_eq!(
            fs::metadata(&path).unwrap().uid(),
            owner,
            "{}",
            path.display()
        );
        if path.is_dir() {
            all.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
    }
}
