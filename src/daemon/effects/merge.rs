//! Effects of the merge queue in git.

use std::collections::BTreeSet;

use super::context::DriverContext;
use super::outcome::failed;
use super::outcome::{oid, ours};
use crate::domain::effect::{self, ConflictLevel, Effect};
use crate::domain::ids::{EffectId, IdeaId, Oid};
use crate::domain::observation::{LeftOut, Outcome};
use crate::domain::time::Timestamp;
use crate::git::{
    self, BuildMerge, BuildOutcome, ConflictClass, Finish, FinishResolution, GitError, Land,
    LandOutcome, Rebase, Rebased, TargetState,
};

type Done = Result<Outcome, GitError>;

/// The work and the target of a merge.
type Merged = (git2::Oid, git2::Oid);

/// So many ideas that a force-push dropped are named at most: a record has its limit.
const DROPPED: usize = 1_000;

/// Builds the merged commit in memory.
pub(crate) fn build(context: &DriverContext, id: EffectId, effect: &Effect) -> Done {
    let Effect::BuildMerge(effect::BuildMerge {
        idea,
        branch,
        source,
        base,
        target,
        known_target,
        rebase,
        title,
        at,
    }) = effect
    else {
        return Ok(failed("this effect is not a merge"));
    };
    if let Some(known) = known_target
        && let TargetState::Rewritten { to } = context.repo.target_state(target, oid(known)?)?
    {
        // Work that had landed may be reachable from nowhere else.
        context.repo.keep_dropped(target, oid(known)?)?;
        return Ok(Outcome::TargetRewritten {
            found: ours(to),
            dropped: dropped(context, oid(known)?, to),
        });
    }
    let mut tip = oid(source)?;
    if *rebase {
        let begun = Begun {
            branch,
            source: tip,
            base: oid(base)?,
        };
        tip = match replay(context, &begun, target, *at)? {
            Ok(tip) => tip,
            Err(conflict) => return Ok(conflict),
        };
    }
    let built = context.repo.build_merge(&BuildMerge {
        target_branch: target.clone(),
        source: tip,
        message: message(idea, branch, title, id),
        identity: context.repo.identity()?,
        time: *at,
    })?;
    Ok(match built {
        BuildOutcome::Built {
            commit,
            target,
            simple_resolved,
        } => Outcome::Built {
            commit: ours(commit),
            target: ours(target),
            resolved: simple_resolved,
        },
        BuildOutcome::NothingToMerge { target } => Outcome::NothingToMerge {
            target: ours(target),
        },
        BuildOutcome::Conflict {
            target,
            class,
            files,
        } => Outcome::Conflicted {
            target: ours(target),
            level: level(class),
            files: files.into_iter().map(|file| file.path).take(200).collect(),
        },
    })
}

fn level(class: ConflictClass) -> ConflictLevel {
    match class {
        ConflictClass::Medium => ConflictLevel::Medium,
        ConflictClass::Complex => ConflictLevel::Complex,
    }
}

/// A branch as it was queued.
struct Begun<'a> {
    branch: &'a str,
    source: git::Oid,
    /// Where it left the target.
    base: git::Oid,
}

/// After a force-push or a rollback: the own commits of a branch that began on the old history, on
/// the new target. One that began on the new history is as it is.
fn replay(
    context: &DriverContext,
    begun: &Begun<'_>,
    target: &str,
    time: Timestamp,
) -> Result<Result<git::Oid, Outcome>, GitError> {
    let Begun { source, base, .. } = *begun;
    let Some(new_base) = context.repo.branch_commit(target)? else {
        return Ok(Err(failed(format!("the target branch `{target}` is gone"))));
    };
    if context.repo.contains(new_base, base)? {
        return Ok(Ok(source));
    }
    let rebased = context.repo.rebase_source(&Rebase {
        source,
        old_base: base,
        new_base,
        identity: context.repo.identity()?,
        time,
    })?;
    Ok(match rebased {
        Rebased::Replayed { head, .. } => Ok(head),
        Rebased::Nothing => Ok(source),
        Rebased::Conflict { commit, files, .. } => {
            if let Some(outcome) = brought_over(context, begun, new_base)? {
                return Ok(Err(outcome));
            }
            let files: Vec<String> = files.into_iter().map(|file| file.path).collect();
            Err(failed(format!(
                "after the target went back, commit {commit:.10} does not apply to the new \
                `{target}` ({}); bring the branch onto it by hand, in its worktree: git rebase \
                --onto {target} {base:.10}; then: swarm merge retry",
                files.join(", ")
            )))
        }
    })
}

