//! The properties of a JMX object name: `kafka.log:type=LogManager,name=N,dir="/var/lib/kafka"`.

/// Returns the properties of `name`, values without their quotes; as many as can be read.
pub(super) fn properties(name: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = name.split_once(':').map_or(name, |(_, rest)| rest);
    while let Some((key, after)) = rest.split_once('=') {
        let (value, behind) = if after.starts_with('"') {
            let end = quoted_end(after);
            let (quoted, behind) = after.split_at(end);
            (unquoted(quoted), behind.strip_prefix(',').unwrap_or(behind))
        } else {
            let (value, behind) = after.split_once(',').unwrap_or((after, ""));
            (value.to_owned(), behind)
        };
        found.push((key.to_owned(), value));
        rest = behind;
    }
    found
}

/// Returns where the quoted value that `text` begins with ends.
fn quoted_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns a value without the quotes and escapes that `ObjectName.quote` gave it; one without quotes as it is.
pub(super) fn unquoted(value: &str) -> String {
    let Some(inside) = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    else {
        return value.to_owned();
    };
    let mut plain = String::with_capacity(inside.len());
    let mut letters = inside.chars();
    while let Some(c) = letters.next() {
        match c {
            '\\' => match letters.next() {
                Some('n') => plain.push('\n'),
                Some(other) => plain.push(other),
                None => plain.push('\\'),
            },
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_value_may_hold_anything() {
        let name = r#"kafka.log:dir="/a,b=\"c\"\\",name=remainingLogsToRecover,type=LogManager"#;
        let found = properties(name);
        let of = |key: &str| {
            found
                .iter()
                .find(|(k, _)| k == key)
                .map(|(_, v)| v.as_str())
        };
        assert_eq!(of("dir"), Some(r#"/a,b="c"\"#));
        assert_eq!(of("name"), Some("remainingLogsToRecover"));
        assert_eq!(of("type"), Some("LogManager"));
        assert_eq!(properties("a"), []);
        assert_eq!(properties("a:dir=\"never closed").len(), 1);
        assert_eq!(properties("a:dir=\"").len(), 1);
    }
}
