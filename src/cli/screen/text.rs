//! Styled lines for the full-screen view: from painted text, wrapped to a width.
//!
//! Invariant: wrapping loses no character except the spaces at which it breaks, and no row is wider
//! than asked for. Widths are display columns, so a wide character takes two.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// The style of an SGR code that [`paint`](crate::cli::output::terminal::paint) writes. Only
/// the terminal's own colours, and no background: they suit light and dark terminals.
fn restyle(style: Style, code: &str) -> Style {
    match code {
        "1" => style.add_modifier(Modifier::BOLD),
        "2" => style.add_modifier(Modifier::DIM),
        "31" => style.fg(Color::Red),
        "32" => style.fg(Color::Green),
        "33" => style.fg(Color::Yellow),
        "36" => style.fg(Color::Cyan),
        _ => Style::default(),
    }
}

/// A line of painted text. The text is safe otherwise, so escape sequences in it are colours only.
pub fn styled(text: &str) -> Line<'static> {
    let mut spans = Vec::new();
    let mut style = Style::default();
    for (at, part) in text.split("\u{1b}[").enumerate() {
        let (code, rest) = match part.split_once('m') {
            Some((code, rest)) if at > 0 => (Some(code), rest),
            Some(_) | None => (None, part),
        };
        if let Some(codes) = code {
            for code in codes.split(';') {
                style = restyle(style, code);
            }
        }
        if !rest.is_empty() {
            spans.push(Span::styled(rest.to_owned(), style));
        }
    }
    Line::from(spans)
}

/// The text without its colours.
pub fn plain(text: &str) -> String {
    let line = styled(text);
    line.spans.iter().map(|span| &*span.content).collect()
}

/// Display columns of a text.
pub fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// One grapheme of a row.
#[derive(Clone)]
struct Cell {
    symbol: String,
    style: Style,
    width: usize,
}

impl Cell {
    fn space() -> Self {
        Self {
            symbol: " ".to_owned(),
            style: Style::default(),
            width: 1,
        }
    }

    fn is_space(&self) -> bool {
        self.symbol == " "
    }
}

/// Breaks a line at spaces, or within a word that is wider than a row. Rows after the first begin
/// with `indent` spaces.
pub fn wrap(line: &Line<'_>, width: usize, indent: usize) -> Vec<Line<'static>> {
    let width = width.max(2);
    let indent = indent.min(width / 2).min(width - 2); // a wide character fits beside it
    let mut rows = Vec::new();
    let mut row: Vec<Cell> = Vec::new();
    let (mut used, mut begins) = (0, 0);
    for grapheme in line.styled_graphemes(Style::default()) {
        let cell = Cell {
            symbol: grapheme.symbol.to_owned(),
            style: grapheme.style,
            width: self::width(grapheme.symbol),
        };
        if used + cell.width > width {
            let is_space = cell.is_space();
            let mut rest = Vec::new();
            if !is_space {
                rest = split_last_word(&mut row, begins);
            }
            rows.push(joined(&row));
            row = vec![Cell::space(); indent];
            (used, begins) = (indent, indent);
            for moved in rest.into_iter().chain((!is_space).then_some(cell)) {
                if used + moved.width > width {
                    rows.push(joined(&row));
                    row.truncate(indent);
                    used = indent;
                }
                used += moved.width;
                row.push(moved);
            }
        } else {
            used += cell.width;
            row.push(cell);
        }
    }
    rows.push(joined(&row));
    rows
}

/// Takes the last word off a row; nothing if the row has only one word after its first `begins`
/// cells.
fn split_last_word(row: &mut Vec<Cell>, begins: usize) -> Vec<Cell> {
    let space = row.iter().rposition(Cell::is_space);
    let space = space.filter(|at| {
        let before = row.get(begins..*at).unwrap_or_default();
        before.iter().any(|cell| !cell.is_space())
    });
    match space {
        Some(at) => {
            let rest = row.split_off(at + 1);
            row.pop();
            rest
        }
        None => Vec::new(),
    }
}

fn joined(row: &[Cell]) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for cell in row {
        match spans.last_mut() {
            Some(last) if last.style == cell.style => {
                last.content.to_mut().push_str(&cell.symbol);
            }
            Some(_) | None => spans.push(Span::styled(cell.symbol.clone(), cell.style)),
        }
    }
    Line::from(spans)
}

/// Cuts prose to a width; ends in `…` if anything is missing. Nothing that must be typed may be
/// cut.
pub fn cut(text: &str, width: usize) -> String {
    if self::width(text) <= width {
        return text.to_owned();
    }
    let span = Span::raw(text);
    let mut short = String::new();
    let mut used = 0;
    for grapheme in span.styled_graphemes(Style::default()) {
        used += self::width(grapheme.symbol);
        if used >= width {
            break;
        }
        short.push_str(grapheme.symbol);
    }
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cli::output::terminal::{Tone, paint, safe};

    fn rows(text: &str, width: usize, indent: usize) -> Vec<String> {
        let rows = wrap(&styled(text), width, indent);
        rows.iter().map(Line::to_string).collect()
    }

    #[test]
    fn colours_become_styles() {
        let text = format!("a {} b", paint(true, Tone::Bad, "red"));
        let line = styled(&text);
        assert_eq!(line.to_string(), "a red b");
        assert_eq!(line.spans[1].style.fg, Some(Color::Red));
        assert_eq!(line.spans[2].style, Style::default());
        assert_eq!(plain(&text), "a red b");
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_break_anywhere() {
        assert_eq!(rows("one two three", 8, 2), ["one two", "  three"]);
        assert_eq!(rows("abcdefghij", 4, 0), ["abcd", "efgh", "ij"]);
        assert_eq!(rows("漢字漢字", 5, 0), ["漢字", "漢字"]);
        assert_eq!(rows("", 5, 0), [""]);
        assert_eq!(rows("ab cd", 2, 0), ["ab", "cd"]);
    }

    #[test]
    fn prose_is_cut_by_display_width() {
        assert_eq!(cut("add a flag", 20), "add a flag");
        assert_eq!(cut("add a flag", 5), "add …");
        assert_eq!(cut("漢字漢字", 4), "漢…");
    }

    proptest! {
        #[test]
        fn wrapping_loses_nothing_and_never_overflows(
            text in "[a-z漢👍 ]{0,80}", width in 2..40usize, indent in 0..6usize,
        ) {
            let rows = rows(&safe(&text), width, indent);
            let strip = |text: &str| text.replace(' ', "");
            prop_assert_eq!(strip(&rows.concat()), strip(&text));
            for row in &rows {
                prop_assert!(super::width(row) <= width, "{:?}", row);
            }
        }
    }
}
