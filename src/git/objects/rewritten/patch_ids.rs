//! Identifies the change of a commit, wherever the commit lies: as `git patch-id` does, without
//! line numbers and white space.
//!
//! Invariant: equal ids mean the same added, removed and surrounding lines of the same files. A
//! binary file counts with its content.

use sha2::{Digest as _, Sha256};

use crate::git::Oid;

/// The format of `git log` that [`parse_log`] reads. No line of a patch begins with a NUL byte.
pub(super) const FORMAT: &str = "--format=tformat:%x00%H %T %P";

/// The options with which two patches of the same change are equal, whatever the person's
/// configuration says.
pub(super) const PATCH: &[&str] = &[
    "--patch",
    "--unified=3",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--no-renames",
    "--full-index",
    "--submodule=short",
    "--ignore-submodules=none",
    "--no-relative",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// Identity of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PatchId([u8; 32]);

/// A commit of `git log` with [`FORMAT`] and [`PATCH`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) id: Oid,
    pub(super) tree: Oid,
    pub(super) parents: Vec<Oid>,
    /// Of the change since the first parent; `None` if it changes nothing.
    pub(super) patch: Option<PatchId>,
}

/// The commits in the order of the output; `None` if it is not in [`FORMAT`].
pub(super) fn parse_log(output: &[u8]) -> Option<Vec<Commit>> {
    let mut commits: Vec<Commit> = Vec::new();
    let mut patch = Digester::default();
    for line in output.split(|byte| *byte == b'\n') {
        let Some(head) = line.strip_prefix(b"\0") else {
            patch.add(line);
            continue;
        };
        let over = std::mem::take(&mut patch).end();
        if let Some(last) = commits.last_mut() {
            last.patch = over;
        }
        commits.push(commit(head)?);
    }
    if let Some(last) = commits.last_mut() {
        last.patch = patch.end();
    }
    Some(commits)
}

fn commit(head: &[u8]) -> Option<Commit> {
    let head = std::str::from_utf8(head).ok()?;
    let mut ids = head.split_ascii_whitespace().map(Oid::from_str);
    Some(Commit {
        id: ids.next()?.ok()?,
        tree: ids.next()?.ok()?,
        parents: ids.collect::<Result<_, _>>().ok()?,
        patch: None,
    })
}

/// The id of a patch made with [`PATCH`]; `None` if it is empty.
pub(super) fn patch_id(patch: &[u8]) -> Option<PatchId> {
    let mut digester = Digester::default();
    for line in patch.split(|byte| *byte == b'\n') {
        digester.add(line);
    }
    digester.end()
}

/// Reads the lines of one patch.
#[derive(Default)]
struct Digester<'a> {
    digest: Sha256,
    any: bool,
    in_hunks: bool,
    /// Names the content before and after, which counts only for a binary file.
    index: &'a [u8],
}

impl<'a> Digester<'a> {
    fn add(&mut self, line: &'a [u8]) {
        if line.starts_with(b"diff --git ") {
            self.in_hunks = false;
            self.digest(line);
        } else if line.starts_with(b"@@ ") {
            self.in_hunks = true;
        } else if self.in_hunks {
            if matches!(line.first(), Some(b'+' | b'-' | b' ')) {
                self.digest(line);
            }
        } else if line.starts_with(b"index ") {
            self.index = line;
        } else if line.starts_with(b"Binary files ") {
            self.digest(self.index);
        } else {
            self.digest(line);
        }
    }

    fn digest(&mut self, line: &[u8]) {
        let text: Vec<u8> = line
            .iter()
            .copied()
            .filter(|it| !it.is_ascii_whitespace())
            .collect();
        if !text.is_empty() {
            self.any = true;
            self.digest.update(text);
            self.digest.update(b"\n");
        }
    }

    fn end(self) -> Option<PatchId> {
        self.any.then(|| PatchId(self.digest.finalize().into()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<PatchId> {
        patch_id(text.as_bytes())
    }

    #[test]
    fn line_numbers_white_space_and_blob_ids_do_not_matter() {
        let one =
            of("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n");
        let other =
            of("diff --git a/x b/x\nindex 3..4 100644\n--- a/x\n+++ b/x\n@@ -9 +9 @@ f\n-a\n+ b\n");
        assert!(one.is_some());
        assert_eq!(one, other);
    }

    #[test]
    fn other_lines_files_modes_and_binary_contents_do_matter() {
        let patches = [
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+c\n",
            "diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
            "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
            "diff --git a/x b/x\nindex 1..2\nBinary files a/x and b/x differ\n",
            "diff --git a/x b/x\nindex 1..3\nBinary files a/x and b/x differ\n",
        ];
        let ids: std::collections::HashSet<_> = patches.iter().map(|it| of(it).unwrap()).collect();
        assert_eq!(ids.len(), patches.len());
        assert_eq!(of("\n"), None);
    }
}
