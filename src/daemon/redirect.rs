//! The work in progress of an agent that is redirected: a commit on its branch, and a reference that keeps it.
//!
//! Invariant: nothing in the worktree is changed or lost. The commit's date is the intention's, so a redo gives the same object, and the
//! reference is made only once the commit is on disk. What cannot be committed to the branch without guessing (a merge left open, another
//! branch checked out) is kept beside it, as a checkpoint does.

use super::dispatch::failed;
use super::git_effects::{oid, ours};
use super::tools::Tools;
use crate::crash;
use crate::domain::effect::{Effect, Saved};
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::observation::Outcome;
use crate::git::{self, GitError, Seal, Sealed, Snapshot, rescue_ref};

/// Commits it. Blocks.
pub(super) fn save_work(tools: &Tools, effect: &Effect) -> Result<Outcome, GitError> {
    let Effect::SaveWork {
        agent,
        idea,
        branch,
        worktree,
        base,
        at,
    } = effect
    else {
        return Ok(failed("this effect does not save work"));
    };
    let reference = reference(agent, idea);
    let message =
        format!("WIP: {idea}\n\n{agent} was redirected to another idea.\n\nSwarm-Idea: {idea}\n");
    let sealed = tools.repo.seal(&Seal {
        name: worktree.clone(),
        branch: branch.clone(),
        base: oid(base)?,
        message: message.clone(),
        identity: tools.repo.identity()?,
        time: *at,
    });
    match sealed {
        Ok(Sealed::Done {
            head, committed, ..
        }) => {
            crash::point("redirect.committed");
            tools.repo.keep_commit(&reference, head)?;
            let saved = Saved {
                tip: ours(head),
                wip: None,
            };
            return Ok(Outcome::WorkSaved { saved, committed });
        }
        Err(error) if is_everybodys(&error) => return Err(error),
        // Its files are what counts: they are kept whatever state git is in there.
        Ok(Sealed::Strayed { .. } | Sealed::Unfinished { .. }) | Err(_) => {}
    }
    let want = Snapshot {
        name: worktree.clone(),
        reference,
        message,
        identity: tools.repo.identity()?,
        time: *at,
    };
    let Some(kept) = tools.repo.keep_attempt(&want, branch)? else {
        return Ok(failed(format!(
            "there is neither the worktree {worktree} nor its branch `{branch}` any more"
        )));
    };
    Ok(Outcome::WorkSaved {
        committed: kept.wip.is_some(),
        saved: Saved {
            tip: ours(kept.tip),
            wip: kept.wip.map(ours),
        },
    })
}

/// Where it is kept.
fn reference(agent: &AgentId, idea: &IdeaId) -> String {
    rescue_ref(&format!("redirected-{agent}-{idea}"))
}

/// The disk's or the repository's trouble, or a git that somebody killed: nothing about this worktree.
fn is_everybodys(error: &git::GitError) -> bool {
    matches!(error, GitError::DiskFull { .. }) || error.is_of_the_repository() || error.was_killed()
}
