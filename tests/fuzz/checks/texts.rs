//! Words and lines.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use clap::Parser as _;
use krescue::cli::args::Args;
use krescue::observe::server_log::{BootEvent, LogLine, cause};

/// Arguments, one a line: words or a usage error.
pub(crate) fn arguments(bytes: &[u8]) {
    let words = bytes.split(|byte| *byte == b'\n').map(OsStr::from_bytes);
    if let Err(error) = Args::try_parse_from(std::iter::once(OsStr::new("krescue")).chain(words)) {
        assert!(!error.to_string().is_empty());
    }
}

/// A line of a broker's log.
pub(crate) fn server_log(bytes: &[u8]) {
    for line in String::from_utf8_lossy(bytes).lines() {
        let _ = cause(line);
        if let Some(line) = LogLine::parse(line) {
            let _ = BootEvent::parse(&line);
        }
    }
}
