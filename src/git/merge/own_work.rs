//! Tells a branch's own work from what it has of the target's history that a rollback took back.
//!
//! Invariant: reads only. A commit that is or contains own work is never taken for the target's.
//! Where the history does not tell, what was taken back comes again, and nothing is lost.

use std::collections::HashSet;

use git2::{Oid, Repository, Sort};

use crate::git::error::GitError;
use crate::git::objects::landings::is_landing;
use crate::git::repo::Repo;

/// Arguments of [`Repo::own_work_begins`].
#[derive(Debug, Clone)]
pub struct OwnWork {
    /// Tip of the branch.
    pub source: Oid,
    /// Commit of the target where the branch began.
    pub base: Oid,
    /// Commit that the target is at now.
    pub target: Oid,
    /// Commits that the target was at before its rollbacks. Those that git no longer has are
    /// passed over.
    pub taken_back: Vec<Oid>,
}

impl Repo {
    /// The commit after which all of the branch is its own: its base, or what came of the target
    /// into the branch since and was taken back.
    pub fn own_work_begins(&self, want: &OwnWork) -> Result<Oid, GitError> {
        let library = self.library()?;
        find(&library, want).map_err(GitError::library(format!(
            "tell the branch's own work up to {:.10}",
            want.source
        )))
    }
}

fn find(library: &Repository, want: &OwnWork) -> Result<Oid, git2::Error> {
    let taken_back = targets(library, want)?;
    let branch = beyond(library, &[want.source], want.target)?;
    let first = first_own(library, want, &branch)?;
    // Newest first, so the first that fits has all the others in it that do.
    for commit in branch {
        let fits = taken_back.contains(&commit)
            && contains(library, commit, want.base)?
            && !match first {
                Some(first) => contains(library, commit, first)?,
                None => false,
            };
        if fits {
            return Ok(commit);
        }
    }
    Ok(want.base)
}

/// What the target was at, and is no longer: landings, and the lines of first parents. Other
/// commits may be a branch's that a person merged.
fn targets(library: &Repository, want: &OwnWork) -> Result<HashSet<Oid>, git2::Error> {
    let known = |tip: &Oid| library.find_commit(*tip).is_ok();
    let tips: Vec<Oid> = want.taken_back.iter().copied().filter(known).collect();
    let gone: HashSet<Oid> = beyond(library, &tips, want.target)?.into_iter().collect();
    let mut targets = HashSet::new();
    for oid in &gone {
        if is_landing(&library.find_commit(*oid)?) {
            targets.insert(*oid);
        }
    }
    for tip in tips {
        let mut at = Some(tip);
        while let Some(oid) = at.filter(|oid| gone.contains(oid)) {
            targets.insert(oid);
            at = library.find_commit(oid)?.parent_ids().next();
        }
    }
    Ok(targets)
}

/// Commits that these have and the target has not, none before one that descends from it.
fn beyond(library: &Repository, tips: &[Oid], target: Oid) -> Result<Vec<Oid>, git2::Error> {
    let mut walk = library.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL)?;
    for tip in tips {
        walk.push(*tip)?;
    }
    walk.hide(target)?;
    walk.collect()
}

/// The oldest own commit: on the line of first parents, since what is merged into a branch is its
/// second parent. A landing is nobody's work, also where the branch was fast-forwarded to it.
fn first_own(
    library: &Repository,
    want: &OwnWork,
    branch: &[Oid],
) -> Result<Option<Oid>, git2::Error> {
    let branch: HashSet<&Oid> = branch.iter().collect();
    let (mut at, mut first) = (Some(want.source), None);
    while let Some(oid) = at.filter(|oid| *oid != want.base && branch.contains(oid)) {
        let commit = library.find_commit(oid)?;
        if !is_landing(&commit) {
            first = Some(oid);
        }
        at = commit.parent_ids().next();
    }
    Ok(first)
}

fn contains(library: &Repository, commit: Oid, ancestor: Oid) -> Result<bool, git2::Error> {
    Ok(commit == ancestor || library.graph_descendant_of(commit, ancestor)?)
}
