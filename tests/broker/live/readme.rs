//! The README's walks over a living cluster, as they stand there.

use super::acts::becomes;
use crate::support::trio::Trio;

const README: &str = include_str!("../../../README.md");

/// Runs each line of both walks; who is asked for a confirmation says yes.
pub(super) fn the_readmes_walks_work(trio: &mut Trio) {
    let mut ran = Vec::new();
    for heading in [
        "### A follower is behind",
        "### Shorten retention for an hour",
    ] {
        let (_, section) = README.split_once(heading).unwrap();
        let (_, block) = section.split_once("```sh\n").unwrap();
        let (block, _) = block.split_once("```").unwrap();
        for line in block.lines() {
            let command = line.split('#').next().unwrap().trim();
            let words = command.strip_prefix("krescue ").unwrap();
            let mut words: Vec<&str> = words.split_whitespace().collect();
            if words.last() == Some(&"--apply") {
                words.push("--yes-to-all");
            }
            // The cluster is no host's own here.
            if words.contains(&"--wait-in-sync") {
                words.extend(["--broker", "3"]);
            }
            let told = trio.krescue(&words);
            assert!(
                matches!(told.exit, 0 | 3),
                "{command}: {} {}",
                told.out,
                told.err
            );
            ran.push(command);
            if command.ends_with("file.delete.delay.ms=0 --apply") {
                becomes(
                    trio,
                    "config topic clicks retention.ms",
                    "DYNAMIC_TOPIC_CONFIG 3600000",
                );
            }
        }
    }
    assert_eq!(ran.len(), 7, "{ran:?}");
    becomes(
        trio,
        "config topic clicks retention.ms",
        "DYNAMIC_TOPIC_CONFIG 86400000",
    );
}
