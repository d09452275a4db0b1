//! Which topics and groups a flow takes (`DefaultTopicFilter`, `DefaultGroupFilter`).
//!
//! The items of a list are joined by `|` and compiled as one Java pattern, which must match a whole name. Nothing is
//! taken by an empty list, and what the exclusion matches is not taken.

use std::fmt;

/// How much a pattern may go back before a name is given up.
const BACKTRACKS: usize = 200_000;

/// Why a list of patterns cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pattern \"{pattern}\" is not understood: {detail}")]
pub struct PatternError {
    /// The joined pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub detail: String,
}

/// A compiled list.
#[derive(Clone)]
pub struct NamePattern {
    items: Vec<String>,
    /// Each item by itself; those that are none alone are left out.
    each: Vec<Option<fancy_regex::Regex>>,
    whole: Option<fancy_regex::Regex>,
}

impl fmt::Debug for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NamePattern").field(&self.items).finish()
    }
}

impl NamePattern {
    /// Compiles a list as it stands in a properties file.
    ///
    /// # Errors
    ///
    /// A pattern that Java refuses too, or that this machine's engine does not take.
    pub fn parse(list: &str) -> Result<Self, PatternError> {
        let items = split_list(list);
        if items.is_empty() {
            return Ok(Self {
                items,
                each: vec![],
                whole: None,
            });
        }
        let joined = items.join("|");
        let compile = |pattern: &str| {
            fancy_regex::RegexBuilder::new(pattern)
                .backtrack_limit(BACKTRACKS)
                .build()
                .map_err(|error| PatternError {
                    pattern: joined.clone(),
                    detail: error
                        .to_string()
                        .lines()
                        .last()
                        .unwrap_or_default()
                        .to_owned(),
                })
        };
        let unquoted = unquote(&joined);
        if let Some(at) = illegal_repetition(&unquoted) {
            return Err(PatternError {
                detail: format!("illegal repetition near index {at}"),
                pattern: joined,
            });
        }
        // Items that balance only inside a group are none.
        compile(&unquoted)?;
        let whole = compile(&format!("\\A(?:{unquoted})\\z"))?;
        let each = items.iter().map(|item| Self::parse_item(item)).collect();
        Ok(Self {
            items,
            each,
            whole: Some(whole),
        })
    }

    /// Says whether the whole of `name` matches; `None` where the pattern goes back too often to tell.
    pub fn matches(&self, name: &str) -> Option<bool> {
        self.whole
            .as_ref()
            .map_or(Some(false), |whole| whole.is_match(name).ok())
    }

    /// Returns the first item that matches the whole of `name` by itself.
    pub fn item_that_matches(&self, name: &str) -> Option<&str> {
        let mut each = self.items.iter().zip(&self.each);
        let found = each.find(|(_, item)| {
            let item = item.as_ref();
            item.is_some_and(|item| item.is_match(name).unwrap_or(false))
        });
        found.map(|(item, _)| item.as_str())
    }

    fn parse_item(item: &str) -> Option<fancy_regex::Regex> {
        fancy_regex::Regex::new(&format!("\\A(?:{})\\z", unquote(item))).ok()
    }

    /// Returns the items.
    pub fn items(&self) -> &[String] {
        &self.items
    }
}

/// Splits a value of type LIST: trimmed, at commas with the blanks around them; empty items stay (`ConfigDef`).
pub fn split_list(list: &str) -> Vec<String> {
    let list = list.trim();
    if list.is_empty() {
        return vec![];
    }
    list.split(',').map(|item| item.trim().to_owned()).collect()
}

