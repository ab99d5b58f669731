//! The list as rows, which of its items is selected, and how far it is scrolled.
//!
//! Invariant: something is selected whenever there are items. When the selected thing goes away,
//! the selection stays at its place. An item taller than the screen scrolls before the next one is
//! selected, so every row can be read.

use ratatui::text::Line;

use super::items::{Item, Section};

/// A row of the list.
pub struct Row {
    /// Its text.
    pub line: Line<'static>,
    /// The item that it belongs to, by its place in the list.
    pub item: Option<usize>,
}

/// Where an item's rows are.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: usize,
    to: usize,
}

/// The list.
#[derive(Default)]
pub struct Listing {
    rows: Vec<Row>,
    spans: Vec<Span>,
    keys: Vec<String>,
    selected: usize,
    top: usize,
    height: usize,
    /// Somebody has selected something; before that, the first item is selected.
    is_moved: bool,
}

/// The items that a filter leaves.
pub fn filtered<'s>(
    sections: &'s [Section],
    filter: &'s str,
) -> impl Iterator<Item = (&'s Section, Vec<&'s Item>)> {
    sections.iter().filter_map(move |section| {
        let items = section.items.iter();
        let items: Vec<&Item> = items
            .filter(|item| filter.is_empty() || item.contains(filter))
            .collect();
        (!items.is_empty()).then_some((section, items))
    })
}

impl Listing {
    /// Lays the list out anew, in rows of `columns` beside a margin for the mark.
    pub fn lay_out(&mut self, sections: &[Section], filter: &str, columns: usize) {
        let before = self.keys.get(self.selected).cloned();
        let before = before.filter(|_| self.is_moved);
        self.rows.clear();
        self.spans.clear();
        self.keys.clear();
        for (section, items) in filtered(sections, filter) {
            if !self.rows.is_empty() {
                self.push(Line::default(), None);
            }
            let heading = format!("{} ({})", section.heading, items.len());
            self.push(Line::from(heading), None);
            for item in items {
                let from = self.rows.len();
                for row in item.rows(columns) {
                    self.push(row, Some(self.keys.len()));
                }
                let to = self.rows.len();
                self.spans.push(Span { from, to });
                self.keys.push(item.key.clone());
            }
        }
        let same = before.and_then(|key| self.keys.iter().position(|other| *other == key));
        let last = self.keys.len().saturating_sub(1);
        let place = if self.is_moved { self.selected } else { 0 };
        self.selected = same.unwrap_or(place).min(last);
        self.top = self.top.min(self.last_top());
    }

    fn push(&mut self, line: Line<'static>, item: Option<usize>) {
        self.rows.push(Row { line, item });
    }

    fn last_top(&self) -> usize {
        self.rows.len().saturating_sub(self.height)
    }

    fn span(&self) -> Span {
        let none = Span { from: 0, to: 0 };
        self.spans.get(self.selected).copied().unwrap_or(none)
    }

    /// The key of the selected item.
    pub fn selected(&self) -> Option<&str> {
        self.keys.get(self.selected).map(String::as_str)
    }

    /// The rows that are visible at this height, with the place of the selected item.
    pub fn visible(&mut self, height: usize) -> (&[Row], usize) {
        if height != self.height {
            self.height = height;
            self.show_selected();
        }
        self.top = self.top.min(self.last_top());
        let to = (self.top + height).min(self.rows.len());
        let rows = self.rows.get(self.top..to).unwrap_or_default();
        (rows, self.selected)
    }

    /// How many rows are above and below what is visible.
    pub fn hidden(&self) -> (usize, usize) {
        let below = self.rows.len().saturating_sub(self.top + self.height);
        (self.top, below)
    }

    /// Selects the next item, or scrolls to the end of this one.
    pub fn down(&mut self) {
        self.is_moved = true;
        let span = self.span();
        if span.to > self.top + self.height {
            self.top = (span.to - self.height).min(self.top + self.height.saturating_sub(1).max(1));
        } else if self.selected + 1 < self.keys.len() {
            self.selected += 1;
            self.show_selected();
        }
    }

    /// Selects the item before, or scrolls to the beginning of this one.
    pub fn up(&mut self) {
        self.is_moved = true;
        let span = self.span();
        if span.from < self.top {
            let step = self.height.saturating_sub(1).max(1);
            self.top = span.from.max(self.top.saturating_sub(step));
        } else if self.selected > 0 {
            self.selected -= 1;
            self.show_selected();
        }
        if self.selected == 0 && self.span().from < self.height {
            self.top = 0;
        }
    }

    /// Scrolls by nearly a page and selects the first item there.
    pub fn turn(&mut self, down: bool) {
        self.is_moved = true;
        let step = self.height.saturating_sub(1).max(1);
        let before = self.top;
        self.top = if down {
            (self.top + step).min(self.last_top())
        } else {
            self.top.saturating_sub(step)
        };
        let at_the_end = before == self.top;
        let last = self.keys.len().saturating_sub(1);
        self.selected = if at_the_end {
            if down { last } else { 0 }
        } else {
            let first = self.spans.iter().position(|span| span.to > self.top);
            first.unwrap_or(last)
        };
    }

    /// Selects the first or the last item.
    pub fn jump(&mut self, to_end: bool) {
        self.is_moved = true;
        self.selected = if to_end {
            self.keys.len().saturating_sub(1)
        } else {
            0
        };
        self.top = if to_end { self.last_top() } else { 0 };
    }

    /// Scrolls so that the selected item is visible, from its first row if it is too tall.
    fn show_selected(&mut self) {
        let span = self.span();
        if span.to > self.top + self.height {
            self.top = span.to - self.height;
        }
        if span.from < self.top {
            self.top = span.from;
        }
        // With its heading, if that is right above.
        let heading = span.from.checked_sub(1).filter(|at| {
            let row = self.rows.get(*at);
            row.is_some_and(|row| row.item.is_none())
        });
        if let Some(heading) = heading
            && heading < self.top
            && span.to - heading <= self.height
        {
            self.top = heading;
        }
    }
}
