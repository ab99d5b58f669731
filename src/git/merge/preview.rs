//! Shows what a merge would change, for a person who reviews it.
//!
//! Invariant: only reads; the merged tree is written as objects, and no reference moves. Attributes
//! of the repository, which agents can write to `info/attributes`, hide no text.

use std::collections::BTreeSet;

use similar::{ChangeTag, TextDiff};

use crate::git::error::GitError;
use crate::git::merge::build::Settled;
use crate::git::objects::names::{path_of, printable, shown};
use crate::git::repo::Repo;
use crate::git::store::oid::Oid;

/// How much of a file git looks at for a NUL byte, to tell whether it is binary.
const LOOKED_AT: usize = 8000;

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
        let (files, patch) = self.files_and_patch(base, result)?;
        Ok(MergePreview {
            target,
            base,
            result,
            conflicts,
            files,
            patch,
        })
    }

    /// What `tip` changes since `base`, or since its first parent.
    pub fn preview_commits(&self, base: Option<Oid>, tip: Oid) -> Result<MergePreview, GitError> {
        let base = match base {
            Some(base) => base,
            None => self.first_parent(tip)?,
        };
        let (files, patch) = self.files_and_patch(base, tip)?;
        Ok(MergePreview {
            target: base,
            base,
            result: tip,
            conflicts: Vec::new(),
            files,
            patch,
        })
    }

    fn first_parent(&self, commit: Oid) -> Result<Oid, GitError> {
        let parent = self.commit(commit)?.parents.first().copied();
        parent.ok_or_else(|| GitError::Object {
            doing: format!("compare {commit:.10} with the commit before"),
            why: "it is the first one".into(),
        })
    }

    /// The changed files and the patch.
    fn files_and_patch(&self, from: Oid, to: Oid) -> Result<(Vec<FileChange>, Vec<u8>), GitError> {
        let raw = self.diff_trees(from, to, &["--raw", "--no-abbrev", "-z"])?;
        let unreadable = || GitError::Unreadable {
            command: "git diff-tree -z",
            found: printable(&raw[..raw.len().min(80)]),
        };
        let files = parse_raw(&raw).ok_or_else(unreadable)?;
        let counts = self.diff_trees(from, to, &["--numstat", "-z"])?;
        let counts = parse_counts(&counts).filter(|counts| counts.len() == files.len());
        let mut counts = counts.ok_or_else(unreadable)?;
        let (mut binary, mut is_hidden) = (BTreeSet::new(), false);
        for (file, counts) in files
            .iter()
            .zip(&mut counts)
            .filter(|(_, it)| it.0.is_none())
        {
            let [old, new] = [self.blob(file.blobs[0])?, self.blob(file.blobs[1])?];
            if is_binary(&old) || is_binary(&new) {
                binary.insert(file.blobs);
            } else {
                *counts = count_lines(&old, &new);
                is_hidden = true;
            }
        }
        let patch = if is_hidden {
            let patch = self.diff_trees(from, to, &["--patch", "--text", "--full-index"])?;
            fold(&patch, &binary)
        } else {
            self.diff_trees(from, to, &["--patch"])?
        };
        let both = files.into_iter().zip(counts);
        let changes = both.map(|(file, (insertions, deletions))| FileChange {
            path: shown(&path_of(file.path)),
            from: file.from.map(|from| shown(&path_of(from))),
            kind: file.kind,
            insertions,
            deletions,
        });
        Ok((changes.collect(), patch))
    }

    /// Content of a blob; empty if there is none.
    fn blob(&self, id: &str) -> Result<Vec<u8>, GitError> {
        let parsed = Oid::from_str(id).map_err(|error| GitError::no_object(&error))?;
        Ok(self.content(parsed)?.unwrap_or_default())
    }

    /// Plumbing: a person's settings for `git diff` do not change it.
    pub(in crate::git) fn diff_trees(
        &self,
        from: Oid,
        to: Oid,
        format: &[&str],
    ) -> Result<Vec<u8>, GitError> {
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

/// A changed file as git names it.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::git) struct RawChange<'a> {
    pub(in crate::git) kind: ChangeKind,
    from: Option<&'a [u8]>,
    pub(in crate::git) path: &'a [u8],
    /// Ids before and after; zeros for none.
    pub(in crate::git) blobs: [&'a str; 2],
}

/// Whether git without attributes takes this for binary.
fn is_binary(content: &[u8]) -> bool {
    content.iter().take(LOOKED_AT).any(|byte| *byte == 0)
}

/// Lines added and removed. `--numstat` knows no `--text`.
fn count_lines(old: &[u8], new: &[u8]) -> Counts {
    let [old, new] = [old, new].map(String::from_utf8_lossy);
    let lines = TextDiff::from_lines(old.as_ref(), new.as_ref());
    let count = |tag| {
        lines
            .iter_all_changes()
            .filter(|it| it.tag() == tag)
            .count() as u64
    };
    (
        Some(count(ChangeTag::Insert)),
        Some(count(ChangeTag::Delete)),
    )
}

/// Parses `--raw --no-abbrev -z`: `:<mode> <mode> <before> <after> <status>`, then one path, or two
/// after a rename.
pub(in crate::git) fn parse_raw(output: &[u8]) -> Option<Vec<RawChange<'_>>> {
    let mut fields = output.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let mut words = std::str::from_utf8(head).ok()?.split(' ').skip(2);
        let blobs = [words.next()?, words.next()?];
        let status = *words.next()?.as_bytes().first()?;
        let kind = match status {
            b'A' | b'C' => ChangeKind::Added,
            b'D' => ChangeKind::Deleted,
            b'M' => ChangeKind::Modified,
            b'R' => ChangeKind::Renamed,
            b'T' => ChangeKind::TypeChanged,
            _ => return None,
        };
        let first = fields.next()?;
        let (from, path) = match status {
            b'R' | b'C' => (Some(first), fields.next()?),
            _ => (None, first),
        };
        found.push(RawChange {
            kind,
            from,
            path,
            blobs,
        });
    }
    Some(found)
}

