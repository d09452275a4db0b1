//! Limits to judge with instead of those in force, and how people write them.

use std::fmt;

use crate::format::quantity::parse_size;

/// Values to judge with instead of those in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct WhatIf {
    /// `retention.ms`; −1 without end.
    pub retention_ms: Option<i64>,
    /// `retention.bytes`; −1 without end.
    pub retention_bytes: Option<i64>,
}

impl WhatIf {
    /// Says whether no value differs from what is in force.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Parses `retention.ms=3d,retention.bytes=20GiB`; −1 is no limit.
    ///
    /// # Errors
    ///
    /// What is wrong, as a sentence's fragment.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut wish = Self::default();
        for part in text.split(',') {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("\"{part}\" has no \"=\", as in retention.ms=3d"))?;
            match key.trim() {
                "retention.ms" => wish.retention_ms = Some(parse_retention_ms(value)?),
                "retention.bytes" => wish.retention_bytes = Some(parse_retention_bytes(value)?),
                other => {
                    return Err(format!(
                        "\"{other}\" is neither retention.ms nor retention.bytes"
                    ));
                }
            }
        }
        Ok(wish)
    }
}

impl fmt::Display for WhatIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.retention_ms.map(|ms| format!("retention.ms={ms}"));
        let bytes = self.retention_bytes;
        let bytes = bytes.map(|bytes| format!("retention.bytes={bytes}"));
        let words: Vec<String> = ms.into_iter().chain(bytes).collect();
        f.write_str(&words.join(","))
    }
}

/// Parses a `retention.ms`: milliseconds, or a number with ms, s, m, h or d behind it; −1 is no limit.
///
/// # Errors
///
/// What is wrong, as a sentence's fragment.
pub fn parse_retention_ms(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let error = || format!("\"{text}\" is neither milliseconds nor of the form 3d, 12h, 90m, 45s");
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '-')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits).ok_or_else(error)?;
    let factor = match unit.trim() {
        "" | "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(error()),
    };
    let number: i64 = number.parse().map_err(|_| error())?;
    let is_valid = number >= 0 || (number == -1 && unit.is_empty());
    number
        .checked_mul(factor)
        .filter(|_| is_valid)
        .ok_or_else(error)
}

/// Parses a `retention.bytes`: a size; −1 is no limit.
///
/// # Errors
///
/// What is wrong, as a sentence's fragment.
pub fn parse_retention_bytes(text: &str) -> Result<i64, String> {
    let text = text.trim();
    if text == "-1" {
        return Ok(-1);
    }
    i64::try_from(parse_size(text)?).map_err(|_| format!("\"{text}\" is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_limits_are_read_with_units() {
        let wish = WhatIf::parse("retention.ms=3d,retention.bytes=20GiB").unwrap();
        assert_eq!(wish.retention_ms, Some(259_200_000));
        assert_eq!(wish.retention_bytes, Some(20 << 30));
        assert_eq!(WhatIf::parse(&wish.to_string()), Ok(wish));
        let wish = WhatIf::parse("retention.ms=-1").unwrap();
        assert_eq!((wish.retention_ms, wish.retention_bytes), (Some(-1), None));
        for text in [
            "",
            "retention.ms",
            "retention.ms=x",
            "log.retention.ms=1",
            "retention.bytes=-2",
        ] {
            assert!(WhatIf::parse(text).is_err(), "{text}");
        }
    }
}
