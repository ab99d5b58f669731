//! Conflicts that somebody committed as they lay there, markers and all.
//!
//! Invariant: such a commit settles nothing, whoever made it; only files that were in conflict are looked at, since others may hold markers
//! on purpose.

use std::path::PathBuf;

use git2::Oid;

use super::error::GitError;
use super::markers::text_has_markers;
use super::names::shown;
use super::release::rescue_ref;
use super::repo::Repo;
use super::resolve::Resolution;

impl Repo {
    /// Noted files that hold markers in a commit which has the noted merge.
    pub(super) fn committed_open(
        &self,
        tip: Oid,
        note: Option<&Resolution>,
    ) -> Result<Vec<String>, GitError> {
        let Some(note) = note.filter(|note| note.started) else {
            return Ok(Vec::new());
        };
        if !self.contains(tip, note.target)? {
            return Ok(Vec::new());
        }
        let library = self.library()?;
        let tree = library.find_commit(tip).and_then(|commit| commit.tree());
        let tree = tree.map_err(GitError::library(format!("read the files of {tip}")))?;
        let held = |path: &&PathBuf| {
            let entry = tree.get_path(path).ok();
            let blob = entry.and_then(|entry| library.find_blob(entry.id()).ok());
            blob.is_some_and(|blob| text_has_markers(blob.content()))
        };
        let open = note.files.iter().filter(held);
        Ok(open.map(|path| shown(path)).collect())
    }

    /// Takes the branch back behind a merge whose conflict was committed as it lay there; what it had is kept under `refs/swarm/rescue/`.
    pub(super) fn take_back_open_merge(
        &self,
        name: &str,
        reference: &str,
        tip: Oid,
        note: &Resolution,
    ) -> Result<(), GitError> {
        if self.committed_open(tip, Some(note))?.is_empty() {
            return Ok(());
        }
        let back = self.before_merge(tip, note.target)?;
        if back == tip {
            return Ok(());
        }
        self.keep_commit(&rescue_ref(name), tip)?;
        let why = "merge: a conflict that was committed is taken back";
        self.move_ref(reference, tip, back, why)
    }

    /// The commit before the one that merged `target` on the way to `tip`; where there is none, `tip`.
    fn before_merge(&self, tip: Oid, target: Oid) -> Result<Oid, GitError> {
        let library = self.library()?;
        let parents = |commit| {
            let commit = library.find_commit(commit);
            let parents = commit.map(|commit| commit.parent_ids().collect::<Vec<Oid>>());
            parents.map_err(GitError::library(format!("read what is before {tip}")))
        };
        let mut commit = tip;
        loop {
            match parents(commit)?.as_slice() {
                [first, merged @ ..] if merged.contains(&target) => return Ok(*first),
                [first, ..] if self.contains(*first, target)? => commit = *first,
                _ => return Ok(tip),
            }
        }
    }
}
