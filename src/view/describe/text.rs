//! Safe text for people: on a terminal and on the page.
//!
//! Invariant: the results of [`safe`] and [`safe_block`] contain no control character except the
//! line feed, and nothing that changes the direction or order of text.

/// The meaning of a piece of text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// No colour.
    Plain,
    /// It went well.
    Good,
    /// It went badly.
    Bad,
    /// Worth a look.
    Warn,
    /// Happening now.
    Live,
    /// Less important.
    Dim,
    /// A heading.
    Strong,
}

/// Whether a character changes how the text around it is shown or read.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200e}' | '\u{200f}'     // marks of direction
            | '\u{202a}'..='\u{202e}'                // embeddings and overrides
            | '\u{2066}'..='\u{2069}'                // isolates
            | '\u{2028}' | '\u{2029}'                // line breaks on some terminals
            | '\u{200b}' | '\u{2060}' | '\u{feff}'   // invisible characters
            | '\u{fff9}'..='\u{fffb}'                // annotations
            | '\u{e0000}'..='\u{e007f}')
}

fn push_visible(text: &mut String, c: char) {
    match c {
        '\0'..='\u{1f}' => {
            let picture = char::from_u32(0x2400 + u32::from(c));
            text.push(picture.unwrap_or('?'));
        }
        '\u{7f}' => text.push('\u{2421}'),
        c => text.extend(c.escape_unicode()),
    }
}

/// The text on one line: line feeds and tabs become spaces, and dangerous characters become
/// visible.
pub fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(' '),
            '\r' => {}
            c if is_unsafe(c) => push_visible(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

/// Like [`safe`], but keeps line feeds, and tabs become four spaces.
pub fn safe_block(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push(c),
            '\t' => out.push_str("    "),
            '\r' if chars.peek() == Some(&'\n') => {}
            c if is_unsafe(c) => push_visible(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

/// The first line that is not empty: safe, without Markdown heading marks, at most `max`
/// characters.
pub fn title(text: &str, max: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = safe(without_heading_marks(line.unwrap_or_default()));
    let more = text.trim().lines().count() > 1;
    shorten(&line, max, more)
}

/// Ideas from the inbox often start with a heading.
fn without_heading_marks(line: &str) -> &str {
    let text = line.trim_start_matches('#');
    if text.starts_with(' ') {
        text.trim_start()
    } else {
        line
    }
}

/// Shortens to `max` characters; ends in `…` if anything is missing, or if there is `more`.
pub fn shorten(text: &str, max: usize, more: bool) -> String {
    if text.chars().count() <= max && !more {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(max.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escape_sequences_become_visible() {
        assert_eq!(safe("a\u{1b}[2Jb\u{7}\nc"), "a␛[2Jb␇ c");
        assert_eq!(safe("\u{9b}31m"), "\\u{9b}31m");
        assert_eq!(safe("abc\u{202e}fed"), "abc\\u{202e}fed");
        assert_eq!(safe("x\u{7f}y\r\n"), "x␡y ");
        assert_eq!(safe("grüße 漢字 👍🏽"), "grüße 漢字 👍🏽");
    }

    #[test]
    fn a_block_keeps_its_lines_and_cannot_overwrite_them() {
        assert_eq!(safe_block("a\r\nb\rc\td"), "a\nb␍c    d");
    }

    #[test]
    fn titles_are_short_and_mark_missing_text() {
        assert_eq!(title("\n  add a flag  \n", 20), "add a flag");
        assert_eq!(title("add a flag\n\nand more", 20), "add a flag…");
        assert_eq!(title("0123456789", 5), "0123…");
        assert_eq!(title("", 5), "");
        assert_eq!(title("## Add a flag", 20), "Add a flag");
        assert_eq!(title("#12 is open", 20), "#12 is open");
    }

    proptest! {
        #[test]
        fn no_dangerous_character_survives(
            text in "\\PC*|[\\x00-\\x{ff}\\x{2000}-\\x{2070}\\x{e0000}-\\x{e007f}]*",
        ) {
            let line = safe(&text);
            prop_assert!(!line.chars().any(is_unsafe), "{line:?}");
            let block = safe_block(&text);
            prop_assert!(!block.chars().any(|c| c != '\n' && is_unsafe(c)), "{block:?}");
            prop_assert!(!title(&text, 20).chars().any(is_unsafe));
        }

        #[test]
        fn harmless_text_is_unchanged(text in "[a-zA-Z0-9 äöü漢字.,;:!?()'\"/-]*") {
            prop_assert_eq!(safe(&text), text.clone());
            prop_assert_eq!(safe_block(&text), text);
        }
    }
}
