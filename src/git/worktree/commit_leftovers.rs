//! An agent says that it is done: what it left uncommitted becomes a commit on its branch.
//!
//! Invariant: only the claimed branch counts, and it only moves forward, by compare-and-swap, to a
//! commit whose date is the intention's; so a redo after a kill gives the same commit. Nothing in
//! the work tree is changed or lost. What cannot be sealed without guessing (conflicts left open,
//! work on another branch) is an outcome of its own, not an error.

use std::fs;
use std::path::Path;

use git2::Oid;

use super::registry::Worktree;
use super::reset::{HeadTo, index_is_plain};
use super::snapshot::{add_all, read_oid};
use super::status::{Entry, Kind, index_trouble};
use crate::crash;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::merge::markers::has_markers;
use crate::git::objects::names::{branch_ref, shown};
use crate::git::repo::{Head, Identity, NewCommit, Repo, write_commit};

/// What is to be sealed.
#[derive(Debug, Clone)]
pub struct Seal {
    /// The worktree.
    pub name: String,
    /// The branch that the claim recorded.
    pub branch: String,
    /// The commit that the branch started from; its objects count as durable.
    pub base: Oid,
    /// Message of the commit, if one is made.
    pub message: String,
    /// Author and committer.
    pub identity: Identity,
    /// Of the intention.
    pub time: Timestamp,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sealed {
    /// The branch has all of it, on disk.
    Done {
        /// Its commit.
        head: Oid,
        /// Whether a commit was made for what was uncommitted.
        committed: bool,
        /// Whether commits made on a detached `HEAD` were brought to the branch.
        brought_back: bool,
        /// Repositories inside the worktree that nothing tracks; they were left alone.
        nested: Vec<String>,
    },
    /// The worktree is on something else that the branch does not lead to.
    Strayed {
        /// The commit that it is on.
        head: Oid,
        /// The other branch; none if `HEAD` is detached.
        branch: Option<String>,
    },
    /// A merge, rebase or the like was left open.
    Unfinished {
        /// What: `merge`, `rebase`, `cherry-pick`, `revert` or `conflict`.
        what: String,
        /// The files with open conflicts, if any.
        files: Vec<String>,
    },
}

impl Repo {
    /// Commits what the worktree holds to its branch.
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
        })
    }

    /// Puts the worktree on its branch where that loses nothing; answers with the branch's commit.
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

    /// Files and index from one commit to another, refusing where something uncommitted would be
    /// lost.
    fn switch(&self, worktree: &Worktree, from: Oid, to: Oid) -> Result<(), GitError> {
        let git = worktree.git(self).long().args(["read-tree", "-m", "-u"]);
        git.args([from.to_string(), to.to_string()])
            .ok()
            .map(|_| ())
    }

    /// The commit with everything uncommitted; none if there is nothing to commit.
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
        let nested: Vec<_> = nested.iter().map(|entry| entry.path.clone()).collect();
        add_all(worktree.git(self).long(), &nested)
            .ok()
            .map_err(|error| index_trouble(worktree, error))?;
        crash::point("git.seal.after-add");
        let tree = read_oid(&worktree.git(self).arg("write-tree").ok()?)?;
        let mut parents = vec![tip];
        for head in merge_heads(worktree) {
            // After a kill between the branch and the end of the merge, the branch has it already.
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

    /// Whether the commit is the one that an earlier, killed call made.
    fn is_ours(&self, commit: Oid, want: &Seal) -> Result<bool, GitError> {
        let library = self.library()?;
        let commit = library
            .find_commit(commit)
            .map_err(|_| GitError::CommitMissing { oid: commit })?;
        let same_time = commit.time().seconds() == want.time.millis().div_euclid(1_000);
        Ok(same_time && commit.message_bytes() == want.message.as_bytes())
    }

    /// After the commit of a merge: git's notes on it go.
    pub(crate) fn end_merge(&self, worktree: &Worktree) -> Result<(), GitError> {
        self.library_at(&worktree.git_dir)?
            .cleanup_state()
            .map_err(GitError::library(format!(
                "end the merge in {}",
                worktree.name
            )))
    }
}

/// Repositories inside the worktree that nothing tracks.
fn nested(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(|entry| entry.kind == Kind::Nested)
}

/// The commits being merged into the worktree, if any.
pub(crate) fn merge_heads(worktree: &Worktree) -> Vec<Oid> {
    let text = fs::read_to_string(worktree.git_dir.join("MERGE_HEAD")).unwrap_or_default();
    text.lines()
        .filter_map(|line| Oid::from_str(line).ok())
        .collect()
}

/// What is under way in a git directory: a word for people.
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

/// A conflict left open. A merge without one may be committed; a rebase that is not at its end may
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
