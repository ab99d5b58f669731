//! Messages that `troubleshooting.md` quotes are messages of the program.
//!
//! A heading quotes one in code, with `…` for what differs. Each fixed piece must stand in a string
//! of the sources.

use std::fs;
use std::path::PathBuf;

use strsim::normalized_levenshtein;

use crate::page::{Page, root};

/// The strings of all sources, with `…` for what is put into them.
fn strings() -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                strings_of(&fs::read_to_string(path).unwrap(), &mut found);
            }
        }
    }
    found
}

/// The contents of plain string literals. What is inside comments may be taken for one; that does
/// no harm.
fn strings_of(source: &str, found: &mut Vec<String>) {
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => {
                chars.by_ref().find(|c| *c == '\n');
            }
            // A quote as a character.
            '\'' if chars.peek() == Some(&'"') => {
                chars.next();
            }
            '\'' if chars.peek() == Some(&'\\') => {
                chars.nth(1);
            }
            '"' => found.push(with_gaps(&literal(&mut chars))),
            _ => {}
        }
    }
}

/// The rest of a literal behind its opening quote.
fn literal(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                // A line that goes on.
                Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                Some(other) => text.push(other),
                None => {}
            },
            c => text.push(c),
        }
    }
    text
}

/// With `…` for each `{...}`.
fn with_gaps(text: &str) -> String {
    let mut told = String::new();
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '{' => {
                depth += 1;
                if depth == 1 {
                    told.push('…');
                }
            }
            '}' => depth = (depth - 1).max(0),
            c if depth == 0 => told.push(c),
            _ => {}
        }
    }
    told
}

/// The messages that a page quotes in its headings, with their line.
fn quoted(page: &Page) -> Vec<(usize, String)> {
    let headings = page.prose().filter(|(_, line)| line.starts_with("### "));
    headings
        .filter_map(|(index, line)| {
            let title = line.trim_start_matches("### ").trim();
            let fence = title.chars().take_while(|c| *c == '`').count();
            (fence > 0).then(|| {
                (
                    index + 1,
                    title[fence..title.len() - fence].trim().to_owned(),
                )
            })
        })
        .collect()
}

#[test]
fn messages_are_quoted_as_the_program_says_them() {
    let page = Page::read("docs/troubleshooting.md");
    let strings = strings();
    let quoted = quoted(&page);
    assert!(
        quoted.len() > 10,
        "only {} messages are quoted",
        quoted.len()
    );
    let mut wrong = Vec::new();
    for (line, message) in quoted {
        for piece in message
            .split('…')
            .map(str::trim)
            .filter(|piece| piece.len() > 3)
        {
            if strings.iter().any(|string| string.contains(piece)) {
                continue;
            }
            let near = |string: &&String| normalized_levenshtein(piece, string);
            let nearest = strings
                .iter()
                .max_by(|one, other| near(one).total_cmp(&near(other)));
            let nearest = nearest.map(String::as_str).unwrap_or_default();
            wrong.push(format!(
                "docs/troubleshooting.md:{line}: no message has: {piece}\n  the nearest: {nearest}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "change the heading to what the program says now:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn strings_are_read_as_the_compiler_reads_them() {
    let mut found = Vec::new();
    strings_of(
        "let a = \"one {two:?} \\\n        three\"; // \"no\"\nlet c = '\"'; f(\"a \\\"b\\\"\")",
        &mut found,
    );
    assert_eq!(found, ["one … three", "a \"b\""]);
}
