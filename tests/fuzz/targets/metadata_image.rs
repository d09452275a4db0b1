#![no_main]

use krescue::cluster::fold_dir;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let names = [
        "00000000000000000000.log".to_owned(),
        "00000000000000000007-0000000001.checkpoint".to_owned(),
    ];
    let (snapshot, log) = bytes.split_at(bytes.len() / 2);
    let folded = fold_dir(&names, None, |name, position, count| {
        let file = if name.ends_with(".log") {
            log
        } else {
            snapshot
        };
        let from =
            usize::try_from(position).map_or(&[][..], |at| file.get(at..).unwrap_or_default());
        Ok::<_, ()>(from[..count.min(from.len())].to_vec())
    });
    assert!(folded.is_ok());
});
