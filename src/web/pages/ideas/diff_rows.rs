//! Lines of a diff as rows of a table, one below the other or side by side.
//!
//! Invariant: the text of a line is shown whole, or with the number of characters that are not;
//! characters that would change how other text reads are shown by their number.

use maud::{Markup, html};

use crate::view::patch::{Line, Part, Row, marked};

/// Longest line on the page, in characters.
const LINE: usize = 2_000;

/// Rows of one hunk.
pub fn rows(rows: &[Row<'_>], is_split: bool) -> Markup {
    html! {
        @for block in rows.chunk_by(|one, next| one.is_same == next.is_same) {
            @match (is_split, block.first().is_some_and(|row| row.is_same)) {
                (true, _) => { @for row in block { (split(row)) } },
                (false, true) => { @for row in block { (same(row)) } },
                (false, false) => (changed(block)),
            }
        }
    }
}

fn same(row: &Row<'_>) -> Markup {
    html! { @if let (Some(old), Some(new)) = (row.old, row.new) {
        tr { td .n { (old.number) } td .n { (new.number) } td .s {} td { (whole(new.text)) } }
    } }
}

/// The removed lines, then the added ones.
fn changed(block: &[Row<'_>]) -> Markup {
    html! {
        @for row in block { @if let Some(old) = row.old {
            tr .del { td .n { (old.number) } td .n {} td .s { "−" } td { (before(row, old)) } }
        } }
        @for row in block { @if let Some(new) = row.new {
            tr .add { td .n {} td .n { (new.number) } td .s { "+" } td { (after(row, new)) } }
        } }
    }
}

fn split(row: &Row<'_>) -> Markup {
    html! {
        tr {
            @match row.old {
                Some(old) => {
                    td .n { (old.number) }
                    td .del[!row.is_same] { (before(row, old)) }
                },
                None => { td .n {} td .none {} },
            }
            @match row.new {
                Some(new) => {
                    td .n { (new.number) }
                    td .add[!row.is_same] { (after(row, new)) }
                },
                None => { td .n {} td .none {} },
            }
        }
    }
}

fn before(row: &Row<'_>, old: Line<'_>) -> Markup {
    match row.new.filter(|_| !row.is_same && fits(row)) {
        Some(new) => {
            let (parts, _) = marked(old.text, new.text);
            html! { @for part in &parts {
                @if part.is_marked { del { (shown(part)) } } @else { (shown(part)) }
            } }
        }
        None => whole(old.text),
    }
}

fn after(row: &Row<'_>, new: Line<'_>) -> Markup {
    match row.old.filter(|_| !row.is_same && fits(row)) {
        Some(old) => {
            let (_, parts) = marked(old.text, new.text);
            html! { @for part in &parts {
                @if part.is_marked { ins { (shown(part)) } } @else { (shown(part)) }
            } }
        }
        None => whole(new.text),
    }
}

/// Whether neither line is so long that it is cut.
fn fits(row: &Row<'_>) -> bool {
    let is_short = |line: Option<Line<'_>>| line.is_none_or(|line| line.text.len() <= LINE);
    is_short(row.old) && is_short(row.new)
}

fn shown(part: &Part<'_>) -> Markup {
    visible(part.text)
}

fn whole(text: &str) -> Markup {
    match text.char_indices().nth(LINE) {
        None => visible(text),
        Some((end, _)) => {
            let (first, rest) = text.split_at(end);
            let more = rest.chars().count();
            html! { (visible(first)) span .dim { " … and " (more) " more characters" } }
        }
    }
}

/// Text with the characters marked that nobody sees, or that turn the direction of others.
fn visible(text: &str) -> Markup {
    html! {
        @for piece in text.split_inclusive(is_hidden) {
            @match piece.chars().last().filter(|last| is_hidden(*last)) {
                None => (piece),
                Some(last) => {
                    (piece.strip_suffix(last).unwrap_or_default())
                    mark { "U+" (format!("{:04X}", u32::from(last))) }
                },
            }
        }
    }
}

fn is_hidden(letter: char) -> bool {
    let is_control = letter.is_control() && letter != '\t';
    let is_bidi = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(letter, '\u{2066}'..='\u{2069}' | '\u{61c}');
    is_control || is_bidi || matches!(letter, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::patch;

    const PATCH: &str = "diff --git a/x b/x\n@@ -1,3 +1,3 @@\n same\n-link: <b>contact\n\
        +link: <b>contact, more\n-gone\n \n";

    fn drawn(is_split: bool) -> String {
        let files = patch::files(PATCH);
        rows(&files[0].hunks[0].rows, is_split).into_string()
    }

    #[test]
    fn changed_words_are_marked_and_text_is_escaped_in_both_views() {
        for is_split in [false, true] {
            let markup = drawn(is_split);
            assert!(
                markup.contains("link: &lt;b&gt;contact<ins>, more</ins>"),
                "{markup}"
            );
            assert!(!markup.contains("<b>"), "{markup}");
            assert!(markup.contains("gone"), "{markup}");
        }
    }

    #[test]
    fn characters_that_nobody_sees_are_shown() {
        let markup = whole("a\u{202e}b\u{200b}\tc").into_string();
        let expected = "a<mark>U+202E</mark>b<mark>U+200B</mark>\tc";
        assert_eq!(markup, expected);
    }

    #[test]
    fn a_very_long_line_is_cut_and_says_so() {
        let markup = whole(&"x".repeat(LINE + 7)).into_string();
        assert!(markup.contains("and 7 more characters"), "{markup}");
    }
}
