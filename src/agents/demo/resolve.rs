//! Resolves a merge conflict for the scripted agent: keeps the lines of both sides.
//!
//! Invariant: never changes a text without complete conflict markers.

use std::collections::HashSet;

/// Replaces each conflict with our lines and those of their lines that ours lack. `None` if there
/// is no conflict, or one without an end.
pub(super) fn combine(text: &str) -> Option<String> {
    let mut combined = String::with_capacity(text.len());
    let mut side = Side::None;
    let mut ours = HashSet::new();
    let mut conflicts = 0;
    for line in text.split_inclusive('\n') {
        match (side, marker(line)) {
            (Side::None, Some('<')) => {
                side = Side::Ours;
                ours.clear();
            }
            (Side::Ours, Some('|')) => side = Side::Base,
            (Side::Ours | Side::Base, Some('=')) => side = Side::Theirs,
            (Side::Theirs, Some('>')) => {
                side = Side::None;
                conflicts += 1;
            }
            (Side::Base, _) => {}
            (Side::Theirs, _) if ours.contains(line.trim_end()) => {}
            (side, _) => {
                if matches!(side, Side::Ours) {
                    ours.insert(line.trim_end());
                }
                combined.push_str(line);
            }
        }
    }
    (conflicts > 0 && matches!(side, Side::None)).then_some(combined)
}

/// The part of a conflict that contains a line.
#[derive(Debug, Clone, Copy)]
enum Side {
    None,
    Ours,
    Base,
    Theirs,
}

/// The character of a conflict marker, if the line is one.
fn marker(line: &str) -> Option<char> {
    let line = line.trim_end();
    ['<', '|', '=', '>'].into_iter().find(|mark| {
        let rest = line.trim_start_matches(*mark);
        line.len() - rest.len() == 7 && (rest.is_empty() || rest.starts_with(' '))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_kept_in_order_and_once() {
        let text = "a\n<<<<<<< main\nb\nc\n||||||| base\nx\n=======\nc\nd\n>>>>>>> idea\ne\n";
        assert_eq!(combine(text).as_deref(), Some("a\nb\nc\nd\ne\n"));
    }

    #[test]
    fn text_without_a_complete_conflict_is_unchanged() {
        for text in [
            "",
            "a\n=======\nb\n",
            "<<<<<<< main\na\n=======\nb\n",
            "<<<<<<<< x\n",
        ] {
            assert_eq!(combine(text), None, "{text}");
        }
    }
}
