//! Commits what an agent left uncommitted when it reported that it is done.
//!
//! Invariant: only the claimed branch moves, only forward, by compare-and-swap. The commit has the
//! date of the request, so repeating the call after a kill gives the same commit. The work tree is
//! not changed. What cannot be committed without guessing (open conflicts, work on another branch)
//! is an outcome, not an error.

use std::fs;
use std::path::PathBuf;

use super::registry::Worktree;
use super::reset::HeadTo;
use super::snapshot::add_all;
use super::status::{Entry, Kind, recognise_corrupt_index};
use crate::crash;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::local::outward_links;
use crate::git::merge::markers::has_markers;
use crate::git::objects::names::{branch_ref, shown};
use crate::git::operations::Operation;
use crate::git::person::Identity;
use crate::git::repo::{Head, Repo};
use crate::git::store::format::NewCommit;
use crate::git::store::objects::read_oid;
use crate::git::store::oid::Oid;

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
    /// Whether commit hooks have to pass before a commit is made.
    pub hooks: bool,
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
    /// Something is uncommitted, and the commit hooks have to pass first.
    HooksDue,
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

/// What is uncommitted in a worktree, with the commits that it follows.
struct Rest {
    tree: Oid,
    parents: Vec<Oid>,
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
        let rest = self.rest(&worktree, tip, &entries)?;
        if rest.is_some() && want.hooks {
            return Ok(Sealed::HooksDue);
        }
        let head = if let Some(rest) = rest {
            let commit = self.commit_rest(want, &rest)?;
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
        worktree.forget_operations()?;
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
        let head = worktree.head(self)?;
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
            worktree.set_head(self, &to_branch)?;
            return Ok(Ok(commit));
        }
        if commit == tip {
            worktree.set_head(self, &to_branch)?;
            return Ok(Ok(tip));
        }
        let untouched = entries.iter().all(|entry| entry.kind == Kind::Nested);
        if untouched && self.contains(tip, commit)? {
            self.switch(worktree, commit, tip)?;
            worktree.set_head(self, &to_branch)?;
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

    /// Adds everything uncommitted to the index; `None` if there is nothing to commit.
    fn rest(
        &self,
        worktree: &Worktree,
        tip: Oid,
        entries: &[Entry],
    ) -> Result<Option<Rest>, GitError> {
        let nested: Vec<&Entry> = nested(entries).collect();
        let nothing_new = entries.len() == nested.len() && merge_heads(worktree).is_empty();
        if nothing_new && self.index_is_plain(worktree)? {
            return Ok(None);
        }
        let copies = self.exposed_copies(worktree)?;
        let submodules = self.checked_out_submodules(worktree)?;
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
        Ok(Some(Rest { tree, parents }))
    }

    fn commit_rest(&self, want: &Seal, rest: &Rest) -> Result<Oid, GitError> {
        let signature = want.identity.at(want.time);
        self.write_branch_commit(&NewCommit {
            tree: rest.tree,
            parents: &rest.parents,
            message: &want.message,
            author: &signature,
            committer: &signature,
        })
    }

    /// Whether an earlier, killed call made this commit.
    fn is_ours(&self, commit: Oid, want: &Seal) -> Result<bool, GitError> {
        let commit = self.commit(commit)?;
        let same_time = commit.seconds() == want.time.millis().div_euclid(1_000);
        // git ends the message of a signed commit with a line feed.
        let message = commit.message.trim_ascii_end();
        Ok(same_time && message == want.message.as_bytes().trim_ascii_end())
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

/// Detects open conflicts. A merge without conflicts may be committed; a rebase in progress may
/// not.
fn unfinished(worktree: &Worktree, entries: &[Entry]) -> Option<Sealed> {
    let operation = Operation::of_commits(&worktree.git_dir);
    let unmerged = entries
        .iter()
        .filter(|entry| matches!(entry.kind, Kind::Unmerged { .. }));
    let mut files: Vec<String> = unmerged.map(|entry| shown(&entry.path)).collect();
    if operation.is_some() && files.is_empty() {
        let marked = entries
            .iter()
            .filter(|entry| has_markers(&worktree.path.join(&entry.path)));
        files = marked.map(|entry| shown(&entry.path)).collect();
    }
    if files.is_empty() && !operation.is_some_and(Operation::is_rebase) {
        return None;
    }
    let what = operation.map_or("conflict", |operation| operation.name);
    let what = what.to_owned();
    Some(Sealed::Unfinished { what, files })
}
