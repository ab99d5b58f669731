//! Lays a conflict out again after the target moved: saves what was resolved so far, and restores
//! what still fits.
//!
//! Invariant: before the worktree is reset, `refs/swarm/open/<attempt>-resolution` has the work and
//! the note names it, so that a killed call starts over with it. A file is restored only if the
//! target did not change it since: then its conflict is still the same. Called by `start_finish`.

use std::path::Path;

use super::lost_work::open_ref;
use super::note::{self, Resolution, SavedResolution};
use crate::domain::ids::attempt_name;
use crate::git::error::GitError;
use crate::git::merge::markers::marker_lines_in;
use crate::git::objects::names::branch_ref;
use crate::git::repo::Repo;
use crate::git::store::oid::Oid;
use crate::git::worktree::registry::Worktree;
use crate::git::worktree::reset::{Clean, HeadTo};
use crate::git::worktree::snapshot::Snapshot;

/// Paths in one call of git.
const PATHS: usize = 200;

/// Reference that keeps an unfinished resolution until the conflict is over.
pub(crate) fn resolution_ref(attempt: &str) -> String {
    open_ref(&format!("{attempt}-resolution"))
}

impl Repo {
    /// Commit with the unfinished resolution from before the target moved, if there was one.
    pub fn saved_resolution(&self, name: &str) -> Result<Option<Oid>, GitError> {
        let note = note::read(&self.worktree(name)?);
        Ok(note.and_then(|note| note.saved).map(|saved| saved.work))
    }

    /// Saves the open conflict with an older target and returns the worktree to `tip`, ready for
    /// the merge with `target`. The result is what [`Repo::restore_resolution`] needs.
    pub(crate) fn save_resolution(
        &self,
        worktree: &Worktree,
        branch: &str,
        tip: Oid,
        target: Oid,
    ) -> Result<Option<SavedResolution>, GitError> {
        let Some(note) = note::read(worktree) else {
            return Ok(None);
        };
        if !note.started {
            return Ok(note.saved);
        }
        match self.require_idle(worktree) {
            Err(GitError::UnderWay { .. } | GitError::Dirty { .. }) => {}
            // Its resolver committed or aborted the merge: nothing older may replace that.
            Ok(()) => {
                return Ok(note.saved.map(|saved| SavedResolution {
                    laid_out: None,
                    ..saved
                }));
            }
            Err(error) => return Err(error),
        }
        let work = self.snapshot_worktree(&Snapshot {
            name: worktree.name.clone(),
            reference: resolution_ref(&attempt_name(branch)),
            message: "Unfinished conflict resolution from before the target moved\n".into(),
            identity: self.identity()?,
            time: self.time_of(tip)?,
        })?;
        // Without a snapshot, the files equal the branch's.
        let work = work.unwrap_or(tip);
        let is_untouched = note.laid_out == Some(self.tree_of(work)?);
        let saved = (!is_untouched).then_some(SavedResolution {
            work,
            target: note.target,
            laid_out: note.laid_out,
        });
        let starting = Resolution {
            started: false,
            target,
            files: Vec::new(),
            laid_out: None,
            saved: saved.clone(),
        };
        note::write(worktree, &starting)?;
        let head = HeadTo::Branch(branch_ref(branch)?);
        self.reset_with_note(worktree, tip, &head, Clean::Untracked)?;
        Ok(saved)
    }

    /// Brings what was resolved before into the merge of `tip` and `target` in the worktree. Files
    /// without conflict markers are also added to the index.
    pub(crate) fn restore_resolution(
        &self,
        worktree: &Worktree,
        (tip, target): (Oid, Oid),
        saved: &SavedResolution,
    ) -> Result<(), GitError> {
        // The tree has no reference: git may have collected it since.
        let Some(before) = saved.laid_out else {
            return Ok(());
        };
        if !self.has_object(before)? {
            return Ok(());
        }
        let entry = |tree, path: &Path| -> Result<Option<(Oid, u32)>, GitError> {
            let entry = self.entry_at(tree, path)?;
            Ok(entry.map(|entry| (entry.id, entry.mode)))
        };
        let work = self.tree_of(saved.work)?;
        let (old, new) = (self.tree_of(saved.target)?, self.tree_of(target)?);
        let changed = self.changed_paths(before, work)?;
        let (mut written, mut removed) = (Vec::new(), Vec::new());
        for path in changed {
            if entry(old, &path)? != entry(new, &path)? {
                continue;
            }
            match entry(work, &path)? {
                Some(_) => written.push(path),
                None => removed.push(path),
            }
        }
        for paths in removed.chunks(PATHS) {
            let git = worktree.git(self).long();
            git.args(["rm", "-q", "--force", "--ignore-unmatch", "--sparse"])
                .paths(paths)
                .ok()?;
        }
        for paths in written.chunks(PATHS) {
            let source = format!("--source={}", saved.work);
            let git = worktree.git(self).long();
            git.args(["restore", "--worktree", &source])
                .paths(paths)
                .ok()?;
        }
        let mut resolved = Vec::new();
        for path in written {
            let held = marker_lines_in(&worktree.path.join(&path));
            if !self.is_left_open(&path, &held, Some(tip), target)? {
                resolved.push(path);
            }
        }
        for paths in resolved.chunks(PATHS) {
            let git = worktree.git(self).long();
            git.args(["add", "--force", "--sparse"]).paths(paths).ok()?;
        }
        Ok(())
    }

    /// Removes the saved resolution: the conflict is over.
    pub(crate) fn forget_resolution(&self, branch: &str) -> Result<(), GitError> {
        let reference = resolution_ref(&attempt_name(branch));
        match self.read_ref(&reference)? {
            Some(work) => self.delete_ref(&reference, work),
            None => Ok(()),
        }
    }
}
