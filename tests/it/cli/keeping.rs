//! `quarantine ls`, `quarantine purge` and `audit`.

use crate::support::apply::contents;
use crate::support::fixture::{SEGMENT, Tree};
use crate::support::program::{program, ran, run};

fn recovered() -> (Tree, String) {
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 10));
    let output = program(&tree.path("."))
        .args(["--log-dirs", "d1", "--kafka-version", "4.4.0", "recover"])
        .args(["--apply", "--yes-to-all", "--json"])
        .env("SUDO_USER", "anna")
        .env("SSH_CONNECTION", "10.0.0.7 50222 10.0.0.1 22")
        .output();
    let plan = ran(output.unwrap()).exits(0).summary()["plan"].clone();
    (tree, plan.as_str().unwrap().to_owned())
}

#[test]
fn what_is_kept_is_listed_and_purged_by_plan_and_by_age() {
    let (tree, plan) = recovered();
    let home = tree.path(".");
    let ls = run(&home, &["quarantine", "ls", "--json"]).exits(0);
    let kept = &ls.kind("kept")[0];
    assert_eq!(kept["plan"], plan);
    assert_eq!(kept["can_undo"], true);
    assert_eq!(kept["partitions"], serde_json::json!(["t-0"]));
    let dir = std::path::PathBuf::from(kept["dir"].as_str().unwrap());
    let bytes: u64 = contents(&dir)
        .values()
        .map(|bytes| bytes.len() as u64)
        .sum();
    assert_eq!(kept["bytes"], bytes);
    assert!(bytes >= 1141);
    let text = run(&home, &["quarantine", "ls"]).exits(0).out;
    assert!(
        text.contains(&format!("krescue undo {}", &plan[..8])),
        "{text}"
    );

    // What a broker wrote since makes an undo impossible, and ls says so.
    tree.edit(&tree.t0(0, "log"), |bytes| bytes[0] ^= 1);
    let ls = run(&home, &["quarantine", "ls", "--json"]).exits(0);
    let kept = &ls.kind("kept")[0];
    assert_eq!(kept["can_undo"], false);
    let why = kept["why_not"].as_str().unwrap();
    assert!(
        why.contains("00000000000000000000.log was written to"),
        "{why}"
    );

    run(&home, &["quarantine", "purge"]).exits(2);
    let asks = run(&home, &["quarantine", "purge", "--plan", &plan]).exits(4);
    assert!(asks.err.contains("no terminal"), "{}", asks.err);
    let young = ["quarantine", "purge", "--older-than", "1d", "--yes-to-all"];
    assert!(run(&home, &young).exits(0).out.contains("nothing to purge"));
    assert!(dir.exists());
    let all = [
        "quarantine",
        "purge",
        "--plan",
        &plan[..8],
        "--yes-to-all",
        "--json",
    ];
    let purged = run(&home, &all).exits(0);
    assert_eq!(purged.kind("kept")[0]["purged"], true);
    assert!(!dir.exists());
    assert_eq!(run(&home, &["quarantine", "ls", "--json"]).exits(0).out, "");
    let undo = run(&home, &["--log-dirs", "d1", "undo", &plan]).exits(4);
    assert!(undo.err.contains("was purged at"), "{}", undo.err);
}

#[test]
fn each_act_is_in_the_audit_with_who_and_what() {
    let (tree, plan) = recovered();
    let home = tree.path(".");
    let audit = run(&home, &["audit", "--json", "--plan", &plan[..8]]).exits(0);
    let acts: Vec<String> = audit
        .kind("audit")
        .iter()
        .map(|line| line["act"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(acts, ["log", "hand_over", "end"]);
    let log = &audit.lines()[0];
    assert_eq!(log["sudo_user"], "anna");
    assert_eq!(log["ssh_connection"], "10.0.0.7 50222 10.0.0.1 22");
    assert_eq!(log["confirmed"], "yes_to_all");
    assert!(log["host"].as_str().is_some_and(|host| !host.is_empty()));
    let steps = log["steps"].as_array().unwrap();
    let cut = steps
        .iter()
        .find(|step| step["before"] == SEGMENT - 10)
        .unwrap();
    assert_eq!(cut["after"], SEGMENT - 1151);
    let kept = std::fs::read(cut["kept"].as_str().unwrap()).unwrap();
    assert_eq!(kept.len(), 1141);
    let sha256 = std::process::Command::new("sha256sum")
        .arg(cut["kept"].as_str().unwrap())
        .output()
        .unwrap();
    let sha256 = String::from_utf8(sha256.stdout).unwrap();
    assert!(sha256.starts_with(cut["cut_sha256"].as_str().unwrap()));
    let text = run(&home, &["audit"]).exits(0).out;
    assert!(text.contains("(sudo anna) from 10.0.0.7"), "{text}");
    assert!(text.contains("cut sha256"), "{text}");

    let undo = ["--log-dirs", "d1", "undo", &plan, "--apply", "--yes-to-all"];
    run(&home, &undo).exits(0);
    let purge = ["quarantine", "purge", "--plan", &plan, "--yes-to-all"];
    run(&home, &purge).exits(0);
    let audit = run(&home, &["audit", "--json"]).exits(0).lines();
    let undone = audit.iter().filter(|line| line["undoes"] == plan);
    assert_eq!(undone.count(), 3);
    assert_eq!(audit.last().unwrap()["act"], "purge");
    assert_eq!(
        run(&home, &["audit", "--json", "--plan", "00000000"])
            .exits(0)
            .out,
        ""
    );
}
