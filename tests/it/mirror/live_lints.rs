//! Rules that need a living cluster's word, and those that need the records of copies.

use std::fs;

use serde_json::{Value, json};

use super::told::{Mirror, VERSIONS};
use crate::support::program::Ran;

const FLOW: &str = "primary->secondary";

/// Returns what `mirror lint` says of the golden clusters, with something changed in their facts; `file` is what it has of
/// MirrorMaker 2's file.
pub(super) fn lint(mirror: &Mirror, file: &str, change: impl FnOnce(&mut Value)) -> Ran {
    let mut facts: Value = serde_json::from_str(&mirror.run(&["facts"]).exits(0).out).unwrap();
    change(&mut facts["facts"]["clusters"]);
    // Another host's dirs are not looked into.
    let host = facts["facts"]["clusters"]["primary"]["sources"][0]["host"].to_string();
    let elsewhere = facts
        .to_string()
        .replace(&format!("\"host\":{host}"), "\"host\":\"elsewhere\"");
    fs::write(mirror.path("facts.json"), elsewhere).unwrap();
    let text = fs::read_to_string(mirror.path("mm2.properties")).unwrap();
    fs::write(mirror.path("other.properties"), format!("{text}\n{file}")).unwrap();
    let words = [
        "mirror",
        "lint",
        "--json",
        "--mm2",
        "other.properties",
        "--facts",
        "facts.json",
    ];
    crate::support::program::run(mirror.folder.path(), &words).exits(3)
}

pub(super) fn places(ran: &Ran, code: &str) -> Vec<String> {
    let findings = ran.kind("finding");
    let of_flow = findings
        .iter()
        .filter(|it| it["code"] == code && it["flow"] == FLOW);
    of_flow
        .map(|it| it["place"].as_str().unwrap_or_default().to_owned())
        .collect()
}

fn text<'a>(findings: &'a [Value], code: &str) -> &'a str {
    let found = findings
        .iter()
        .find(|it| it["code"] == code && it["flow"] == FLOW);
    found.unwrap_or_else(|| panic!("{code}: {findings:?}"))["text"]
        .as_str()
        .unwrap()
}

