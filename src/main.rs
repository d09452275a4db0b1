//! Entry point: parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    krescue::cli::run(std::env::args_os()).into()
}
