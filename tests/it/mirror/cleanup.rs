//! What goes of a mirrored topic and its mirror may not have is good data.

use std::fs;

use serde_json::Value;

use super::told::Mirror;
use crate::support::fixture::{file_name, indexes, segment};
use crate::support::lock::hold_lock;
use crate::support::program::{Ran, run};

/// The topic, of whose offsets 0 to 285 were copied by the last sync of the golden mirror.
const TOPIC: &str = "sensor-suhu";

/// The golden source with three more segments of the topic, of a thousand offsets each and long past retention.
fn mirror() -> Mirror {
    let mirror = Mirror::unpack("4.3.1");
    let dir = mirror.path("primary").join(format!("{TOPIC}-0"));
    for entry in fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        if path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"0000"))
        {
            fs::remove_file(path).unwrap();
        }
    }
    for base in [0, 1000, 2000] {
        let (offsets, times) = indexes(base);
        let at = |suffix| dir.join(file_name(base, suffix));
        fs::write(at("log"), segment(base)).unwrap();
        fs::write(at("index"), offsets).unwrap();
        fs::write(at("timeindex"), times).unwrap();
    }
    let path = mirror.path("primary/replication-offset-checkpoint");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        path,
        text.replace(&format!("{TOPIC} 0 350"), &format!("{TOPIC} 0 3000")),
    )
    .unwrap();
    mirror
}

fn cleanup(mirror: &Mirror, words: &[&str]) -> Ran {
    let common = [
        "--log-dirs",
        "primary",
        "--kafka-version",
        "4.3.1",
        "cleanup",
    ];
    let more = ["--on", "primary", "--quarantine", "none"];
    run(mirror.folder.path(), &[&common, words, &more].concat())
}

fn of_topic(ran: &Ran) -> Value {
    let partitions = ran.kind("partition");
    let found = partitions
        .into_iter()
        .find(|it| it["topic"] == TOPIC && it["verdict"] == "delete");
    found.unwrap_or_else(|| panic!("{}", ran.out))
}

#[test]
fn what_the_mirror_may_not_have_is_good_data_past_retention_too() {
    let mirror = mirror();
    let ran = cleanup(&mirror, &["--past-retention", TOPIC, "--json"]).exits(3);
    assert_eq!(ran.summary()["class"], "C");
    let partition = of_topic(&ran);
    assert_eq!(partition["log_start_offset"], 2000);
    assert!(partition["lost_bytes"].as_u64().unwrap() > 0, "{partition}");
    let finding = ran.finding("not_mirrored");
    assert_eq!(finding["severity"], "loss");
    let text = finding["text"].as_str().unwrap();
    assert!(
        text.starts_with("secondary has copied it up to 285 for certain")
            && text.ends_with(": 1714 of the offsets that go may be nowhere else"),
        "{text}"
    );
    let said = cleanup(&mirror, &["--past-retention", TOPIC]).out;
    assert!(
        said.contains("secondary may not have copied all that could go of 1 partition"),
        "{said}"
    );
    let freed = cleanup(&mirror, &["--free", "1KiB", "--json"]).exits(3);
    assert_eq!(freed.summary()["class"], "C");
    freed.finding("not_mirrored");
}

#[test]
fn without_the_mirrors_syncs_the_missing_fact_is_named() {
    let mirror = mirror();
    fs::remove_dir_all(mirror.path("primary/mm2-offset-syncs.secondary.internal-0")).unwrap();
    let ran = cleanup(&mirror, &["--past-retention", TOPIC, "--json"]).exits(3);
    assert_eq!(ran.summary()["class"], "C", "it is not known to have it");
    let said = cleanup(&mirror, &["--past-retention", TOPIC]).out;
    assert!(
        said.contains("mm2-offset-syncs.secondary.internal-0 lies on broker 1"),
        "{said}"
    );
}

