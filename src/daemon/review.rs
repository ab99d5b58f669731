//! What a person who reviews finished work sees, and what must hold when they approve it. Called by
//! the API and, without a daemon, by the command line.
//!
//! Invariant: only reads.

use super::effects::failure::{oid, ours};
use crate::domain::decide;
use crate::domain::ids::{IdeaId, Oid};
use crate::domain::rejection::Rejection;
use crate::domain::state::{MergeEntry, State};
use crate::git::{ChangeKind, FileChange, GitError, Repo};
use crate::view::{ChangedFile, MergeDiff, TargetNow};

/// Longest patch that is passed on, in bytes.
const MOST: usize = 4 << 20;

/// Changes to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    idea: IdeaId,
    branch: String,
    held: bool,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// What merging this commit into this branch would change now.
    Merge { source: Oid, target: String },
    /// What `tip` changes since `base`, or since its first parent.
    Commits { base: Option<Oid>, tip: Oid },
}

impl Wanted {
    /// The merge of this idea.
    ///
    /// # Errors
    /// The idea is unknown or not in the merge queue.
    pub fn of(state: &State, id: &IdeaId) -> Result<Self, Rejection> {
        let entry = decide::merge_entry(state, id, "show")?;
        let settings = state.settings.as_deref();
        Ok(Self {
            idea: id.clone(),
            branch: entry.branch.clone(),
            held: entry.is_in_review(),
            what: What::Merge {
                source: entry.source.clone(),
                target: settings.map_or_else(String::new, |settings| settings.target.clone()),
            },
        })
    }

    /// The commits of this idea as the state has them: what landed, or else what its agent has
    /// committed. `None`: no commit is known.
    pub fn commits(state: &State, id: &IdeaId) -> Option<Self> {
        let idea = state.ideas.get(id)?;
        let attempt = state.attempt_at(id).map(|(_, attempt)| attempt);
        let source = state.entry(id).map(|entry| entry.source.clone());
        let (branch, base, tip) = match (&idea.commit, attempt) {
            (Some(landed), None) => (String::new(), idea.landed_since.clone(), landed.clone()),
            (_, Some(attempt)) => {
                let tip = source.or_else(|| attempt.head.clone())?;
                (attempt.branch.clone(), Some(attempt.base.clone()?), tip)
            }
            (None, None) => return None,
        };
        Some(Self {
            idea: id.clone(),
            branch,
            held: state.entry(id).is_some_and(MergeEntry::is_in_review),
            what: What::Commits { base, tip },
        })
    }

    /// What it changes. Blocks.
    ///
    /// # Errors
    /// The target or a commit is gone; git failed.
    pub fn diff(self, repo: &Repo) -> Result<MergeDiff, GitError> {
        let (preview, source) = match self.what {
            What::Merge { source, target } => (repo.preview_merge(&target, oid(&source)?)?, source),
            What::Commits { base, tip } => {
                let base = base.as_ref().map(oid).transpose()?;
                (repo.preview_commits(base, oid(&tip)?)?, tip)
            }
        };
        let end = end_of_lines(&preview.patch, MOST);
        Ok(MergeDiff {
            idea_id: self.idea,
            branch: self.branch,
            source_commit: source,
            target_commit: ours(preview.target),
            base: ours(preview.base),
            result: ours(preview.result),
            held: self.held,
            conflicts: preview.conflicts,
            files: preview.files.into_iter().map(changed_file).collect(),
            truncated: end < preview.patch.len(),
            diff: String::from_utf8_lossy(&preview.patch[..end]).into_owned(),
        })
    }
}

/// Where the last whole line of the first `most` bytes ends.
fn end_of_lines(text: &[u8], most: usize) -> usize {
    if text.len() <= most {
        return text.len();
    }
    let last = text[..most].iter().rposition(|byte| *byte == b'\n');
    last.map_or(most, |at| at + 1)
}

fn changed_file(change: FileChange) -> ChangedFile {
    ChangedFile {
        path: change.path,
        from: change.from,
        status: match change.kind {
            ChangeKind::Added => "added",
            ChangeKind::Deleted => "deleted",
            ChangeKind::Modified => "modified",
            ChangeKind::Renamed => "renamed",
            ChangeKind::TypeChanged => "typeChanged",
        },
        insertions: change.insertions,
        deletions: change.deletions,
    }
}

/// The branch of work that waits for review.
pub fn branch_in_review(state: &State, id: &IdeaId) -> Option<String> {
    let entry = state.entry(id).filter(|entry| entry.is_in_review())?;
    Some(entry.branch.clone())
}

/// Refuses to approve work whose branch, which is `now` here, has gone on since the work was
/// checked: the new commits would not land, and nobody would notice.
///
/// # Errors
/// The branch is at another commit than the one that waits.
pub fn require_unmoved(state: &State, id: &IdeaId, now: &TargetNow) -> Result<(), Rejection> {
    let entry = state.entry(id).filter(|entry| entry.is_in_review());
    let (Some(entry), TargetNow::At(tip)) = (entry, now) else {
        return Ok(());
    };
    if *tip == entry.source {
        return Ok(());
    }
    Err(Rejection::NotNow {
        what: format!("approve the work of {id}"),
        why: format!(
            "{} has moved to {tip:.10} since {:.10} was checked, and only the latter would land",
            entry.branch, entry.source
        ),
        instead: Some(format!(
            "have the agent check and finish the new commits: swarm merge reject {id} \"...\""
        )),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_patch_ends_with_a_whole_line() {
        assert_eq!(end_of_lines(b"ab\ncd\nef\n", 9), 9);
        assert_eq!(end_of_lines(b"ab\ncd\nef\n", 7), 6);
        assert_eq!(end_of_lines(b"abcdef", 3), 3);
    }
}
