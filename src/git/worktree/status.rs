//! Inspects a worktree: its uncommitted files, and how far its branch has come.
//!
//! Invariant: nothing is changed, not even the index (`GIT_OPTIONAL_LOCKS=0`), so it may run beside
//! a working agent.

use std::path::PathBuf;

use super::registry::Worktree;
use crate::git::error::GitError;
use crate::git::exec::child::Output;
use crate::git::exec::command::Git;
use crate::git::objects::names::{path_of, printable, shown};
use crate::git::repo::{Head, Repo};
use crate::git::store::oid::Oid;

/// Result of [`Repo::inspect`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeState {
    /// Commit checked out.
    pub head: Oid,
    /// Whether there is uncommitted work; untracked files count, ignored ones do not.
    pub dirty: bool,
    /// Files that differ from the start of the branch's own work, committed or not; escaped for
    /// people and sorted.
    pub files_modified: Vec<String>,
    /// Number of commits in `head` that are in neither the base nor the target.
    pub commits_ahead: usize,
    /// Newest of them, with its subject.
    pub last_commit: Option<(Oid, String)>,
}

/// An uncommitted path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Changed in the index or in the work tree.
    Changed,
    /// Unchanged in the index, but the file is missing.
    Missing,
    /// An open conflict. `both_text`: both sides changed or added one text file.
    Unmerged {
        both_text: bool,
    },
    Untracked,
    /// An untracked git repository inside the work tree.
    Nested,
}

impl Repo {
    /// Inspects the worktree; `base` is the commit where its branch started. Commits that it has
    /// got from the target do not count as its own.
    pub fn inspect(
        &self,
        name: &str,
        base: Oid,
        target: Option<Oid>,
    ) -> Result<WorktreeState, GitError> {
        let worktree = self.worktree(name)?;
        let head = self.head_commit(&worktree)?;
        let base = self.own_work_base(head, base, target)?;
        let entries = self.status(&worktree)?;
        let mut files: Vec<String> = entries.iter().map(|entry| shown(&entry.path)).collect();
        files.extend(
            self.changed_paths(base, head)?
                .iter()
                .map(|path| shown(path)),
        );
        files.sort();
        files.dedup();
        let ahead = self.count_beyond(base, head)?;
        let last = self.find_commit(head)?.filter(|_| ahead > 0);
        Ok(WorktreeState {
            head,
            dirty: !entries.is_empty(),
            files_modified: files,
            commits_ahead: ahead,
            last_commit: last.map(|commit| (head, commit.subject())),
        })
    }

    /// Commit where the branch's own work starts: its last common commit with the target, unless
    /// the target was moved back behind the base.
    fn own_work_base(&self, head: Oid, base: Oid, target: Option<Oid>) -> Result<Oid, GitError> {
        let base = self.merge_base(head, base)?.unwrap_or(base);
        let left = match target {
            Some(target) => self.merge_base(head, target)?,
            None => None,
        };
        match left {
            Some(left) if self.contains(left, base)? => Ok(left),
            _ => Ok(base),
        }
    }

    /// Commit that a worktree has checked out.
    pub(crate) fn head_commit(&self, worktree: &Worktree) -> Result<Oid, GitError> {
        match worktree.head(self)? {
            Head::Detached(oid) => Ok(oid),
            Head::Branch(branch) => self
                .read_ref(&format!("refs/heads/{branch}"))?
                .ok_or(GitError::BranchMissing { branch }),
        }
    }

    /// All uncommitted paths; untracked files are listed one by one.
    pub(crate) fn status(&self, worktree: &Worktree) -> Result<Vec<Entry>, GitError> {
        let git = worktree.git(self).env("GIT_OPTIONAL_LOCKS", "0");
        status_by(worktree, git)
    }

    /// Paths that differ between two commits, without rename detection.
    pub(crate) fn changed_paths(&self, old: Oid, new: Oid) -> Result<Vec<PathBuf>, GitError> {
        let output = self
            .git()
            .args([
                "diff-tree",
                "-r",
                "-z",
                "--name-only",
                "--no-renames",
                "--no-ext-diff",
                "--no-textconv",
            ])
            .args([old.to_string(), new.to_string()])
            .ok()?;
        Ok(output.pieces().map(path_of).collect())
    }
}

