//! Commits what an agent left uncommitted when it reported that it is done.
//!
//! Invariant: only the claimed branch moves, only forward, by compare-and-swap. The commit has the
//! date of the request, so repeating the call after a kill gives the same commit. The work tree is
//! not changed. What cannot be committed without guessing (open conflicts, work on another branch)
//! is an outcome, not an error.

use std::fs;
use std::path::{Path, PathBuf};

use git2::Oid;

use super::registry::Worktree;
use super::reset::{HeadTo, index_is_plain};
use super::snapshot::{add_all, read_oid};
use super::status::{Entry, Kind, recognise_corrupt_index};
use crate::crash;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::local::outward_links;
use crate::git::merge::markers::has_markers;
use crate::git::objects::names::{branch_ref, shown};
use crate::git::repo::{Head, Identity, NewCommit, Repo, write_commit};

/// Arguments of [`Repo::seal`].
#[derive(Debug, Clone)]
pub struct Seal {
    /// Name of the worktree.
    pub name: String,
    /// Branch recorded when the agent claimed the idea.
    pub branch: String,
    /// Commit where the branch started; its objects are known to be on disk.
    pub base: Oid,
    /// Commit message, if a commit is made.
    pub message: String,
    /// Author and committer of that commit.
    pub identity: Identity,
    /// Date of that commit, fixed when sealing was requested.
    pub time: Timestamp,
}

/// Result of [`Repo::seal`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sealed {
    /// All work is on the branch and on disk.
    Done {
        /// Tip of the branch.
        head: Oid,
        /// Whether uncommitted work was committed.
        committed: bool,
        /// Whether commits from a detached `HEAD` were moved to the branch.
        brought_back: bool,
        /// Untracked repositories inside the worktree; they were not touched.
        nested: Vec<String>,
        /// Links that lead out of the worktree; they were left out of the commit.
        links: Vec<String>,
    },
    /// `HEAD` is on a commit that the branch does not contain.
    Strayed {
        /// Commit that is checked out.
        head: Oid,
        /// Branch that is checked out; `None` if `HEAD` is detached.
        branch: Option<String>,
    },
    /// A merge, rebase or similar operation was not finished.
    Unfinished {
        /// `merge`, `rebase`, `cherry-pick`, `revert` or `conflict`.
        what: String,
        /// Files with open conflicts, if any.
        files: Vec<String>,
    },
}

impl Repo {
    /// Commits the content of the worktree to its branch.
    pub fn seal(&self, want: &Seal) -> Result<Sealed, GitError> {
        let reference = branch_ref(&want.branch)?;
        let worktree = self.worktree(&want.name)?;
        worktree.free_locks(self)?;
        let missing = || GitError::BranchMissing {
            branch: want.branch.clone(),
        };
        let tip = self.read_ref(&reference)?.ok_or_else(missing)?;
        let entries = self.status(&worktree)?;
        if let Some(unfinished) = unfinished(&worktree, &entries) {
            return Ok(unfinished);
        }
        let before = tip;
        let tip = match self.bring_back(&worktree, &reference, tip, &entries)? {
            Ok(tip) => tip,
            Err(strayed) => return Ok(strayed),
        };
        let head = if let Some(commit) = self.commit_rest(&worktree, want, tip, &entries)? {
            self.make_durable(commit, &[want.base])?;
            crash::point("git.seal.before-ref");
            self.move_ref(
                &reference,
                tip,
                commit,
                "commit: left uncommitted by the agent",
            )?;
            crash::point("git.seal.after-ref");
            commit
        } else {
            self.make_durable(tip, &[want.base])?;
            tip
        };
        self.end_merge(&worktree)?;
        Ok(Sealed::Done {
            head,
            committed: head != tip || self.is_ours(head, want)?,
            brought_back: tip != before,
            nested: nested(&entries).map(|entry| shown(&entry.path)).collect(),
            links: outward_links::untracked(&worktree.path, &entries)
                .map(|path| shown(path))
                .collect(),
        })
    }

    /// Switches the worktree to its branch if that loses nothing; returns the branch's commit.
    fn bring_back(
        &self,
        worktree: &Worktree,
        reference: &str,
        tip: Oid,
        entries: &[Entry],
    ) -> Result<Result<Oid, Sealed>, GitError> {
        let head = worktree.head()?;
        let on = format!(
            "refs/heads/{}",
            if let Head::Branch(branch) = &head {
                branch
            } else {
                ""
            }
        );
        if on == reference {
            return Ok(Ok(tip));
        }
        let commit = self.head_commit(worktree)?;
        let to_branch = HeadTo::Branch(reference.to_owned());
        let detached = matches!(head, Head::Detached(_));
        if detached && commit != tip && self.contains(commit, tip)? {
            self.make_durable(commit, &[tip])?;
            self.move_ref(reference, tip, commit, "brought back from a detached HEAD")?;
            crash::point("git.seal.brought-back");
            worktree.set_head(&to_branch)?;
            return Ok(Ok(commit));
        }
        if commit == tip {
            worktree.set_head(&to_branch)?;
            return Ok(Ok(tip));
        }
        let untouched = entries.iter().all(|entry| entry.kind == Kind::Nested);
        if untouched && self.contains(tip, commit)? {
            self.switch(worktree, commit, tip)?;
            worktree.set_head(&to_branch)?;
            return Ok(Ok(tip));
        }
        let branch = if let Head::Branch(branch) = head {
            Some(branch)
        } else {
            None
        };
        Ok(Err(Sealed::Strayed {
            head: commit,
            branch,
        }))
    }

