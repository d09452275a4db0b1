//! The exception behind an event: a line of its own, without time and level.

use super::event::capped;

/// Returns the exception that a line begins with, behind what the journal, a container's runtime or a collector puts before
/// each line; `None` for stack frames and other text.
pub fn cause(line: &str) -> Option<&str> {
    let behind = |mark: &str| line.split_once(mark).map(|(_, rest)| rest);
    let stamped = line.split_once(' ').filter(|(word, _)| is_stamp(word));
    [
        Some(line),
        behind("]: "),
        behind(" | "),
        behind(" stdout F "),
        behind(" stderr F "),
        stamped.map(|(_, rest)| rest),
    ]
    .into_iter()
    .flatten()
    .find_map(exception)
}

/// Says whether a word is a time as collectors write it: `2026-11-30T07:51:11…`.
fn is_stamp(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_digit)
        && bytes.get(4) == Some(&b'-')
        && bytes.get(10) == Some(&b'T')
}

fn exception(text: &str) -> Option<&str> {
    let class = text.split([':', ' ']).next()?;
    let is_class = class.contains('.') && !class.contains(['/', '\t', '(']);
    let fails = class.ends_with("Exception") || class.ends_with("Error");
    (is_class && fails).then(|| capped(text.trim_end()))
}
