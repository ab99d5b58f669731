//! Tables for people: aligned by display width, one line per row, cut to the terminal's width.
//!
//! Invariant: every cell is made safe here, so that no caller can forget it. Without a terminal
//! nothing is cut or left out.

use comfy_table::{
    Attribute, Cell, Color, ColumnConstraint, ContentArrangement, Row, Table, Width,
};
use ratatui::text::Span;

use super::Output;
use super::terminal::{Tone, safe};

/// A column that is cut keeps at least this width.
const LEAST_WIDTH: u16 = 12;
/// Columns are left out for one that is cut until it has this width.
const ROOM: usize = 30;
/// Spaces between two columns.
const GAP: usize = 2;

/// The terminal's width in columns.
pub fn terminal_width() -> Option<u16> {
    Table::new().width()
}

/// A table under construction.
pub struct Rows {
    headings: Vec<String>,
    cells: Vec<Vec<(Tone, String)>>,
    gives_way: Vec<usize>,
    left_out: Vec<usize>,
    width: Option<u16>,
    colors: bool,
}

impl Rows {
    /// A table with these headings. On a narrow terminal the columns numbered in `gives_way` are
    /// cut, so nothing that must be typed may be in them.
    pub fn new(output: &Output, headings: &[&str], gives_way: &[usize]) -> Self {
        Self {
            headings: headings.iter().map(ToString::to_string).collect(),
            cells: Vec::new(),
            gives_way: gives_way.to_vec(),
            left_out: Vec::new(),
            width: output.width,
            colors: output.colors,
        }
    }

    /// Columns that are left out, in this order, while the table is wider than the terminal. Those
    /// without any value go before them.
    #[must_use]
    pub fn leave_out(mut self, columns: &[usize]) -> Self {
        self.left_out = columns.to_vec();
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: &[(Tone, &str)]) {
        let cells = cells.iter().map(|(tone, text)| (*tone, safe(text)));
        self.cells.push(cells.collect());
    }

    /// The table's lines, without spaces at their ends.
    pub fn lines(self) -> Vec<String> {
        let columns = self.columns();
        let mut table = self.empty_table(&columns);
        for cells in &self.cells {
            let cells = columns.iter().filter_map(|column| cells.get(*column));
            let cells: Vec<Cell> = cells.map(|(tone, text)| cell(*tone, text)).collect();
            let mut row = Row::from(cells);
            if self.width.is_some() {
                row.max_height(1);
            }
            table.add_row(row);
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let lines = table.lines();
        lines.map(|line| line.trim_end().to_owned()).collect()
    }

    fn empty_table(&self, columns: &[usize]) -> Table {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        if self.colors {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        let heading = |column: &usize| {
            let text = self.headings.get(*column).map_or("", String::as_str);
            Cell::new(text).add_attribute(Attribute::Dim)
        };
        table.set_header(Row::from(columns.iter().map(heading).collect::<Vec<_>>()));
        if let Some(width) = self.width {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width);
            table.set_truncation_indicator("…");
            table.set_constraints(columns.iter().map(|column| {
                if self.gives_way.contains(column) {
                    ColumnConstraint::LowerBoundary(Width::Fixed(LEAST_WIDTH))
                } else {
                    ColumnConstraint::ContentWidth
                }
            }));
        }
        table
    }

    /// The columns that are shown.
    fn columns(&self) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.headings.len()).collect();
        let Some(width) = self.width.map(usize::from) else {
            return shown;
        };
        let is_empty = |column: &usize| {
            let mut cells = self.cells.iter().filter_map(|row| row.get(*column));
            cells.all(|(_, text)| text.is_empty())
        };
        let empty = shown.iter().copied().filter(is_empty).collect::<Vec<_>>();
        for column in empty.iter().chain(&self.left_out) {
            let needed: usize = shown.iter().map(|column| self.needed(*column)).sum();
            if needed <= width {
                break;
            }
            shown.retain(|other| other != column);
        }
        shown
    }

    /// The width that a column needs, with the gap after it.
    fn needed(&self, column: usize) -> usize {
        let cells = self.cells.iter().filter_map(|row| row.get(column));
        let texts = cells.map(|(_, text)| text).chain(self.headings.get(column));
        let width = texts.map(|text| Span::raw(text).width()).max().unwrap_or(0);
        let is_cut = self.gives_way.contains(&column);
        GAP + if is_cut { width.min(ROOM) } else { width }
    }
}

fn cell(tone: Tone, text: &str) -> Cell {
    let cell = Cell::new(text);
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
    fn a_narrow_terminal_leaves_columns_out_before_it_cuts_too_much() {
        let table = |width| {
            let headings = ["NAME", "NOTE", "CREATED", "COMMIT", "TITLE"];
            let mut rows = Rows::new(&output(width, false), &headings, &[4]).leave_out(&[3, 2]);
            rows.row(&[
                (Tone::Plain, "before-autopilot-20261123"),
                (Tone::Plain, ""),
                (Tone::Plain, "12 min ago"),
                (Tone::Plain, "0123456789"),
                (Tone::Plain, "a title that is longer than any room"),
            ]);
            rows.lines()
        };
        let headings = |width| {
            let line = table(width).remove(0);
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(headings(None), "NAME NOTE CREATED COMMIT TITLE");
        assert_eq!(headings(Some(100)), "NAME NOTE CREATED COMMIT TITLE");
        assert_eq!(headings(Some(85)), "NAME CREATED COMMIT TITLE");
        assert_eq!(headings(Some(75)), "NAME CREATED TITLE");
        assert_eq!(headings(Some(60)), "NAME TITLE");
        for width in [100, 85, 75, 60, 40] {
            let lines = table(Some(width));
            assert_eq!(lines.len(), 2, "{lines:#?}");
            assert!(
                lines[1].starts_with("before-autopilot-20261123  "),
                "{lines:#?}"
            );
            let fits = |line: &String| line.chars().count() <= usize::from(width);
            assert!(lines.iter().all(fits), "{width}: {lines:#?}");
        }
    }

    #[test]
    fn colours_are_used_when_enabled() {
        let lines = sample(&output(Some(80), true)).concat();
        assert!(lines.contains('\u{1b}') && !lines.contains("[2J\u{1b}[2J"));
        assert!(lines.contains("␛[2J"));
    }
}