/// Runs `git status` with a prepared command. Copies of a person's local files are no work, even
/// where the branch does not ignore them.
pub(crate) fn status_by(worktree: &Worktree, git: Git<'_>) -> Result<Vec<Entry>, GitError> {
    let copies = worktree.copies()?;
    let is_work = |entry: &Entry| entry.kind != Kind::Untracked || !copies.contains(&entry.path);
    let output = run_status(worktree, git)?;
    records(&output)
        .map(parse)
        .filter(|entry| entry.as_ref().map_or(true, is_work))
        .collect()
}

fn run_status(worktree: &Worktree, git: Git<'_>) -> Result<Output, GitError> {
    git.long()
        .args([
            "status",
            "--porcelain=v2",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=dirty",
        ])
        .ok()
        .map_err(|error| recognise_corrupt_index(worktree, error))
}

/// One for each uncommitted path.
fn records(output: &Output) -> impl Iterator<Item = &[u8]> {
    output.pieces().filter(|piece| !piece.starts_with(b"# "))
}

/// Recognises a damaged index in git's error text, and tells how to fix it.
pub(crate) fn recognise_corrupt_index(worktree: &Worktree, error: GitError) -> GitError {
    let signs = [
        "index file corrupt",
        "index file smaller",
        "index file open failed",
        "unable to map index file",
        "bad signature",
        "bad index",
        "index uses",
        "cache entry",
    ];
    if let GitError::Failed { stderr, .. } = &error
        && signs.iter().any(|sign| stderr.contains(sign))
    {
        return GitError::IndexCorrupt {
            worktree: worktree.path.clone(),
            git_dir: worktree.git_dir.clone(),
            why: stderr.clone(),
        };
    }
    error
}

/// Parses a record of `status --porcelain=v2 -z`: a letter, a fixed number of fields, the path.
fn parse(record: &[u8]) -> Result<Entry, GitError> {
    let fields = match record.first() {
        Some(b'1') => 8,
        Some(b'u') => 10,
        Some(b'?') => 1,
        _ => return Err(unreadable(record)),
    };
    let path = record
        .splitn(fields + 1, |byte| *byte == b' ')
        .nth(fields)
        .ok_or_else(|| unreadable(record))?;
    let kind = match record[0] {
        b'1' if record.starts_with(b"1 .D") => Kind::Missing,
        b'1' => Kind::Changed,
        b'u' => Kind::Unmerged {
            both_text: both_text(record),
        },
        _ if path.ends_with(b"/") => Kind::Nested,
        _ => Kind::Untracked,
    };
    let path = path_of(path.strip_suffix(b"/").unwrap_or(path));
    Ok(Entry { kind, path })
}

/// Whether both sides changed (`UU`) or added (`AA`) one regular file.
fn both_text(record: &[u8]) -> bool {
    let mut fields = record.split(|byte| *byte == b' ').skip(1);
    let both = matches!(fields.next(), Some(b"UU" | b"AA"));
    let modes: Vec<&[u8]> = fields.skip(1).take(3).collect();
    both && modes
        .iter()
        .all(|mode| mode.starts_with(b"100") || *mode == b"000000")
}

fn unreadable(record: &[u8]) -> GitError {
    GitError::Unreadable {
        command: "git status --porcelain=v2 -z",
        found: printable(&record[..record.len().min(80)]),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn records_with_odd_names_are_parsed() {
        let changed = parse(b"1 .M N... 100644 100644 100644 aaa bbb  two  words\n-x").unwrap();
        assert_eq!(
            changed,
            Entry {
                kind: Kind::Changed,
                path: " two  words\n-x".into()
            }
        );
        assert_eq!(
            parse(b"? a b/").unwrap(),
            Entry {
                kind: Kind::Nested,
                path: "a b".into()
            }
        );
        assert_eq!(parse(b"? \xff").unwrap().path, path_of(b"\xff"));
        assert!(parse(b"x").is_err() && parse(b"1 .M").is_err());
    }

    #[test]
    fn a_text_conflict_is_distinguished_from_others() {
        let kind = |record: &[u8]| parse(record).unwrap().kind;
        let text = b"u UU N... 100644 100755 100644 100644 a b c file";
        assert_eq!(kind(text), Kind::Unmerged { both_text: true });
        for other in [
            &b"u UD N... 100644 100644 000000 100644 a b c f"[..],
            b"u UU N... 120000 120000 120000 120000 a b c f",
        ] {
            assert_eq!(kind(other), Kind::Unmerged { both_text: false });
        }
    }
}
