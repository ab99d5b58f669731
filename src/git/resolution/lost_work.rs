//! Keeps a branch's work while its conflict is open, and restores work that a resolver threw away:
//! after `git reset --hard MERGE_HEAD` there is no conflict either.
//!
//! Invariant: `refs/swarm/open/<attempt>` has the work until the conflict is over. If the branch
//! then contains only what other branches have, its work is restored and the conflict starts over.
//! If it has commits of its own (a rebase, a squash), it is accepted, and its earlier work stays
//! under `refs/swarm/rescue/`.

use super::note::{self, Resolution};
use crate::crash;
use crate::domain::ids::attempt_name;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::objects::names::branch_ref;
use crate::git::repo::Repo;
use crate::git::store::oid::Oid;
use crate::git::worktree::registry::Worktree;
use crate::git::worktree::release::rescue_ref;
use crate::git::worktree::reset::{Clean, HeadTo};
use crate::git::worktree::snapshot::Snapshot;

/// Reference that keeps the work of an attempt while its conflict is open.
pub(crate) fn open_ref(attempt: &str) -> String {
    format!("refs/swarm/open/{attempt}")
}

impl Repo {
    /// Keeps the work at `ours`, the branch's tip, while its conflict is open.
    pub(crate) fn keep_while_open(&self, branch: &str, ours: Oid) -> Result<(), GitError> {
        self.close_conflict(branch, ours)?;
        self.make_durable(ours, &[])?;
        self.create_ref(
            &open_ref(&attempt_name(branch)),
            ours,
            "swarm: a conflict is open",
        )
    }

    /// Ends the conflict with the result `head`. Work that `head` does not contain stays under
    /// `refs/swarm/rescue/`.
    pub(crate) fn close_conflict(&self, branch: &str, head: Oid) -> Result<(), GitError> {
        let attempt = attempt_name(branch);
        let reference = open_ref(&attempt);
        let Some(ours) = self.read_ref(&reference)? else {
            return Ok(());
        };
        if !self.contains(head, ours)? {
            self.keep_commit(&rescue_ref(&attempt), ours)?;
        }
        self.delete_ref(&reference, ours)
    }

    /// Restores work that a resolver threw away in branch and worktree, and removes the merge;
    /// returns whether it did. Uncommitted work is saved first. The note of the merge stays: it
    /// says that the conflict must start over.
    pub(crate) fn bring_lost_work_back(
        &self,
        worktree: &Worktree,
        branch: &str,
        note: Option<&Resolution>,
    ) -> Result<bool, GitError> {
        let reference = branch_ref(branch)?;
        let attempt = attempt_name(branch);
        let ours = self.read_ref(&open_ref(&attempt))?;
        let (Some(ours), Some(tip)) = (ours, self.read_ref(&reference)?) else {
            return Ok(false);
        };
        if self.contains(tip, ours)? || !self.is_on_another(&reference, tip)? {
            return Ok(false);
        }
        if note.is_none_or(|note| note.started) {
            self.snapshot_worktree(&Snapshot {
                name: worktree.name.clone(),
                reference: rescue_ref(&attempt),
                message: "Uncommitted work beside a merge that discarded its branch\n".into(),
                identity: self.identity()?,
                time: self.time_of(tip)?,
            })?;
        }
        if let Some(note) = note {
            let cut_short = Resolution {
                started: false,
                files: Vec::new(),
                ..note.clone()
            };
            note::write(worktree, &cut_short)?;
        }
        crash::point("git.resolve.thrown-away");
        let why = "merge: restore discarded work";
        self.move_ref(&reference, tip, ours, why)?;
        let head = HeadTo::Branch(reference);
        self.reset_with_note(worktree, ours, &head, Clean::Untracked)?;
        Ok(true)
    }

    /// Whether another branch contains the commit. Reads all branches, so call it rarely.
    fn is_on_another(&self, own: &str, commit: Oid) -> Result<bool, GitError> {
        for (name, head) in self.list_refs("refs/heads/")? {
            // A reference without a commit contains none. Other names of a branch are not listed.
            let is_another = name != own && self.has_commit(head)?;
            if is_another && self.contains(head, commit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Commit time.
    pub(crate) fn time_of(&self, commit: Oid) -> Result<Timestamp, GitError> {
        Ok(Timestamp::from_millis(
            self.commit(commit)?.seconds() * 1_000,
        ))
    }
}
