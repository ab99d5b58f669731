//! Updates a person's checkout from one commit to another, as `git merge --ff-only` does.
//!
//! Invariant: uncommitted work is never changed. Git's two-way merge (`read-tree -m -u old new`)
//! touches a path only if index and file match the old commit, and checks all paths first. Ignored
//! files, which git would overwrite, block the update too: they may hold somebody's only settings.
//! Index and files change first and look like staged changes until the branch moves.
//! [`Repo::settle_checkouts`] or the next landing repairs a kill: see [`super::checkout_recovery`].

use std::fs;
use std::path::Path;

use super::checkout_recovery::{begin_rehearsal, end_rehearsal, remove_note, write_note};
use super::obstacles::Blocked;
use crate::crash;
use crate::git::error::GitError;
use crate::git::objects::names::shown;
use crate::git::repo::{Head, Repo};
use crate::git::store::oid::Oid;
use crate::git::worktree::registry::Worktree;

/// A move of a branch between two commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Move<'a> {
    pub(crate) branch: &'a str,
    pub(crate) old: Oid,
    pub(crate) new: Oid,
}

type Follow = Result<(), Blocked>;

impl Repo {
    /// The main work tree, and linked worktrees that are not swarm's.
    pub(crate) fn peoples_checkouts(&self) -> Result<Vec<Worktree>, GitError> {
        let ours = self.worktrees_folder();
        let main = Worktree {
            name: "main".into(),
            path: self.root().to_owned(),
            git_dir: self.common_dir().to_owned(),
        };
        let linked = self
            .registered()?
            .into_iter()
            .filter(|one| one.path.is_dir() && !one.path.starts_with(&ours));
        let linked = linked.map(|one| Worktree {
            name: shown(&one.path),
            path: one.path,
            git_dir: one.git_dir,
        });
        Ok(std::iter::once(main).chain(linked).collect())
    }

    /// Checkouts with this branch, including those that a rebase will return to it.
    pub(crate) fn checkouts_of(&self, branch: &str) -> Result<Vec<Worktree>, GitError> {
        let mut found = self.peoples_checkouts()?;
        found.retain(|checkout| {
            let on_it = checkout
                .head(self)
                .is_ok_and(|head| head == Head::Branch(branch.to_owned()));
            on_it || rebases(&checkout.git_dir, branch)
        });
        Ok(found)
    }

    /// Updates index and files from the old commit to the new one; or changes nothing and returns
    /// the reason.
    pub(crate) fn follow(&self, checkout: &Worktree, step: Move<'_>) -> Result<Follow, GitError> {
        if let Some(blocked) = self.find_obstacle(checkout, step)? {
            return Ok(Err(blocked));
        }
        if checkout.git_dir == *self.common_dir() {
            begin_rehearsal(checkout)?;
            let kept = self.keep_config();
            end_rehearsal(checkout)?;
            kept?;
        }
        write_note(checkout, step)?;
        crash::point("git.land.noted");
        if let Err(error) = self.two_way(checkout, step.old, step.new, &[]) {
            // A killed git leaves its lock; only the note shows that it is ours.
            if let Some(held) = self.wait_for_index(checkout)? {
                return Ok(Err(held));
            }
            self.put_back(checkout, step)?;
            // Files changed since still block; a failure of git itself (killed, disk) may pass.
            let now = match self.find_obstacle(checkout, step)? {
                Some(blocked) => Some(blocked),
                None => self.unresolved_conflicts(checkout)?,
            };
            remove_note(checkout)?;
            return now.map_or(Err(error), |blocked| Ok(Err(blocked)));
        }
        crash::point("git.land.followed");
        Ok(Ok(()))
    }

    /// Returns the checkout to the old commit after the branch could not be moved.
    pub(crate) fn unfollow(&self, checkout: &Worktree, step: Move<'_>) -> Result<(), GitError> {
        self.two_way(checkout, step.new, step.old, &[])?;
        remove_note(checkout)
    }

    /// Ends the landing in this checkout: moves its submodules and removes the note.
    pub(crate) fn followed(&self, checkout: &Worktree, step: Move<'_>) -> Result<(), GitError> {
        self.follow_submodules(checkout, step);
        remove_note(checkout)
    }

    pub(crate) fn two_way(
        &self,
        checkout: &Worktree,
        old: Oid,
        new: Oid,
        options: &[&str],
    ) -> Result<(), GitError> {
        let git = checkout
            .git(self)
            .long()
            .args(["read-tree", "-m", "-u"])
            .args(options);
        git.args([old.to_string(), new.to_string()])
            .ok()
            .map(|_| ())
    }
}

fn rebases(git_dir: &Path, branch: &str) -> bool {
    let names = ["rebase-merge/head-name", "rebase-apply/head-name"];
    let is_it = |text: String| text.trim_end() == format!("refs/heads/{branch}");
    names
        .iter()
        .any(|name| fs::read_to_string(git_dir.join(name)).is_ok_and(is_it))
}
