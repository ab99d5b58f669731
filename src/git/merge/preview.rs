//! Shows what a merge would change, for a person who reviews it.
//!
//! Invariant: only reads; the merged tree is written as objects, and no reference moves.

use git2::Oid;

use crate::git::error::GitError;
use crate::git::merge::build::Settled;
use crate::git::objects::names::{path_of, printable, shown};
use crate::git::repo::Repo;

/// What a merge would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergePreview {
    /// The target's commit.
    pub target: Oid,
    /// Commit from which the changes are counted: the target or, with conflicts, the merge base.
    pub base: Oid,
    /// Tree or commit that the changes lead to.
    pub result: Oid,
    /// Files that cannot be merged without somebody's judgement.
    pub conflicts: Vec<String>,
    /// Changed files, by path.
    pub files: Vec<FileChange>,
    /// The changes as a patch.
    pub patch: Vec<u8>,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path; after a rename, the new one.
    pub path: String,
    /// Its path before a rename.
    pub from: Option<String>,
    /// What happened to it.
    pub kind: ChangeKind,
    /// Lines added; `None` for a binary file.
    pub insertions: Option<u64>,
    /// Lines removed; `None` for a binary file.
    pub deletions: Option<u64>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it all
pub enum ChangeKind {
    Added,
    Deleted,
    Modified,
    Renamed,
    TypeChanged,
}

impl Repo {
    /// What landing `source` on the target branch would change now. If the two conflict, what the
    /// branch has changed since it left the target.
    pub fn preview_merge(
        &self,
        target_branch: &str,
        source: Oid,
    ) -> Result<MergePreview, GitError> {
        let missing = || GitError::BranchMissing {
            branch: target_branch.to_owned(),
        };
        let target = self.branch_commit(target_branch)?.ok_or_else(missing)?;
        let (base, result, conflicts) = if self.contains(target, source)? {
            (target, target, Vec::new())
        } else {
            match self.merge_trees(target, source)? {
                Settled::Tree { tree, .. } => (target, tree, Vec::new()),
                Settled::Open { files, .. } => {
                    let base = self.merge_base(target, source)?.unwrap_or(target);
                    let files = files.into_iter().map(|file| file.path).collect();
                    (base, source, files)
                }
            }
        };
        Ok(MergePreview {
            target,
            base,
            result,
            conflicts,
            files: self.file_changes(base, result)?,
            patch: self.diff_trees(base, result, &["--patch"])?,
        })
    }

    /// What `tip` changes since `base`, or since its first parent.
    pub fn preview_commits(&self, base: Option<Oid>, tip: Oid) -> Result<MergePreview, GitError> {
        let base = match base {
            Some(base) => base,
            None => self.first_parent(tip)?,
        };
        Ok(MergePreview {
            target: base,
            base,
            result: tip,
            conflicts: Vec::new(),
            files: self.file_changes(base, tip)?,
            patch: self.diff_trees(base, tip, &["--patch"])?,
        })
    }

    fn first_parent(&self, commit: Oid) -> Result<Oid, GitError> {
        let library = self.library()?;
        let found = library.find_commit(commit);
        let parent = found.and_then(|commit| commit.parent_id(0));
        parent.map_err(GitError::library(format!(
            "find the parent of {commit:.10}"
        )))
    }

    fn file_changes(&self, from: Oid, to: Oid) -> Result<Vec<FileChange>, GitError> {
        let kinds = self.diff_trees(from, to, &["--name-status", "-z"])?;
        let counts = self.diff_trees(from, to, &["--numstat", "-z"])?;
        let unreadable = || GitError::Unreadable {
            command: "git diff-tree -z",
            found: printable(&kinds[..kinds.len().min(80)]),
        };
        let kinds = parse_kinds(&kinds).ok_or_else(unreadable)?;
        let counts = parse_counts(&counts).ok_or_else(unreadable)?;
        if kinds.len() != counts.len() {
            return Err(unreadable());
        }
        let both = kinds.into_iter().zip(counts);
        let change = |((kind, from, path), (insertions, deletions)): (KindAndPaths<'_>, Counts)| {
            FileChange {
                path: shown(&path_of(path)),
                from: from.map(|from| shown(&path_of(from))),
                kind,
                insertions,
                deletions,
            }
        };
        Ok(both.map(change).collect())
    }

    /// Plumbing: a person's settings for `git diff` do not change it.
    fn diff_trees(&self, from: Oid, to: Oid, format: &[&str]) -> Result<Vec<u8>, GitError> {
        let output = self
            .git()
            .long()
            .args(["diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv"])
            .args(["--no-color", "--src-prefix=a/", "--dst-prefix=b/"])
            .args(format)
            .args([from.to_string(), to.to_string()])
            .ok()?;
        Ok(output.stdout)
    }
}

type KindAndPaths<'a> = (ChangeKind, Option<&'a [u8]>, &'a [u8]);

/// Parses `--name-status -z`: a status, then one path, or two after a rename.
fn parse_kinds(output: &[u8]) -> Option<Vec<KindAndPaths<'_>>> {
    let mut fields = output.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let Some(status) = fields.next().filter(|status| !status.is_empty()) {
        let kind = match status[0] {
            b'A' | b'C' => ChangeKind::Added,
            b'D' => ChangeKind::Deleted,
            b'M' => ChangeKind::Modified,
            b'R' => ChangeKind::Renamed,
            b'T' => ChangeKind::TypeChanged,
            _ => return None,
        };
        let first = fields.next()?;
        found.push(match status[0] {
            b'R' | b'C' => (kind, Some(first), fields.next()?),
            _ => (kind, None, first),
        });
    }
    Some(found)
}

type Counts = (Option<u64>, Option<u64>);

/// Parses `--numstat -z`: two counts, then a path, or an empty one and two paths after a rename.
fn parse_counts(output: &[u8]) -> Option<Vec<Counts>> {
    let mut fields = output.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let Some(field) = fields.next().filter(|field| !field.is_empty()) {
        let mut parts = field.splitn(3, |byte| *byte == b'\t');
        let mut count = || std::str::from_utf8(parts.next()?).ok()?.parse().ok();
        found.push((count(), count()));
        if parts.next()?.is_empty() {
            fields.next()?;
            fields.next()?;
        }
    }
    Some(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_with_tabs_renames_and_binary_files_are_parsed() {
        let kinds = parse_kinds(b"M\0a\tb\0R087\0old\0new\0A\0x.png\0").unwrap();
        assert_eq!(
            kinds,
            [
                (ChangeKind::Modified, None, &b"a\tb"[..]),
                (ChangeKind::Renamed, Some(&b"old"[..]), &b"new"[..]),
                (ChangeKind::Added, None, &b"x.png"[..]),
            ]
        );
        let counts = parse_counts(b"1\t2\ta\tb\x003\t4\t\0old\0new\0-\t-\tx.png\0").unwrap();
        assert_eq!(
            counts,
            [(Some(1), Some(2)), (Some(3), Some(4)), (None, None)]
        );
        assert_eq!(parse_kinds(b"X\0a\0"), None);
        assert_eq!(parse_kinds(b""), Some(vec![]));
    }
}
