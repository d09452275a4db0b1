//! The command line as outside checks call it: flags, exit codes, JSON lines.

mod acting;
mod bad_input;
mod confirm;
mod deciding;
mod keeping;
mod looking;
mod policy;
mod refusals;
mod shapes;
mod truncating;
mod undoing;
mod untouched;
mod usage;
mod watch;

/// Compares with `tests/snapshots`, where all snapshots are.
fn assert_snapshot(name: &str, text: &str) {
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}
