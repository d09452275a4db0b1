//! A row of the report, as text and as JSON.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::terms::{LeaderEpoch, Offset, Timestamp};

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(i128),
    Text(String),
    List(Vec<Value>),
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(value) => serializer.serialize_i128(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(values) => serializer.collect_seq(values),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("-"),
            Self::Bool(true) => f.write_str("yes"),
            Self::Bool(false) => f.write_str("no"),
            Self::Number(value) => value.fmt(f),
            Self::Text(text) if is_plain(text) => f.write_str(text),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::List(values) => {
                f.write_char('[')?;
                for (index, value) in values.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{value}")?;
                }
                f.write_char(']')
            }
        }
    }
}

/// Says whether `text` needs no quotes to stand in a line of words, and cannot steer a terminal.
fn is_plain(text: &str) -> bool {
    let is_safe = |it: char| !it.is_whitespace() && !it.is_control() && it != '"';
    !text.is_empty() && text != "-" && text.chars().all(is_safe)
}

macro_rules! number {
    ($($from:ty),*) => {
        $(impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Self::Number(value.into())
            }
        })*
    };
}

number!(i8, i16, i32, i64, u8, u32, u64);

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Number(i128::try_from(value).unwrap_or(i128::MAX))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Offset> for Value {
    fn from(value: Offset) -> Self {
        value.0.into()
    }
}

impl From<LeaderEpoch> for Value {
    fn from(value: LeaderEpoch) -> Self {
        value.0.into()
    }
}

impl From<Timestamp> for Value {
    fn from(value: Timestamp) -> Self {
        if value == Timestamp::NONE {
            return Self::Null;
        }
        Self::Text(value.rfc3339())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

/// A row: its kind, then names and values in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    kind: &'static str,
    fields: Vec<(&'static str, Value)>,
}

impl Row {
    pub(super) fn new(kind: &'static str) -> Self {
        Self {
            kind,
            fields: vec![],
        }
    }

    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.fields.push((name, value.into()));
        self
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len() + 1))?;
        map.serialize_entry("kind", self.kind)?;
        for (name, value) in &self.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)?;
        for (name, value) in &self.fields {
            write!(f, "  {name} {value}")?;
        }
        Ok(())
    }
}

/// How bad what a finding says is; the names are those of the other commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Warning,
    Loss,
    Fatal,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Loss => "loss",
            Self::Fatal => "fatal",
        }
    }
}

/// Where rows go, and how many findings went there.
pub(super) struct Report<'a> {
    out: &'a mut dyn Write,
    is_json: bool,
    file: String,
    findings: u64,
}

impl<'a> Report<'a> {
    /// Returns a report on the file called `file`.
    pub(super) fn new(out: &'a mut dyn Write, is_json: bool, file: String) -> Self {
        Self {
            out,
            is_json,
            file,
            findings: 0,
        }
    }

    pub(super) fn findings(&self) -> u64 {
        self.findings
    }

    pub(super) fn row(&mut self, row: &Row) -> io::Result<()> {
        if self.is_json {
            serde_json::to_writer(&mut *self.out, row)?;
            self.out.write_all(b"\n")
        } else {
            writeln!(self.out, "{row}")
        }
    }

    pub(super) fn finding(
        &mut self,
        code: &'static str,
        severity: Severity,
        position: u64,
        text: impl Into<String>,
    ) -> io::Result<()> {
        self.findings += 1;
        let row = Row::new("finding")
            .with("code", code)
            .with("severity", severity.name())
            .with("file", self.file.as_str())
            .with("position", position)
            .with("text", text.into());
        self.row(&row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_json_have_the_same_fields_in_the_same_order() {
        let row = Row::new("batch")
            .with("position", 0_u64)
            .with("max_timestamp", Timestamp(1_700_000_000_000))
            .with("base_timestamp", Timestamp::NONE)
            .with("crc_ok", true)
            .with("key", "a b\n")
            .with("isr", vec![1, 2]);
        assert_eq!(
            row.to_string(),
            "batch  position 0  max_timestamp 2023-11-14T22:13:20.000Z  base_timestamp -  \
             crc_ok yes  key \"a b\\n\"  isr [1,2]"
        );
        assert_eq!(
            serde_json::to_string(&row).unwrap(),
            r#"{"kind":"batch","position":0,"max_timestamp":"2023-11-14T22:13:20.000Z","base_timestamp":null,"crc_ok":true,"key":"a b\n","isr":[1,2]}"#
        );
    }

    #[test]
    fn a_value_cannot_steer_the_terminal() {
        assert_eq!(Value::from("\u{1b}[2J").to_string(), r#""\u{1b}[2J""#);
        assert_eq!(Value::from("").to_string(), r#""""#);
    }
}
