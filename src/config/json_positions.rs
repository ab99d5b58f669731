//! Finds the position of each key in a JSON text, so that a problem can point at it.
//!
//! Invariant: total. In invalid JSON it finds fewer keys, but never panics. The only problem it
//! detects is a duplicate key.

use std::collections::{BTreeMap, BTreeSet};

use super::errors::Position;

/// The position of each key of a text.
#[derive(Debug, Default)]
pub(super) struct Positions {
    text: String,
    /// Byte offsets. Lines are counted later, only for the few keys that need them.
    found: BTreeMap<String, usize>,
    doubled: Vec<(String, usize)>,
}

impl Positions {
    /// Scans `text`.
    pub(super) fn of(text: &str) -> Self {
        let mut finder = Finder {
            text,
            at: 0,
            positions: Self::default(),
        };
        finder.value("", 0);
        Self {
            text: text.to_owned(),
            ..finder.positions
        }
    }

    /// The position of `key`, or of the nearest enclosing key in the text.
    pub(super) fn near(&self, key: &str) -> Option<Position> {
        let mut enclosing = std::iter::successors(Some(key), |key| parent(key));
        let offset = enclosing.find_map(|key| self.found.get(key))?;
        Some(self.position(*offset))
    }

    /// Keys that occur twice in one object, with the position of the second.
    pub(super) fn doubled(&self) -> impl Iterator<Item = (String, Position)> {
        let place = |(key, offset): &(String, usize)| (key.clone(), self.position(*offset));
        self.doubled.iter().map(place)
    }

    fn position(&self, offset: usize) -> Position {
        let before = self.text.get(..offset).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Position {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// The key that encloses `key`: `a.b` for `a.b[0]`, and `a` for `a.b`.
pub(super) fn parent(key: &str) -> Option<&str> {
    key.rfind(['.', '[']).map(|end| &key[..end])
}

/// The full key of `name` in the object at `key`.
pub(super) fn child(key: &str, name: &str) -> String {
    if key.is_empty() {
        name.to_owned()
    } else {
        format!("{key}.{name}")
    }
}

/// Deeper than serde's limit, so that everything serde accepts is scanned.
const MAX_DEPTH: usize = 130;

struct Finder<'a> {
    text: &'a str,
    at: usize,
    positions: Positions,
}

impl Finder<'_> {
    fn value(&mut self, key: &str, depth: usize) {
        match self.peek() {
            _ if depth > MAX_DEPTH => self.at = self.text.len(),
            Some(b'{') => self.object(key, depth),
            Some(b'[') => self.array(key, depth),
            Some(b'"') => drop(self.string()),
            _ => self.scalar(),
        }
    }

    fn object(&mut self, key: &str, depth: usize) {
        let mut seen = BTreeSet::new();
        self.at += 1;
        while self.peek() == Some(b'"') {
            let offset = self.at;
            let name = child(key, &self.string());
            if !seen.insert(name.clone()) {
                self.positions.doubled.push((name.clone(), offset));
            }
            self.positions.found.insert(name.clone(), offset);
            self.skip(b':');
            self.value(&name, depth + 1);
            self.skip(b',');
        }
        self.skip(b'}');
    }

    fn array(&mut self, key: &str, depth: usize) {
        self.at += 1;
        let mut index = 0;
        while !matches!(self.peek(), None | Some(b']')) {
            let before = self.at;
            let item = format!("{key}[{index}]");
            let offset = self.at;
            self.positions.found.insert(item.clone(), offset);
            self.value(&item, depth + 1);
            self.skip(b',');
            index += 1;
            if self.at == before {
                return;
            }
        }
        self.skip(b']');
    }

    /// Reads the string that starts here and resolves its escapes.
    fn string(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.byte() {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at = (self.at + 1).min(self.text.len());
        let quoted = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(quoted).unwrap_or_else(|_| quoted.to_owned())
    }

    fn scalar(&mut self) {
        while self
            .byte()
            .is_some_and(|byte| !b",]}\n \t\r".contains(&byte))
        {
            self.at += 1;
        }
    }

    fn skip(&mut self, wanted: u8) {
        if self.peek() == Some(wanted) {
            self.at += 1;
        }
    }

    /// Skips whitespace and returns the next byte without consuming it.
    fn peek(&mut self) -> Option<u8> {
        while self.byte().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
        self.byte()
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_are_found_with_line_and_column() {
        let text =
            "{\n  \"a\": {\"b\\u0063\": 1},\n\n  \"list\": [\n    \"x\",\n    {\"deep\": [ ]} ]\n}";
        let positions = Positions::of(text);
        let at = |key| positions.near(key).map(|p| (p.line, p.column));
        assert_eq!(at("a"), Some((2, 3)));
        assert_eq!(at("a.bc"), Some((2, 9)));
        assert_eq!(at("list"), Some((4, 3)));
        assert_eq!(at("list[0]"), Some((5, 5)));
        assert_eq!(at("list[1].deep"), Some((6, 6)));
        assert_eq!(at("a.missing.deeper"), Some((2, 3)), "the enclosing key");
        assert_eq!(at("nowhere"), None);
    }

    #[test]
    fn a_duplicate_key_is_reported_at_its_second_occurrence() {
        let positions = Positions::of("{\"a\": 1,\n\"b\": {\"a\": 2},\n\"a\": 3}");
        assert_eq!(
            positions.doubled().collect::<Vec<_>>(),
            [("a".to_owned(), Position { line: 3, column: 1 })]
        );
    }

    proptest! {
        #[test]
        fn scanning_any_text_terminates(text in "[\\[\\]{}\":,\\\\ a\u{e9}\n1]{0,60}") {
            let _positions = Positions::of(&text);
        }
    }
}
