//! Characters that hide, or that change how the text around them reads, become visible.
//!
//! Invariant: attributes and what a person can change and send back (`textarea`) stay as they are.

use std::fmt::Write as _;

use crate::view::describe::is_unsafe;

/// Markup whose texts have no such character: `‹U+202E›` stands in its place.
pub fn visible(markup: String) -> String {
    if !markup.chars().any(is_hidden) {
        return markup;
    }
    let mut shown = String::with_capacity(markup.len() + 64);
    // A `<` or `>` in a text or an attribute is escaped: these are the bounds of tags.
    for (index, part) in markup.split('<').enumerate() {
        let (tag, text) = match index {
            0 => ("", part),
            _ => part.split_at(part.find('>').map_or(part.len(), |end| end + 1)),
        };
        if index > 0 {
            shown.push('<');
        }
        shown.push_str(tag);
        if tag.starts_with("textarea") {
            shown.push_str(text);
        } else {
            push(&mut shown, text);
        }
    }
    shown
}

fn push(shown: &mut String, text: &str) {
    for letter in text.chars() {
        if is_hidden(letter) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "‹U+{:04X}›", u32::from(letter));
        } else {
            shown.push(letter);
        }
    }
}

fn is_hidden(letter: char) -> bool {
    !matches!(letter, '\n' | '\t' | '\r') && is_unsafe(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_named_in_texts_alone() {
        let form = "<input value=\"a\u{202e}b\"><textarea rows=\"2\">c\u{202e}\u{0}</textarea>";
        let markup = format!("\u{feff}<p>a\u{202e}b\u{1b}[0m\n\tc</p>{form}<i>\u{200b}</i>");
        let expected = format!("‹U+FEFF›<p>a‹U+202E›b‹U+001B›[0m\n\tc</p>{form}<i>‹U+200B›</i>");
        assert_eq!(visible(markup), expected);
        let usual = "<p title=\"x\">a → b · “c” 👩‍🚀</p>";
        assert_eq!(visible(usual.to_owned()), usual);
    }
}
