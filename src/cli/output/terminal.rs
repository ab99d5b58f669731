//! Safe text and colours for a terminal.
//!
//! Invariant: text from ideas, agents, files and other programs reaches a terminal only through
//! [`safe`] or [`safe_block`]. Their results contain no control character except the line feed, and
//! nothing that changes the direction or order of text.

use std::borrow::Cow;
use std::io::IsTerminal;

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always, even in a file or pipe.
    Always,
    /// Never.
    Never,
}

/// Whether to colour a stream.
pub fn use_colors(choice: ColorChoice, is_terminal: bool, no_color: bool) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => is_terminal && !no_color,
    }
}

/// Whether the environment asks for no colours: `NO_COLOR` is set and not empty, or `TERM` is
/// `dumb`.
pub fn no_color_asked() -> bool {
    let set = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    set || std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    #[allow(missing_docs)] // the name says it
    pub columns: u16,
    #[allow(missing_docs)] // the name says it
    pub rows: u16,
}

/// The size of the terminal of standard error; 80x24 without one.
pub fn stderr_size() -> Size {
    let found = rustix::termios::tcgetwinsize(std::io::stderr());
    let known = found.ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    known.map_or(
        Size {
            columns: 80,
            rows: 24,
        },
        |size| Size {
            columns: size.ws_col,
            rows: size.ws_row,
        },
    )
}

/// Whether a person can be asked: standard input and standard error are terminals.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

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

impl Tone {
    const fn sgr(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Good => Some("32"),
            Self::Bad => Some("31"),
            Self::Warn => Some("33"),
            Self::Live => Some("36"),
            Self::Dim => Some("2"),
            Self::Strong => Some("1"),
        }
    }
}

/// Colours text by its tone. The text must be safe already.
pub fn paint(colors: bool, tone: Tone, text: &str) -> Cow<'_, str> {
    match tone.sgr() {
        Some(sgr) if colors => Cow::Owned(format!("\u{1b}[{sgr}m{text}\u{1b}[0m")),
        _ => Cow::Borrowed(text),
    }
}

/// Whether a character changes how the text around it is shown or read.
fn is_unsafe(c: char) -> bool {
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
    fn colours_follow_flag_environment_and_terminal() {
        use ColorChoice::{Always, Auto, Never};
        for (choice, terminal, no_color, expected) in [
            (Auto, true, false, true),
            (Auto, true, true, false),
            (Auto, false, false, false),
            (Always, false, true, true),
            (Never, true, false, false),
        ] {
            assert_eq!(use_colors(choice, terminal, no_color), expected);
        }
        assert_eq!(paint(false, Tone::Bad, "x"), "x");
        assert_eq!(paint(true, Tone::Bad, "x"), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(paint(true, Tone::Plain, "x"), "x");
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
