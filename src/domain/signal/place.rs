//! Whether a signal stands where an agent sends one, or within a sentence that only speaks of it.
//!
//! Invariant: a signal counts alone on its line, or at its end after a finished sentence; quotes,
//! Markdown, white space and other signals around it do not matter. What is no longer in the
//! context of a lexeme does not matter either.

use super::lexer::{CLOSE, Lexeme, OPEN};

/// Whether a signal in this place is meant.
pub(super) fn counts(lexeme: &Lexeme<'_>) -> bool {
    may_end(lexeme.after) && may_begin(lexeme.before)
}

/// Whether a line may go on like this after a signal.
fn may_end(after: &[u8]) -> bool {
    let rest = without_colours(after);
    let rest = rest.trim_start_matches(|c| is_around(c) || matches!(c, '.' | '!'));
    rest.is_empty() || rest.as_bytes().starts_with(OPEN)
}

/// Whether a line may begin like this before a signal.
fn may_begin(before: &[u8]) -> bool {
    let text = without_colours(before);
    // The marks that touch the signal open around it; those before a space close something else.
    let text = text.trim_end_matches(|c: char| is_mark(c)).trim_end();
    is_only_marks(text) || text.as_bytes().ends_with(CLOSE) || is_finished(text)
}

/// The text without the sequences that colour it on a terminal: `ESC [ 3 2 m`.
fn without_colours(bytes: &[u8]) -> String {
    let mut plain = String::new();
    let mut colours = false;
    for c in String::from_utf8_lossy(bytes).chars() {
        match c {
            '\u{1b}' => colours = true,
            c if colours => colours = !c.is_ascii_alphabetic(),
            c => plain.push(c),
        }
    }
    plain
}

/// Whether this is nothing but marks, with at most one number of a list.
fn is_only_marks(text: &str) -> bool {
    let text = text.trim_start_matches(is_around);
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match rest.strip_prefix(['.', ')']) {
        Some(after_number) if rest.len() < text.len() => after_number,
        _ => text,
    };
    rest.chars().all(is_around)
}

/// Whether a sentence ends here: `Done.`, `**Done.**`, `"Done"`, `(done)`.
fn is_finished(text: &str) -> bool {
    const ENDS: &[char] = &['.', '!', '?', ':', '…', '。', '！', '？', '：'];
    const CLOSING: &[char] = &[')', ']', '}', '"', '\'', '”', '’', '»'];
    let inner = text.trim_end_matches(['*', '_', '`', '~']);
    inner.ends_with(ENDS) || inner.ends_with(CLOSING)
}

fn is_around(c: char) -> bool {
    c.is_whitespace() || is_mark(c)
}

/// Quotes, brackets, and the marks of Markdown.
fn is_mark(c: char) -> bool {
    const MARKS: &str = "*_`~>#-+\"'()[]“”„‘’«»‹›•";
    MARKS.contains(c)
}
