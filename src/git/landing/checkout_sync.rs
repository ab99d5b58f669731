//! A person's checkout follows its branch from one commit to another, as `git merge --ff-only`
//! would take it.
//!
//! Invariant: what is not committed is never changed. Git's own two-way merge (`read-tree -m -u old
//! new`) decides that: it touches a path only if index and file are the old commit's, and checks
//! all paths before it touches the first. Where git would overwrite *ignored* files, we do not:
//! they may be all there is of somebody's settings. Index and files go first, the branch last; in
//! between they look like staged changes.
//!
//! A kill at any point is healed by [`Repo::settle_checkouts`] or by the next landing: see
//! [`super::checkout_recovery`].

use std::fs;
use std::path::Path;

use git2::Oid;

use super::checkout_recovery::{remove_note, write_note};
use super::obstacles::Blocked;
use crate::crash;
use crate::git::error::GitError;
use crate::git::objects::names::shown;
use crate::git::repo::{Head, Repo};
use crate::git::worktree::registry::Worktree;

/// One move of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Move<'a> {
    pub(crate) branch: &'a str,
    pub(crate) old: Oid,
    pub(crate) new: Oid,
}

type Follow = Result<(), Blocked>;

impl Repo {
    /// The main work tree and the linked ones that are not ours.
    pub(crate) fn peoples_checkouts(&self) -> Result<Vec<Worktree>, GitError> {
        let ours = self.worktrees_dir()?;
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

    /// Those that have the branch checked out, or are about to have it again.
    pub(crate) fn checkouts_of(&self, branch: &str) -> Result<Vec<Worktree>, GitError> {
        let mut found = self.peoples_checkouts()?;
        found.retain(|checkout| {
            let on_it = checkout
                .head()
                .is_ok_and(|head| head == Head::Branch(branch.to_owned()));
            on_it || rebases(&checkout.git_dir, branch)
        });
        Ok(found)
    }

    /// Brings index and files from the old commit to the new one, or changes nothing and says why
    /// not.
    pub(crate) fn follow(&self, checkout: &Worktree, step: Move<'_>) -> Result<Follow, GitError> {
        if let Some(blocked) = self.hindrance(checkout, step)? {
            return Ok(Err(blocked));
        }
        write_note(checkout, step)?;
        crash::point("git.land.noted");
        if let Err(error) = self.two_way(checkout, step.old, step.new, &[]) {
            // A killed git leaves its lock; only under the note is it known to be ours.
            if let Some(held) = self.wait_for_index(checkout)? {
                return Ok(Err(held));
            }
            self.put_back(checkout, step)?;
            // Somebody who changed a file since is still in the way; what was git's own trouble
            // (killed, the disk) passes.
            let now = self.hindrance(checkout, step)?;
            remove_note(checkout)?;
            return now.map_or(Err(error), |blocked| Ok(Err(blocked)));
        }
        crash::point("git.land.followed");
        Ok(Ok(()))
    }

    /// Back from the new commit to the old one, after the branch could not be moved.
    pub(crate) fn unfollow(&self, checkout: &Worktree, step: Move<'_>) -> Result<(), GitError> {
        self.two_way(checkout, step.new, step.old, &[])?;
        remove_note(checkout)
    }

    /// The landing is done.
    pub(crate) fn followed(checkout: &Worktree) -> Result<(), GitError> {
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
