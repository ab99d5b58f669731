//! Effects in git: what each asks of the git room, and what its answer means.

use super::context::DriverContext;
use super::outcome::{failed, failure, oid, ours};
use crate::daemon::actor::clock;
use crate::daemon::checkpoints;
use crate::domain::effect::{self, Effect, KeptWorktree, Landing};
use crate::domain::ids::{EffectId, IdeaId, Oid};
use crate::domain::observation::{FailureKind, Outcome};
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::git::{
    self, BranchProblem, Earlier, FinishResolution, FreshStart, GitError, Prepare, Proof, Release,
    Seal, Sealed, Stray,
};

type Done = Result<Outcome, GitError>;

/// Carries out an effect in git, once. Blocks.
pub(crate) fn perform(context: &DriverContext, id: EffectId, effect: &Effect) -> Outcome {
    attempt(context, id, effect).unwrap_or_else(|error| failure(&error))
}

/// The same for a checkpoint, which keeps this state.
pub(crate) fn made(
    context: &DriverContext,
    state: &State,
    id: EffectId,
    effect: &Effect,
) -> Outcome {
    checkpoints::create(context, state, id, effect).unwrap_or_else(|error| failure(&error))
}

fn attempt(context: &DriverContext, id: EffectId, effect: &Effect) -> Done {
    match effect {
        Effect::PrepareWorktree(effect::PrepareWorktree {
            branch,
            worktree,
            target,
            from,
            ..
        }) => prepare(context, worktree, branch, target, from.as_ref()),
        Effect::Seal(_) => seal(context, effect),
        Effect::SaveWork(_) => super::save_work::save_work(context, effect),
        Effect::BuildMerge(_) => super::merge::build(context, id, effect),
        Effect::PrepareVerify(effect::PrepareVerify { commit, .. }) => oid(commit)
            .and_then(|commit| context.repo.verify_tree(commit))
            .map(|_| Outcome::VerifyReady),
        Effect::Land(effect::Land {
            target,
            expected,
            commit,
            ..
        }) => super::merge::land(context, target, expected, commit),
        Effect::StartResolution(_) => super::merge::start_resolution(context, effect),
        Effect::FinishResolution(_) => super::merge::finish_resolution(context, effect),
        Effect::ReleaseWorktree(effect::ReleaseWorktree {
            worktree,
            branch,
            landed,
            at,
        }) => release(context, worktree, branch, landed.as_ref(), *at),
        Effect::DeleteCheckpoint(effect::DeleteCheckpoint { name, in_use, keep }) => {
            checkpoints::delete(context, name, in_use, keep.as_ref())
        }
        Effect::CheckRollback(_) => checkpoints::check(context, effect),
        Effect::MoveTarget(_) => checkpoints::move_target(context, effect),
        Effect::Run(_)
        | Effect::StopRun(_)
        | Effect::ArchiveInbox(_)
        | Effect::MakeCheckpoint(_) => Ok(failed("this effect is not git's alone")),
    }
}

/// The warning about a target that went past the checks.
pub(crate) fn moved_by_an_agent(target: &str, stray: &Stray) -> String {
    let Stray { worktree, commit } = stray;
    format!(
        "the target `{target}` is at {commit:.10}, a commit that an agent made in {worktree} and \
        put there itself: it has passed no check. Look at it: git show {commit:.10}"
    )
}

fn prepare(
    context: &DriverContext,
    worktree: &str,
    branch: &str,
    target: &str,
    from: Option<&KeptWorktree>,
) -> Done {
    let tip = context.repo.branch_commit(target)?;
    let Some(tip) = tip else {
        let message = format!(
            "the target branch `{target}` is gone; swarm status has the command that brings it \
            back, with its last known commit; or name another as `target` in .swarm/config.json"
        );
        let kind = FailureKind::Repository;
        return Ok(Outcome::Failed { kind, message });
    };
    // A base that a force-push and a clean-up have taken away cannot be gone on from.
    let left = match from {
        Some(kept) => context.repo.resolve_commit(kept.base.as_str())?,
        None => None,
    };
    let asked = Prepare {
        name: worktree.to_owned(),
        branch: branch.to_owned(),
        base: left.unwrap_or(tip),
        from: from
            .filter(|kept| kept.saved.is_none())
            .map(|kept| Earlier {
                worktree: kept.worktree.clone(),
                branch: kept.branch.clone(),
            }),
        saved: match from.and_then(|kept| kept.saved.as_ref()) {
            Some(saved) => Some(git::Saved {
                tip: oid(&saved.tip)?,
                wip: saved.wip.as_ref().map(oid).transpose()?,
            }),
            None => None,
        },
    };
    let anew = FreshStart {
        target: target.to_owned(),
        tip,
        identity: context.repo.identity()?,
        time: clock::wall(),
    };
    // First: it brings back what a resolver threw away, which is no empty past.
    if let Some(earlier) = &asked.from {
        leave_merge(context, earlier)?;
    }
    let want = context.repo.fresh_start_if_empty(asked, anew)?;
    let head = context.repo.prepare_worktree(&want)?.head;
    // Where the branch leaves what the target has; a kept branch left it where its attempt began.
    let base = match from {
        Some(kept) if !context.repo.contains(tip, head)? => kept.base.clone(),
        _ => ours(head),
    };
    let head = ours(head);
    Ok(Outcome::WorktreePrepared { head, base })
}

