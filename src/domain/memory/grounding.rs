//! Whether a text says more than the evidence that it names: each number, path and identifier in it
//! must occur there.
//!
//! Invariant: pure, and the same on every machine. A text cannot pass by characters that nobody
//! sees: in a claim they are refused, in evidence they are ignored. What has no such words, as in
//! "tests are slow", passes. Called by `decide::memory`.

use super::invisible::is_invisible;

/// Characters that join the parts of a path or an identifier.
const JOINTS: [char; 6] = ['_', '/', '.', '-', '@', '\\'];

/// The texts of the evidence that a writer names.
#[derive(Debug, Clone, Default)]
pub struct Grounds {
    texts: Vec<Vec<char>>,
}

impl Grounds {
    /// Adds a text to what is known.
    pub fn add(&mut self, text: &str) {
        let seen = text.chars().filter(|c| !is_hidden(*c));
        let text: String = seen.collect();
        let words: Vec<&str> = text.split_whitespace().collect();
        self.texts.push(words.join(" ").chars().collect());
    }

    /// What the claim holds and no text does, each once, as it stands in the claim.
    pub fn lacks(&self, claim: &str) -> Vec<String> {
        if claim.chars().any(is_hidden) {
            return vec!["an invisible character".to_owned()];
        }
        let mut lacks = Vec::new();
        for word in checked_words(claim) {
            if !self.holds(&word) && !lacks.contains(&word) {
                lacks.push(word);
            }
        }
        lacks
    }

    /// The parts of a key with a digit that no text has; case does not count.
    pub fn lacks_of_key(&self, key: &str) -> Vec<String> {
        let lower = |text: &Vec<char>| text.iter().flat_map(|c| c.to_lowercase()).collect();
        let lower = Self {
            texts: self.texts.iter().map(lower).collect(),
        };
        let parts = key.split(['.', '-']);
        let parts = parts.filter(|part| part.chars().any(char::is_numeric));
        let parts = parts.filter(|part| !lower.holds(part));
        parts.map(str::to_owned).collect()
    }

    /// Whether a text has this as it stands, such as the path of a file.
    pub fn has(&self, wanted: &str) -> bool {
        !wanted.chars().any(is_hidden) && self.holds(wanted)
    }

    /// Whether a text has this, and not only as a part of a longer word or number.
    fn holds(&self, wanted: &str) -> bool {
        let wanted: Vec<char> = wanted.chars().collect();
        let has = |text: &Vec<char>| {
            let mut places = text.windows(wanted.len()).enumerate();
            places.any(|(at, found)| found == wanted && is_whole(text, at, at + wanted.len()))
        };
        !wanted.is_empty() && self.texts.iter().any(has)
    }
}

/// Whether the text is not cut out of a word or a number there.
fn is_whole(text: &[char], from: usize, to: usize) -> bool {
    let is_digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(is_numeric);
    let is_joined = |at: Option<usize>| {
        let c = at.and_then(|at| text.get(at));
        c.is_some_and(|c| matches!(c, '.' | ','))
    };
    let is_word = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(is_of_word);
    let (before, last) = (from.checked_sub(1), to.checked_sub(1));
    let cut_before = is_word(before) && is_word(Some(from));
    let cut_after = is_word(Some(to)) && is_word(last);
    // `5` is not in `1.5`, nor `8` in `8,080`.
    let number_before = is_digit(Some(from)) && is_joined(before) && is_digit(from.checked_sub(2));
    let number_after = is_digit(last) && is_joined(Some(to)) && is_digit(Some(to + 1));
    !(cut_before || cut_after || number_before || number_after)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // an element of a slice
fn is_numeric(c: &char) -> bool {
    c.is_numeric()
}

#[allow(clippy::trivially_copy_pass_by_ref)] // an element of a slice
fn is_of_word(c: &char) -> bool {
    c.is_alphanumeric() || *c == '_'
}

/// The numbers, paths, identifiers and options of a claim, and what stands in backticks.
fn checked_words(claim: &str) -> Vec<String> {
    let parts: Vec<&str> = claim.split('`').collect();
    let last = parts.len() - 1;
    let mut words = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        let is_quoted = at % 2 == 1 && at < last;
        let quoted: Vec<&str> = part.split_whitespace().collect();
        if is_quoted && !quoted.is_empty() {
            words.push(quoted.join(" "));
        }
        words.extend(chunks(part).into_iter().filter(|word| is_checked(word)));
    }
    words
}

