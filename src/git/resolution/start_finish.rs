//! Starts and finishes the resolution of a conflict by an agent or a person, in the worktree of the
//! attempt.
//!
//! Invariant: a merge starts only in a worktree without uncommitted work (nested repositories
//! aside), so that starting over after a kill loses nothing. The note `swarm-resolution` beside the
//! index records the progress and the files in conflict. A merge is finished only if none of these
//! files has conflict markers that neither side brought, and every file that needs a decision has
//! one.

use std::path::PathBuf;

use super::note::{self, Resolution};
use crate::crash;
use crate::domain::ids::attempt_name;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::local::outward_links;
use crate::git::merge::markers::marker_lines_in;
use crate::git::objects::names::{branch_ref, shown};
use crate::git::operations::Operation;
use crate::git::person::Identity;
use crate::git::repo::Repo;
use crate::git::store::format::NewCommit;
use crate::git::store::objects::read_oid;
use crate::git::store::oid::Oid;
use crate::git::worktree::commit_leftovers::merge_heads;
use crate::git::worktree::registry::Worktree;
use crate::git::worktree::release::rescue_ref;
use crate::git::worktree::reset::{Clean, HeadTo};
use crate::git::worktree::snapshot::{Snapshot, add_all};
use crate::git::worktree::status::{Entry, Kind};

/// Arguments of [`Repo::finish_resolution`].
#[derive(Debug, Clone)]
pub struct FinishResolution {
    /// Name of the worktree.
    pub name: String,
    /// Branch of the attempt.
    pub branch: String,
    /// Message of the merge commit.
    pub message: String,
    /// Author and committer of the merge commit.
    pub identity: Identity,
    /// Date of the merge commit, fixed when the resolution was requested.
    pub time: Timestamp,
}

/// Result of [`Repo::finish_resolution`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// The branch contains the target and the resolution, on disk.
    Finished {
        /// Tip of the branch.
        head: Oid,
    },
    /// Some files still have markers or need a decision.
    StillConflicted {
        /// Paths relative to the repository.
        files: Vec<String>,
    },
    /// No merge was started, or it was aborted.
    NotStarted,
}

impl Repo {
    /// Merges the target into the worktree and leaves the conflict there; returns the files in
    /// conflict. May be repeated: a merge of that target in progress is left alone. One of an older
    /// target starts over, with what was resolved so far where it still fits.
    pub fn start_resolution(
        &self,
        name: &str,
        branch: &str,
        target: Oid,
    ) -> Result<Vec<String>, GitError> {
        let worktree = self.worktree(name)?;
        worktree.free_locks(self)?;
        let missing = || GitError::BranchMissing {
            branch: branch.to_owned(),
        };
        let note = note::read(&worktree);
        let is_reset = self.bring_lost_work_back(&worktree, branch, note.as_ref())?;
        let tip = self.branch_commit(branch)?.ok_or_else(missing)?;
        if !is_reset && note::was_cut_short(&worktree) {
            self.reset_with_note(
                &worktree,
                tip,
                &HeadTo::Branch(branch_ref(branch)?),
                Clean::Untracked,
            )?;
        }
        worktree.require_branch(self, branch)?;
        if merge_heads(&worktree) == [target] {
            return self.open_files(&worktree, branch, tip);
        }
        // Somebody committed the open conflict: it must be resolved before another merge hides it.
        let open = self.committed_open(tip, note::read(&worktree).as_ref())?;
        if !open.is_empty() {
            return Ok(open);
        }
        if self.contains(tip, target)? {
            if note::was_cut_short(&worktree) {
                note::remove(&worktree)?;
            }
            return Ok(Vec::new());
        }
        let saved = self.save_resolution(&worktree, branch, tip, target)?;
        self.require_idle(&worktree)?;
        let mut note = Resolution {
            started: false,
            target,
            files: Vec::new(),
            laid_out: None,
            saved,
        };
        self.keep_while_open(branch, tip)?;
        note::write(&worktree, &note)?;
        crash::point("git.resolve.noted");
        self.merge_into(&worktree, tip, branch, target)?;
        crash::point("git.resolve.merged");
        note.started = true;
        note.files = self.unmerged(&worktree)?;
        note.laid_out = Some(self.snapshot_tree(&worktree, tip)?);
        if let Some(saved) = &note.saved {
            self.restore_resolution(&worktree, (tip, target), saved)?;
        }
        note::write(&worktree, &note)?;
        Ok(note.files.iter().map(|path| shown(path)).collect())
    }

