//! Prose for the Markdown that swarm writes into a checkout, where a project's own formatters and
//! linters read it.
//!
//! Invariant: a paragraph has lines of at most 80 columns, each sentence begins one, and nothing in
//! it is markup but code: a word with a special character becomes code. There are no lists, because
//! prettier and remark's presets want different ones. Called by `exports` and `summaries`.

/// Longest line, in characters; linters of Markdown ask for no less.
const WIDTH: usize = 80;
/// Characters that may begin markup.
const SPECIAL: &[char] = &[
    '*', '_', '[', ']', '<', '>', '\\', '#', '&', '|', '~', '$', '@', '{', '}',
];

/// The text as a paragraph, its last line ended.
pub(super) fn paragraph(text: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in words(text) {
        let length = word.chars().count();
        let is_sentence = out.ends_with(['.', '!', '?']) && word.starts_with(char::is_uppercase);
        // A number or a dash would begin a list at the start of a line.
        let fits = column + 1 + length <= WIDTH && !is_sentence || begins_block(&word);
        if column > 0 {
            out.push(if fits { ' ' } else { '\n' });
            column = if fits { column + 1 } else { 0 };
        }
        if column == 0 && begins_block(&word) {
            out.extend(["`", &word, "`"]);
            column += 2;
        } else {
            out.push_str(&word);
        }
        column += length;
    }
    out.push('\n');
    out
}

/// What lines may be broken between. What is code already stays whole.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut plain = text.split_whitespace();
    while let Some(word) = plain.next() {
        if !word.contains('`') {
            words.push(if is_special(word) {
                code(word)
            } else {
                word.to_owned()
            });
            continue;
        }
        let mut span = word.to_owned();
        let mut rest = plain.clone();
        while span.matches('`').count() % 2 == 1 {
            let Some(next) = rest.next() else { break };
            span = format!("{span} {next}");
        }
        if is_code(&span) {
            words.push(span);
            plain = rest;
        } else {
            words.push(code(word));
        }
    }
    words
}

/// Whether a word has one span of code, and nothing special around it.
fn is_code(span: &str) -> bool {
    let parts: Vec<&str> = span.split('`').collect();
    let [before, inside, after] = parts.as_slice() else {
        return false;
    };
    let is_plain = |part: &str| !is_special(part);
    !inside.trim().is_empty() && inside.trim() == *inside && is_plain(before) && is_plain(after)
}

fn is_special(word: &str) -> bool {
    word.contains(SPECIAL) || word.contains("://") || word.contains("www.")
}

fn code(word: &str) -> String {
    if word.contains('`') {
        // More backticks than the word has.
        let fence = "`".repeat(1 + word.matches('`').count());
        return format!("{fence} {word} {fence}");
    }
    format!("`{word}`")
}

/// Whether a line that begins with the word is no prose: a list, a rule, an underline.
fn begins_block(word: &str) -> bool {
    let is_mark = word.chars().all(|it| "-+=:".contains(it));
    let number = word.strip_suffix(['.', ')']);
    let is_number = |it: &str| !it.is_empty() && it.chars().all(|it| it.is_ascii_digit());
    is_mark || number.is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_could_be_markup_become_code_and_code_stays_as_it_is() {
        for (text, page) in [
            ("tests need a database", "tests need a database"),
            ("[api.port] is 80", "`[api.port]` is 80"),
            ("see https://a.b/c now", "see `https://a.b/c` now"),
            ("run `a *b* c`, then", "run `a *b* c`, then"),
            ("a ` b", "a `` ` `` b"),
            ("`a` and `b c` and d_e", "`a` and `b c` and `d_e`"),
            ("1. first\n\n- second", "`1.` first - second"),
            ("One. Two e.g. three", "One.\nTwo e.g. three"),
        ] {
            assert_eq!(paragraph(text), format!("{page}\n"), "{text}");
        }
    }

    #[test]
    fn lines_have_80_columns_and_none_begins_a_list() {
        let text = format!("{} 3. last", "x".repeat(78));
        assert_eq!(paragraph(&text), format!("{} 3.\nlast\n", "x".repeat(78)));
        let text = "word ".repeat(40);
        let page = paragraph(&text);
        assert_eq!(page.lines().map(str::len).max(), Some(79));
        assert_eq!(page.replace('\n', " "), text);
    }
}
