//! The target as it was last seen and as it is now; and, if its history was rewritten, a branch's
//! own commits on the new one.
//!
//! Invariant: replaying is done in memory and moves nothing; the same inputs give the same commits.
//! Authors stay, the committer is the given identity at the given time. A branch with merges inside
//! is replayed as one commit: its merges hold settled conflicts that a commit-by-commit replay
//! would lose.

use git2::Oid;

use super::build::Settled;
use super::classify::{ConflictClass, ConflictFile};
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::repo::{Identity, NewCommit, Repo, subject_of, write_commit};
use crate::git::worktree::status::Kind;

/// What became of the target since it was last seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetState {
    /// Where it was.
    Same,
    /// Somebody committed to it.
    Advanced {
        /// Its commit now.
        to: Oid,
    },
    /// Its last known commit is no longer part of it (force-pushed, reset).
    Rewritten {
        /// Its commit now.
        to: Oid,
    },
    /// The branch is gone.
    Missing,
}

/// What is to be replayed.
#[derive(Debug, Clone)]
pub struct Rebase {
    /// The branch's commit.
    pub source: Oid,
    /// What it stood on: everything that this commit has is not the branch's own.
    pub old_base: Oid,
    /// What it is to stand on.
    pub new_base: Oid,
    /// Committer.
    pub identity: Identity,
    /// Of the intention.
    pub time: Timestamp,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rebased {
    /// The replayed commits, on disk; no branch has them yet.
    Replayed {
        /// The last of them.
        head: Oid,
        /// How many.
        commits: usize,
    },
    /// A commit conflicts with the new base.
    Conflict {
        /// The commit of the branch.
        commit: Oid,
        /// Who can settle it.
        class: ConflictClass,
        /// The files.
        files: Vec<ConflictFile>,
    },
    /// The branch has no commits of its own.
    Nothing,
}

/// Where the commit that a branch stood at before a force-push is kept.
pub fn dropped_ref(branch: &str, tip: &str) -> String {
    format!("refs/swarm/rescue/dropped-{branch}-{tip:.10}")
}

impl Repo {
    /// Compares the branch with where it was last seen.
    pub fn target_state(&self, branch: &str, last_known: Oid) -> Result<TargetState, GitError> {
        Ok(match self.branch_commit(branch)? {
            None => TargetState::Missing,
            Some(to) if to == last_known => TargetState::Same,
            Some(to) if self.contains(to, last_known)? => TargetState::Advanced { to },
            Some(to) => TargetState::Rewritten { to },
        })
    }

    /// Keeps what a branch has lost by a force-push, under [`dropped_ref`]. A commit that is gone
    /// already cannot be kept.
    pub fn keep_dropped(&self, branch: &str, tip: Oid) -> Result<(), GitError> {
        if self.tree_of(tip).is_err() {
            return Ok(());
        }
        let reference = dropped_ref(branch, &tip.to_string());
        self.create_ref(&reference, tip, "swarm: dropped by a force-push")
    }

    /// Replays the source's own commits onto the new base, in memory.
    pub fn rebase_source(&self, want: &Rebase) -> Result<Rebased, GitError> {
        let (own, as_one) = self.own_commits(want)?;
        let library = self.library()?;
        let mut head = want.new_base;
        for (commit, parent) in &own {
            let found = library
                .find_commit(*commit)
                .map_err(|_| GitError::CommitMissing { oid: *commit })?;
            let tree = match self.transplant(&library, *commit, *parent, head, want)? {
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
                author: &found.author().to_owned(),
                committer: &want.identity.signature(want.time)?,
            };
            head = write_commit(&library, &new)?;
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

    /// The commits to replay, oldest first, each with the commit that its change is measured
    /// against; and whether it is the whole branch as one.
    fn own_commits(&self, want: &Rebase) -> Result<(Vec<(Oid, Oid)>, bool), GitError> {
        let library = self.library()?;
        let read = || -> Result<(Vec<(Oid, Oid)>, bool), git2::Error> {
            let mut walk = library.revwalk()?;
            walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE)?;
            walk.push(want.source)?;
            walk.hide(want.old_base)?;
            let commits: Vec<Oid> = walk.collect::<Result<_, _>>()?;
            let parents = |oid: Oid| {
                library
                    .find_commit(oid)
                    .map(|commit| commit.parent_ids().collect::<Vec<_>>())
            };
            let mut own = Vec::new();
            for commit in commits {
                let [parent] = parents(commit)?[..] else {
                    let base = library.merge_base(want.old_base, want.source)?;
                    return Ok((vec![(want.source, base)], true));
                };
                own.push((commit, parent));
            }
            Ok((own, false))
        };
        read().map_err(GitError::library("list the branch's own commits"))
    }

    /// The change from `parent` to `commit`, made on `onto`. `merge-tree --merge-base` would say it
    /// directly, but only since git 2.40; two commits written for the purpose, with a parent that
    /// has the wanted base's tree, say the same to every git.
    fn transplant(
        &self,
        library: &git2::Repository,
        commit: Oid,
        parent: Oid,
        onto: Oid,
        want: &Rebase,
    ) -> Result<Settled, GitError> {
        let signature = want.identity.signature(want.time)?;
        let made = |tree: Oid, parents: &[Oid], message: &str| {
            let new = NewCommit {
                tree,
                parents,
                message,
                author: &signature,
                committer: &signature,
            };
            write_commit(library, &new)
        };
        let base = made(self.tree_of(parent)?, &[], "base")?;
        let ours = made(self.tree_of(onto)?, &[base], "ours")?;
        let theirs = made(self.tree_of(commit)?, &[base], "theirs")?;
        self.merge_trees(ours, theirs)
    }

    /// The commit's own message; for a whole branch in one commit, the subjects of all.
    fn message_of(
        &self,
        commit: &git2::Commit<'_>,
        want: &Rebase,
        as_one: bool,
    ) -> Result<String, GitError> {
        if !as_one {
            return Ok(String::from_utf8_lossy(commit.message_raw_bytes()).into_owned());
        }
        let mut message = format!("{}\n\nReplayed as one commit:\n", subject_of(commit));
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
