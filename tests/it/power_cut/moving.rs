//! Power cuts during a move between two volumes: the log is whole in its old place, in its new one, or in both.

use std::collections::BTreeMap;
use std::path::Path;

use krescue::engine::JobOutcome;

use super::boot_in;
use crate::relocation::Host;
use crate::support::apply::apply;
use crate::support::memory_t4::inputs;
use crate::support::power_cut::{Files, RecordingStorage};

/// Returns the records' files of `t-0` in a log dir.
fn logs(files: &Files, dir: &str) -> BTreeMap<String, Vec<u8>> {
    let place = Path::new(dir).join("t-0");
    let of_it = files.iter().filter_map(|(path, bytes)| {
        let name = path.strip_prefix(&place).ok()?.to_str()?;
        name.strip_suffix(".log")?;
        Some((name.to_owned(), bytes.clone()))
    });
    of_it.collect()
}

#[test]
fn a_power_cut_over_a_move_leaves_the_log_whole_in_a_place_that_a_boot_finds() {
    for clean in [[true, true], [false, true], [false, false]] {
        let Some(host) = Host::new(true, clean) else {
            return;
        };
        let plan = host.plan();
        let storage = RecordingStorage::with_volume(host.root(), "d2");
        let outcome = apply(&storage, &host.path("state"), &plan);
        assert_eq!(outcome, JobOutcome::Done);
        let recording = storage.into_recording();
        let before = recording.before();
        let old = logs(&before, "d1");
        assert_eq!(old.len(), 4);
        let (mut cuts, mut failures) = (0, Vec::new());
        let mut seen = BTreeMap::<(bool, bool), usize>::new();
        recording.cuts(5, |cut, files| {
            cuts += 1;
            let found = ["d1", "d2"].map(|dir| logs(&files, dir));
            let lies = [0, 1].map(|at: usize| !found[at].is_empty());
            *seen.entry((lies[0], lies[1])).or_default() += 1;
            if lies == [false, false] {
                failures.push(format!("{cut}: in no place"));
            }
            for (dir, found) in ["d1", "d2"].into_iter().zip(&found) {
                if !found.is_empty() && *found != old {
                    failures.push(format!("{cut}: not whole in {dir}"));
                }
            }
            // What a boot makes of it there is what it made of it before.
            if lies == [false, true] {
                let mut inputs = inputs(0);
                inputs.high_watermark = None;
                let there = boot_in("d2", &files, "t-0", &inputs);
                let here = boot_in("d1", &before, "t-0", &inputs);
                if there.as_ref().ok().map(BTreeMap::len) != here.as_ref().ok().map(BTreeMap::len) {
                    failures.push(format!("{cut}: booted {:?}", there.err()));
                }
                let marker = files.contains_key(Path::new("d2/.kafka_cleanshutdown"));
                if marker && !clean[0] {
                    failures.push(format!("{cut}: an unclean log beside a marker"));
                }
            }
        });
        assert!(failures.is_empty(), "{cuts}\n{}", failures.join("\n"));
        assert!(cuts > 100, "{cuts}");
        let all = [(true, false), (true, true), (false, true)];
        assert!(all.iter().all(|state| seen.contains_key(state)), "{seen:?}");
    }
}