    /// Commits the resolved merge.
    pub fn finish_resolution(&self, want: &FinishResolution) -> Result<Finish, GitError> {
        let reference = branch_ref(&want.branch)?;
        let worktree = self.worktree(&want.name)?;
        worktree.free_locks(self)?;
        // An earlier call was killed while it restored the branch's work: the conflict must start
        // over.
        if let Some(note) = note::read(&worktree).filter(|note| !note.started) {
            let files = self.start_resolution(&want.name, &want.branch, note.target)?;
            if !files.is_empty() {
                return Ok(Finish::StillConflicted { files });
            }
        }
        worktree.require_branch(self, &want.branch)?;
        let note = note::read(&worktree);
        if self.bring_lost_work_back(&worktree, &want.branch, note.as_ref())? {
            crash::point("git.resolve.brought-back");
            // Without the note, the merged commit is unknown; the next attempt starts the conflict
            // over.
            let Some(note) = note else {
                return Ok(Finish::NotStarted);
            };
            let files = self.start_resolution(&want.name, &want.branch, note.target)?;
            return Ok(Finish::StillConflicted { files });
        }
        let missing = || GitError::BranchMissing {
            branch: want.branch.clone(),
        };
        let tip = self.read_ref(&reference)?.ok_or_else(missing)?;
        let heads = merge_heads(&worktree);
        let target = heads
            .first()
            .copied()
            .or(note.as_ref().map(|note| note.target));
        let Some(target) = target.filter(|_| note.as_ref().is_none_or(|note| note.started)) else {
            return Ok(Finish::NotStarted);
        };
        if self.contains(tip, target)? {
            let open = self.committed_open(tip, note.as_ref())?;
            if !open.is_empty() {
                return Ok(Finish::StillConflicted { files: open });
            }
            return self.finished(&worktree, &want.branch, tip, target);
        }
        if heads.is_empty() {
            return Ok(Finish::NotStarted);
        }
        let open = self.still_open(&worktree, (tip, target), note.as_ref())?;
        if !open.is_empty() {
            return Ok(Finish::StillConflicted { files: open });
        }
        let commit = self.commit_merge(&worktree, want, tip, &heads)?;
        self.make_durable(commit, &[])?;
        crash::point("git.resolve.before-ref");
        self.move_ref(&reference, tip, commit, "merge: conflict settled")?;
        crash::point("git.resolve.after-ref");
        self.finished(&worktree, &want.branch, commit, target)
    }

    /// Returns the worktree to its branch and saves the unfinished resolution under
    /// `refs/swarm/rescue/<attempt>`. Returns false if no merge of swarm was in progress; a merge
    /// that an agent started itself is left alone.
    pub fn abort_resolution(&self, want: &FinishResolution) -> Result<bool, GitError> {
        let reference = branch_ref(&want.branch)?;
        let worktree = self.worktree(&want.name)?;
        worktree.free_locks(self)?;
        let Some(mut note) = note::read(&worktree) else {
            return Ok(false);
        };
        if note.started {
            worktree.require_branch(self, &want.branch)?;
            self.snapshot_worktree(&Snapshot {
                name: want.name.clone(),
                reference: rescue_ref(&attempt_name(&want.branch)),
                message: "Unfinished work of an aborted merge\n".into(),
                identity: want.identity.clone(),
                time: want.time,
            })?;
            let tip = self.head_commit(&worktree)?;
            self.take_back_open_merge(&want.branch, &reference, tip, &note)?;
            note.started = false;
            note::write(&worktree, &note)?;
        }
        if !self.bring_lost_work_back(&worktree, &want.branch, Some(&note))? {
            let tip = self.head_commit(&worktree)?;
            self.reset(&worktree, tip, &HeadTo::Branch(reference), Clean::Untracked)?;
        }
        note::remove(&worktree)?;
        if let Some(saved) = note.saved {
            self.keep_commit(&rescue_ref(&attempt_name(&want.branch)), saved.work)?;
        }
        self.forget_resolution(&want.branch)?;
        let head = self.head_commit(&worktree)?;
        self.close_conflict(&want.branch, head)?;
        Ok(true)
    }

    pub(crate) fn require_idle(&self, worktree: &Worktree) -> Result<(), GitError> {
        if let Some(operation) = Operation::of_commits(&worktree.git_dir) {
            return Err(GitError::UnderWay {
                name: worktree.name.clone(),
                what: format!("a {}", operation.name),
            });
        }
        self.require_clean(worktree)
    }