    /// Moves files and index from one commit to another; fails if that would overwrite uncommitted
    /// work.
    fn switch(&self, worktree: &Worktree, from: Oid, to: Oid) -> Result<(), GitError> {
        let git = worktree.git(self).long().args(["read-tree", "-m", "-u"]);
        git.args([from.to_string(), to.to_string()])
            .ok()
            .map(|_| ())
    }

    /// Commits everything uncommitted; `None` if there is nothing to commit.
    fn commit_rest(
        &self,
        worktree: &Worktree,
        want: &Seal,
        tip: Oid,
        entries: &[Entry],
    ) -> Result<Option<Oid>, GitError> {
        let nested: Vec<&Entry> = nested(entries).collect();
        let nothing_new = entries.len() == nested.len() && merge_heads(worktree).is_empty();
        if nothing_new && index_is_plain(worktree) {
            return Ok(None);
        }
        let copies = self.exposed_copies(worktree)?;
        let submodules = worktree.checked_out_submodules();
        warn_of_moved(worktree, entries, &submodules);
        let nested = nested.iter().map(|entry| &entry.path);
        let links = outward_links::untracked(&worktree.path, entries);
        let except = nested.chain(&copies).chain(&submodules).chain(links);
        add_all(worktree.git(self).long(), except)
            .ok()
            .map_err(|error| recognise_corrupt_index(worktree, error))?;
        crash::point("git.seal.after-add");
        let tree = read_oid(&worktree.git(self).arg("write-tree").ok()?)?;
        let mut parents = vec![tip];
        for head in merge_heads(worktree) {
            // After a kill between moving the branch and ending the merge, the branch already
            // contains it.
            if !self.contains(tip, head)? {
                parents.push(head);
            }
        }
        if parents.len() == 1 && tree == self.tree_of(tip)? {
            return Ok(None);
        }
        let signature = want.identity.signature(want.time)?;
        let new = NewCommit {
            tree,
            parents: &parents,
            message: &want.message,
            author: &signature,
            committer: &signature,
        };
        write_commit(&self.library()?, &new).map(Some)
    }

    /// Whether an earlier, killed call made this commit.
    fn is_ours(&self, commit: Oid, want: &Seal) -> Result<bool, GitError> {
        let library = self.library()?;
        let commit = library
            .find_commit(commit)
            .map_err(|_| GitError::CommitMissing { oid: commit })?;
        let same_time = commit.time().seconds() == want.time.millis().div_euclid(1_000);
        Ok(same_time && commit.message_bytes() == want.message.as_bytes())
    }

    /// Removes git's merge state once the merge is committed.
    pub(crate) fn end_merge(&self, worktree: &Worktree) -> Result<(), GitError> {
        self.library_at(&worktree.git_dir)?
            .cleanup_state()
            .map_err(GitError::library(format!(
                "end the merge in {}",
                worktree.name
            )))
    }
}

/// Untracked repositories inside the worktree.
fn nested(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(|entry| entry.kind == Kind::Nested)
}

/// A submodule that the agent did not commit may only be older than what the branch records.
fn warn_of_moved(worktree: &Worktree, entries: &[Entry], submodules: &[PathBuf]) {
    let moved = entries
        .iter()
        .filter(|entry| submodules.contains(&entry.path));
    for entry in moved {
        tracing::warn!(
            worktree = worktree.name,
            submodule = shown(&entry.path),
            "the checkout of this submodule is not at the commit that the branch records; it is \
            left out of the commit"
        );
    }
}

/// Commits being merged into the worktree, from `MERGE_HEAD`.
pub(crate) fn merge_heads(worktree: &Worktree) -> Vec<Oid> {
    let text = fs::read_to_string(worktree.git_dir.join("MERGE_HEAD")).unwrap_or_default();
    text.lines()
        .filter_map(|line| Oid::from_str(line).ok())
        .collect()
}

/// Name of the operation in progress in a git directory, for people.
pub(crate) fn under_way(git_dir: &Path) -> Option<&'static str> {
    let signs = [
        ("rebase-merge", "rebase"),
        ("rebase-apply", "rebase"),
        ("MERGE_HEAD", "merge"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
    ];
    signs
        .iter()
        .find(|(name, _)| git_dir.join(name).exists())
        .map(|(_, what)| *what)
}

/// Detects open conflicts. A merge without conflicts may be committed; a rebase in progress may
/// not.
fn unfinished(worktree: &Worktree, entries: &[Entry]) -> Option<Sealed> {
    let what = under_way(&worktree.git_dir);
    let unmerged = entries
        .iter()
        .filter(|entry| matches!(entry.kind, Kind::Unmerged { .. }));
    let mut files: Vec<String> = unmerged.map(|entry| shown(&entry.path)).collect();
    if what.is_some() && files.is_empty() {
        let marked = entries
            .iter()
            .filter(|entry| has_markers(&worktree.path.join(&entry.path)));
        files = marked.map(|entry| shown(&entry.path)).collect();
    }
    if files.is_empty() && what != Some("rebase") {
        return None;
    }
    let what = what.unwrap_or("conflict").to_owned();
    Some(Sealed::Unfinished { what, files })
}
