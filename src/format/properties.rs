//! Java properties, as `Properties.load` reads them from a stream: `server.properties`, `meta.properties`.
//!
//! ```text
//! # or !            a comment, to the line's end
//! key = value       apart by =, : or white space; white space around that is dropped, behind the value it stays
//! key = a\          a line that ends in an odd number of \ goes on in the next, whose leading white space is dropped
//!       b
//! \t \n \r \f       control characters; \uXXXX a UTF-16 unit; \ before anything else stands for that
//! ```
//!
//! The bytes are Latin-1, whatever the editor thought: Kafka hands Java a stream. White space is space, tab and form feed.

use std::fmt::Write as _;

/// A property and where it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// The line, from 1, on which the key begins.
    pub line: usize,
}

/// The properties of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Properties {
    /// All of them in file order; of two with one key the later counts.
    pub entries: Vec<Property>,
}

/// An escape that Java refuses (`IllegalArgumentException: Malformed \uxxxx encoding.`); nothing of the file is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed \\uxxxx encoding in line {line}")]
pub struct MalformedEscape {
    /// The line, from 1, on which the property begins.
    pub line: usize,
}

impl Properties {
    /// Parses the bytes of a properties file.
    pub fn parse(bytes: &[u8]) -> Result<Self, MalformedEscape> {
        let mut entries = vec![];
        let mut reader = LineReader::new(bytes);
        while let Some((line, text)) = reader.next_line() {
            let (key, value) = split(&text);
            let convert = |part| unescape(part).ok_or(MalformedEscape { line });
            entries.push(Property {
                key: convert(key)?,
                value: convert(value)?,
                line,
            });
        }
        Ok(Self { entries })
    }

    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.property(key).map(|property| property.value.as_str())
    }

    /// Returns the property `key`, as it was last set.
    pub fn property(&self, key: &str) -> Option<&Property> {
        let mut latest_first = self.entries.iter().rev();
        latest_first.find(|property| property.key == key)
    }

    /// Encodes the properties as `Properties.store` writes them to a UTF-8 writer, behind a line `#` and `# date`.
    ///
    /// Read back, a character that is not Latin-1 is another one, as in Kafka.
    pub fn encode(&self, date: &str) -> Vec<u8> {
        let mut text = format!("#\n#{date}\n");
        for property in &self.entries {
            escape(&property.key, true, &mut text);
            text.push('=');
            escape(&property.value, false, &mut text);
            text.push('\n');
        }
        text.into_bytes()
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\x0c')
}

/// Joins natural lines to logical ones and skips comments.
struct LineReader<'a> {
    bytes: std::iter::Peekable<std::iter::Copied<std::slice::Iter<'a, u8>>>,
    line: usize,
    /// Whether the last byte read stood for `\r\n`: behind a `\r` Java looks for the end before it takes the `\n`.
    was_pair: bool,
}

impl<'a> LineReader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes: bytes.iter().copied().peekable(),
            line: 1,
            was_pair: false,
        }
    }

    /// Reads a byte; `\r\n` is read as `\n`.
    fn next_byte(&mut self) -> Option<u8> {
        let byte = self.bytes.next()?;
        self.was_pair = false;
        match byte {
            b'\n' => self.line += 1,
            b'\r' => {
                self.line += 1;
                self.was_pair = self.bytes.next_if_eq(&b'\n').is_some();
                return Some(b'\n');
            }
            _ => {}
        }
        Some(byte)
    }

    /// Returns the next logical line that is neither blank nor a comment, and the number of its first natural line.
    fn next_line(&mut self) -> Option<(usize, Vec<u8>)> {
        let mut text: Vec<u8> = vec![];
        let mut start = self.line;
        let mut skips_blanks = true;
        let mut continued = false;
        let mut escaped = false;
        while let Some(byte) = self.next_byte() {
            if skips_blanks && (is_blank(byte) || byte == b'\n' && !continued) {
                continue;
            }
            skips_blanks = false;
            continued = false;
            if text.is_empty() && matches!(byte, b'#' | b'!') {
                while self.next_byte().is_some_and(|byte| byte != b'\n') {}
                skips_blanks = true;
                continue;
            }
            if byte != b'\n' {
                if text.is_empty() {
                    start = self.line;
                }
                text.push(byte);
                escaped = byte == b'\\' && !escaped;
            } else if text.is_empty() {
                skips_blanks = true;
            } else if escaped && (self.was_pair || self.bytes.peek().is_some()) {
                text.pop();
                skips_blanks = true;
                continued = true;
                escaped = false;
            } else {
                break;
            }
        }
        if escaped {
            text.pop();
        } else if text.is_empty() {
            return None;
        }
        Some((start, text))
    }
}

