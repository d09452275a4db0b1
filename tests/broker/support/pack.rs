//! Trees of real brokers, packed to be embedded in the program.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::kafka::run;

/// Packs `names` of `tree` to `demo-data/FILE`; returns the bytes. Needs GNU tar and zstd.
///
/// Owners and order are always the same, holes stay holes.
pub(crate) fn pack_demo(tree: &Path, names: &[&str], file: &str) -> u64 {
    let archive = tree.with_extension("tar");
    let mut tar = Command::new("tar");
    tar.args([
        "--format=gnu",
        "-S",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--sort=name",
        "-cf",
    ]);
    tar.arg(&archive).arg("-C").arg(tree).args(names);
    run(&mut tar, "tar");
    let packed = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("demo-data")
        .join(file);
    let mut zstd = Command::new("zstd");
    zstd.args(["-19", "-f", "-q"])
        .arg(archive)
        .arg("-o")
        .arg(&packed);
    run(&mut zstd, "zstd");
    fs::metadata(&packed).unwrap().len()
}
