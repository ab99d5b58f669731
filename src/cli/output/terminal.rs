//! Colours for a terminal, and what it can do.
//!
//! Invariant: text from ideas, agents, files and other programs reaches a terminal only through
//! [`safe`] or [`safe_block`].

use std::borrow::Cow;
use std::io::IsTerminal;

pub use crate::view::describe::{Tone, safe, safe_block, shorten, title};

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

const fn sgr(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Good => Some("32"),
        Tone::Bad => Some("31"),
        Tone::Warn => Some("33"),
        Tone::Live => Some("36"),
        Tone::Dim => Some("2"),
        Tone::Strong => Some("1"),
    }
}

/// Colours text by its tone. The text must be safe already.
pub fn paint(colors: bool, tone: Tone, text: &str) -> Cow<'_, str> {
    match sgr(tone) {
        Some(sgr) if colors => Cow::Owned(format!("\u{1b}[{sgr}m{text}\u{1b}[0m")),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