/// Words with what joins their parts. A dot or a comma joins digits too.
fn chunks(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut chunks = vec![String::new()];
    for (at, c) in chars.iter().enumerate() {
        let is_digit = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(is_numeric);
        let in_number = *c == ',' && is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
        match chunks.last_mut() {
            Some(chunk) if c.is_alphanumeric() || JOINTS.contains(c) || in_number => chunk.push(*c),
            _ => chunks.push(String::new()),
        }
    }
    let trimmed = chunks
        .iter()
        .map(|chunk| chunk.trim_end_matches(['.', '-', '/']));
    let trimmed = trimmed.map(|chunk| chunk.trim_start_matches('@').to_owned());
    trimmed
        .filter(|chunk| chunk.contains(char::is_alphanumeric))
        .collect()
}

/// Whether a word is a number, a path, an identifier or an option, which nobody may make up.
fn is_checked(word: &str) -> bool {
    let is_joined = word.contains(['_', '/', '.', '@', '\\']);
    let is_option = word.starts_with('-');
    let mut pairs = word.chars().zip(word.chars().skip(1));
    let is_camel = pairs.any(|(one, other)| one.is_lowercase() && other.is_uppercase());
    word.contains(char::is_numeric) || is_joined || is_option || is_camel
}

/// Characters that nobody sees, or that change how their neighbours look.
fn is_hidden(c: char) -> bool {
    let is_listed = matches!(c,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{2800}' | '\u{fff9}'..='\u{fffb}' | '\u{fffd}');
    is_listed || is_invisible(c) || (c.is_control() && !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacks(evidence: &[&str], claim: &str) -> Vec<String> {
        let mut grounds = Grounds::default();
        for text in evidence {
            grounds.add(text);
        }
        grounds.lacks(claim)
    }

    #[test]
    fn what_the_evidence_has_passes_in_other_words() {
        for (evidence, claim) in [
            (
                "The API listens on port 8080.",
                "Port 8080 is the API's (8080)",
            ),
            ("see `src/api.rs:42`", "src/api.rs decides, in line 42"),
            (
                "http://localhost:8080/health answers",
                "localhost answers on 8080",
            ),
            ("set DB_URL=postgres://db/x first", "`DB_URL` must be set"),
            ("it takes 1.5 s, or 2,500 ms", "1.5 s (2,500 ms) is normal"),
            (
                "run `cargo test  --locked`",
                "run `cargo test --locked`, or --locked alone",
            ),
            ("memoryShown comes first", "First comes memoryShown."),
            ("the tests are slow", "Tests need patience, and more words"),
            ("use v2 of config/ports.toml", "v2 is in config/ports.toml"),
            ("mail ops@example.org", "ops@example.org knows"),
        ] {
            assert_eq!(lacks(&[evidence], claim), [""; 0], "{claim}");
        }
    }

    #[test]
    fn what_the_evidence_lacks_is_named() {
        for (evidence, claim, missing) in [
            ("port 8080", "port 9090", "9090"),
            ("port 8080", "port 80", "80"),
            ("it takes 1.5 s", "it takes 5 s", "5"),
            ("it takes 8,080 ms", "it takes 8 ms", "8"),
            ("edit src/api.rs", "edit src/apis.rs", "src/apis.rs"),
            ("edit env.rs", "read .env", ".env"),
            ("DB_URL is set", "DB_URLS is set", "DB_URLS"),
            ("the db url", "`db url two` counts", "db url two"),
            ("memory shown", "memoryShown is first", "memoryShown"),
            ("run the tests", "run the tests with --force", "--force"),
            ("see the docs", "see https://evil.example", "//evil.example"),
            ("port 8080", "port \u{ff18}\u{ff10}", "\u{ff18}\u{ff10}"),
            ("port 8080", "take \u{2467} workers", "\u{2467}"),
            ("port 8080", "port 80\u{200b}80", "an invisible character"),
            ("port 80\u{200b}80", "port 80", "80"),
            ("a b", "C:\\temp\\x", "\\temp\\x"),
        ] {
            assert_eq!(lacks(&[evidence], claim), [missing], "{claim}");
        }
    }

    #[test]
    fn all_texts_count_and_each_word_is_named_once() {
        let evidence = ["port 8080", "file a.rs"];
        assert_eq!(lacks(&evidence, "a.rs has 8080"), [""; 0]);
        assert_eq!(lacks(&evidence, "b.rs, b.rs and 9"), ["b.rs", "9"]);
        assert_eq!(lacks(&[], "1"), ["1"]);
        assert_eq!(lacks(&[], ""), [""; 0]);
    }

    #[test]
    fn a_key_makes_up_no_number() {
        let mut grounds = Grounds::default();
        grounds.add("OAuth2 is used on 8080");
        assert_eq!(grounds.lacks_of_key("auth.oauth2"), [""; 0]);
        assert_eq!(grounds.lacks_of_key("port-9090.use"), ["9090"]);
        assert_eq!(grounds.lacks_of_key("any.key-at-all"), [""; 0]);
    }
}
