//! `internals/architecture.md`: the part that the crate's own documentation has.

use std::fs;

use super::part;
use crate::page::root;

#[test]
fn architecture() {
    let source = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let head = source.lines().take_while(|line| line.starts_with("//!"));
    let lines: Vec<String> = head
        .map(|line| line.trim_start_matches("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned())
        .collect();
    // Links to code are links in the crate's documentation only.
    let text = lines.join("\n").replace("[`", "`").replace("`]", "`");
    let (_, text) = text.split_once("\n\n").unwrap();
    part("docs/internals/architecture.md", "architecture", text);
}
