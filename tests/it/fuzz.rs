//! The fuzzer's checks without a fuzzer: over what once failed, and over files of real logs, whole and changed by chance.

use std::path::Path;

use crate::checks::CHECKS;
use crate::golden::PACKED;
use crate::support::golden_archive::unpack;
use crate::support::random::Random;

fn fuzz_dir() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz"))
}

#[test]
fn what_once_failed_holds() {
    for (name, check) in CHECKS {
        let dir = fuzz_dir().join("regressions").join(name);
        let mut inputs: Vec<_> = std::fs::read_dir(&dir)
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().path())
            .collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "nothing in {}", dir.display());
        for input in inputs {
            println!("{name}: {}", input.display());
            check(&std::fs::read(input).unwrap());
        }
    }
}

#[test]
fn each_check_is_a_target_and_each_target_a_check() {
    let targets = std::fs::read_dir(fuzz_dir().join("targets")).unwrap();
    let mut targets: Vec<String> = targets
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    targets.sort();
    let mut checks = CHECKS.map(|(name, _)| format!("{name}.rs"));
    checks.sort();
    assert_eq!(targets, checks);
    for target in targets {
        let text = std::fs::read_to_string(fuzz_dir().join("targets").join(&target)).unwrap();
        let name = target.strip_suffix(".rs").unwrap();
        assert!(text.contains(&format!("checks::run(\"{name}\", bytes)")));
    }
}

/// `KRESCUE_SEED` and `KRESCUE_RUNS` choose other inputs and more.
#[test]
fn files_of_real_logs_changed_by_chance_hold() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse::<u64>().unwrap())
    };
    let (seed, runs) = (number("KRESCUE_SEED", 1), number("KRESCUE_RUNS", 150));
    let files = unpack(PACKED);
    let seeds: Vec<&Vec<u8>> = files
        .iter()
        .filter(|(path, bytes)| !path.ends_with('/') && bytes.len() < 20_000)
        .map(|(_, bytes)| bytes)
        .collect();
    let mut random = Random::new(seed);
    for (name, check) in CHECKS {
        for run in 0..runs {
            let mut bytes = seeds[random.below(seeds.len())].clone();
            change(&mut bytes, &mut random);
            let kept = bytes.clone();
            let held = std::panic::catch_unwind(move || check(&bytes));
            if held.is_err() {
                let failed = std::env::temp_dir().join(format!("krescue-fuzz-{name}-{seed}-{run}"));
                std::fs::write(&failed, kept).unwrap();
                panic!("{name}: {} fails", failed.display());
            }
        }
    }
}

/// Cuts a window out, and flips, writes over, doubles or drops bytes in it.
fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    let len = bytes.len();
    if len > 0 && random.below(3) == 0 {
        let from = random.below(len);
        bytes.drain(..from);
        bytes.truncate(1 + random.below(300));
    }
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len() + 1);
        let value = u8::try_from(random.below(256)).unwrap();
        match random.below(5) {
            0 => bytes.insert(at, value),
            1 => bytes.truncate(at),
            2 => bytes.extend_from_within(at..),
            3 => bytes
                .iter_mut()
                .skip(at)
                .take(4)
                .for_each(|byte| *byte = value),
            _ => bytes
                .iter_mut()
                .skip(at)
                .take(1)
                .for_each(|byte| *byte ^= value),
        }
        bytes.truncate(100_000);
    }
}
