//! Keys of facts and notes, checked when they are made.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Longest key, in bytes.
const MAX_BYTES: usize = 100;

/// The text is not a valid key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{shown}` is not a valid key: use {allowed}, at most {MAX_BYTES} bytes, as in `{example}`"
)]
pub struct BadKey {
    shown: String,
    allowed: &'static str,
    example: &'static str,
}

impl BadKey {
    fn new(text: &str, allowed: &'static str, example: &'static str) -> Self {
        let shown = text.chars().take(MAX_BYTES).flat_map(char::escape_default);
        let shown = shown.collect();
        Self {
            shown,
            allowed,
            example,
        }
    }
}

/// Parts of `a-z`, `0-9` and `-`, none empty, joined by one of the separators.
fn is_key(text: &str, separators: &[char], part: impl Fn(u8) -> bool) -> bool {
    !text.is_empty()
        && text.len() <= MAX_BYTES
        && text
            .split(separators)
            .all(|it| !it.is_empty() && !it.starts_with('-') && it.bytes().all(&part))
}

macro_rules! key {
    (
        $(#[$doc:meta])* $name:ident, $separators:expr, $part:expr, $allowed:literal,
        $example:literal
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The key as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadKey;

            fn from_str(text: &str) -> Result<Self, BadKey> {
                if is_key(text, $separators, $part) {
                    Ok(Self(text.into()))
                } else {
                    Err(BadKey::new(text, $allowed, $example))
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadKey;

            fn try_from(text: String) -> Result<Self, BadKey> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(key: $name) -> Self {
                key.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

key!(
    /// Key of a fact: `api.port`.
    FactKey,
    &['.'],
    |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-',
    "lower-case letters, digits and `-`, in parts joined by dots",
    "api.port"
);
key!(
    /// Key of a note: `tasks/auth.md`.
    NoteKey,
    &['/'],
    |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.')
    },
    "lower-case letters, digits, `-`, `_` and `.`, in parts joined by `/`",
    "tasks/auth.md"
);

impl FactKey {
    /// Splits a claim such as `[api.port] The API listens on 8080` into its key and its text.
    /// `None` if it does not begin with a key in brackets, or says nothing after it.
    pub fn split_claim(text: &str) -> Option<(Self, &str)> {
        let (key, value) = text.strip_prefix('[')?.split_once(']')?;
        let value = value.trim();
        let key = key.parse().ok().filter(|_| !value.is_empty())?;
        Some((key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_with_empty_parts_capitals_or_too_many_bytes_are_refused() {
        let long = "x".repeat(101);
        for bad in [
            "", ".", "a.", ".a", "a..b", "-a", "A", "a b", "a/b", "é", &long,
        ] {
            assert!(bad.parse::<FactKey>().is_err(), "{bad:?}");
        }
        for bad in ["", "/a", "a/", "a//b", "A", "a b", "-a", "\n", &long] {
            assert!(bad.parse::<NoteKey>().is_err(), "{bad:?}");
        }
        assert_eq!(
            "api.port-2".parse::<FactKey>().unwrap().as_str(),
            "api.port-2"
        );
        assert_eq!(
            "tasks/auth_1.md".parse::<NoteKey>().unwrap().as_str(),
            "tasks/auth_1.md"
        );
    }

    #[test]
    fn a_claim_is_a_key_in_brackets_and_a_sentence() {
        let (key, value) = FactKey::split_claim("[api.port] The API listens on 8080").unwrap();
        assert_eq!(
            (key.as_str(), value),
            ("api.port", "The API listens on 8080")
        );
        for plain in ["[api.port]", "[Api] x", "api.port: x", "[a.b x", "", "[]x"] {
            assert_eq!(FactKey::split_claim(plain), None, "{plain}");
        }
    }
}
