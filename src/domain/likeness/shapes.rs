//! The shapes of changed lines: pieces of code without the names and literals that were chosen.
//!
//! Invariant: a name counts by its first use within a piece, so renaming something throughout
//! changes nothing. Words that have a meaning in many languages stay, as does all punctuation.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::Change;

/// Tokens of a piece.
const LENGTH: usize = 5;

/// Words that are no names.
const KEYWORDS: &[&str] = &[
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "do",
    "elif",
    "else",
    "end",
    "enum",
    "except",
    "export",
    "extends",
    "false",
    "finally",
    "fn",
    "for",
    "foreach",
    "from",
    "func",
    "function",
    "if",
    "impl",
    "import",
    "in",
    "interface",
    "is",
    "let",
    "loop",
    "match",
    "mod",
    "module",
    "mut",
    "new",
    "nil",
    "none",
    "not",
    "null",
    "or",
    "and",
    "pub",
    "public",
    "private",
    "protected",
    "raise",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "trait",
    "true",
    "try",
    "type",
    "use",
    "var",
    "void",
    "where",
    "while",
    "with",
    "yield",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    /// Begin of a line, with its sign.
    Line(char),
    Name(&'a str),
    Keyword(&'a str),
    Literal,
    Mark(char),
}

/// The pieces of all changes with their counts, by hash. No piece spans two files.
pub(super) fn grams(changes: &[Change<'_>]) -> BTreeMap<u64, usize> {
    let mut grams = BTreeMap::new();
    for change in changes {
        let tokens = tokens(change.lines);
        let length = LENGTH.min(tokens.len());
        if length == 0 {
            continue;
        }
        for piece in tokens.windows(length) {
            *grams.entry(shape(piece)).or_default() += 1;
        }
    }
    grams
}

/// The hash of a piece; its names are numbered in the order of their first use.
fn shape(piece: &[Token<'_>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut names: Vec<&str> = Vec::with_capacity(piece.len());
    for token in piece {
        match token {
            Token::Line(sign) => (0, u32::from(*sign)).hash(&mut hasher),
            Token::Name(name) => {
                let known = names.iter().position(|it| it == name);
                let number = known.unwrap_or(names.len());
                if known.is_none() {
                    names.push(name);
                }
                (1, number).hash(&mut hasher);
            }
            Token::Keyword(word) => (2, word).hash(&mut hasher),
            Token::Literal => 3.hash(&mut hasher),
            Token::Mark(mark) => (4, u32::from(*mark)).hash(&mut hasher),
        }
    }
    hasher.finish()
}

fn tokens(lines: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for line in lines.lines() {
        let sign = line.chars().next().filter(|c| matches!(c, '+' | '-'));
        let rest = sign.map_or(line, |sign| &line[sign.len_utf8()..]);
        let before = tokens.len();
        tokens.push(Token::Line(sign.unwrap_or(' ')));
        of_line(rest, &mut tokens);
        // An empty line has no shape.
        if tokens.len() == before + 1 {
            tokens.truncate(before);
        }
    }
    tokens
}

fn of_line<'a>(line: &'a str, tokens: &mut Vec<Token<'a>>) {
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = if first.is_alphabetic() || first == '_' {
            let length = length_of(rest, |c| c.is_alphanumeric() || c == '_');
            let word = &rest[..length];
            if KEYWORDS.contains(&word) {
                (Token::Keyword(word), length)
            } else {
                (Token::Name(word), length)
            }
        } else if first.is_ascii_digit() {
            let length = length_of(rest, |c| c.is_alphanumeric() || matches!(c, '_' | '.'));
            (Token::Literal, length)
        } else if let Some(length) = quoted(rest, first) {
            (Token::Literal, length)
        } else {
            (Token::Mark(first), first.len_utf8())
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
}

fn length_of(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// Length of the text in quotes that begins here; `None` if none does, or it does not end on this
/// line.
fn quoted(text: &str, quote: char) -> Option<usize> {
    if !matches!(quote, '"' | '\'' | '`') {
        return None;
    }
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}
