//! A page that Enter opens over the list: an idea, an agent's output, a message in full, help.
//!
//! Invariant: a page that is scrolled to its end stays at its end when lines are added.

use ratatui::text::Line;

use super::text::{plain, styled, wrap};

/// The most lines of a page; of an agent's output the oldest are dropped.
const MAX_LINES: usize = 2_000;
/// The most characters of a line of output.
const MAX_CHARS: usize = 4_000;

/// What a page shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shows {
    /// What needs a person, by the key of its item.
    Need,
    /// An idea, fetched again when something happens.
    Idea(String),
    /// An agent's output, followed.
    Output(String),
    /// What happened.
    Log,
    /// A text that does not change.
    Text,
}

/// A page.
#[derive(Debug)]
pub struct Page {
    /// What it shows.
    pub shows: Shows,
    /// Its first row.
    pub title: String,
    /// Painted and safe.
    lines: Vec<String>,
    /// Only lines with this text, in lower case.
    pub filter: String,
    top: usize,
    at_end: bool,
    rows: usize,
    height: usize,
}

impl Page {
    /// A page from its beginning.
    pub fn new(shows: Shows, title: impl Into<String>, lines: Vec<String>) -> Self {
        let at_end = matches!(shows, Shows::Output(_) | Shows::Log);
        Self {
            shows,
            title: title.into(),
            lines,
            filter: String::new(),
            top: 0,
            at_end,
            rows: 0,
            height: 0,
        }
    }

    /// Replaces the lines.
    pub fn set(&mut self, lines: Vec<String>) {
        self.lines = lines;
    }

    /// Adds a line.
    pub fn push(&mut self, line: String) {
        let line = match line.char_indices().nth(MAX_CHARS) {
            Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
            None => line,
        };
        self.lines.push(line);
        if self.lines.len() > MAX_LINES {
            self.lines.remove(0);
        }
    }

    /// Moves by rows.
    pub fn scroll(&mut self, by: isize) {
        self.top = self.top.saturating_add_signed(by).min(self.last_top());
        self.at_end = self.top == self.last_top();
    }

    /// Moves by nearly a page.
    pub fn turn(&mut self, by: isize) {
        let step = isize::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(1);
        self.scroll(by.saturating_mul(step));
    }

    fn last_top(&self) -> usize {
        self.rows.saturating_sub(self.height)
    }

    /// The rows that are visible in this space, and how many follow.
    pub fn visible(&mut self, columns: usize, height: usize) -> (Vec<Line<'static>>, usize) {
        let wanted = self.lines.iter().filter(|line| {
            self.filter.is_empty() || plain(line).to_lowercase().contains(&self.filter)
        });
        let rows: Vec<Line<'static>> = wanted
            .flat_map(|line| {
                let indent = line.len() - line.trim_start_matches(' ').len();
                wrap(&styled(line), columns, indent)
            })
            .collect();
        (self.rows, self.height) = (rows.len(), height);
        let last = self.last_top();
        self.top = if self.at_end {
            last
        } else {
            self.top.min(last)
        };
        let below = self.rows.saturating_sub(self.top + height);
        let visible = rows.into_iter().skip(self.top).take(height).collect();
        (visible, below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(page: &mut Page) -> Vec<String> {
        let (rows, _) = page.visible(10, 2);
        rows.iter().map(Line::to_string).collect()
    }

    #[test]
    fn a_page_scrolls_by_rows_and_stops_at_its_ends() {
        let lines = ["one", "two", "  three four", "five"].map(str::to_owned);
        let mut page = Page::new(Shows::Text, "t", lines.to_vec());
        assert_eq!(shown(&mut page), ["one", "two"]);
        page.scroll(1);
        assert_eq!(shown(&mut page), ["two", "  three"]);
        page.turn(9);
        assert_eq!(shown(&mut page), ["  four", "five"]);
        page.scroll(-99);
        assert_eq!(shown(&mut page), ["one", "two"]);
    }

    #[test]
    fn output_is_followed_until_somebody_scrolls_up() {
        let mut page = Page::new(Shows::Output("ed-001".into()), "t", vec![]);
        for number in 1..=3 {
            page.push(number.to_string());
        }
        assert_eq!(shown(&mut page), ["2", "3"]);
        page.scroll(-1);
        page.push("4".into());
        assert_eq!(shown(&mut page), ["1", "2"]);
        page.turn(1);
        page.turn(1);
        page.push("5".into());
        assert_eq!(shown(&mut page), ["4", "5"]);
    }

    #[test]
    fn a_filter_leaves_out_lines() {
        let lines = ["Alpha", "beta", "alpha 2"].map(str::to_owned);
        let mut page = Page::new(Shows::Text, "t", lines.to_vec());
        page.filter = "alpha".into();
        assert_eq!(shown(&mut page), ["Alpha", "alpha 2"]);
    }
}
