//! Takes agents' worktrees off the target branch and finds commits that an agent made on the
//! target.
//!
//! Invariant: no worktree of swarm stays on the target: its `HEAD` is detached at the commit, index
//! and files stay. An agent cannot be kept from moving the target; the worktree's log of `HEAD`
//! shows it, as far as the agent left that log.

use std::path::Path;

use super::registry::Worktree;
use super::reset::HeadTo;
use crate::git::error::GitError;
use crate::git::landing::verify_tree::{CONTROL, VERIFY};
use crate::git::objects::names::shown;
use crate::git::repo::{Head, Repo};
use crate::git::store::oid::Oid;

/// Reflog actions that create a commit, unlike those that only check one out.
const MADE: &[&str] = &[
    "commit",
    "merge",
    "cherry-pick",
    "revert",
    "rebase",
    "pull",
    "am",
];

/// What the log says of `git merge` and `git pull` that made no commit.
const FAST_FORWARD: &str = "Fast-forward";

/// The target's commit was made in a worktree of swarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// Name of the worktree.
    pub worktree: String,
    /// The target's commit.
    pub commit: Oid,
}

impl Repo {
    /// Takes swarm's worktrees off the target branch; returns the worktree in which the target's
    /// commit was made, if any. A worktree that git is using now is left for the next call.
    pub fn off_target(&self, target: &str) -> Result<Option<Stray>, GitError> {
        let Some(tip) = self.branch_commit(target)? else {
            return Ok(None);
        };
        let mut stray = None;
        for worktree in self.worktrees_of_agents()? {
            let on_it = worktree
                .head(self)
                .is_ok_and(|head| head == Head::Branch(target.to_owned()));
            if on_it && let Err(error) = worktree.set_head(self, &HeadTo::Detached(tip)) {
                tracing::warn!(%error, worktree = worktree.name, "cannot take this worktree \
                    off the target branch yet");
            }
            let made = self.commits_made(&worktree.git_dir, &worktree.path)?;
            if made.contains(&tip) {
                stray = Some(Stray {
                    worktree: worktree.name,
                    commit: tip,
                });
            }
        }
        Ok(stray)
    }

    /// Worktrees of attempts. Names that start with a dot belong to no agent, nor do `verify` and
    /// `control`.
    pub(crate) fn worktrees_of_agents(&self) -> Result<Vec<Worktree>, GitError> {
        let ours = self.worktrees_folder();
        let each = self.registered()?.into_iter();
        let each = each.filter(|one| one.path.parent() == Some(&ours));
        let each = each.map(|one| Worktree {
            name: one
                .path
                .file_name()
                .map_or_else(String::new, |name| shown(Path::new(name))),
            path: one.path,
            git_dir: one.git_dir,
        });
        Ok(each
            .filter(|one| !one.name.starts_with('.') && ![VERIFY, CONTROL].contains(&&*one.name))
            .collect())
    }

    /// Commits that the log of `HEAD` of a checkout says were made there; none if there is no log.
    pub(super) fn commits_made(&self, git_dir: &Path, tree: &Path) -> Result<Vec<Oid>, GitError> {
        let log = self.head_log(git_dir, tree)?.into_iter();
        let is_made = |what: &str| {
            // A rebase begins and ends with commits that it finds.
            let found = what.ends_with(FAST_FORWARD)
                || ["rebase (start)", "rebase (finish)"]
                    .iter()
                    .any(|word| what.starts_with(word));
            !found && MADE.iter().any(|word| what.starts_with(word))
        };
        let made = log.filter(|moved| is_made(&moved.what));
        Ok(made.filter_map(|moved| moved.to).collect())
    }
}
