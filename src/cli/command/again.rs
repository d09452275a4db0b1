//! The command line by which the same is found again.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::app::lines::quote;
use crate::cli::Context;
use crate::settings::Source;

/// Returns the options by which the same broker and the same state dir are found again, each behind a blank.
pub(super) fn named_options(context: &Context) -> String {
    let settings = &context.settings;
    let flagged = |source: &Source| matches!(source, Source::Flag { .. });
    let mut options = String::new();
    for (name, value) in [
        ("--config", &settings.config),
        ("--state-dir", &settings.state_dir),
    ] {
        if let Some(value) = value.as_ref().filter(|value| flagged(&value.source)) {
            let _ = write!(
                options,
                " {name} {}",
                quote(&value.value.display().to_string())
            );
        }
    }
    if let Some(dirs) = settings
        .log_dirs
        .as_ref()
        .filter(|dirs| flagged(&dirs.source))
    {
        let _ = write!(options, " --log-dirs {}", quote(&join(&dirs.value)));
    }
    options
}

/// Returns paths as a list with commas.
pub(super) fn join(dirs: &[PathBuf]) -> String {
    let names: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    names.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_needs_it() {
        assert_eq!(
            quote("/data/kafka-1,/data/kafka-2"),
            "/data/kafka-1,/data/kafka-2"
        );
        assert_eq!(quote("/data one"), "'/data one'");
        assert_eq!(quote("it's"), "'it'\\''s'");
    }
}