fn missing(ran: &Ran, code: &str) -> Vec<String> {
    let silent = ran.kind("silent");
    let of_code = silent.iter().filter(|it| it["code"] == code);
    of_code
        .map(|it| it["missing"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns a rule; a topic that ends in `^` is a prefix.
fn rule(principal: &str, topic: &str, operation: &str, allows: bool) -> Value {
    let prefixed = topic.ends_with('^');
    let topic = topic.trim_end_matches('^');
    json!({ "topic": topic, "prefixed": prefixed, "principal": format!("User:{principal}"),
            "operation": operation, "allows": allows })
}

#[test]
fn who_may_write_to_copies_is_told_by_the_targets_rules() {
    let mirror = Mirror::unpack("4.3.1");
    let rules = [
        rule("mm2", "*", "WRITE", true),
        rule("alice", "primary.ord^", "ALL", true),
        rule("bob", "primary.orders", "READ", true),
        rule("carl", "primary.orders", "WRITE", false),
    ];
    let ran = lint(&mirror, "", |clusters| {
        clusters["secondary"]["live"] =
            json!({ "auto_create": false, "acls": { "rules": rules }, "producers": {} });
    });
    assert_eq!(
        places(&ran, "W-ACL-WRITE"),
        ["primary.orders", "primary.orders.heartbeats"]
    );
    let findings = ran.kind("finding");
    assert!(
        text(&findings, "W-ACL-WRITE").starts_with("User:alice, User:mm2 may write to it"),
        "{findings:?}"
    );
    assert_eq!(places(&ran, "I-NO-AUTHZ"), Vec::<String>::new());
    assert_eq!(places(&ran, "W-AUTOCREATE"), Vec::<String>::new());
    // Of the source nothing living is known.
    assert_eq!(
        missing(&ran, "W-AUTOCREATE"),
        ["the brokers' settings of primary: --cluster primary=HOST:PORT"]
    );
    let open = lint(&mirror, "", |clusters| {
        clusters["secondary"]["live"] =
            json!({ "auto_create": true, "acls": "no_authorizer", "producers": {} });
        clusters["primary"]["live"] = json!({ "auto_create": true, "acls": null, "producers": {} });
    });
    assert_eq!(places(&open, "I-NO-AUTHZ"), ["secondary"]);
    assert_eq!(places(&open, "W-ACL-WRITE"), Vec::<String>::new());
    assert_eq!(places(&open, "W-AUTOCREATE"), ["primary", "secondary"]);
    // The rules of the way back's target are not known.
    let rules = missing(&open, "W-ACL-WRITE");
    assert_eq!(rules, ["the ACLs of primary: --cluster primary=HOST:PORT"]);
}

#[test]
fn a_producer_that_a_leader_remembers_is_a_foreign_one_unless_mirror_maker_has_ids_itself() {
    let mirror = Mirror::unpack("4.3.1");
    let producers = |clusters: &mut Value| {
        clusters["secondary"]["live"] = json!({ "auto_create": false, "acls": null,
            "producers": { "primary.orders": { "1": [{ "producer_id": 3, "last_timestamp": 0 }], "0": [] } } });
    };
    let ran = lint(&mirror, "", producers);
    assert_eq!(places(&ran, "E-FOREIGN"), ["primary.orders-1"]);
    let findings = ran.kind("finding");
    assert!(
        text(&findings, "E-FOREIGN").contains("(id 3)"),
        "{findings:?}"
    );
    let eos = lint(
        &mirror,
        "secondary.exactly.once.source.support = enabled\n",
        producers,
    );
    assert_eq!(places(&eos, "E-FOREIGN"), Vec::<String>::new());
    assert!(
        missing(&eos, "E-FOREIGN")
            .iter()
            .any(|it| it.starts_with("which producers with an id are MirrorMaker 2's own")),
        "{:?}",
        missing(&eos, "E-FOREIGN")
    );
    let idempotent = lint(
        &mirror,
        "secondary.producer.enable.idempotence = true\n",
        producers,
    );
    assert_eq!(places(&idempotent, "E-FOREIGN"), Vec::<String>::new());
    // From facts of elsewhere nobody reads records.
    let blind = lint(&mirror, "", |_| {});
    assert!(
        missing(&blind, "E-FOREIGN")
            .iter()
            .any(|it| it.starts_with("the records of the copies on secondary")),
    );
}

#[test]
fn settings_that_leave_new_groups_or_second_nodes_behind_are_told() {
    let mirror = Mirror::unpack("4.3.1");
    for (line, code) in [
        (
            "primary->secondary.refresh.groups.enabled = false\n",
            "I-GRP-REFRESH",
        ),
        ("secondary.exactly.once.source.support = enabled\n", "W-EOS"),
    ] {
        let ran = lint(&mirror, line, |_| {});
        assert_eq!(places(&ran, code).len(), 1, "{code}");
        let ran = lint(&mirror, "", |_| {});
        assert_eq!(places(&ran, code).len(), 0, "{code}");
    }
    let rest = "secondary.exactly.once.source.support = enabled\ndedicated.mode.enable.internal.rest = true\n";
    let ran = lint(&mirror, rest, |_| {});
    assert_eq!(places(&ran, "W-EOS").len(), 0);
}

#[test]
fn the_records_of_copies_tell_who_wrote_them() {
    for version in VERSIONS {
        let mirror = Mirror::unpack(version);
        let with_file = ["lint", "--json", "--mm2", "mm2.properties"];
        // __transaction_state tells that MirrorMaker 2 has no ids, where no file does.
        for words in [&with_file[..], &with_file[..2]] {
            let ran = mirror.run(words).exits(3);
            // Seven records of another producer; what was copied twice is no foreign record.
            assert_eq!(
                places(&ran, "E-FOREIGN"),
                ["primary.orders-1"],
                "{version} {words:?}"
            );
            let findings = ran.kind("finding");
            let told = text(&findings, "E-FOREIGN");
            assert!(told.contains("offsets 5 to 11"), "{version}: {told}");
            assert!(
                told.contains("7 of 15 records have no like on primary, the first at offset 5"),
                "{version}: {told}"
            );
            let again = places(&ran, "I-RECOPY");
            for twice in ["orders-0", "sensor-suhu-0"] {
                assert!(again.iter().any(|it| it == twice), "{version}: {again:?}");
            }
            assert_eq!(
                places(&ran, "W-FOREIGN-ARITH"),
                Vec::<String>::new(),
                "{version}"
            );
            assert_eq!(places(&ran, "I-CODEC"), Vec::<String>::new(), "{version}");
        }
    }
}
