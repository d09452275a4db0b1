//! The command line as outside checks call it: flags, exit codes, JSON lines.

mod acting;
mod asking;
mod bad_input;
mod cleaning;
mod confirm;
mod deciding;
mod fleet;
mod keeping;
mod looking;
mod moving;
mod past_retention;
mod policy;
mod preflight;
mod refusals;
mod segments;
mod shapes;
mod stopping;
mod stored_flags;
mod truncating;
mod undoing;
mod untouched;
mod usage;
mod verify;
mod volumes;
mod watch;

/// Compares with `tests/snapshots`, where all snapshots are.
fn assert_snapshot(name: &str, text: &str) {
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}
