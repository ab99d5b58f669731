//! What changed within a line: the words that only one of two lines has.
//!
//! Invariant: the parts of a line, joined, are the line.

/// Compared words of one line; a longer one is marked as a whole.
const MOST: usize = 300;

/// A part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'t> {
    /// Its text.
    pub text: &'t str,
    /// Whether the other line does not have it.
    pub is_marked: bool,
}

/// The parts of a line before and after a change. Lines that have little in common are not marked:
/// then everything changed.
pub fn marked<'t>(old: &'t str, new: &'t str) -> (Vec<Part<'t>>, Vec<Part<'t>>) {
    let (before, after) = (words(old), words(new));
    if before.len() > MOST || after.len() > MOST {
        return (whole(old), whole(new));
    }
    let (kept_before, kept_after) = common(&before, &after);
    let letters = |words: &[&str], kept: &[bool]| -> usize {
        let kept = words.iter().zip(kept).filter(|(_, kept)| **kept);
        kept.map(|(word, _)| word.trim().len()).sum()
    };
    let shared = letters(&before, &kept_before);
    let longest = old.trim().len().max(new.trim().len());
    if shared * 4 < longest {
        return (whole(old), whole(new));
    }
    (
        joined(old, &before, &kept_before),
        joined(new, &after, &kept_after),
    )
}

fn whole(text: &str) -> Vec<Part<'_>> {
    let is_marked = false;
    vec![Part { text, is_marked }]
}

/// Runs of letters and digits, runs of blanks, and each other character.
fn words(text: &str) -> Vec<&str> {
    let kind = |letter: char| match letter {
        letter if letter.is_alphanumeric() || letter == '_' => 0,
        letter if letter.is_whitespace() => 1,
        _ => 2,
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, letter) in text.char_indices() {
        let now = kind(letter);
        if before.is_some_and(|before| before != now || now == 2) {
            words.push(&text[start..at]);
            start = at;
        }
        before = Some(now);
    }
    if start < text.len() {
        words.push(&text[start..]);
    }
    words
}

/// Which words of each belong to a longest common sequence.
fn common(before: &[&str], after: &[&str]) -> (Vec<bool>, Vec<bool>) {
    let width = after.len() + 1;
    // The length of the longest common sequence of what follows.
    let mut lengths = vec![0_u16; (before.len() + 1) * width];
    for one in (0..before.len()).rev() {
        for other in (0..after.len()).rev() {
            lengths[one * width + other] = if before[one] == after[other] {
                lengths[(one + 1) * width + other + 1] + 1
            } else {
                lengths[(one + 1) * width + other].max(lengths[one * width + other + 1])
            };
        }
    }
    let (mut kept_before, mut kept_after) = (vec![false; before.len()], vec![false; after.len()]);
    let (mut one, mut other) = (0, 0);
    while one < before.len() && other < after.len() {
        if before[one] == after[other] {
            (kept_before[one], kept_after[other]) = (true, true);
            (one, other) = (one + 1, other + 1);
        } else if lengths[(one + 1) * width + other] >= lengths[one * width + other + 1] {
            one += 1;
        } else {
            other += 1;
        }
    }
    (kept_before, kept_after)
}

/// Neighbours of the same kind become one part.
fn joined<'t>(text: &'t str, words: &[&'t str], kept: &[bool]) -> Vec<Part<'t>> {
    let mut parts: Vec<Part<'t>> = Vec::new();
    let mut start = 0;
    let mut end = 0;
    for (index, (word, is_kept)) in words.iter().zip(kept).enumerate() {
        end += word.len();
        if kept.get(index + 1) != Some(is_kept) {
            parts.push(Part {
                text: &text[start..end],
                is_marked: !is_kept,
            });
            start = end;
        }
    }
    parts
}
