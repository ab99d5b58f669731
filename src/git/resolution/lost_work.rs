//! Merges whose resolver threw the branch's own work away: `git reset --hard MERGE_HEAD` leaves no conflict either.
//!
//! Invariant: a merge settles only what has the work in it that was to be merged. A branch that holds nothing besides what the merge's target
//! or another branch has (the target as it is by now, another idea's) gets its work back; one that holds something else (a rebase, a squash)
//! is taken as it is, and what it had stays under `refs/swarm/rescue/`.

use git2::Oid;

use super::note::{self, Resolution};
use crate::crash;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::objects::names::branch_ref;
use crate::git::repo::Repo;
use crate::git::worktree::registry::Worktree;
use crate::git::worktree::release::rescue_ref;
use crate::git::worktree::reset::{Clean, HeadTo};
use crate::git::worktree::snapshot::Snapshot;

/// Where the work of a worktree is kept while its conflict is open.
pub(crate) fn open_ref(name: &str) -> String {
    format!("refs/swarm/open/{name}")
}

impl Repo {
    /// Gives the branch and its worktree the work back that is lost in a merge, and takes the merge away; answers with the commit that they
    /// are at then. None: the work is there.
    pub(crate) fn bring_thrown_back(
        &self,
        worktree: &Worktree,
        branch: &str,
        tip: Oid,
        note: Option<&Resolution>,
    ) -> Result<Option<Oid>, GitError> {
        let (Some(note), Some(ours)) = (note, self.work_before(note)?) else {
            return Ok(None);
        };
        let is_lost = self.is_thrown_away(branch, tip, ours, note.target)?;
        if is_lost {
            self.restore_thrown(worktree, branch, (tip, ours), note)?;
        }
        Ok(is_lost.then_some(ours))
    }

    /// The commit that the branch had before the merge of this note. An agent can write there what it likes: what is no commit is none.
    pub(crate) fn work_before(&self, note: Option<&Resolution>) -> Result<Option<Oid>, GitError> {
        let Some(ours) = note.and_then(|note| note.ours) else {
            return Ok(None);
        };
        Ok(self.library()?.find_commit(ours).is_ok().then_some(ours))
    }

    /// The note of a merge that somebody took away together with the work.
    pub(crate) fn note_of_lost_work(
        &self,
        merged: Option<(Oid, Oid)>,
        tip: Oid,
    ) -> Result<Option<Resolution>, GitError> {
        let Some((source, target)) = merged else {
            return Ok(None);
        };
        let note = Resolution {
            started: true,
            target,
            ours: Some(source),
            files: Vec::new(),
        };
        let is_lost = self.work_before(Some(&note))?.is_some()
            && self.contains(tip, target)?
            && !self.contains(tip, source)?;
        Ok(is_lost.then_some(note))
    }

    /// Whether nothing is left of the work that the branch had before the merge.
    fn is_thrown_away(
        &self,
        branch: &str,
        tip: Oid,
        ours: Oid,
        target: Oid,
    ) -> Result<bool, GitError> {
        Ok(!self.contains(tip, ours)?
            && (self.contains(target, tip)? || self.is_on_another(branch, tip)?))
    }

    /// Whether another branch than this one has the commit. Looks at all of them: to be asked seldom.
    fn is_on_another(&self, branch: &str, commit: Oid) -> Result<bool, GitError> {
        let own = branch_ref(branch)?;
        let library = self.library()?;
        for (name, head) in self.list_refs("refs/heads/")? {
            // What names no commit has none in it. Other names of a branch are not listed.
            let is_another = name != own && library.find_commit(head).is_ok();
            if is_another && self.contains(head, commit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Puts the branch and its worktree back to `ours`. What is uncommitted there is kept.
    fn restore_thrown(
        &self,
        worktree: &Worktree,
        branch: &str,
        (tip, ours): (Oid, Oid),
        note: &Resolution,
    ) -> Result<(), GitError> {
        let reference = branch_ref(branch)?;
        if note.started {
            self.snapshot_worktree(&Snapshot {
                name: worktree.name.clone(),
                reference: rescue_ref(&worktree.name),
                message: "What lay beside a merge that threw its branch's work away\n".into(),
                identity: self.identity()?,
                time: self.time_of(tip)?,
            })?;
        }
        let cut_short = Resolution {
            started: false,
            files: Vec::new(),
            ..note.clone()
        };
        note::write(worktree, &cut_short)?;
        crash::point("git.resolve.thrown-away");
        let why = "merge: work that was thrown away comes back";
        self.move_ref(&reference, tip, ours, why)?;
        let head = HeadTo::Branch(reference);
        self.reset(worktree, ours, &head, Clean::Untracked)
    }

    /// When the commit was made.
    fn time_of(&self, commit: Oid) -> Result<Timestamp, GitError> {
        let library = self.library()?;
        let found = library.find_commit(commit);
        let found = found.map_err(GitError::library(format!("read {commit}")))?;
        Ok(Timestamp::from_millis(found.time().seconds() * 1_000))
    }

    /// Keeps the branch's work under a reference for as long as its conflict is open: whatever a resolver does to the branch, git does not
    /// throw it away. What an earlier layout has kept there, and this work has not, stays under `refs/swarm/rescue/`.
    pub(crate) fn keep_while_open(&self, worktree: &Worktree, ours: Oid) -> Result<(), GitError> {
        self.keep_replaced(&worktree.name, ours, note::read(worktree).as_ref())?;
        self.let_open_work_go(&worktree.name, ours)?;
        self.make_durable(ours, &[])?;
        self.create_ref(&open_ref(&worktree.name), ours, "swarm: a conflict is open")
    }

    /// The conflict is over, and `head` is what came of it: the work that it does not have is kept on.
    pub(crate) fn let_open_work_go(&self, name: &str, head: Oid) -> Result<(), GitError> {
        let reference = open_ref(name);
        let Some(ours) = self.read_ref(&reference)? else {
            return Ok(());
        };
        let is_there = self.library()?.find_commit(ours).is_ok();
        if is_there && !self.contains(head, ours)? {
            self.keep_commit(&rescue_ref(name), ours)?;
        }
        self.delete_ref(&reference, ours)
    }

    /// What the branch had before the merge stays, whatever became of the branch.
    pub(crate) fn keep_replaced(
        &self,
        name: &str,
        head: Oid,
        note: Option<&Resolution>,
    ) -> Result<(), GitError> {
        match self.work_before(note)? {
            Some(ours) if !self.contains(head, ours)? => {
                self.keep_commit(&rescue_ref(name), ours)?;
            }
            _ => {}
        }
        Ok(())
    }
}
