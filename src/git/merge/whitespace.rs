//! Decides which whitespace of a text is insignificant: blanks, line ends, line breaks.
//!
//! Invariant: pure and cautious. Texts are the same but for whitespace only if the same words,
//! numbers, quoted strings and operators follow each other. Blanks inside quotes are significant,
//! as is a moved line break where a line may end in a comment. In languages where indentation has
//! meaning (Python, YAML, ...), indentation is significant too.

use std::path::Path;

/// Whitespace rules for one kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whitespace {
    indent_matters: bool,
}

const INDENTED: &[&str] = &[
    "py", "pyi", "pyx", "yml", "yaml", "mk", "mak", "haml", "pug", "jade", "sass", "styl", "slim",
    "nim", "fs", "fsx", "hs", "elm", "coffee", "md", "markdown", "rst", "patch", "diff", "gd",
    "bzl", "star",
];
const INDENTED_NAMES: &[&str] = &[
    "makefile",
    "gnumakefile",
    "justfile",
    "build",
    "workspace",
    "sconstruct",
];
const COMMENTS: &[&[u8]] = &[b"//", b"#", b"--", b"/*", b";;", b"%", b"'''", b"\"\"\""];

impl Whitespace {
    /// Rules for the file's name.
    pub fn of(path: &Path) -> Self {
        let lower = |part: Option<&std::ffi::OsStr>| {
            part.map(|part| part.to_string_lossy().to_lowercase())
                .unwrap_or_default()
        };
        let (extension, name) = (lower(path.extension()), lower(path.file_name()));
        Self {
            indent_matters: INDENTED.contains(&extension.as_str())
                || INDENTED_NAMES.contains(&name.as_str()),
        }
    }

    /// Whether the two texts differ in whitespace only.
    pub fn same(self, a: &[&[u8]], b: &[&[u8]]) -> bool {
        let (a, b): (Vec<_>, Vec<_>) = (non_blank(a), non_blank(b));
        let by_line = a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| self.same_line(a, b));
        by_line
            || (!self.indent_matters
                && !may_comment(&a)
                && !may_comment(&b)
                && tokens_of(&a) == tokens_of(&b))
    }

    fn same_line(self, a: &[u8], b: &[u8]) -> bool {
        let same_indent = !self.indent_matters || indent(a) == indent(b);
        same_indent && tokens(a) == tokens(b)
    }
}

/// The lines that are not blank.
fn non_blank<'a>(lines: &[&'a [u8]]) -> Vec<&'a [u8]> {
    lines
        .iter()
        .copied()
        .filter(|line| !line.trim_ascii().is_empty())
        .collect()
}

fn indent(line: &[u8]) -> &[u8] {
    let length = line
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count();
    &line[..length]
}

fn may_comment(lines: &[&[u8]]) -> bool {
    lines.iter().any(|line| {
        COMMENTS
            .iter()
            .any(|sign| line.windows(sign.len()).any(|window| window == *sign))
    })
}

fn tokens_of<'a>(lines: &[&'a [u8]]) -> Vec<&'a [u8]> {
    lines.iter().flat_map(|line| tokens(line)).collect()
}

/// Splits a line into words, quoted strings and runs of punctuation.
fn tokens(line: &[u8]) -> Vec<&[u8]> {
    let (mut found, mut rest) = (Vec::new(), line.trim_ascii());
    while let Some(first) = rest.first() {
        let length = match *first {
            byte if byte.is_ascii_whitespace() => {
                rest = &rest[1..];
                continue;
            }
            byte if is_word(byte) => run(rest, is_word),
            quote if is_quote(quote) => quoted(rest, quote),
            _ => run(rest, |byte| {
                !is_word(byte) && !byte.is_ascii_whitespace() && !is_quote(byte)
            }),
        };
        found.push(&rest[..length]);
        rest = &rest[length..];
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

fn run(text: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    text.iter()
        .take_while(|byte| belongs(**byte))
        .count()
        .max(1)
}

/// Length up to the closing quote; if the line has none, the rest of the line.
fn quoted(text: &[u8], quote: u8) -> usize {
    let mut escaped = false;
    for (at, byte) in text.iter().enumerate().skip(1) {
        if escaped {
            escaped = false;
        } else if *byte == b'\\' {
            escaped = true;
        } else if *byte == quote {
            return at + 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(name: &str, a: &str, b: &str) -> bool {
        let lines = |text: &'static str| {
            text.as_bytes()
                .split_inclusive(|byte| *byte == b'\n')
                .collect::<Vec<_>>()
        };
        let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        Whitespace::of(name.as_ref()).same(&lines(leak(a)), &lines(leak(b)))
    }

    #[test]
    fn insignificant_whitespace_is_ignored() {
        assert!(same(
            "a.rs",
            "fn f() {\n    g( a, b );\n}\n",
            "fn f() {\n\tg( a, b );\n}\n\n"
        ));
        assert!(same(
            "a.js",
            "call(one, two)\n",
            "call(\n  one,\n  two\n)\n"
        ));
        assert!(same("a.c", "int x = 1;\r\n", "int  x = 1;\n"));
        assert!(same("a.rs", "let x = a + b;\n", "let x =\n    a + b;\n"));
    }

    #[test]
    fn whitespace_that_may_change_meaning_is_kept() {
        assert!(!same("a.rs", "\"a b\"\n", "\"a  b\"\n"));
        assert!(!same("a.rs", "int x\n", "intx\n"));
        assert!(!same("a.c", "a + +b\n", "a ++b\n"));
        assert!(!same("a.c", "a; // b\nc;\n", "a; // b c;\n"));
        assert!(!same(
            "a.py",
            "if x:\n    y()\n    z()\n",
            "if x:\n    y()\nz()\n"
        ));
        assert!(same("a.py", "x = 1  \n", "x = 1\n"));
        assert!(!same("Makefile", "\tcc x\n", "        cc x\n"));
    }
}