    /// Runs `git merge` without committing. Exit code 1 is a conflict; any other failure is undone.
    fn merge_into(
        &self,
        worktree: &Worktree,
        tip: Oid,
        branch: &str,
        target: Oid,
    ) -> Result<(), GitError> {
        // No commit is made here, but git requires an identity.
        let identity = self.identity()?;
        let output = worktree
            .git(self)
            .long()
            .config(&format!("user.name={}", identity.name))
            .config(&format!("user.email={}", identity.email))
            .args([
                "merge",
                "--no-commit",
                "--no-ff",
                "--no-edit",
                "--no-stat",
                "--no-squash",
                "--no-autostash",
            ])
            .args([
                "--no-verify",
                "--no-rerere-autoupdate",
                "--no-progress",
                "--strategy=ort",
            ])
            .arg(target.to_string())
            .run();
        match output {
            Ok(output)
                if output.code == 0 || (output.code == 1 && !merge_heads(worktree).is_empty()) =>
            {
                Ok(())
            }
            other => {
                self.reset(
                    worktree,
                    tip,
                    &HeadTo::Branch(branch_ref(branch)?),
                    Clean::Untracked,
                )?;
                Err(other.map_or_else(|error| error, |output| output.failure()))
            }
        }
    }

    fn unmerged(&self, worktree: &Worktree) -> Result<Vec<PathBuf>, GitError> {
        let entries = self.status(worktree)?;
        Ok(entries
            .into_iter()
            .filter(is_unmerged)
            .map(|entry| entry.path)
            .collect())
    }

    fn open_files(
        &self,
        worktree: &Worktree,
        branch: &str,
        tip: Oid,
    ) -> Result<Vec<String>, GitError> {
        // Even if what was restored resolves all of them: who settles it has not confirmed that.
        let restored = note::read(worktree).filter(|note| note.saved.is_some());
        let files = match restored {
            Some(note) => note.files,
            None => self.unmerged(worktree)?,
        };
        let shown = files.iter().map(|path| shown(path)).collect();
        // A person or agent may have started this merge, so there is no note yet.
        if note::read(worktree).is_none()
            && let [target] = merge_heads(worktree)[..]
        {
            let note = Resolution {
                started: true,
                target,
                files,
                laid_out: None,
                saved: None,
            };
            self.keep_while_open(branch, tip)?;
            note::write(worktree, &note)?;
        }
        Ok(shown)
    }

    /// Files with markers, and files that git could not merge as text and that nobody has added or
    /// removed since.
    fn still_open(
        &self,
        worktree: &Worktree,
        (tip, target): (Oid, Oid),
        note: Option<&Resolution>,
    ) -> Result<Vec<String>, GitError> {
        let entries = self.status(worktree)?;
        let undecided = entries
            .iter()
            .filter(|entry| matches!(entry.kind, Kind::Unmerged { both_text: false }));
        let mut open: Vec<PathBuf> = undecided.map(|entry| entry.path.clone()).collect();
        let noted = note.map(|note| note.files.clone()).unwrap_or_default();
        // Without a list, every file that the merge changed is checked.
        let all = entries
            .iter()
            .filter(|entry| noted.is_empty() || is_unmerged(entry))
            .map(|entry| entry.path.clone());
        for path in all.chain(noted.iter().cloned()) {
            let held = marker_lines_in(&worktree.path.join(&path));
            if self.is_left_open(&path, &held, Some(tip), target)? {
                open.push(path);
            }
        }
        open.sort();
        open.dedup();
        Ok(open.iter().map(|path| shown(path)).collect())
    }

    fn commit_merge(
        &self,
        worktree: &Worktree,
        want: &FinishResolution,
        tip: Oid,
        heads: &[Oid],
    ) -> Result<Oid, GitError> {
        let entries = self.status(worktree)?;
        let nested = entries.iter().filter(|entry| entry.kind == Kind::Nested);
        let nested = nested.map(|entry| &entry.path);
        let links = outward_links::untracked(&worktree.path, &entries);
        let copies = self.exposed_copies(worktree)?;
        let git = worktree.git(self).long();
        let submodules = self.checked_out_submodules(worktree)?;
        let except = nested.chain(links).chain(&copies).chain(&submodules);
        add_all(git, except).ok()?;
        let tree = read_oid(&worktree.git(self).arg("write-tree").ok()?)?;
        let signature = want.identity.at(want.time);
        let parents: Vec<Oid> = std::iter::once(tip).chain(heads.iter().copied()).collect();
        let new = NewCommit {
            tree,
            parents: &parents,
            message: &want.message,
            author: &signature,
            committer: &signature,
        };
        self.write_branch_commit(&new)
    }

    /// Removes git's and swarm's notes after making both sides durable.
    fn finished(
        &self,
        worktree: &Worktree,
        branch: &str,
        head: Oid,
        target: Oid,
    ) -> Result<Finish, GitError> {
        self.make_durable(head, &[target])?;
        if merge_heads(worktree).iter().all(|merged| *merged == target) {
            worktree.forget_operations()?;
        }
        note::remove(worktree)?;
        self.forget_resolution(branch)?;
        self.close_conflict(branch, head)?;
        Ok(Finish::Finished { head })
    }
}

fn is_unmerged(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::Unmerged { .. })
}
