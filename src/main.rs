//! Entry point: parse, run, exit code.

fn main() {}
