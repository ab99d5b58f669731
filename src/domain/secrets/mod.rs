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
    /// The rules that matched, one for each secret, in the order in which they were found.
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
    let mut redacted = redact_once(text);
    let mut is_new = !redacted.rules.is_empty();
    // With one secret gone, what was around it may have the shape of another.
    while is_new {
        let again = redact_once(&redacted.text);
        is_new = !again.rules.is_empty();
        redacted.text = again.text;
        redacted.rules.extend(again.rules);
    }
    redacted
}

fn redact_once(text: &str) -> Redacted {
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

/// The rule of [`Secrets::redact`] for the value of a variable.
const VARIABLE: &str = "variable";
/// Shortest value of a variable that is a secret, in bytes: shorter ones are words of every text.
const SHORTEST_VALUE: usize = 8;

/// The shapes, and the values of variables whose names say that they are secret.
#[derive(Clone, Default)]
pub struct Secrets {
    /// The longest first: one may contain another.
    values: Vec<String>,
}

impl Secrets {
    /// The secret values among these variables.
    pub fn among<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let secret = |(name, value): &(&str, &str)| {
            is_secret_name(name) && value.len() >= SHORTEST_VALUE && !value.contains("[redacted:")
        };
        let all = variables.into_iter().filter(secret);
        let mut values: Vec<String> = all.map(|(_, value)| value.to_owned()).collect();
        values.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        values.dedup();
        Self { values }
    }

    /// Replaces each secret value and then each secret shape with `[redacted:RULE]`.
    pub fn redact(&self, text: &str) -> Redacted {
        let mut rules = Vec::new();
        let mut text = text.to_owned();
        for value in &self.values {
            let count = text.matches(value.as_str()).count();
            if count > 0 {
                text = text.replace(value.as_str(), &format!("[redacted:{VARIABLE}]"));
                rules.extend(std::iter::repeat_n(VARIABLE, count));
            }
        }
        let shapes = redact(&text);
        rules.extend(shapes.rules);
        Redacted {
            text: shapes.text,
            rules,
        }
    }
}

/// Whether a variable of this name has a secret: `API_KEY`, `GITHUB_TOKEN`.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD"]
        .iter()
        .any(|word| name.contains(word))
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
