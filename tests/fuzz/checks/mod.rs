//! What must hold for any bytes. Run by the fuzzer's targets and by `cargo test`.

mod decoders;
mod logs;
mod texts;
mod wire;

/// A check, by the name of its target.
pub(crate) type Check = (&'static str, fn(&[u8]));

/// All checks.
pub(crate) const CHECKS: [Check; 19] = [
    ("batch_framing", decoders::batch_framing),
    ("record_batch", decoders::record_batch),
    ("control_record", decoders::control_record),
    ("legacy_message", decoders::legacy_message),
    ("compression", decoders::compression),
    ("indexes", decoders::indexes),
    ("producer_snapshot", decoders::producer_snapshot),
    ("checkpoints", decoders::checkpoints),
    ("properties", decoders::properties),
    ("small_files", decoders::small_files),
    ("file_names", decoders::file_names),
    ("metadata_record", decoders::metadata_record),
    ("metadata_image", decoders::metadata_image),
    ("segment_scan", logs::segment_scan),
    ("recovery_plan", logs::recovery_plan),
    ("arguments", texts::arguments),
    ("server_log", texts::server_log),
    ("frames", wire::frames),
    ("responses", wire::responses),
];

/// Runs the check of a target.
#[cfg_attr(test, expect(dead_code, reason = "for the fuzzer's targets"))]
pub(crate) fn run(name: &str, bytes: &[u8]) {
    for (known, check) in CHECKS {
        if known == name {
            check(bytes);
        }
    }
}
