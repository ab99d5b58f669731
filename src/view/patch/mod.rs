//! A patch of git as files, hunks and rows, for people who read it. `words` marks what changed
//! within a line.
//!
//! Invariant: the lines of a hunk, joined, are the lines of the patch.

mod words;

pub use words::{Part, marked};

/// The changes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilePatch<'p> {
    /// Its hunks; none for a binary file or a mere rename.
    pub hunks: Vec<Hunk<'p>>,
    /// Whether git shows no lines of it.
    pub is_binary: bool,
    /// Length of its part of the patch.
    pub bytes: usize,
}

/// Consecutive lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'p> {
    /// Its first line: `@@ -1,6 +1,6 @@`.
    pub header: &'p str,
    /// Its lines, the removed beside the added ones.
    pub rows: Vec<Row<'p>>,
}

/// A line before and after; one of them is missing if it was added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'p> {
    /// Before.
    pub old: Option<Line<'p>>,
    /// After.
    pub new: Option<Line<'p>>,
    /// Whether the two are equal.
    pub is_same: bool,
}

/// A line of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'p> {
    /// Its number, from 1.
    pub number: u64,
    /// Its text without the end of line.
    pub text: &'p str,
}

/// The files of a patch, in its order.
pub fn files(patch: &str) -> Vec<FilePatch<'_>> {
    let mut reader = Reader::default();
    for line in patch.split_inclusive('\n') {
        reader.take(line);
    }
    reader.end_file();
    reader.files
}

#[derive(Default)]
struct Reader<'p> {
    files: Vec<FilePatch<'p>>,
    file: Option<FilePatch<'p>>,
    /// Lines that the current hunk still has, before and after.
    left: (u64, u64),
    /// Numbers of its next lines.
    next: (u64, u64),
    removed: Vec<Line<'p>>,
    added: Vec<Line<'p>>,
}

impl<'p> Reader<'p> {
    fn take(&mut self, whole: &'p str) {
        let line = whole.strip_suffix('\n').unwrap_or(whole);
        let is_in_hunk = self.left != (0, 0) || line.starts_with('\\');
        if !is_in_hunk && line.starts_with("diff --git ") {
            self.end_file();
            self.file = Some(FilePatch::default());
        }
        let Some(file) = &mut self.file else { return };
        file.bytes += whole.len();
        if is_in_hunk {
            self.line(line);
        } else if let Some((old, new)) = line.starts_with("@@ ").then(|| ranges(line)).flatten() {
            self.end_block();
            self.next = (old.0, new.0);
            self.left = (old.1, new.1);
            self.hunk(line);
        } else if line.starts_with("Binary files ") || line.starts_with("GIT binary patch") {
            file.is_binary = true;
        }
    }

    fn hunk(&mut self, header: &'p str) {
        if let Some(file) = &mut self.file {
            let rows = Vec::new();
            file.hunks.push(Hunk { header, rows });
        }
    }

    fn line(&mut self, line: &'p str) {
        let text = line.get(1..).unwrap_or_default();
        let (old, new) = self.next;
        match line.as_bytes().first() {
            Some(b'-') => {
                // A removed line after added ones begins another change.
                if !self.added.is_empty() {
                    self.end_block();
                }
                self.removed.push(Line { number: old, text });
                (self.next.0, self.left.0) = (old + 1, self.left.0.saturating_sub(1));
            }
            Some(b'+') => {
                self.added.push(Line { number: new, text });
                (self.next.1, self.left.1) = (new + 1, self.left.1.saturating_sub(1));
            }
            Some(b'\\') => {}
            Some(_) | None => {
                self.end_block();
                self.push(Row {
                    old: Some(Line { number: old, text }),
                    new: Some(Line { number: new, text }),
                    is_same: true,
                });
                self.next = (old + 1, new + 1);
                self.left.0 = self.left.0.saturating_sub(1);
                self.left.1 = self.left.1.saturating_sub(1);
            }
        }
        if self.left == (0, 0) {
            self.end_block();
        }
    }

    /// Puts removed beside added lines.
    fn end_block(&mut self) {
        let removed = std::mem::take(&mut self.removed);
        let added = std::mem::take(&mut self.added);
        for index in 0..removed.len().max(added.len()) {
            self.push(Row {
                old: removed.get(index).copied(),
                new: added.get(index).copied(),
                is_same: false,
            });
        }
    }

    fn push(&mut self, row: Row<'p>) {
        let hunk = self.file.as_mut().and_then(|file| file.hunks.last_mut());
        if let Some(hunk) = hunk {
            hunk.rows.push(row);
        }
    }

    fn end_file(&mut self) {
        self.end_block();
        self.left = (0, 0);
        self.files.extend(self.file.take());
    }
}

/// The first line and the number of lines, before and after: `@@ -1,6 +1,7 @@ fn main`.
fn ranges(header: &str) -> Option<((u64, u64), (u64, u64))> {
    let mut words = header.split(' ').skip(1);
    let mut range = |sign| {
        let word = words.next()?.strip_prefix(sign)?;
        let (first, count) = word.split_once(',').unwrap_or((word, "1"));
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    Some((range('-')?, range('+')?))
}

#[cfg(test)]
mod tests;
