//! Whether the next attempt can begin with the commits of an imported agent.
//!
//! Invariant: only a commit that is in this repository, or came with the file, and shares history
//! with the target counts; where it left the target is found out here, not believed.

use crate::config::Config;
use crate::daemon::error::DaemonError;
use crate::domain::ids;
use crate::domain::state::transfer::agent::ImportedCommits;
use crate::git::{GitError, Oid, Quarantine, Repo};
use crate::view::agent_state::contexts::WorktreeContext;
use crate::view::agent_state::import::{Commits, CommitsFate};

/// Name of the last commit in the bundle of an agent's file.
pub const WORK: &str = "refs/tip";

/// The target's last commit, if there is one.
pub fn target(repo: &Repo, config: &Config) -> Result<Option<Oid>, GitError> {
    let branch = match &config.target {
        Some(target) => Some(target.clone()),
        None => repo.head_branch()?,
    };
    match &branch {
        Some(branch) => repo.branch_commit(branch),
        None => Ok(None),
    }
}

/// What becomes of the commits.
pub(super) enum Fate {
    /// The next attempt begins with them.
    Taken(ImportedCommits),
    /// It begins from the target.
    Left {
        /// The last commit, if the file names one.
        tip: Option<String>,
        /// Why.
        why: CommitsFate,
    },
}

impl Fate {
    /// The commits, if the next attempt may begin with them.
    pub(super) fn taken(&self) -> Option<&ImportedCommits> {
        match self {
            Self::Taken(commits) => Some(commits),
            Self::Left { .. } => None,
        }
    }

    /// For the result. Work that the idea has of its own comes first.
    pub(super) fn told(&self, own_work: bool) -> Commits {
        let (tip, fate) = match self {
            Self::Taken(commits) if own_work => {
                (Some(commits.tip.to_string()), CommitsFate::OwnWork)
            }
            Self::Taken(commits) => (Some(commits.tip.to_string()), CommitsFate::Taken),
            Self::Left { tip, why } => (tip.clone(), *why),
        };
        Commits { tip, fate }
    }
}

/// Looks for the commits that the file names, in the repository and beside it.
pub(super) fn fate(
    (repo, beside): (&Repo, Option<&Quarantine>),
    config: &Config,
    worktree: &WorktreeContext,
) -> Result<Fate, DaemonError> {
    let left = |why| {
        let tip = worktree.tip.clone();
        Ok(Fate::Left { tip, why })
    };
    let Some(named) = &worktree.tip else {
        return left(CommitsFate::NotNamed);
    };
    // The other format of object ids names nothing here.
    let Ok(tip) = Oid::from_str(named) else {
        return left(CommitsFate::NotHere);
    };
    let is_here = match beside {
        Some(commits) => commits.has_commit(tip),
        None => repo.has_commit(tip)?,
    };
    if !is_here {
        return left(CommitsFate::NotHere);
    }
    let Some(target) = target(repo, config)? else {
        return left(CommitsFate::Unrelated);
    };
    let base = match beside {
        Some(commits) => commits.merge_base(target, tip)?,
        None => repo.merge_base(target, tip)?,
    };
    let Some(base) = base else {
        return left(CommitsFate::Unrelated);
    };
    if base == tip {
        return left(CommitsFate::InTarget);
    }
    let own = |oid: Oid| oid.to_string().parse::<ids::Oid>();
    match (own(base), own(tip)) {
        (Ok(base), Ok(tip)) => Ok(Fate::Taken(ImportedCommits { base, tip })),
        (Err(_), _) | (_, Err(_)) => left(CommitsFate::NotHere),
    }
}
