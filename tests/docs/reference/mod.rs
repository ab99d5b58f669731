//! The reference pages are what the program says of itself.

mod cli;
mod config;
mod events;
mod exit_codes;
mod inside;
mod json;
mod schema;

use std::fs;

use crate::page::{HOW_TO_BLESS, blesses, root};

/// Stands at the top of a page that is written by a test.
const GENERATED: &str = "<!-- Written by tests/docs; do not edit. To write it anew: SWARM_BLESS=1 \
    cargo test --test docs -->";

/// A page that is generated as a whole.
fn whole(path: &str, text: &str) {
    let text = format!("{GENERATED}\n\n{}\n", text.trim_end());
    is_or_becomes(path, &text);
}

/// The part of a page between `<!-- generated: NAME -->` and `<!-- end -->`.
fn part(path: &str, name: &str, text: &str) {
    let page = fs::read_to_string(root().join(path)).unwrap();
    let begin = format!("<!-- generated: {name} -->\n");
    let (before, rest) = page
        .split_once(&begin)
        .unwrap_or_else(|| panic!("{path} has no line {begin}"));
    let (_, after) = rest
        .split_once("<!-- end -->")
        .unwrap_or_else(|| panic!("{path}: {begin} has no end"));
    is_or_becomes(
        path,
        &format!("{before}{begin}\n{}\n\n<!-- end -->{after}", text.trim()),
    );
}

fn is_or_becomes(path: &str, text: &str) {
    let file = root().join(path);
    let present = fs::read_to_string(&file).unwrap_or_default();
    if present == text {
        return;
    }
    if blesses() {
        return fs::write(file, text).unwrap();
    }
    let differs = present
        .lines()
        .zip(text.lines())
        .position(|(one, other)| one != other);
    let at = differs.unwrap_or_else(|| present.lines().count().min(text.lines().count()));
    panic!(
        "{path} is stale from line {} on; {HOW_TO_BLESS}\n--- the page\n{}\n--- the program\n{}",
        at + 1,
        present.lines().nth(at).unwrap_or_default(),
        text.lines().nth(at).unwrap_or_default(),
    );
}

/// Text for a cell of a table: one line, and no bar that would end the cell.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

/// A sentence, with a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', ':', '!', '?']) {
        return text.to_owned();
    }
    format!("{text}.")
}