/// Returns where a `{` stands that counts nothing: Java refuses it where other engines take it literally. It is what a comma
/// in `{1,3}` comes to, since the list is split there.
fn illegal_repetition(pattern: &str) -> Option<usize> {
    let mut rest = pattern.char_indices();
    let mut classes = 0_usize;
    while let Some((at, character)) = rest.next() {
        match character {
            '\\' => {
                let escaped = rest.next().map(|(_, escaped)| escaped);
                let braced = matches!(escaped, Some('p' | 'P' | 'x' | 'N'));
                if braced && rest.as_str().starts_with('{') {
                    rest.find(|(_, it)| *it == '}');
                }
            }
            '[' => classes += 1,
            ']' => classes = classes.saturating_sub(1),
            '{' if classes == 0 => {
                let (count, _) = rest.as_str().split_once('}').unwrap_or_default();
                let (least, most) = count.split_once(',').unwrap_or((count, ""));
                let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
                if least.is_empty() || !digits(least) || !digits(most) {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Replaces what Java takes literally between `\Q` and `\E`.
fn unquote(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some((before, quoted)) = rest.split_once("\\Q") {
        out.push_str(before);
        let (text, after) = quoted.split_once("\\E").unwrap_or((quoted, ""));
        out.push_str(&fancy_regex::escape(text));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// What a filter says of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// The flow takes it.
    Yes,
    /// No item of the inclusion matches.
    NotIncluded,
    /// An item of the exclusion matches.
    Excluded {
        /// The item, if it does so by itself.
        item: Option<String>,
    },
    /// It cannot be told.
    Unknown,
}

impl Taken {
    /// Says whether the flow takes the name; `None` if it cannot be told.
    pub fn known(&self) -> Option<bool> {
        match self {
            Self::Yes => Some(true),
            Self::NotIncluded | Self::Excluded { .. } => Some(false),
            Self::Unknown => None,
        }
    }
}

/// An inclusion and an exclusion.
#[derive(Debug, Clone)]
pub struct NameFilter {
    /// What is taken.
    pub include: Result<NamePattern, PatternError>,
    /// What is not taken of that.
    pub exclude: Result<NamePattern, PatternError>,
}

impl NameFilter {
    /// Compiles both lists.
    pub fn parse(include: &str, exclude: &str) -> Self {
        Self {
            include: NamePattern::parse(include),
            exclude: NamePattern::parse(exclude),
        }
    }

    /// Returns what the filter says of `name`.
    pub fn takes(&self, name: &str) -> Taken {
        let (Ok(include), Ok(exclude)) = (&self.include, &self.exclude) else {
            return Taken::Unknown;
        };
        match (include.matches(name), exclude.matches(name)) {
            (Some(false), _) => Taken::NotIncluded,
            (_, Some(true)) => Taken::Excluded {
                item: exclude.item_that_matches(name).map(str::to_owned),
            },
            (Some(true), Some(false)) => Taken::Yes,
            _ => Taken::Unknown,
        }
    }

    /// Returns what keeps the filter from telling anything.
    pub fn error(&self) -> Option<&PatternError> {
        self.include.as_ref().err().or(self.exclude.as_ref().err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(include: &str, exclude: &str, name: &str) -> Option<bool> {
        NameFilter::parse(include, exclude).takes(name).known()
    }

    #[test]
    fn an_item_matches_the_whole_name() {
        for (name, taken) in [
            ("sensor-suhu", true),
            ("my-sensor-suhu", false),
            ("primary.sensor-suhu", false),
        ] {
            assert_eq!(takes("sensor-.*", "", name), Some(taken), "{name}");
        }
        assert_eq!(takes("sensor", "", "sensor-suhu"), Some(false));
        assert_eq!(takes("foo|bar-.*", "", "foo-1"), Some(false));
        assert_eq!(takes("foo|bar-.*", "", "bar-1"), Some(true));
        assert_eq!(takes("", "", "t"), Some(false));
        assert_eq!(takes("a, b ", "", "b"), Some(true));
    }

    #[test]
    fn the_exclusion_wins_and_is_named() {
        let groups = NameFilter::parse(".*", "console-consumer-.*, connect-.*, __.*");
        assert_eq!(groups.takes("grup-analitik"), Taken::Yes);
        assert_eq!(groups.takes("my-connect-sink"), Taken::Yes);
        for (group, item) in [
            ("console-consumer-1", "console-consumer-.*"),
            ("connect-sink", "connect-.*"),
        ] {
            let item = Some(item.to_owned());
            assert_eq!(groups.takes(group), Taken::Excluded { item }, "{group}");
        }
        assert_eq!(takes(".*", "", "console-consumer-1"), Some(true));
    }

    #[test]
    fn what_java_takes_beyond_plain_patterns_is_taken() {
        assert_eq!(takes("^(?!tmp).*", "", "tmp-1"), Some(false));
        assert_eq!(takes("^(?!tmp).*", "", "orders"), Some(true));
        assert_eq!(takes("\\Qa.b\\E.*", "", "a.b-1"), Some(true));
        assert_eq!(takes("\\Qa.b\\E.*", "", "axb-1"), Some(false));
        assert_eq!(takes("(a)\\1", "", "aa"), Some(true));
        assert_eq!(takes("t[{]\\p{Alpha}{2}", "", "t{ab"), Some(true));
    }

    #[test]
    fn a_pattern_that_is_none_is_named() {
        for list in ["t[0-9]{1,3}", "*", "a),(b", "(?z)x", "a{", "x{,3}"] {
            let error = NamePattern::parse(list).unwrap_err();
            assert_eq!(error.pattern, split_list(list).join("|"));
            assert_eq!(takes(list, "", "t1"), None, "{list}");
        }
    }

    #[test]
    fn a_pattern_that_goes_back_without_end_is_given_up() {
        let name = "a".repeat(40);
        assert_eq!(takes("(?=a)(a|aa)+\\1b", "", &name), None);
    }
}
