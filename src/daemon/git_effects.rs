//! Effects in git: what each asks of the git room, and what its answer means.

use super::dispatch::failed;
use super::tools::Tools;
use crate::domain::effect::{ConflictLevel, Effect, KeptWorktree};
use crate::domain::ids::{EffectId, IdeaId, Oid};
use crate::domain::observation::{FailureKind, Outcome};
use crate::git;

/// Carries out an effect in git. Blocks.
pub(super) fn perform(tools: &Tools, id: EffectId, effect: &Effect) -> Outcome {
    let done = match effect {
        Effect::PrepareWorktree {
            branch,
            worktree,
            target,
            from,
            ..
        } => prepare(tools, worktree, branch, target, from.as_ref()),
        Effect::Seal { .. } => seal(tools, effect),
        Effect::BuildMerge { .. } => build(tools, id, effect),
        Effect::PrepareVerify { commit, .. } => tools
            .repo
            .verify_tree(commit.as_str())
            .map(|_| Outcome::VerifyReady),
        Effect::Land {
            target,
            expected,
            commit,
            ..
        } => land(tools, target, expected, commit),
        Effect::StartResolution { .. } => start_resolution(tools, effect),
        Effect::FinishResolution { .. } => finish_resolution(tools, effect),
        Effect::ReleaseWorktree { worktree, branch } => release(tools, worktree, branch),
        Effect::Run { .. } | Effect::StopRun { .. } | Effect::ArchiveInbox { .. } => {
            return failed("this effect is not git's");
        }
    };
    done.unwrap_or_else(|error| failure(&error))
}

fn failure(error: &git::GitError) -> Outcome {
    let kind = if error.is_no_space() {
        FailureKind::NoSpace
    } else {
        FailureKind::Other
    };
    Outcome::Failed {
        kind,
        message: error.to_string(),
    }
}

type Done = Result<Outcome, git::GitError>;
