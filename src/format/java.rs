//! Text as Java reads it, where that differs from Rust.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::terms::Uuid;

/// The zero of every block of ten decimal digits that one UTF-16 unit can hold (Unicode's category Nd).
const ZEROS: [u32; 37] = [
    0x0030, 0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6,
    0x0d66, 0x0de6, 0x0e50, 0x0ed0, 0x0f20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80,
    0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0,
    0xff10,
];

/// Parses `text` as `Long.parseLong` does: a sign, then decimal digits of any script, and nothing else.
pub fn parse_i64(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() {
        return None;
    }
    digits.chars().try_fold(0_i64, |value, character| {
        let digit = i64::from(digit(character)?);
        let value = value.checked_mul(10)?;
        if negative {
            value.checked_sub(digit)
        } else {
            value.checked_add(digit)
        }
    })
}

/// Parses `text` as `Integer.parseInt` does.
pub fn parse_i32(text: &str) -> Option<i32> {
    parse_i64(text)?.try_into().ok()
}

fn digit(character: char) -> Option<u32> {
    let code = u32::from(character);
    ZEROS
        .iter()
        .map(|zero| code.wrapping_sub(*zero))
        .find(|value| *value < 10)
}

/// Says whether `character` is what the regular expression `\s` matches.
pub fn is_whitespace(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r')
}

/// Splits `text` as `Pattern.compile("\\s+").split` does.
///
/// White space at the start leaves an empty first part, at the end no part.
pub fn split_whitespace(text: &str) -> Vec<&str> {
    let mut parts = vec![];
    let mut rest = text;
    while let Some(end) = rest.find(is_whitespace) {
        let (part, tail) = rest.split_at(end);
        parts.push(part);
        rest = tail.trim_start_matches(is_whitespace);
    }
    parts.push(rest);
    if parts.len() > 1 {
        while parts.last().is_some_and(|part| part.is_empty()) {
            parts.pop();
        }
    }
    parts
}

/// Returns the lines of `text` as `BufferedReader.readLine` does: `\n`, `\r` and `\r\n` end one.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some(end) = rest.find(['\n', '\r']) else {
            return Some(std::mem::take(&mut rest));
        };
        let (line, tail) = rest.split_at(end);
        rest = tail
            .strip_prefix("\r\n")
            .or_else(|| tail.strip_prefix(['\n', '\r']))
            .unwrap_or_default();
        Some(line)
    })
}

/// Parses an id as Kafka's `Uuid.fromString` does: URL-safe base64 of 16 bytes, with or without its padding.
pub fn parse_uuid(text: &str) -> Option<Uuid> {
    const ENGINE: GeneralPurpose = GeneralPurpose::new(
        &URL_SAFE,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::RequireNone),
    );
    let digits = match text.len() {
        24 => text.strip_suffix("==")?,
        _ => text,
    };
    let bytes = ENGINE.decode(digits).ok()?;
    bytes.try_into().ok().map(Uuid)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_have_one_sign_and_digits_only() {
        for (text, value) in [
            ("0", Some(0)),
            ("+7", Some(7)),
            ("-0012", Some(-12)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("\u{664}\u{662}", Some(42)),
            ("", None),
            ("-", None),
            ("+-1", None),
            (" 1", None),
            ("1_0", None),
            ("0x1", None),
        ] {
            assert_eq!(parse_i64(text), value, "{text:?}");
        }
        assert_eq!(parse_i32("2147483647"), Some(i32::MAX));
        assert_eq!(parse_i32("2147483648"), None);
    }

    #[test]
    fn white_space_at_the_start_leaves_an_empty_part() {
        for (text, parts) in [
            ("t 0 3", &["t", "0", "3"][..]),
            (" t \t0", &["", "t", "0"]),
            ("t 0  ", &["t", "0"]),
            ("", &[""]),
            ("   ", &[]),
            ("a\u{a0}b", &["a\u{a0}b"]),
        ] {
            assert_eq!(split_whitespace(text), parts, "{text:?}");
        }
    }

    #[test]
    fn three_things_end_a_line() {
        let read = |text| lines(text).collect::<Vec<_>>();
        assert_eq!(read("a\nb\rc\r\nd"), ["a", "b", "c", "d"]);
        assert_eq!(read("a\n\n"), ["a", ""]);
        assert_eq!(read("\r\r\n"), ["", ""]);
        assert!(read("").is_empty());
    }

    #[test]
    fn the_padding_of_an_id_is_optional() {
        let id = parse_uuid("WJP-YmuvQ7ieid7KZyv-lA").unwrap();
        assert_eq!(Uuid::parse("WJP-YmuvQ7ieid7KZyv-lA"), Some(id));
        assert_eq!(parse_uuid("WJP-YmuvQ7ieid7KZyv-lA=="), Some(id));
        assert_eq!(parse_uuid("WJP-YmuvQ7ieid7KZyv-lB"), Some(id));
        for text in [
            "WJP-YmuvQ7ieid7KZyv-lA=",
            "WJP+YmuvQ7ieid7KZyv+lA",
            "WJP",
            "",
        ] {
            assert_eq!(parse_uuid(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn numbers_survive_the_way_there_and_back(value: i64) {
            prop_assert_eq!(parse_i64(&value.to_string()), Some(value));
        }

        #[test]
        fn any_text_is_split_without_a_panic(text: String) {
            let _ = parse_i64(&text);
            let _ = split_whitespace(&text);
            let _ = parse_uuid(&text);
            prop_assert!(lines(&text).count() <= text.len());
        }
    }
}
