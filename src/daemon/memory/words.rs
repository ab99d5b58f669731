//! Cuts a text into terms: words in lower case without their English endings, and identifiers both
//! whole and in parts.
//!
//! Invariant: an identifier has the same parts in every spelling: `memoryShown`, `memory_shown`
//! and `memory/shown`.

use frostem::{Algorithm, Stemmer};

/// Words that occur in so many sentences that they tell nothing. Negations are not among them.
const COMMON: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "by", "can", "do", "does", "for", "from",
    "has", "have", "if", "in", "into", "is", "it", "its", "of", "on", "or", "so", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "to", "was", "we", "were",
    "which", "will", "with", "you", "your",
];

/// Calls `found` with each term of the text, in order; a term may come several times.
pub(super) fn each_term(text: &str, mut found: impl FnMut(&str)) {
    let stemmer = Stemmer::new(Algorithm::English);
    let mut lower = String::new();
    for chunk in text.split(|c: char| !(c.is_alphanumeric() || is_joint(c))) {
        let whole = chunk.trim_matches(is_joint);
        let mut parts = 0;
        for part in whole.split(is_joint).flat_map(humps) {
            parts += 1;
            lower_case(part, &mut lower);
            if COMMON.binary_search(&lower.as_str()).is_err() {
                found(&stemmer.stem(&lower));
            }
        }
        if parts > 1 {
            lower_case(whole, &mut lower);
            found(&lower);
        }
    }
}

/// Whether it joins the parts of an identifier or a path.
fn is_joint(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '/' | ':')
}

fn lower_case(text: &str, lower: &mut String) {
    lower.clear();
    lower.extend(text.chars().flat_map(char::to_lowercase));
}

/// The parts of a word in camel case: `HTTPServer` has `HTTP` and `Server`.
fn humps(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (part, after) = rest.split_at(first_hump(rest));
        rest = after;
        Some(part)
    })
}

/// The length of the first part, in bytes.
fn first_hump(word: &str) -> usize {
    let mut before = [None, None];
    for (at, c) in word.char_indices() {
        if let [_, Some((_, last))] = before
            && char::is_lowercase(last)
            && c.is_uppercase()
        {
            return at;
        }
        // The last capital of several begins the next part.
        if let [Some((_, first)), Some((begin, last))] = before
            && char::is_uppercase(first)
            && char::is_uppercase(last)
            && c.is_lowercase()
        {
            return begin;
        }
        before = [before[1], Some((at, c))];
    }
    word.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        each_term(text, |term| terms.push(term.to_owned()));
        terms
    }

    #[test]
    fn words_lose_their_case_and_endings() {
        assert_eq!(
            terms("The tests are LISTENING, it listens."),
            ["test", "listen", "listen"]
        );
        assert_eq!(terms("Größe 8080 не"), ["größe", "8080", "не"]);
        assert_eq!(terms(""), Vec::<String>::new());
    }

    #[test]
    fn identifiers_are_kept_whole_and_in_parts() {
        for (text, expected) in [
            ("memoryShown", &["memori", "shown", "memoryshown"][..]),
            ("memory_shown", &["memori", "shown", "memory_shown"]),
            ("HTTPServer", &["http", "server", "httpserver"]),
            ("(src/api.rs).", &["src", "api", "rs", "src/api.rs"]),
            ("api.port:", &["api", "port", "api.port"]),
            ("HTTP IDs", &["http", "i", "ds", "ids"]),
            ("--no-cache", &["no", "cach", "no-cache"]),
        ] {
            assert_eq!(terms(text), expected, "{text}");
        }
    }

    #[test]
    fn common_words_are_sorted_and_no_negation() {
        assert!(COMMON.is_sorted());
        assert!(
            ["no", "not", "never"]
                .iter()
                .all(|word| !COMMON.contains(word))
        );
    }
}