/// Whether the branch, as it is now, has nothing of the old history that the target has not.
fn brought_over(
    context: &DriverContext,
    begun: &Begun<'_>,
    target: git::Oid,
) -> Result<Option<Outcome>, GitError> {
    let Some(head) = context.repo.branch_commit(begun.branch)? else {
        return Ok(None);
    };
    let Some(base) = context.repo.merge_base(head, target)? else {
        return Ok(None);
    };
    let old = match context.repo.merge_base(head, begun.base)? {
        Some(common) => !context.repo.contains(target, common)?,
        None => false,
    };
    let over = head != base && !old;
    Ok(over.then(|| Outcome::BroughtOver {
        base: ours(base),
        head: ours(head),
    }))
}

/// The ideas that had landed before a force-push and that the history now there has not. Of commits
/// that git has thrown away already nothing can be said.
fn dropped(context: &DriverContext, before: git::Oid, now: git::Oid) -> Vec<IdeaId> {
    let landed = |tip, hidden| match context.repo.landings(tip, Some(hidden), |_| false) {
        Ok(landed) => landed,
        Err(error) => {
            tracing::warn!(%error, "which landed ideas a force-push dropped cannot be said");
            Vec::new()
        }
    };
    let kept: BTreeSet<String> = landed(now, before).into_iter().map(|it| it.idea).collect();
    let lost = landed(before, now).into_iter().map(|it| it.idea);
    let lost: BTreeSet<IdeaId> = lost
        .filter(|idea| !kept.contains(idea))
        .filter_map(|idea| idea.parse().ok())
        .collect();
    lost.into_iter().take(DROPPED).collect()
}

/// The merge commit's message; the trailers are part of the contract.
fn message(idea: &IdeaId, branch: &str, title: &str, id: EffectId) -> String {
    format!("Merge {idea}: {title}\n\nFrom {branch}.\n\nSwarm-Idea: {idea}\nSwarm-Op: {id}\n")
}

/// Moves the target.
pub(crate) fn land(context: &DriverContext, target: &str, expected: &Oid, commit: &Oid) -> Done {
    let landed = context.repo.land(&Land {
        branch: target.to_owned(),
        expected: oid(expected)?,
        commit: oid(commit)?,
    })?;
    Ok(match landed {
        LandOutcome::Landed | LandOutcome::AlreadyLanded => Outcome::Landed,
        LandOutcome::TargetMoved { found: Some(found) } => {
            Outcome::TargetMoved { found: ours(found) }
        }
        LandOutcome::TargetMoved { found: None } => failed(format!(
            "the target branch `{target}` is gone; bring it back (git branch {target} {expected}), \
            then: swarm merge retry"
        )),
        LandOutcome::CheckoutBlocked(blocked) => Outcome::CheckoutBlocked {
            reason: blocked.reason,
            files: blocked.files,
        },
        LandOutcome::NotAFastForward => failed(format!(
            "the merge {commit:.10} does not contain {expected:.10}, where `{target}` stands; it \
            is built again at: swarm merge retry"
        )),
    })
}

