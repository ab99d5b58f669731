//! The files of a worktree as git objects, before and after an iteration, and the references that
//! keep them.
//!
//! Invariant: worktree, index and branch do not change. Ignored files and nested repositories are
//! not included. A reference has one commit for each iteration; a repeated call adds none.

use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::objects::names::check_ref;
use crate::git::person::Identity;
use crate::git::repo::Repo;
use crate::git::store::format::NewCommit;
use crate::git::store::oid::Oid;

/// The files of a worktree at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeAt {
    /// Commit that was checked out.
    pub commit: Oid,
    /// The files: a tree, or the commit itself if nothing was uncommitted.
    pub tree: Oid,
}

/// Arguments of [`Repo::keep_trees`].
#[derive(Debug, Clone)]
pub struct KeepTrees {
    /// Reference that keeps them, `refs/swarm/...`.
    pub reference: String,
    /// Message of the commit; it names the iteration.
    pub message: String,
    /// Author and committer.
    pub identity: Identity,
    /// Date, fixed so that a repeated call gives the same commit.
    pub time: Timestamp,
    /// The files before the iteration, if they are known.
    pub before: Option<TreeAt>,
    /// The files after it.
    pub after: TreeAt,
}

impl Repo {
    /// The files of a worktree: its commit if nothing is uncommitted, else a tree. No reference
    /// keeps the tree yet.
    pub fn worktree_tree(&self, name: &str) -> Result<TreeAt, GitError> {
        let worktree = self.worktree(name)?;
        let commit = self.last_head(&worktree)?;
        let tree = self.snapshot_tree(&worktree, commit)?;
        let is_clean = tree == self.tree_of(commit)?;
        let tree = if is_clean { commit } else { tree };
        Ok(TreeAt { commit, tree })
    }

    /// Keeps the files before and after an iteration.
    pub fn keep_trees(&self, want: &KeepTrees) -> Result<(), GitError> {
        check_ref(&want.reference)?;
        let last = self.read_ref(&want.reference)?;
        let tree = self.peel_to_tree(want.after.tree)?;
        if let Some(last) = last
            && self.tree_of(last)? == tree
            && self.words_of(last)? == want.message
        {
            // The call that moved it may have been killed before it let go of the lock.
            return self.free_ref(&want.reference);
        }
        let mut parents = vec![want.after.commit];
        parents.extend(last);
        if let Some(before) = want.before {
            parents.push(self.before_commit(want, before)?);
        }
        let mut seen = std::collections::BTreeSet::new();
        parents.retain(|parent| seen.insert(*parent));
        let commit = self.write_kept(want, tree, &parents)?;
        // What the reference keeps is on disk: a month of iterations is not synced with each.
        self.make_durable(commit, last.as_slice())?;
        self.keep_at(&want.reference, last, commit)
    }

    /// The commit that was checked out before the iteration or, with uncommitted files, one on top
    /// of it.
    fn before_commit(&self, want: &KeepTrees, before: TreeAt) -> Result<Oid, GitError> {
        let tree = self.peel_to_tree(before.tree)?;
        if tree == self.tree_of(before.commit)? {
            return Ok(before.commit);
        }
        self.write_kept(want, tree, &[before.commit])
    }

    fn write_kept(&self, want: &KeepTrees, tree: Oid, parents: &[Oid]) -> Result<Oid, GitError> {
        let signature = want.identity.at(want.time);
        let new = NewCommit {
            tree,
            parents,
            message: &want.message,
            author: &signature,
            committer: &signature,
        };
        self.write_commit(&new)
    }

    fn words_of(&self, commit: Oid) -> Result<String, GitError> {
        Ok(self.commit(commit)?.text())
    }
}
