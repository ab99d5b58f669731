//! Turns the bytes of a line into text with colours.
//!
//! Invariant: the text has no control character but the tab, and nothing invisible: colours become
//! styles, other terminal sequences are dropped and counted, a carriage return keeps what was
//! written last, and what is left becomes a visible mark.

use std::iter::Peekable;
use std::str::Chars;

/// One of the terminal's sixteen colours; the last eight are the bright ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour(pub u8);

/// How text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools)] // the terminal has them
pub struct Style {
    /// The text's colour; `None` is the page's.
    pub text: Option<Colour>,
    /// The colour behind it.
    pub behind: Option<Colour>,
    /// Bold.
    pub bold: bool,
    /// Fainter than other text.
    pub dim: bool,
    /// Italic.
    pub italic: bool,
    /// Underlined.
    pub underlined: bool,
    /// With its colours exchanged.
    pub inverse: bool,
}

/// Text of one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Without control characters and invisible ones.
    pub text: String,
    /// Its look.
    pub style: Style,
    /// Whether it stands for characters that cannot be shown.
    pub is_mark: bool,
}

/// A line's text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) spans: Vec<Span>,
    /// Terminal sequences that were dropped.
    pub(super) dropped: u32,
    /// More than the most that is shown.
    pub(super) is_cut: bool,
}

/// Reads a line without its end. `style` is the look that it begins with and becomes that of its
/// end; of a longer text, `max` bytes are kept.
pub(super) fn line(bytes: &[u8], style: &mut Style, max: usize) -> Text {
    let text = String::from_utf8_lossy(bytes);
    let mut chars = text.chars().peekable();
    let mut page = Page {
        text: Text::default(),
        len: 0,
        max,
        has_returned: false,
    };
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => page.text.dropped += u32::from(!escape(&mut chars, style)),
            '\u{9b}' => page.text.dropped += u32::from(!control(&mut chars, style)),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => {
                string(&mut chars);
                page.text.dropped += 1;
            }
            '\r' => page.has_returned = true,
            c => page.put(c, *style),
        }
    }
    page.text
}

struct Page {
    text: Text,
    len: usize,
    max: usize,
    has_returned: bool,
}

impl Page {
    fn put(&mut self, c: char, style: Style) {
        if std::mem::take(&mut self.has_returned) {
            self.text.spans.clear();
            self.text.is_cut = false;
            self.len = 0;
        }
        if self.len >= self.max {
            self.text.is_cut = true;
            return;
        }
        let mut plain = [0; 4];
        let marked = mark(c);
        let (text, is_mark) = match &marked {
            Some(mark) => (mark.as_str(), true),
            None => (&*c.encode_utf8(&mut plain), false),
        };
        self.len += text.len();
        match self.text.spans.last_mut() {
            Some(last) if last.style == style && last.is_mark == is_mark => {
                last.text.push_str(text);
            }
            _ => self.text.spans.push(Span {
                text: text.to_owned(),
                style,
                is_mark,
            }),
        }
    }
}

/// What stands for a character that cannot be seen or that changes how others are seen.
fn mark(c: char) -> Option<String> {
    let code = u32::from(c);
    match c {
        '\t' => None,
        // As terminals show them: `^G`.
        '\0'..='\u{1f}' | '\u{7f}' => char::from_u32(code ^ 0x40).map(|c| format!("^{c}")),
        _ if c.is_control() || is_unseen(c) => Some(format!("‹U+{code:04X}›")),
        _ => None,
    }
}

/// Characters that change the direction of text or have no width.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// A text on one line with marks for what cannot be seen.
pub fn marked(text: &str) -> String {
    let spans = line(text.as_bytes(), &mut Style::default(), usize::MAX).spans;
    spans.into_iter().map(|span| span.text).collect()
}

/// Reads what follows an escape character. Returns whether it only changed the style.
fn escape(chars: &mut Peekable<Chars<'_>>, style: &mut Style) -> bool {
    match chars.peek() {
        Some('[') => {
            chars.next();
            return control(chars, style);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            string(chars);
        }
        Some(' '..='/') => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
        Some('0'..='~') => {
            chars.next();
        }
        Some(_) | None => {}
    }
    false
}