/// Merges the target into the attempt's worktree. Without a conflict the merge is concluded at
/// once.
pub(crate) fn start_resolution(context: &DriverContext, effect: &Effect) -> Done {
    let Effect::StartResolution(effect::StartResolution {
        idea,
        branch,
        worktree,
        target,
        source,
        at,
    }) = effect
    else {
        return Ok(failed("this effect is not the start of a resolution"));
    };
    let files = context
        .repo
        .start_resolution(worktree, branch, oid(target)?)?;
    if !files.is_empty() {
        return started(context, branch, files);
    }
    let merged = merged(source.as_ref(), Some(target))?;
    match conclude(context, idea, (branch, worktree), *at)? {
        Finish::Finished { head } => Ok(Outcome::ResolutionStarted {
            head: ours(head),
            files,
            left_out: left_out(context, worktree, merged, head)?,
        }),
        Finish::StillConflicted { files } => started(context, branch, files),
        // The branch holds the target already.
        Finish::NotStarted => started(context, branch, files),
    }
}

fn started(context: &DriverContext, branch: &str, files: Vec<String>) -> Done {
    let head = context.repo.branch_commit(branch)?;
    Ok(head.map_or_else(
        || failed(format!("the branch `{branch}` is gone")),
        |head| Outcome::ResolutionStarted {
            head: ours(head),
            files,
            left_out: None,
        },
    ))
}

/// The work and the target; none, too, where an older version asked, which named no work.
fn merged(source: Option<&Oid>, target: Option<&Oid>) -> Result<Option<Merged>, GitError> {
    source
        .zip(target)
        .map(|(source, target)| Ok((oid(source)?, oid(target)?)))
        .transpose()
}

fn conclude(
    context: &DriverContext,
    idea: &IdeaId,
    (branch, worktree): (&str, &str),
    time: Timestamp,
) -> Result<Finish, GitError> {
    context.repo.finish_resolution(&FinishResolution {
        name: worktree.to_owned(),
        branch: branch.to_owned(),
        message: format!("Merge the target into the work on {idea}\n\nSwarm-Idea: {idea}\n"),
        identity: context.repo.identity()?,
        time,
    })
}

/// Concludes the merge in the worktree.
pub(crate) fn finish_resolution(context: &DriverContext, effect: &Effect) -> Done {
    let Effect::FinishResolution(effect::FinishResolution {
        idea,
        branch,
        worktree,
        target,
        source,
        at,
    }) = effect
    else {
        return Ok(failed("this effect is not the end of a resolution"));
    };
    let merged = merged(source.as_ref(), target.as_ref())?;
    let finished = |head| -> Done {
        Ok(Outcome::ResolutionFinished {
            head: ours(head),
            left_out: left_out(context, worktree, merged, head)?,
        })
    };
    Ok(match conclude(context, idea, (branch, worktree), *at)? {
        Finish::Finished { head } => finished(head)?,
        Finish::StillConflicted { files } => Outcome::StillConflicted { files },
        Finish::NotStarted => match concluded(context, branch, target.as_ref())? {
            Some(head) => finished(head)?,
            None => failed(format!(
                "no merge is in progress in .swarm/worktrees/{worktree}; merge the target there, \
                or try again: swarm merge retry {idea}"
            )),
        },
    })
}

/// Where the branch stands, if an earlier call, whose answer a kill took, has concluded the merge.
fn concluded(
    context: &DriverContext,
    branch: &str,
    target: Option<&Oid>,
) -> Result<Option<git2::Oid>, GitError> {
    let (Some(head), Some(target)) = (context.repo.branch_commit(branch)?, target) else {
        return Ok(None);
    };
    let contained = context.repo.contains(head, oid(target)?)?;
    Ok(contained.then_some(head))
}

/// Work that `head` settles the conflict without.
fn left_out(
    context: &DriverContext,
    worktree: &str,
    merged: Option<Merged>,
    head: git2::Oid,
) -> Result<Option<LeftOut>, GitError> {
    let Some(merged) = merged else {
        return Ok(None);
    };
    let found = context.repo.keep_left_out(worktree, merged, head)?;
    Ok(found.map(|found| LeftOut {
        files: found.files,
        undone: found.undone,
        kept: found.kept,
    }))
}
