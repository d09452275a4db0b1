//! Sizes and rates as people write them.

/// Parses a size in bytes: `512`, `64KiB`, `8 GiB`, `8G` (binary), `500MB` (decimal).
pub fn parse_size(text: &str) -> Result<u64, String> {
    let error = || "not a size such as 512MiB or 8GiB".to_owned();
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits).ok_or_else(error)?;
    let unit = unit_bytes(unit.trim()).ok_or_else(error)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().map_err(|_| error())?;
    let part = fraction_of(unit, fraction).ok_or_else(error)?;
    whole
        .checked_mul(unit)
        .and_then(|bytes| bytes.checked_add(part))
        .ok_or_else(error)
}

/// Returns `bytes` with a binary unit and about three digits: `823 B`, `31.2 GiB`.
pub fn size_text(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut unit = 0_usize;
    let mut whole = bytes;
    let mut rest = 0_u64;
    while whole >= 1024 && unit + 1 < UNITS.len() {
        rest = whole % 1024;
        whole /= 1024;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or("B");
    match (unit, whole) {
        (0, _) => format!("{whole} {name}"),
        (_, 0..10) => format!("{whole}.{:02} {name}", rest * 100 / 1024),
        (_, 10..100) => format!("{whole}.{} {name}", rest * 10 / 1024),
        _ => format!("{whole} {name}"),
    }
}

/// Parses a rate in bytes per second: a size, with or without `/s`.
pub fn parse_rate(text: &str) -> Result<u64, String> {
    match parse_size(text.trim().trim_end_matches("/s")) {
        Ok(0) => Err("a rate of 0 would never end".to_owned()),
        Ok(rate) => Ok(rate),
        Err(_) => Err("not a rate such as 50MiB/s".to_owned()),
    }
}

/// Returns `0.digits` of `unit`, rounded down.
fn fraction_of(unit: u64, digits: &str) -> Option<u64> {
    if digits.is_empty() {
        return Some(0);
    }
    let scale = 10_u128.checked_pow(u32::try_from(digits.len()).ok()?)?;
    let value = digits.parse::<u64>().ok()?;
    u64::try_from(u128::from(unit) * u128::from(value) / scale).ok()
}

/// Returns how many bytes a unit has.
fn unit_bytes(unit: &str) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_unless_their_unit_is_decimal() {
        for (text, want) in [
            ("512", 512),
            ("64KiB", 64 << 10),
            ("8 GiB", 8 << 30),
            ("8G", 8 << 30),
            ("1.5MiB", 1_572_864),
            ("500MB", 500_000_000),
        ] {
            assert_eq!(parse_size(text), Ok(want), "{text}");
        }
        for text in [
            "",
            "GiB",
            "8 parsecs",
            "-1",
            "1e3",
            "99999999999T",
            "1.x",
            "1.2.3",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert_eq!(parse_rate("50MiB/s"), Ok(50 << 20));
        assert!(parse_rate("0").is_err());
    }
}