/// Reads the parameters of a control sequence. Returns whether it only changed the style.
fn control(chars: &mut Peekable<Chars<'_>>, style: &mut Style) -> bool {
    /// Longer ones are not of this world.
    const MAX: usize = 64;
    let mut parameters = String::new();
    while let Some(c) = chars.next_if(|c| matches!(c, ' '..='?')) {
        if parameters.len() < MAX {
            parameters.push(c);
        }
    }
    let last = chars.next_if(|c| matches!(c, '@'..='~'));
    let numbers = |c: char| c.is_ascii_digit() || matches!(c, ';' | ':');
    let is_style = last == Some('m') && parameters.chars().all(numbers);
    if is_style {
        restyle(&parameters, style);
    }
    is_style
}

/// Reads a title or another string of the terminal, up to its end or the line's.
fn string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' if chars.next_if_eq(&'\\').is_some() => return,
            _ => {}
        }
    }
}

fn restyle(parameters: &str, style: &mut Style) {
    let number = |text: &str| text.parse::<u16>().unwrap_or(0);
    let mut all = parameters.split(';');
    while let Some(one) = all.next() {
        match one.split_once(':') {
            None => apply(number(one), &mut all.by_ref().map(number), style),
            Some((first, rest)) => {
                // The name of the colour space may be missing between two colons.
                let mut rest = rest.split(':').filter(|part| !part.is_empty()).map(number);
                apply(number(first), &mut rest, style);
            }
        }
    }
}

fn apply(number: u16, rest: &mut dyn Iterator<Item = u16>, style: &mut Style) {
    match number {
        0 => *style = Style::default(),
        1 => style.bold = true,
        2 => style.dim = true,
        3 => style.italic = true,
        4 | 21 => style.underlined = true,
        7 => style.inverse = true,
        22 => (style.bold, style.dim) = (false, false),
        23 => style.italic = false,
        24 => style.underlined = false,
        27 => style.inverse = false,
        30..=37 => style.text = basic(number - 30),
        38 => style.text = extended(rest),
        39 => style.text = None,
        40..=47 => style.behind = basic(number - 40),
        48 => style.behind = extended(rest),
        49 => style.behind = None,
        90..=97 => style.text = basic(number - 82),
        100..=107 => style.behind = basic(number - 92),
        _ => {}
    }
}

fn basic(number: u16) -> Option<Colour> {
    u8::try_from(number).ok().map(Colour)
}

/// The nearest of the sixteen to a colour of the palette, or of red, green and blue.
fn extended(numbers: &mut dyn Iterator<Item = u16>) -> Option<Colour> {
    match numbers.next()? {
        5 => match numbers.next()? {
            number @ 0..=15 => basic(number),
            number @ 16..=231 => {
                let level = |digit: u16| match digit {
                    0 => 0,
                    digit => 55 + 40 * digit,
                };
                let number = number - 16;
                let (red, green) = (level(number / 36), level(number / 6 % 6));
                Some(nearest([red, green, level(number % 6)]))
            }
            number => {
                let level = 8 + 10 * (number.min(255) - 232);
                Some(nearest([level; 3]))
            }
        },
        2 => Some(nearest([numbers.next()?, numbers.next()?, numbers.next()?])),
        _ => None,
    }
}