/// The patch without the lines of these files, as git writes it for binary ones. Each line of a
/// hunk begins with one of ` +-\\`, so no content looks like a head.
fn fold(patch: &[u8], binary: &BTreeSet<[&str; 2]>) -> Vec<u8> {
    let mut folded = Vec::new();
    let mut is_folded = false;
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        is_folded &= !line.starts_with(b"diff --git ");
        if is_folded {
            continue;
        }
        folded.extend_from_slice(line);
        if ids_of(line).is_some_and(|ids| binary.contains(&ids)) {
            folded.extend_from_slice(b"Binary files differ\n");
            is_folded = true;
        }
    }
    folded
}

/// The ids of a line `index <before>..<after> <mode>`.
fn ids_of(line: &[u8]) -> Option<[&str; 2]> {
    let ids = std::str::from_utf8(line.strip_prefix(b"index ")?).ok()?;
    let (before, after) = ids.split_ascii_whitespace().next()?.split_once("..")?;
    Some([before, after])
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
        let raw = b":1 2 a b M\0a\tb\0:1 2 c d R087\0old\0new\0:0 1 0 e A\0x.png\0";
        let change = |kind, from, path, blobs| RawChange {
            kind,
            from,
            path,
            blobs,
        };
        assert_eq!(
            parse_raw(raw).unwrap(),
            [
                change(ChangeKind::Modified, None, &b"a\tb"[..], ["a", "b"]),
                change(ChangeKind::Renamed, Some(&b"old"[..]), b"new", ["c", "d"]),
                change(ChangeKind::Added, None, b"x.png", ["0", "e"]),
            ]
        );
        let counts = parse_counts(b"1\t2\ta\tb\x003\t4\t\0old\0new\0-\t-\tx.png\0").unwrap();
        assert_eq!(
            counts,
            [(Some(1), Some(2)), (Some(3), Some(4)), (None, None)]
        );
        assert_eq!(parse_raw(b":1 2 a b X\0a\0"), None);
        assert_eq!(parse_raw(b""), Some(vec![]));
    }
}
