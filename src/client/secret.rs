//! Text that is never shown.

use std::fmt;

/// A password, a key or what is made of them: no screen, log, panic or audit can show it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Returns `text` as a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for the wire alone.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let shown = format!(
            "{:?} {:#?}",
            Secret::new("hunter2"),
            Some(Secret::new("hunter2"))
        );
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