/// Splits a logical line into key and value, both still escaped.
fn split(line: &[u8]) -> (&[u8], &[u8]) {
    let mut escaped = false;
    let end = line.iter().position(|byte| {
        if !escaped && (is_blank(*byte) || matches!(byte, b'=' | b':')) {
            return true;
        }
        escaped = *byte == b'\\' && !escaped;
        false
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = trim_start(rest);
    let value = match rest.split_first() {
        Some((b'=' | b':', value)) => trim_start(value),
        _ => rest,
    };
    (key, value)
}

fn trim_start(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|byte| !is_blank(*byte));
    bytes
        .get(start.unwrap_or(bytes.len())..)
        .unwrap_or_default()
}

/// Resolves the escapes of a key or value; `None` where Java refuses one. Half a surrogate pair becomes U+FFFD.
fn unescape(bytes: &[u8]) -> Option<String> {
    let mut units: Vec<u16> = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            units.push(u16::from(byte));
            continue;
        }
        match rest.next() {
            None => units.push(u16::from(b'\\')),
            Some(b'u') => {
                let mut unit = 0_u16;
                for _ in 0..4 {
                    let digit = char::from(rest.next()?).to_digit(16)?;
                    unit = unit << 4 | u16::try_from(digit).ok()?;
                }
                units.push(unit);
            }
            Some(b't') => units.push(u16::from(b'\t')),
            Some(b'n') => units.push(u16::from(b'\n')),
            Some(b'r') => units.push(u16::from(b'\r')),
            Some(b'f') => units.push(0x0c),
            Some(other) => units.push(u16::from(other)),
        }
    }
    Some(String::from_utf16_lossy(&units))
}

fn escape(text: &str, is_key: bool, out: &mut String) {
    for (at, character) in text.char_indices() {
        match character {
            ' ' if is_key || at == 0 => out.push_str("\\ "),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\x0c' => out.push_str("\\f"),
            '\\' | '=' | ':' | '#' | '!' => {
                let _ = write!(out, "\\{character}");
            }
            _ => out.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(bytes: &[u8]) -> Vec<(String, String, usize)> {
        let properties = Properties::parse(bytes).unwrap();
        let entries = properties.entries.into_iter();
        entries.map(|it| (it.key, it.value, it.line)).collect()
    }

    fn one(text: &str) -> (String, String) {
        let [(key, value, _)] = <[_; 1]>::try_from(parse(text.as_bytes())).unwrap();
        (key, value)
    }

    /// What JDK 17 gives for each line.
    #[test]
    fn lines_are_split_as_java_splits_them() {
        for (line, key, value) in [
            ("a=b", "a", "b"),
            ("a:b", "a", "b"),
            ("a b", "a", "b"),
            ("  a \t = \t b  ", "a", "b  "),
            ("a==b", "a", "=b"),
            ("a = : b", "a", ": b"),
            ("a", "a", ""),
            ("=b", "", "b"),
            ("a\\ b\\=c\\:d = e", "a b=c:d", "e"),
            ("a\\\\=b", "a\\", "b"),
            ("a=b\\", "a", "b"),
            ("a=b\\\n", "a", "b"),
            ("a=b\\\\", "a", "b\\"),
            ("a=b\\\n  c", "a", "bc"),
            ("a=b\\\r\n\tc", "a", "bc"),
            ("a=b\\\n#c", "a", "b#c"),
            ("a=b\\\n\nc", "a", "b"),
            ("a=\\t\\n\\q\\u0041\\u00e4", "a", "\t\nqA\u{e4}"),
            ("a=\\ud83d\\ude00", "a", "\u{1f600}"),
            ("\\\n#x\na=b", "a", "b"),
            ("\\", "", ""),
        ] {
            let parsed = parse(line.as_bytes());
            let first = parsed.first().unwrap();
            assert_eq!(
                (first.0.as_str(), first.1.as_str()),
                (key, value),
                "{line:?}"
            );
        }
    }

    #[test]
    fn comments_and_blank_lines_are_skipped_and_lines_counted() {
        let text = b"# a=b\\\n\n ! c\r\nx=1\\\n  2\r\ry=3\nx=4";
        assert_eq!(
            parse(text),
            [
                ("x".to_owned(), "12".to_owned(), 4),
                ("y".to_owned(), "3".to_owned(), 7),
                ("x".to_owned(), "4".to_owned(), 8),
            ]
        );
        assert_eq!(Properties::parse(text).unwrap().get("x"), Some("4"));
        assert_eq!(parse(b"#"), []);
        assert_eq!(parse(b"\\\r\n"), []);
        assert_eq!(parse(b"\\\n").len(), 1);
    }

    #[test]
    fn bytes_are_latin_1() {
        assert_eq!(parse(b"a=\xe4")[0].1, "\u{e4}");
        assert_eq!(one("a=\u{e4}").1, "\u{c3}\u{a4}");
    }

    #[test]
    fn a_malformed_escape_refuses_the_file() {
        for text in ["x=1\na=\\u12", "x=1\na=\\u12g4", "x=1\na=\\\nb\\uxyzw"] {
            assert_eq!(
                Properties::parse(text.as_bytes()),
                Err(MalformedEscape { line: 2 })
            );
        }
    }

    proptest! {
        #[test]
        fn properties_survive_the_way_there_and_back(entries: Vec<(String, String)>) {
            let latin = |text: String| text.chars().filter(|it| *it < '\u{80}').collect::<String>();
            let entries: Vec<_> = entries.into_iter().map(|(k, v)| (latin(k), latin(v))).collect();
            let properties = Properties {
                entries: entries.iter().cloned().map(|(key, value)| Property { key, value, line: 0 }).collect(),
            };
            let back = Properties::parse(&properties.encode("today")).unwrap();
            let back: Vec<_> = back.entries.into_iter().map(|it| (it.key, it.value)).collect();
            prop_assert_eq!(back, entries);
        }

        #[test]
        fn any_bytes_are_parsed_without_a_panic(bytes: Vec<u8>, text in "[a=: \\\\\\n\\r#!u0-9]*") {
            let _ = Properties::parse(&bytes);
            let _ = Properties::parse(text.as_bytes());
        }
    }
}
