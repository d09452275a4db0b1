//! Segments judged by what the brokers say, beside what Kafka's own clients say and what the next pass does.

use serde_json::Value;

use super::acts::becomes;
use crate::support::trio::{Told, Trio};

/// High watermark, log start and settings are the brokers' own, and the verdicts are what the next pass does.
pub(super) fn segments_are_judged_by_the_brokers(trio: &mut Trio) {
    trio.admin.run("create told 1,2,3 retention.ms=86400000");
    trio.admin.run("produce told 0 5000 1000");
    becomes(trio, "offset told 0 latest", "5000");
    let told = log(&segments(trio, &["--what-if", "retention.bytes=2MiB"]));
    // The checkpoint of a high watermark is written every 5 s, that of a log start every 60 s.
    assert_eq!(told["high_watermark"], 5000, "{told}");
    assert_eq!(told["high_watermark_source"], "broker", "{told}");
    assert_eq!(told["log_start_offset_source"], "broker", "{told}");
    assert_eq!(told["settings_source"], "broker", "{told}");
    assert!(told["asked_at"].is_string(), "{told}");
    let foretold = told["log_start_offset_after"].as_i64().unwrap();
    assert!((1000..5000).contains(&foretold), "{told}");
    trio.admin.run("set topic told retention.bytes 2097152");
    becomes(trio, "offset told 0 earliest", &foretold.to_string());

    let told = log(&segments(trio, &[]));
    assert_eq!(told["log_start_offset"], foretold, "{told}");
    for key in ["retention.ms", "retention.bytes"] {
        let kafka = trio.admin.run(&format!("config topic told {key}"));
        let (source, value) = kafka.split_once(' ').unwrap();
        let source = match source {
            "DYNAMIC_TOPIC_CONFIG" => "topic",
            "STATIC_BROKER_CONFIG" => "server.properties",
            "DEFAULT_CONFIG" => "default",
            other => panic!("{other}"),
        };
        let name = key.replace('.', "_");
        assert_eq!(told[&name].to_string(), value, "{told}");
        assert_eq!(told[format!("{name}_source")], source, "{told}");
    }

    let words = ["delete-records", "told-0", "--to-offset", "4500"];
    let apply = [&words[..], &["--apply", "--yes-to-all"]].concat();
    trio.krescue(&apply).exits(0);
    let told = log(&segments(trio, &[]));
    assert_eq!(told["log_start_offset"], 4500, "{told}");

    // Nobody listens there: files count, and that is told.
    let config = trio.broker(1).properties();
    let config = config.to_str().unwrap();
    let words = ["--config", config, "--bootstrap", "127.0.0.1:1"];
    let words = [&words[..], &["segments", "told-0", "--json"]].concat();
    let deaf = Told::of(trio.command(&words).output().unwrap()).exits(3);
    assert!(deaf.out.contains("cluster_not_asked"), "{}", deaf.out);
    let told = log(&deaf);
    assert_eq!(told["high_watermark_source"], "checkpoint", "{told}");
    assert!(told["asked_at"].is_null(), "{told}");
}

/// Runs `segments` on broker 1's host, with the cluster named.
fn segments(trio: &mut Trio, more: &[&str]) -> Told {
    let (config, bootstrap) = (trio.broker(1).properties(), trio.bootstrap());
    let config = config.to_str().unwrap();
    let words = ["--config", config, "--bootstrap", &bootstrap];
    let words = [&words[..], &["segments", "told-0", "--json"], more].concat();
    Told::of(trio.command(&words).output().unwrap())
}

fn log(told: &Told) -> Value {
    let is_log = |line: &&Value| line["kind"] == "retention" && line["topic"] == "told";
    let found = told.lines.iter().find(is_log);
    found
        .unwrap_or_else(|| panic!("{}{}", told.out, told.err))
        .clone()
}
