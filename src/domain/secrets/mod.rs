//! Finds text that has the shape of a secret: a private key, a token of a known service, a
//! password in an address.
//!
//! Invariant: only precise shapes match (a known prefix, its alphabet, its least length). Nothing
//! is judged by how random it looks, because ordinary files are full of hashes. What [`redact`]
//! returns contains no suspect text. Signals use this before they are logged.

mod shapes;

use std::ops::Range;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The text, with `[redacted:RULE]` in place of each secret.
    pub text: String,
    /// The rules that matched, one for each secret, in the order of the text.
    pub rules: Vec<&'static str>,
}

/// Text that matches a rule.
struct Match {
    rule: &'static str,
    /// The secret itself, in bytes; it may begin after the text that gives it away.
    secret: Range<usize>,
}

/// Replaces each secret with `[redacted:RULE]`.
pub fn redact(text: &str) -> Redacted {
    let mut redacted = String::with_capacity(text.len());
    let mut rules = Vec::new();
    let mut copied = 0;
    while let Some(found) = first(text, copied) {
        redacted.push_str(&text[copied..found.secret.start]);
        redacted.push_str("[redacted:");
        redacted.push_str(found.rule);
        redacted.push(']');
        rules.push(found.rule);
        copied = found.secret.end;
    }
    redacted.push_str(&text[copied..]);
    Redacted {
        text: redacted,
        rules,
    }
}

/// The rule that the first secret in `text` matches; `None` if there is no secret.
pub fn suspect(text: &str) -> Option<&'static str> {
    first(text, 0).map(|found| found.rule)
}

/// The first secret that is not before `from`.
fn first(text: &str, from: usize) -> Option<Match> {
    let bytes = text.as_bytes();
    (from..bytes.len())
        .filter(|at| shapes::may_begin(bytes[*at]))
        .find_map(|at| shapes::at(bytes, at))
}

#[cfg(test)]
mod tests;
