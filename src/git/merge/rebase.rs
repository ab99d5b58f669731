//! Compares the target with where it was last seen and, if its history was rewritten, replays a
//! branch on it.
//!
//! Invariant: replaying works in memory and moves nothing; the same inputs give the same commits,
//! unless they are signed.
//! Authors stay; the committer is the given identity at the given time. A branch that contains
//! merges is replayed as one commit, since a replay commit by commit would lose their conflict
//! resolutions.

use super::build::Settled;
use super::classify::{ConflictClass, ConflictFile};
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::person::Identity;
use crate::git::repo::Repo;
use crate::git::store::format::{Commit, NewCommit};
use crate::git::store::oid::Oid;
use crate::git::worktree::status::Kind;

/// How the target changed since it was last seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetState {
    /// It has not moved.
    Same,
    /// New commits were added.
    Advanced {
        /// Its current commit.
        to: Oid,
    },
    /// The last known commit is no longer part of it (pull --rebase, force-push, reset).
    Rewritten {
        /// Its current commit.
        to: Oid,
    },
    /// The branch was deleted.
    Missing,
}

/// Arguments of [`Repo::rebase_source`].
#[derive(Debug, Clone)]
pub struct Rebase {
    /// Tip of the branch.
    pub source: Oid,
    /// Old base: commits reachable from it are not the branch's own.
    pub old_base: Oid,
    /// New base.
    pub new_base: Oid,
    /// Committer.
    pub identity: Identity,
    /// Committer date, fixed when the replay was requested.
    pub time: Timestamp,
}

/// Result of [`Repo::rebase_source`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rebased {
    /// The replayed commits are on disk; no branch contains them yet.
    Replayed {
        /// Newest replayed commit.
        head: Oid,
        /// Number of replayed commits.
        commits: usize,
    },
    /// A commit conflicts with the new base.
    Conflict {
        /// Commit of the branch.
        commit: Oid,
        /// Who can resolve it.
        class: ConflictClass,
        /// Files in conflict.
        files: Vec<ConflictFile>,
    },
    /// The branch has no commits of its own.
    Nothing,
}

/// Reference that keeps a branch's commit from before its history was rewritten.
pub fn dropped_ref(branch: &str, tip: &str) -> String {
    format!("refs/swarm/rescue/dropped-{branch}-{tip:.10}")
}

impl Repo {
    /// Compares the branch with its last known commit.
    pub fn target_state(&self, branch: &str, last_known: Oid) -> Result<TargetState, GitError> {
        Ok(match self.branch_commit(branch)? {
            None => TargetState::Missing,
            Some(to) if to == last_known => TargetState::Same,
            Some(to) if self.contains(to, last_known)? => TargetState::Advanced { to },
            Some(to) => TargetState::Rewritten { to },
        })
    }

    /// Keeps the commits that a rewrite removed, under [`dropped_ref`]. Does nothing if the
    /// commit no longer exists.
    pub fn keep_dropped(&self, branch: &str, tip: Oid) -> Result<(), GitError> {
        if self.tree_of(tip).is_err() {
            return Ok(());
        }
        let reference = dropped_ref(branch, &tip.to_string());
        self.create_ref(&reference, tip, "swarm: dropped by a rewrite")
    }

    /// Replays the source's own commits onto the new base, in memory.
    pub fn rebase_source(&self, want: &Rebase) -> Result<Rebased, GitError> {
        let (own, as_one) = self.own_commits(want)?;
        let mut head = want.new_base;
        for (commit, parent) in &own {
            let found = self.commit(*commit)?;
            let tree = match self.transplant(*commit, *parent, head, want)? {
                Settled::Tree { tree, .. } => tree,
                Settled::Open { class, files } => {
                    return Ok(Rebased::Conflict {
                        commit: *commit,
                        class,
                        files,
                    });
                }
            };
            let new = NewCommit {
                tree,
                parents: &[head],
                message: &self.message_of(&found, want, as_one)?,
                author: &found.author,
                committer: &want.identity.at(want.time),
            };
            head = self.write_branch_commit(&new)?;
        }
        if own.is_empty() {
            return Ok(Rebased::Nothing);
        }
        self.make_durable(head, &[want.new_base])?;
        Ok(Rebased::Replayed {
            head,
            commits: own.len(),
        })
    }

    pub(crate) fn require_clean(
        &self,
        worktree: &crate::git::worktree::registry::Worktree,
    ) -> Result<(), GitError> {
        let entries = self.status(worktree)?;
        let dirty = entries.iter().filter(|entry| entry.kind != Kind::Nested);
        let files: Vec<String> = dirty
            .map(|entry| crate::git::objects::names::shown(&entry.path))
            .collect();
        if files.is_empty() {
            return Ok(());
        }
        Err(GitError::Dirty {
            name: worktree.name.clone(),
            files,
        })
    }

    /// Commits to replay, oldest first, each with the commit its change is measured against; and
    /// whether the branch is replayed as one commit.
    fn own_commits(&self, want: &Rebase) -> Result<(Vec<(Oid, Oid)>, bool), GitError> {
        let mut commits = self.beyond(&[want.source], &[want.old_base])?;
        commits.reverse();
        let mut own = Vec::new();
        for commit in commits {
            let [parent] = self.commit(commit)?.parents[..] else {
                let base = self.merge_base(want.old_base, want.source)?;
                let base = base.ok_or(GitError::CommitMissing { oid: want.old_base })?;
                return Ok((vec![(want.source, base)], true));
            };
            own.push((commit, parent));
        }
        Ok((own, false))
    }

    /// Applies the change from `parent` to `commit` on top of `onto`. `merge-tree --merge-base`
    /// needs git 2.40; two temporary commits with a parent that has the wanted base's tree work
    /// with every supported git.
    fn transplant(
        &self,
        commit: Oid,
        parent: Oid,
        onto: Oid,
        want: &Rebase,
    ) -> Result<Settled, GitError> {
        let signature = want.identity.at(want.time);
        let made = |tree: Oid, parents: &[Oid], message: &str| {
            let new = NewCommit {
                tree,
                parents,
                message,
                author: &signature,
                committer: &signature,
            };
            self.write_commit(&new)
        };
        let base = made(self.tree_of(parent)?, &[], "base")?;
        let ours = made(self.tree_of(onto)?, &[base], "ours")?;
        let theirs = made(self.tree_of(commit)?, &[base], "theirs")?;
        self.merge_trees(ours, theirs)
    }

    /// The commit's message; for a branch replayed as one commit, the subjects of all its commits.
    fn message_of(&self, commit: &Commit, want: &Rebase, as_one: bool) -> Result<String, GitError> {
        if !as_one {
            return Ok(commit.text());
        }
        let mut message = format!("{}\n\nReplayed as one commit:\n", commit.subject());
        for (_, subject) in self
            .commits_between(want.old_base, want.source)?
            .iter()
            .rev()
        {
            message.extend(["- ", subject, "\n"]);
        }
        Ok(message)
    }
}
