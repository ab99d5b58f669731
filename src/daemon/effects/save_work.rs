//! The work in progress of an agent that is redirected: a commit on its branch, and a reference
//! that keeps it.
//!
//! Invariant: nothing in the worktree is changed or lost. The commit's date is the intention's, so
//! a redo gives the same object, and the reference is made only once the commit is on disk. What
//! cannot be committed to the branch without guessing (a merge left open, another branch checked
//! out) stays as it is in the worktree, which is then not handed over.

use super::context::DriverContext;
use super::failure::{oid, ours};
use crate::crash;
use crate::domain::effect::{self, Saved};
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::outcome::{Failure, SaveWorkOutcome};
use crate::git::{Seal, Sealed, rescue_ref};

/// Commits it. Blocks.
pub(super) fn save_work(
    context: &DriverContext,
    effect: &effect::SaveWork,
) -> Result<SaveWorkOutcome, Failure> {
    let effect::SaveWork {
        agent,
        idea,
        branch,
        worktree,
        base,
        at,
    } = effect;
    let reference = reference(agent, idea);
    let message =
        format!("WIP: {idea}\n\n{agent} was redirected to another idea.\n\nSwarm-Idea: {idea}\n");
    let sealed = context.repo.seal(&Seal {
        name: worktree.clone(),
        branch: branch.clone(),
        base: oid(base)?,
        message,
        identity: context.repo.identity()?,
        time: *at,
        // It is not finished, and nobody lands it as it is.
        hooks: false,
    })?;
    let (head, committed) = match sealed {
        Sealed::Done {
            head, committed, ..
        } => (head, committed),
        Sealed::Strayed { branch: other, .. } => {
            let place = other.map_or_else(
                || "a detached commit".to_owned(),
                |other| format!("the branch `{other}`"),
            );
            let message = format!("the worktree is on {place} instead of `{branch}`");
            return Ok(SaveWorkOutcome::Unsealable { message });
        }
        Sealed::HooksDue => unreachable!("hooks are asked for by a seal alone"),
        Sealed::Unfinished { what, .. } => {
            let message = format!("a {what} is in progress in the worktree");
            return Ok(SaveWorkOutcome::Unsealable { message });
        }
    };
    crash::point("redirect.committed");
    context.repo.keep_commit(&reference, head)?;
    let saved = Saved {
        tip: ours(head),
        wip: None,
    };
    Ok(SaveWorkOutcome::Saved { saved, committed })
}

/// Where it is kept.
fn reference(agent: &AgentId, idea: &IdeaId) -> String {
    rescue_ref(&format!("redirected-{agent}-{idea}"))
}
