//! Tables for people: aligned by display width, one line per row, cut to the terminal's width.
//!
//! Invariant: every cell is made safe here, so that no caller can forget it. Without a terminal
//! nothing is cut.

use comfy_table::{
    Attribute, Cell, Color, ColumnConstraint, ContentArrangement, Row, Table, Width,
};

use super::Output;
use super::terminal::{Tone, safe};

/// A column that is cut keeps at least this width.
const LEAST_WIDTH: u16 = 12;

/// The terminal's width in columns.
pub fn terminal_width() -> Option<u16> {
    Table::new().width()
}

/// A table under construction.
pub struct Rows {
    table: Table,
    cut: bool,
}

impl Rows {
    /// A table with these headings. On a narrow terminal the columns numbered in `gives_way` are
    /// cut.
    pub fn new(output: &Output, headings: &[&str], gives_way: &[usize]) -> Self {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        if output.colors {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        let heading = |text: &&str| Cell::new(text).add_attribute(Attribute::Dim);
        table.set_header(Row::from(headings.iter().map(heading).collect::<Vec<_>>()));
        let cut = output.width.is_some();
        if let Some(width) = output.width {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width);
            table.set_truncation_indicator("…");
        }
        let rigid = |column| {
            if gives_way.contains(&column) {
                ColumnConstraint::LowerBoundary(Width::Fixed(LEAST_WIDTH))
            } else {
                ColumnConstraint::ContentWidth
            }
        };
        if cut {
            table.set_constraints((0..headings.len()).map(rigid));
        }
        Self { table, cut }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: &[(Tone, &str)]) {
        let cells: Vec<Cell> = cells.iter().map(|(tone, text)| cell(*tone, text)).collect();
        let mut row = Row::from(cells);
        if self.cut {
            row.max_height(1);
        }
        self.table.add_row(row);
    }

    /// The table's lines, without spaces at their ends.
    pub fn lines(mut self) -> Vec<String> {
        for column in self.table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let lines = self.table.lines();
        lines.map(|line| line.trim_end().to_owned()).collect()
    }
}

fn cell(tone: Tone, text: &str) -> Cell {
    let cell = Cell::new(safe(text));
    match tone {
        Tone::Plain => cell,
        Tone::Good => cell.fg(Color::Green),
        Tone::Bad => cell.fg(Color::Red),
        Tone::Warn => cell.fg(Color::Yellow),
        Tone::Live => cell.fg(Color::Cyan),
        Tone::Dim => cell.add_attribute(Attribute::Dim),
        Tone::Strong => cell.add_attribute(Attribute::Bold),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::tests::Shared;

    fn output(width: Option<u16>, colors: bool) -> Output {
        let mut output = Output::plain(
            Box::new(Shared::default()),
            Box::new(Shared::default()),
            false,
        );
        output.width = width;
        output.colors = colors;
        output
    }

    fn sample(output: &Output) -> Vec<String> {
        let mut rows = Rows::new(output, &["ID", "TITLE", "TAGS"], &[1]);
        rows.row(&[
            (Tone::Plain, "idea-001"),
            (
                Tone::Plain,
                "a title of some length that goes on and on and on and on",
            ),
            (Tone::Plain, "quick-win"),
        ]);
        rows.row(&[
            (Tone::Plain, "idea-002"),
            (Tone::Bad, "漢字\u{1b}[2J"),
            (Tone::Plain, ""),
        ]);
        rows.lines()
    }

    #[test]
    fn without_a_terminal_nothing_is_cut_or_coloured() {
        let lines = sample(&output(None, false));
        assert_eq!(lines.len(), 3);
        assert!(lines[1].contains("on and on and on"));
        assert!(!lines.concat().contains('\u{1b}'));
        assert!(lines.iter().all(|line| !line.ends_with(' ')));
    }

    #[test]
    fn a_narrow_terminal_cuts_the_column_that_gives_way() {
        let lines = sample(&output(Some(50), false));
        assert_eq!(lines.len(), 3, "{lines:#?}");
        assert!(
            lines[1].contains('…') && lines[1].contains("quick-win"),
            "{lines:#?}"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 50));
    }

    #[test]
    fn colours_are_used_when_enabled() {
        let lines = sample(&output(Some(80), true)).concat();
        assert!(lines.contains('\u{1b}') && !lines.contains("[2J\u{1b}[2J"));
        assert!(lines.contains("␛[2J"));
    }
}
