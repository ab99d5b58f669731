//! Detects conflicts that were left open, even if they were committed.
//!
//! Invariant: a commit with conflict markers resolves nothing, whoever made it. Only files that
//! were in conflict are checked, and only markers that neither side brought count, since a file may
//! contain some on purpose.

use std::collections::BTreeMap;
use std::path::Path;

use super::note::Resolution;
use crate::domain::ids::attempt_name;
use crate::git::error::GitError;
use crate::git::merge::markers::marker_lines;
use crate::git::objects::names::shown;
use crate::git::repo::Repo;
use crate::git::store::oid::Oid;
use crate::git::worktree::release::rescue_ref;

/// Marker lines with counts.
type Markers = BTreeMap<Vec<u8>, usize>;

impl Repo {
    /// Files of the noted conflict that contain markers in `tip`, if `tip` contains the noted
    /// merge.
    pub(crate) fn committed_open(
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
        // If the target was reached without a merge, the branch's earlier content is unknown.
        let before = self.before_merge(tip, note.target)?;
        let ours = Some(before).filter(|before| *before != tip);
        let mut open = Vec::new();
        for path in &note.files {
            if self.is_left_open(path, &self.markers_in(tip, path)?, ours, note.target)? {
                open.push(shown(path));
            }
        }
        Ok(open)
    }

    /// Whether the file, with these markers, has one that a merge of the two commits would not have
    /// brought.
    pub(crate) fn is_left_open(
        &self,
        path: &Path,
        held: &Markers,
        ours: Option<Oid>,
        theirs: Oid,
    ) -> Result<bool, GitError> {
        if held.is_empty() {
            return Ok(false);
        }
        let by_them = self.markers_in(theirs, path)?;
        let by_us = ours.map_or(Ok(Markers::new()), |ours| self.markers_in(ours, path))?;
        let base = match ours {
            Some(ours) => self.merge_base(ours, theirs)?,
            None => None,
        };
        let before = base.map_or(Ok(Markers::new()), |base| self.markers_in(base, path))?;
        let brought = |line: &Vec<u8>| {
            let count = |of: &Markers| of.get(line).copied().unwrap_or(0);
            let (us, them) = (count(&by_us), count(&by_them));
            (us + them).saturating_sub(count(&before)).max(us).max(them)
        };
        Ok(held.iter().any(|(line, count)| *count > brought(line)))
    }

    /// Markers in this file of the commit.
    fn markers_in(&self, commit: Oid, path: &Path) -> Result<Markers, GitError> {
        let content = self.content_at(commit, path)?;
        Ok(content.map_or_else(Markers::new, |text| marker_lines(&text)))
    }

    /// Moves the branch back to before a merge that was committed with its conflict open; saves its
    /// commit under `refs/swarm/rescue/`.
    pub(crate) fn take_back_open_merge(
        &self,
        branch: &str,
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
        self.keep_commit(&rescue_ref(&attempt_name(branch)), tip)?;
        let why = "merge: undo a committed conflict";
        self.move_ref(reference, tip, back, why)
    }

    /// The commit before `target` was merged on the way to `tip`; `tip` if there was no such merge.
    fn before_merge(&self, tip: Oid, target: Oid) -> Result<Oid, GitError> {
        let mut commit = tip;
        loop {
            match self.commit(commit)?.parents.as_slice() {
                [first, merged @ ..] if merged.contains(&target) => return Ok(*first),
                [first, ..] if self.contains(*first, target)? => commit = *first,
                _ => return Ok(tip),
            }
        }
    }
}
