//! Cleans text from agents and programs, so that it is safe in a prompt.
//!
//! Invariant: the result contains no terminal control sequence, and no control character except
//! newline and tab.

use std::iter::Peekable;
use std::str::Chars;

/// Removes terminal control sequences and control characters. Line ends become `\n`, and so does a
/// lone carriage return, which progress bars use.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_parameters(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => plain.push('\n'),
            '\n' | '\t' => plain.push(c),
            c if c.is_control() || changes_direction(c) => {}
            c => plain.push(c),
        }
    }
    plain
}

/// `text` as one line: [`plain`], with each run of whitespace replaced by one space.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in plain(text).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// The first bytes of `text`, at most `max`, cut between characters.
pub fn head(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The last bytes of `text`, at most `max`, cut between characters.
pub fn tail(text: &str, max: usize) -> &str {
    let mut start = text.len().saturating_sub(max);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// `text` as a Markdown code block. The fence is longer than any run of backticks inside.
pub fn fenced(text: &str) -> String {
    let fence = "`".repeat(longest_run_of_backticks(text).max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}\n")
}

fn longest_run_of_backticks(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

fn changes_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Skips the rest of a sequence after the escape character.
fn skip_escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_parameters(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            skip_string(chars);
        }
        Some(' '..='/') => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
        Some('0'..='~') => {
            chars.next();
        }
        _ => {}
    }
}

/// Skips the parameters of a control sequence and its final character.
fn skip_parameters(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// Skips a title or another terminal string, up to its terminator or the end of the line.
fn skip_string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn terminal_control_sequences_are_removed() {
        for (text, expected) in [
            ("\u{1b}[1;31mred\u{1b}[0m\r\n", "red\n"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;url\u{1b}\\b", "ab"),
            ("10%\r20%\r\n", "10%\n20%\n"),
            ("\u{1b}(Bx\u{1b}cy\u{8}z\u{0}", "xyz"),
            ("\u{9b}2Jq\u{202e}r", "qr"),
            ("\u{1b}]never closed\nnext", "\nnext"),
            ("\u{1b}", ""),
            ("tab\there ünïcode", "tab\there ünïcode"),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_fence_is_longer_than_any_fence_inside() {
        assert_eq!(fenced("a"), "```\na\n```\n");
        assert_eq!(fenced("````\n"), "`````\n````\n`````\n");
    }

    #[test]
    fn cuts_keep_characters_whole() {
        assert_eq!(head("aé", 2), "a");
        assert_eq!(tail("éa", 2), "a");
        assert_eq!((head("ab", 9), tail("ab", 9)), ("ab", "ab"));
    }

    proptest! {
        #[test]
        fn no_control_character_is_left(text in any::<String>()) {
            let plain = plain(&text);
            prop_assert!(plain.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
            prop_assert!(plain.len() <= text.len());
            prop_assert!(!one_line(&text).contains('\n'));
        }
    }
}
