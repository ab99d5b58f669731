//! The files that differ between two trees, with their content; for provenance records.
//!
//! Invariant: reads only. A renamed file is a deleted and a new one. Content larger than the
//! caller's limit is not loaded.

use std::path::Path;

use super::names::{path_of, printable, shown};
use crate::git::error::GitError;
use crate::git::merge::preview::{ChangeKind, RawChange, parse_raw};
use crate::git::repo::Repo;
use crate::git::store::format::Kind;
use crate::git::store::oid::Oid;

/// Fewest digits of an object's name that git takes for one.
const SHORTEST: usize = 4;

/// A file that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeChange {
    /// Its path.
    pub path: String,
    /// What happened to it; never [`ChangeKind::Renamed`].
    pub kind: ChangeKind,
    /// Its content after; `None` if it was deleted.
    pub after: Option<Oid>,
}

/// A blob's size, and its content unless that is too large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Bytes.
    pub size: u64,
    /// The content.
    pub bytes: Option<Vec<u8>>,
}

impl Repo {
    /// Files that differ between two trees or commits, by path.
    pub fn tree_changes(&self, from: Oid, to: Oid) -> Result<Vec<TreeChange>, GitError> {
        let raw = self.diff_trees(from, to, &["--no-renames", "--raw", "--no-abbrev", "-z"])?;
        let changes = parse_raw(&raw).ok_or_else(|| GitError::Unreadable {
            command: "git diff-tree --raw -z",
            found: printable(&raw[..raw.len().min(80)]),
        })?;
        let change = |change: RawChange<'_>| {
            let after = Oid::from_str(change.blobs[1]).ok();
            TreeChange {
                path: shown(&path_of(change.path)),
                kind: change.kind,
                after: after.filter(|id| !id.is_zero()),
            }
        };
        Ok(changes.into_iter().map(change).collect())
    }

    /// The content of the file at this path in a tree or commit; `None` if there is no file.
    pub fn blob_at(&self, tree: Oid, path: &str) -> Result<Option<Oid>, GitError> {
        let entry = self.entry_at(tree, Path::new(path))?;
        let blob = entry.filter(|entry| entry.kind() == Kind::Blob);
        Ok(blob.map(|entry| entry.id))
    }

    /// The changed lines of each of these files, in the order of [`Repo::tree_changes`]; each
    /// begins with `+` or `-`. A binary file has none.
    pub fn changed_lines(&self, from: Oid, to: Oid) -> Result<Vec<String>, GitError> {
        let format = ["--no-renames", "--patch", "--unified=0"];
        Ok(lines_by_file(&self.diff_trees(from, to, &format)?))
    }

    /// The difference of two trees or commits as a patch.
    pub fn tree_patch(&self, from: Oid, to: Oid) -> Result<Vec<u8>, GitError> {
        Ok(self.preview_commits(Some(from), to)?.patch)
    }

    /// Passes each blob to `each`, in order; `None` for one that is missing or no blob. Content of
    /// more than `max` bytes is not loaded.
    pub fn blobs(
        &self,
        ids: impl Iterator<Item = Oid>,
        max: u64,
        mut each: impl FnMut(Option<Content>),
    ) -> Result<(), GitError> {
        for id in ids {
            let header = self.header(&id.to_string())?;
            let Some(blob) = header.filter(|found| found.kind == Kind::Blob) else {
                each(None);
                continue;
            };
            let bytes = if blob.size <= max {
                self.content(id)?
            } else {
                None
            };
            let size = blob.size;
            each(Some(Content { size, bytes }));
        }
        Ok(())
    }

    /// The commit whose id begins like this and its time, in seconds since 1970; `None` if there is
    /// none, or more than one.
    pub fn commit_time(&self, begin: &str) -> Result<Option<(Oid, i64)>, GitError> {
        if begin.len() < SHORTEST || !begin.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let Some(found) = self.header(&format!("{begin}^{{commit}}"))? else {
            return Ok(None);
        };
        // A branch may have such a name.
        let is_it = found.id.to_string().starts_with(&begin.to_lowercase());
        let commit = self.find_commit(found.id)?.filter(|_| is_it);
        Ok(commit.map(|commit| (commit.id, commit.seconds())))
    }
}

/// The changed lines of each file of a patch without context. A file whose type changes has two
/// parts with the same first line.
fn lines_by_file(patch: &[u8]) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    let (mut head, mut in_hunk): (&[u8], bool) = (&[], false);
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            if line != head {
                files.push(String::new());
            }
            (head, in_hunk) = (line, false);
        } else if line.starts_with(b"@@ ") {
            in_hunk = true;
        } else if in_hunk
            && matches!(line.first(), Some(b'+' | b'-'))
            && let Some(file) = files.last_mut()
        {
            file.push_str(&String::from_utf8_lossy(line));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_of_a_patch_has_its_changed_lines() {
        let patch = b"diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n\
            @@ -1 +1 @@\n-one\n+two\n@@ -3,0 +4 @@\n+--- four\n\\ No newline at end of file\n\
            diff --git a/b.bin b/b.bin\nBinary files a/b.bin and b/b.bin differ\n\
            diff --git a/c b/c\ndeleted file mode 100644\n--- a/c\n+++ /dev/null\n\
            @@ -1 +0,0 @@\n-file\ndiff --git a/c b/c\nnew file mode 120000\n--- /dev/null\n\
            +++ b/c\n@@ -0,0 +1 @@\n+link\n";
        let files = lines_by_file(patch);
        assert_eq!(files, ["-one\n+two\n+--- four\n", "", "-file\n+link\n"]);
    }
}
