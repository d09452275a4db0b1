//! Colours by role, read from `assets/themes`.

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

use crate::app::event::Level;
use crate::app::plan_text::Tone;
use crate::app::situation::Urgency;
use crate::log::Severity;

const TERMINAL: &str = include_str!("../../assets/themes/terminal.toml");
const MONO: &str = include_str!("../../assets/themes/mono.toml");

/// A theme's text that is none.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// No TOML, or a role is missing.
    #[error("not a theme: {0}")]
    Layout(#[from] toml::de::Error),
    /// A word that is neither colour nor attribute.
    #[error("{role}: \"{word}\" is no colour or attribute")]
    Word {
        /// The role.
        role: &'static str,
        /// The word.
        word: String,
    },
}

/// How a screen is drawn: a style for each role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    /// Plain text.
    pub text: Style,
    /// What matters less, or is old.
    pub dim: Style,
    /// Headings.
    pub title: Style,
    /// Keys to press.
    pub key: Style,
    /// In order.
    pub good: Style,
    /// In progress.
    pub busy: Style,
    /// To be looked at.
    pub warn: Style,
    /// Must not be done, or loses data.
    pub danger: Style,
    /// The row under the cursor.
    pub selected: Style,
    /// A marked row.
    pub marked: Style,
    /// The done part of a bar.
    pub bar: Style,
    /// The rest of it.
    pub bar_rest: Style,
    /// The pane in front.
    pub tab: Style,
    /// The frame while the session is armed.
    pub armed: Style,
    /// Lines around boxes.
    pub border: Style,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    text: String,
    dim: String,
    title: String,
    key: String,
    good: String,
    busy: String,
    warn: String,
    danger: String,
    selected: String,
    marked: String,
    bar: String,
    bar_rest: String,
    tab: String,
    armed: String,
    border: String,
}

impl Theme {
    /// Returns the theme of the terminal's own colours, or the one without any.
    pub fn built_in(colours: bool) -> Self {
        let text = if colours { TERMINAL } else { MONO };
        Self::parse(text).unwrap_or_else(|_| Self::plain())
    }

    /// Returns the embedded theme of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "terminal" | "default" => Some(Self::built_in(true)),
            "mono" => Some(Self::built_in(false)),
            _ => None,
        }
    }

    /// Reads a theme.
    pub fn parse(text: &str) -> Result<Self, ThemeError> {
        let words: Words = toml::from_str(text)?;
        Ok(Self {
            text: style("text", &words.text)?,
            dim: style("dim", &words.dim)?,
            title: style("title", &words.title)?,
            key: style("key", &words.key)?,
            good: style("good", &words.good)?,
            busy: style("busy", &words.busy)?,
            warn: style("warn", &words.warn)?,
            danger: style("danger", &words.danger)?,
            selected: style("selected", &words.selected)?,
            marked: style("marked", &words.marked)?,
            bar: style("bar", &words.bar)?,
            bar_rest: style("bar_rest", &words.bar_rest)?,
            tab: style("tab", &words.tab)?,
            armed: style("armed", &words.armed)?,
            border: style("border", &words.border)?,
        })
    }

    /// Returns a theme that tells the cursor's row and nothing else apart.
    fn plain() -> Self {
        let plain = Style::new();
        let reverse = plain.add_modifier(Modifier::REVERSED);
        Self {
            text: plain,
            dim: plain,
            title: plain,
            key: plain,
            good: plain,
            busy: plain,
            warn: plain,
            danger: plain,
            selected: reverse,
            marked: plain,
            bar: plain,
            bar_rest: plain,
            tab: reverse,
            armed: reverse,
            border: plain,
        }
    }

    /// Returns the style of a situation.
    pub fn urgency(&self, urgency: Urgency) -> Style {
        match urgency {
            Urgency::Fine => self.good,
            Urgency::Busy => self.busy,
            Urgency::Work => self.warn,
            Urgency::Danger => self.danger,
        }
    }

    /// Returns the style of a finding.
    pub fn severity(&self, severity: Severity) -> Style {
        match severity {
            Severity::Routine => self.dim,
            Severity::Warning => self.warn,
            Severity::Loss | Severity::Fatal => self.danger,
        }
    }

    /// Returns the style of a line told in passing.
    pub fn level(&self, level: Level) -> Style {
        match level {
            Level::Note => self.busy,
            Level::Warn => self.warn,
            Level::Error => self.danger,
        }
    }

    /// Returns the style of a plan's line.
    pub fn tone(&self, tone: Tone) -> Style {
        match tone {
            Tone::Plain => self.text,
            Tone::Good => self.good,
            Tone::Warn => self.warn,
            Tone::Danger => self.danger,
        }
    }

    /// Returns the style of a log's state, by its word.
    pub fn word(&self, word: &str) -> Style {
        match word {
            "ASK" | "REFUSED" | "UNREADABLE" | "LOST" | "EMPTIED" | "FAILED" | "STRAY"
            | "RE-CREATED" => self.danger,
            "ASK: left" | "would cut" | "cut" | "set aside" | "aside" => self.warn,
            "scanning" | "applying" => self.busy,
            "no change" | "done" => self.good,
            "waiting" | "not read" | "skipped" | "left" => self.dim,
            _ => self.text,
        }
    }
}

fn style(role: &'static str, words: &str) -> Result<Style, ThemeError> {
    let mut style = Style::new();
    let mut on = false;
    for word in words.split_whitespace() {
        let modifier = match word {
            "on" => {
                on = true;
                continue;
            }
            "bold" => Modifier::BOLD,
            "dim" => Modifier::DIM,
            "italic" => Modifier::ITALIC,
            "underline" => Modifier::UNDERLINED,
            "reverse" => Modifier::REVERSED,
            _ => {
                let colour: Color = word.parse().map_err(|_| ThemeError::Word {
                    role,
                    word: word.to_owned(),
                })?;
                style = if std::mem::take(&mut on) {
                    style.bg(colour)
                } else {
                    style.fg(colour)
                };
                continue;
            }
        };
        style = style.add_modifier(modifier);
    }
    Ok(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_themes_parse() {
        let theme = Theme::parse(TERMINAL).unwrap();
        assert_eq!(
            theme.armed,
            Style::new()
                .fg(Color::White)
                .bg(Color::Red)
                .add_modifier(Modifier::BOLD)
        );
        assert!(Theme::parse(MONO).is_ok());
    }

    #[test]
    fn a_theme_without_colours_sets_none() {
        let theme = Theme::built_in(false);
        for style in [theme.danger, theme.armed, theme.selected, theme.bar] {
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }

    #[test]
    fn a_bad_word_names_its_role() {
        let text = MONO.replace("danger = \"bold\"", "danger = \"crimson-ish\"");
        let error = Theme::parse(&text).unwrap_err().to_string();
        assert_eq!(error, "danger: \"crimson-ish\" is no colour or attribute");
    }
}
