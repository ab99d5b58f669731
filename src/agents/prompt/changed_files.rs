//! The section that names files which others changed since the agent read them.

use super::{add, left_out_items};
use crate::agents::text::{head, one_line};

/// Heading of the section.
pub const CHANGED_HEADING: &str = "## Files that changed since you read them";
/// Most files that are named.
const MOST: usize = 100;
/// Longest name of a file, in bytes.
const LONGEST: usize = 300;

/// The section; empty if there are no files.
pub(super) fn section(files: &[String]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let mut section = format!(
        "{CHANGED_HEADING}\n\nSomebody else changed these files after you last worked here, so \
        what you remember of them is out of date. Read them again before you rely on them:\n\n"
    );
    for file in files.iter().take(MOST) {
        let name = one_line(file);
        let shown = head(&name, LONGEST);
        let rest = if shown.len() < name.len() { " ..." } else { "" };
        add(&mut section, format_args!("- `{shown}`{rest}\n"));
    }
    section.push_str(&left_out_items(files.len().saturating_sub(MOST), "more"));
    section
}
