#![no_main]

#[path = "../checks/mod.rs"]
mod checks;
#[path = "../../it/support/memory_dir.rs"]
mod memory_dir;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::run("frames", bytes));
