//! Makes worktrees again that went away while no daemon ran.
//!
//! Invariant: nothing that is on a branch is lost, and what is lost is told.

use crate::config::Config;
use crate::daemon::error::DaemonError;
use crate::daemon::files::settings;
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::observation::Observation;
use crate::domain::state::{Attempt, State};
use crate::domain::warning::WarningKind;
use crate::git::Repo;

/// Makes the worktrees again that attempts had in a folder that is gone, or that a copy of the
/// repository does not have. Attempts that have not begun get theirs from the effect that waits.
/// Returns what to tell about them.
pub(super) fn restore(
    repo: &Repo,
    config: &Config,
    state: &State,
) -> Result<Vec<String>, DaemonError> {
    let mut told = Vec::new();
    let has_none = |attempt: &&Attempt| {
        let waits = [AttemptPhase::Queued, AttemptPhase::Preparing];
        waits.contains(&attempt.phase) || attempt.lent().is_some()
    };
    for attempt in state.agents.values().filter(|it| !has_none(it)) {
        let (name, branch) = (&attempt.worktree, &attempt.branch);
        let keep = settings::keep_ignored(config);
        told.extend(repo.restore_worktree(name, branch, keep)?);
    }
    Ok(told)
}

/// Tells a person what became of the worktrees.
pub(super) fn warnings(note: Option<String>) -> Vec<Observation> {
    let key = WarningKind::WorktreesFolder.only().to_owned();
    let warning = note.map(|message| Observation::Trouble { key, message });
    warning.into_iter().collect()
}