/// The merge that an earlier attempt was in the middle of is not the next one's: the target may
/// have gone back since. What was settled of it is kept under `refs/swarm/rescue/`. Done already:
/// the next attempt has the worktree, on its own branch.
fn leave_merge(context: &DriverContext, earlier: &Earlier) -> Result<(), GitError> {
    let left = context.repo.abort_resolution(&FinishResolution {
        name: earlier.worktree.clone(),
        branch: earlier.branch.clone(),
        message: String::new(),
        identity: context.repo.identity()?,
        time: clock::wall(),
    });
    match left {
        // Whether one that is broken can be gone on from at all is judged next.
        Ok(_)
        | Err(
            GitError::WorktreeMissing { .. }
            | GitError::OffBranch { .. }
            | GitError::WorktreeBroken { .. },
        ) => Ok(()),
        Err(error) => Err(error),
    }
}

fn seal(context: &DriverContext, effect: &Effect) -> Done {
    let Effect::Seal(effect::Seal {
        idea,
        branch,
        worktree,
        base,
        commit,
        at,
        ..
    }) = effect
    else {
        return Ok(failed("this effect is not a seal"));
    };
    if !commit {
        let head = context.repo.branch_commit(branch)?;
        return match head {
            Some(head) => fit(context, branch, head, base, false),
            None => Ok(failed(format!("the branch `{branch}` is gone"))),
        };
    }
    let sealed = context.repo.seal(&Seal {
        name: worktree.clone(),
        branch: branch.clone(),
        base: oid(base)?,
        message: leftovers(idea),
        identity: context.repo.identity()?,
        time: *at,
    })?;
    Ok(match sealed {
        Sealed::Done {
            head, committed, ..
        } => fit(context, branch, head, base, committed)?,
        Sealed::Strayed {
            head,
            branch: other,
        } => Outcome::Unsealable {
            message: match other {
                Some(other) => format!(
                    "the worktree is on the branch `{other}` at {head:.10}, and not on `{branch}`; \
                    go back to it (git switch {branch}) and bring the work there"
                ),
                None => format!(
                    "the worktree is on the detached commit {head:.10}, which `{branch}` does not \
                    lead to; go back (git switch {branch}) and bring the work there"
                ),
            },
        },
        Sealed::Unfinished { what, files } => Outcome::Unsealable {
            message: format!(
                "a {what} is in progress in the worktree{}; finish it or abort it",
                in_files(&files)
            ),
        },
    })
}

/// The branch as it is sealed, if it can be merged at all; otherwise what its agent has to mend.
fn fit(context: &DriverContext, branch: &str, head: git::Oid, base: &Oid, committed: bool) -> Done {
    let message = match context.repo.branch_problem(head, oid(base)?)? {
        None => {
            return Ok(Outcome::Sealed {
                head: ours(head),
                committed,
            });
        }
        Some(BranchProblem::Unrelated) => format!(
            "`{branch}` at {head:.10} shares no history with {base:.10}, where it began, so it \
            cannot be merged; put the work on top of that commit (git reset --soft {base:.10}, \
            then commit)"
        ),
        Some(BranchProblem::Private(folders)) => format!(
            "`{branch}` has files in {}, where swarm keeps the state of this machine; take them \
            out of the commits (git rm -r --cached)",
            folders.join(", ")
        ),
    };
    Ok(Outcome::Unsealable { message })
}

fn in_files(files: &[String]) -> String {
    if files.is_empty() {
        String::new()
    } else {
        format!(" (open: {})", files.join(", "))
    }
}

fn leftovers(idea: &IdeaId) -> String {
    format!("Work on {idea} that its agent left uncommitted\n\nSwarm-Idea: {idea}\n")
}

fn release(
    context: &DriverContext,
    worktree: &str,
    branch: &str,
    landed: Option<&Landing>,
    at: Timestamp,
) -> Done {
    let proof = match landed {
        Some(landing) if is_contained(context, landing)? => Proof::Contained {
            tip: oid(&landing.tip)?,
            target: landing.target.clone(),
        },
        // Given up, or landed by way of replayed commits: what the branch holds is kept under a
        // rescue reference.
        _ => Proof::Abandoned,
    };
    let released = context.repo.release_worktree(&Release {
        name: worktree.to_owned(),
        branch: branch.to_owned(),
        proof,
        identity: context.repo.identity()?,
        time: at,
    })?;
    if let Some(commit) = released.rescued {
        tracing::info!(%commit, worktree, "uncommitted work kept under refs/swarm/rescue/");
    }
    let place = || format!(".swarm/worktrees/{}", git::kept_name(worktree));
    let kept = released.nested.then(place);
    Ok(Outcome::Released { kept })
}

fn is_contained(context: &DriverContext, landing: &Landing) -> Result<bool, GitError> {
    match context.repo.branch_commit(&landing.target)? {
        Some(target) => context.repo.contains(target, oid(&landing.tip)?),
        None => Ok(false),
    }
}