fn nearest(colour: [u16; 3]) -> Colour {
    /// As terminals have them.
    const SIXTEEN: [[u16; 3]; 16] = [
        [0, 0, 0],
        [205, 0, 0],
        [0, 205, 0],
        [205, 205, 0],
        [0, 0, 238],
        [205, 0, 205],
        [0, 205, 205],
        [229, 229, 229],
        [127, 127, 127],
        [255, 0, 0],
        [0, 255, 0],
        [255, 255, 0],
        [92, 92, 255],
        [255, 0, 255],
        [0, 255, 255],
        [255, 255, 255],
    ];
    let distance = |other: &[u16; 3]| -> u32 {
        let parts = colour.iter().zip(other);
        parts
            .map(|(one, other)| u32::from(one.abs_diff(*other)).pow(2))
            .sum()
    };
    let all = (0_u8..).zip(&SIXTEEN);
    let best = all.min_by_key(|(_, other)| distance(other));
    Colour(best.map_or(7, |(number, _)| number))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(bytes: &[u8]) -> String {
        let spans = line(bytes, &mut Style::default(), usize::MAX).spans;
        spans.iter().map(|span| span.text.as_str()).collect()
    }

    #[test]
    fn colours_become_styles_and_go_on_until_they_are_reset() {
        let mut style = Style::default();
        let found = line(b"\x1b[1;31mnot ok:\x1b[0m hours\x1b[92m", &mut style, 100);
        assert_eq!(found.dropped, 0);
        let red = Style {
            text: Some(Colour(1)),
            bold: true,
            ..Style::default()
        };
        let spans: Vec<_> = found
            .spans
            .iter()
            .map(|one| (one.text.as_str(), one.style))
            .collect();
        assert_eq!(spans, [("not ok:", red), (" hours", Style::default())]);
        assert_eq!(style.text, Some(Colour(10)));
    }

    #[test]
    fn colours_of_the_palette_and_of_three_parts_become_the_nearest_of_sixteen() {
        for (sequence, colour) in [
            (&b"38;5;196"[..], 9),
            (b"38;5;2", 2),
            (b"38;5;244", 8),
            (b"38;2;250;250;10", 11),
            (b"38:2::0:0:230", 4),
            (b"33;4:3", 3),
        ] {
            let mut style = Style::default();
            line(&[b"\x1b[", sequence, b"m"].concat(), &mut style, 100);
            assert_eq!(style.text, Some(Colour(colour)), "{sequence:?}");
        }
    }

    #[test]
    fn other_sequences_are_dropped_and_counted() {
        let found = line(
            b"a\x1b[2Kb\x1b]0;title\x07c\x1b]8;;http://x\x1b\\d\x1b(Be\x1b[?25lf\x1b[999999",
            &mut Style::default(),
            100,
        );
        assert_eq!(found.dropped, 6);
        assert_eq!(found.spans.len(), 1);
        assert_eq!(found.spans[0].text, "abcdef");
    }

    #[test]
    fn a_carriage_return_keeps_what_was_written_last() {
        assert_eq!(text(b" 10 %\r 20 %\r100 %\r\r"), "100 %");
        assert_eq!(text(b"whole\r"), "whole");
    }

    #[test]
    fn what_cannot_be_seen_becomes_a_mark() {
        assert_eq!(
            text("a\u{202e}b\u{200b}\0\u{7f}\u{85}".as_bytes()),
            "a‹U+202E›b‹U+200B›^@^?‹U+0085›"
        );
        let found = line(b"x\0\0y", &mut Style::default(), 100);
        let marks: Vec<bool> = found.spans.iter().map(|span| span.is_mark).collect();
        assert_eq!(marks, [false, true, false]);
    }

    #[test]
    fn a_long_line_is_cut() {
        let found = line(&vec![b'x'; 1000], &mut Style::default(), 10);
        assert!(found.is_cut);
        assert_eq!(found.spans[0].text.len(), 10);
    }

    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            any::<Vec<u8>>(),
            "\\PC{0,8}".prop_map(String::into_bytes),
            "\u{1b}\\[[0-9;:?]{0,6}[a-zA-Z]?".prop_map(String::into_bytes),
            "\u{1b}[\\]P_^X(][a-z;]{0,5}".prop_map(String::into_bytes),
            any::<char>().prop_map(|c| c.to_string().into_bytes()),
            Just("\r\u{202e}\u{200d}\u{9b}31m\u{feff}".into()),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn whatever_comes_in_the_text_has_nothing_that_controls_or_hides(bytes in hostile()) {
            let all = text(&bytes);
            for c in all.chars() {
                prop_assert!(c == '\t' || !c.is_control() && !is_unseen(c), "{c:?}");
            }
        }

        #[test]
        fn a_cut_text_is_the_start_of_the_whole(bytes in hostile(), max in 1_usize..40) {
            let bytes: Vec<u8> = bytes.into_iter().filter(|byte| *byte != b'\r').collect();
            let cut = line(&bytes, &mut Style::default(), max);
            let short: String = cut.spans.iter().map(|span| span.text.as_str()).collect();
            let whole = text(&bytes);
            prop_assert!(whole.starts_with(&short));
            prop_assert_eq!(cut.is_cut, short.len() < whole.len());
        }
    }
}
