//! Lines with columns, as wide as their widest cell.

use std::io::{self, Write};

/// How a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Names.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells under a heading.
pub(crate) struct Columns {
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
    /// Lines below rows, by the row's number.
    below: Vec<(usize, String)>,
}

impl Columns {
    /// Returns columns with these headings.
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        Self {
            aligns: columns.iter().map(|(_, align)| *align).collect(),
            rows: vec![columns.iter().map(|(name, _)| (*name).to_owned()).collect()],
            below: Vec::new(),
        }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Adds a line below the last row, as wide as it is.
    pub(crate) fn under(&mut self, line: String) {
        self.below.push((self.rows.len().saturating_sub(1), line));
    }

    /// Writes all rows, two spaces between columns; nothing if there is none but the heading.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.rows.len() < 2 {
            return Ok(());
        }
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.aligns.len()).map(width).collect();
        let mut below = self.below.iter().peekable();
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for ((cell, align), width) in row.iter().zip(&self.aligns).zip(&widths) {
                if !line.is_empty() {
                    line.push_str("  ");
                }
                let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
                match align {
                    Align::Left => line.extend([cell.as_str(), &pad]),
                    Align::Right => line.extend([pad.as_str(), cell]),
                }
            }
            writeln!(out, "{}", line.trim_end())?;
            while let Some((_, line)) = below.next_if(|(of, _)| *of == number) {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }
}