/// Beside a broker nobody asked to read its batches, those of the offset syncs neither.
#[test]
fn beside_a_running_broker_the_syncs_are_named_and_not_read() {
    let mirror = mirror();
    let _lock = hold_lock(&mirror.path("primary"));
    let ran = cleanup(&mirror, &["--past-retention", TOPIC, "--json"]).exits(3);
    let doubts = ran.kind("doubt");
    let named = doubts.iter().any(|doubt| {
        let text = doubt["text"].as_str().unwrap();
        text.contains("mm2-offset-syncs.")
            && text.contains("batches of a running broker are not read")
    });
    assert!(named, "{doubts:?}");
    let text = ran.finding("not_mirrored")["text"].to_string();
    assert!(text.contains("is not known"), "{text}");
    assert_eq!(ran.summary()["class"], "C");
}

/// Sets `offset-syncs.topic.location=target` in the connectors' configurations on the source, in place of a key as long.
fn keep_syncs_on_the_target(mirror: &Mirror) {
    let dir = mirror.path("primary/mm2-configs.secondary.internal-0");
    let log = dir.join(file_name(0, "log"));
    let mut bytes = fs::read(&log).unwrap();
    let old = br#""sync.group.offsets.interval.seconds":"5""#;
    let mut new = br#""offset-syncs.topic.location":"target""#.to_vec();
    new.resize(old.len(), b' ');
    let mut at = 0;
    while at < bytes.len() {
        let size = 12 + i32::from_be_bytes(bytes[at + 8..at + 12].try_into().unwrap());
        let batch = &mut bytes[at..at + usize::try_from(size).unwrap()];
        let found = batch.windows(old.len()).position(|it| it == old);
        if let Some(found) = found {
            batch[found..found + old.len()].copy_from_slice(&new);
            let crc = crc32c::crc32c(&batch[21..]);
            batch[17..21].copy_from_slice(&crc.to_be_bytes());
        }
        at += batch.len();
    }
    fs::write(&log, bytes).unwrap();
}

#[test]
fn with_the_syncs_on_the_target_it_is_not_known_what_the_mirror_has() {
    let mirror = mirror();
    keep_syncs_on_the_target(&mirror);
    let ran = cleanup(&mirror, &["--past-retention", TOPIC, "--json"]).exits(3);
    assert_eq!(ran.summary()["class"], "C");
    let finding = ran.finding("not_mirrored");
    assert_eq!(finding["severity"], "loss");
    let text = finding["text"].as_str().unwrap();
    assert!(
        text.starts_with("whether a mirror has what goes is not known")
            && text.contains("the flow from secondary has offset-syncs.topic.location=target"),
        "{text}"
    );
    let said = cleanup(&mirror, &["--past-retention", TOPIC]).out;
    assert!(
        said.contains("counts as good records (class C): the flow from secondary"),
        "{said}"
    );
}

#[test]
fn settings_of_the_mirror_that_nobody_can_read_leave_it_unknown() {
    let mirror = mirror();
    for name in [
        "__cluster_metadata-0",
        "mm2-offset-syncs.secondary.internal-0",
    ] {
        fs::remove_dir_all(mirror.path("primary").join(name)).unwrap();
    }
    // The flow from the other cluster runs with its defaults: one to there would keep its syncs here.
    let ran = cleanup(&mirror, &["--past-retention", TOPIC, "--json"]);
    assert!(!ran.codes().contains(&"not_mirrored".to_owned()));
    let configs = mirror.path("primary/mm2-configs.secondary.internal-0");
    fs::write(configs.join(file_name(0, "log")), []).unwrap();
    // Good records stay where no metadata says who else has them.
    let ran = cleanup(&mirror, &["--past-retention", TOPIC, "--json"]).exits(0);
    let doubts = ran.kind("doubt");
    let told = doubts.iter().any(|it| {
        let text = it["text"].as_str().unwrap();
        text.contains("mm2-configs.secondary.internal tells of a MirrorMaker 2")
    });
    assert!(told, "{doubts:?}");
}
