//! Effects of the merge queue in git.

use super::attempt::tree_setup;
use super::context::DriverContext;
use super::failure::{LOCK_PATIENCE, oid, ours};
use super::landed_work::rewritten;
use crate::daemon::checks_probe::digest as probe_digest;
use crate::daemon::files::settings::keep_ignored;
use crate::domain::effect::{self, ConflictLevel};
use crate::domain::event::LandingFound;
use crate::domain::ids::{EffectId, IdeaId, Oid};
use crate::domain::outcome::{
    BaselineReady, BuildMergeOutcome, CheckoutBlocked, Failure, FinishResolutionOutcome,
    LandOutcome, LeftOut, ResolutionStarted, VerifyReady,
};
use crate::domain::time::Timestamp;
use crate::git::{
    self, Blocked, BuildMerge, BuildOutcome, ConflictClass, Finish, FinishResolution, GitError,
    Land, OwnWork, Rebase, Rebased,
};

/// The work and the target of a merge.
type Merged = (git::Oid, git::Oid);

/// Builds the merged commit in memory. Blocks.
pub(super) fn build(
    context: &DriverContext,
    id: EffectId,
    effect: &effect::BuildMerge,
    landed: impl FnOnce() -> Vec<LandingFound>,
) -> Result<BuildMergeOutcome, Failure> {
    let target = &effect.target;
    if let Some(known) = &effect.known_target
        && let Some(rewrite) = rewritten(&context.repo, (target, known), landed)?
    {
        return Ok(BuildMergeOutcome::TargetRewritten(rewrite));
    }
    let source = if effect.rebase {
        match replay(context, effect)? {
            Replayed::Onto(head) => head,
            Replayed::Over(outcome) => return Ok(outcome),
        }
    } else {
        oid(&effect.source)?
    };
    let built = context.repo.build_merge(&BuildMerge {
        target_branch: target.clone(),
        source,
        message: message(effect, id),
        identity: context.repo.identity()?,
        time: effect.at,
    })?;
    Ok(match built {
        BuildOutcome::Built {
            commit,
            target,
            simple_resolved,
        } => BuildMergeOutcome::Built {
            commit: ours(commit),
            target: ours(target),
            resolved: simple_resolved,
        },
        BuildOutcome::NothingToMerge { target } => BuildMergeOutcome::NothingToMerge {
            target: ours(target),
        },
        BuildOutcome::Conflict {
            target,
            class,
            files,
        } => BuildMergeOutcome::Conflicted {
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

/// The work of a branch on the new target.
enum Replayed {
    /// This is merged.
    Onto(git::Oid),
    /// Nothing is.
    Over(BuildMergeOutcome),
}

/// After a rewrite or a rollback: the own commits of a branch that began on the old history, on
/// the new target. One that began on the new history is as it is.
fn replay(context: &DriverContext, effect: &effect::BuildMerge) -> Result<Replayed, Failure> {
    let target = &effect.target;
    let source = oid(&effect.source)?;
    let Some(new_base) = context.repo.branch_commit(target)? else {
        let gone = format!("the target branch `{target}` is gone");
        return Err(Failure::other(gone));
    };
    let taken_back: Result<_, GitError> = effect.rolled_back.iter().map(oid).collect();
    let base = context.repo.own_work_begins(&OwnWork {
        source,
        base: oid(&effect.base)?,
        target: new_base,
        taken_back: taken_back?,
    })?;
    if context.repo.contains(new_base, base)? {
        return Ok(Replayed::Onto(source));
    }
    let rebased = context.repo.rebase_source(&Rebase {
        source,
        old_base: base,
        new_base,
        identity: context.repo.identity()?,
        time: effect.at,
    })?;
    let (commit, files) = match rebased {
        Rebased::Replayed { head, .. } => return Ok(Replayed::Onto(head)),
        // All that the branch has was taken back, and must not come again as its work.
        Rebased::Nothing => {
            let target = ours(new_base);
            return Ok(Replayed::Over(BuildMergeOutcome::NothingToMerge { target }));
        }
        Rebased::Conflict { commit, files, .. } => (commit, files),
    };
    if let Some(outcome) = brought_over(context, &effect.branch, base, new_base)? {
        return Ok(Replayed::Over(outcome));
    }
    // A merge brings nothing back where the target still has all that the branch began with.
    if context.repo.contains_changes(new_base, base)? {
        return Ok(Replayed::Onto(source));
    }
    let files: Vec<String> = files.into_iter().map(|file| file.path).collect();
    Err(Failure::other(format!(
        "after the target went back, commit {commit:.10} does not apply to the new \
                `{target}` ({}); bring the branch onto it by hand, in its worktree: git rebase \
                --onto {target} {base:.10}; then: swarm merge retry",
        files.join(", ")
    )))
}

/// Whether the branch, as it is now, has nothing of the old history, which it left at `old_base`,
/// that the target has not.
fn brought_over(
    context: &DriverContext,
    branch: &str,
    old_base: git::Oid,
    target: git::Oid,
) -> Result<Option<BuildMergeOutcome>, GitError> {
    let Some(head) = context.repo.branch_commit(branch)? else {
        return Ok(None);
    };
    let Some(base) = context.repo.merge_base(head, target)? else {
        return Ok(None);
    };
    let old = match context.repo.merge_base(head, old_base)? {
        Some(common) => !context.repo.contains(target, common)?,
        None => false,
    };
    let over = head != base && !old;
    Ok(over.then(|| BuildMergeOutcome::BroughtOver {
        base: ours(base),
        head: ours(head),
    }))
}

/// The merge commit's message; the trailers are part of the contract.
fn message(effect: &effect::BuildMerge, id: EffectId) -> String {
    let effect::BuildMerge {
        idea,
        branch,
        title,
        ..
    } = effect;
    format!("Merge {idea}: {title}\n\nFrom {branch}.\n\nSwarm-Idea: {idea}\nSwarm-Op: {id}\n")
}

/// Brings the merge worktree to the merged commit. Blocks.
pub(super) fn prepare_verify(
    context: &DriverContext,
    effect: &effect::PrepareVerify,
) -> Result<VerifyReady, Failure> {
    let keep = keep_ignored(&context.config());
    let tree = context
        .repo
        .verify_tree(git::VERIFY, oid(&effect.commit)?, &keep)
        .map_err(Failure::of_worktree)?;
    Ok(VerifyReady {
        warm: tree.warm,
        setup: tree_setup(context, git::VERIFY)?,
        probe: probe_digest(context, git::VERIFY)?,
    })
}

/// Brings the merge worktree, or that of controls, to the tip of the target. Blocks.
pub(in crate::daemon) fn prepare_baseline(
    context: &DriverContext,
    effect: &effect::PrepareBaseline,
) -> Result<BaselineReady, Failure> {
    let target = &effect.target;
    let Some(tip) = context.repo.branch_commit(target)? else {
        let gone =
            format!("the target branch `{target}` is gone; restore it: git branch {target} COMMIT");
        return Err(Failure::other(gone));
    };
    let keep = keep_ignored(&context.config());
    let name = effect.tree.name();
    let tree = context.repo.verify_tree(name, tip, &keep);
    let tree = tree.map_err(Failure::of_worktree)?;
    Ok(BaselineReady {
        commit: ours(tip),
        warm: tree.warm,
        setup: tree_setup(context, name)?,
        probe: probe_digest(context, name)?,
    })
}

/// Moves the target. Blocks.
pub(super) fn land(context: &DriverContext, effect: &effect::Land) -> Result<LandOutcome, Failure> {
    let effect::Land {
        target,
        expected,
        commit,
        ..
    } = effect;
    let landed = context.repo.land(&Land {
        branch: target.clone(),
        expected: oid(expected)?,
        commit: oid(commit)?,
    })?;
    match landed {
        git::LandOutcome::Landed | git::LandOutcome::AlreadyLanded => {
            Ok(match submodules_behind(&context.repo, target) {
                None => LandOutcome::Landed,
                Some(submodules) => LandOutcome::LandedBehind { submodules },
            })
        }
        git::LandOutcome::TargetMoved { found: Some(found) } => {
            Ok(LandOutcome::TargetMoved { found: ours(found) })
        }
        git::LandOutcome::TargetMoved { found: None } => Err(Failure::other(format!(
            "the target branch `{target}` is gone; bring it back (git branch {target} {expected}), \
            then: swarm merge retry"
        ))),
        git::LandOutcome::CheckoutBlocked(blocked) => {
            Ok(LandOutcome::CheckoutBlocked(blocked_by(context, blocked)))
        }
        git::LandOutcome::NotAFastForward => Err(Failure::other(format!(
            "the merge {commit:.10} does not contain {expected:.10}, the tip of `{target}`; build \
            it again: swarm merge retry"
        ))),
    }
}

/// Submodules in the checkouts of the target that are not where it records them, for people.
pub(in crate::daemon) fn submodules_behind(repo: &git::Repo, target: &str) -> Option<String> {
    let found = repo
        .submodules_behind(Some(target))
        .unwrap_or_else(|error| {
            tracing::warn!(%error, "the submodules of the checkouts cannot be compared");
            Vec::new()
        });
    let lines = found.into_iter();
    let lines: Vec<String> = lines
        .map(|one| format!("{}. Update it: {}", one.what, one.way_out))
        .collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// What keeps a checkout from following. One besides the main one is named with its path and the
/// command that clears the way.
fn blocked_by(context: &DriverContext, blocked: Blocked) -> CheckoutBlocked {
    let passes = blocked.lock_age.is_some_and(|age| age < LOCK_PATIENCE);
    let (reason, place) = (blocked.reason, blocked.worktree.display());
    let reason = match blocked.command.as_str() {
        _ if blocked.worktree == context.paths.root => reason,
        "" => format!("in {place}: {reason}"),
        command => format!("in {place}: {reason}: {command}"),
    };
    CheckoutBlocked {
        reason,
        files: blocked.files,
        passes,
    }
}

/// Merges the target into the attempt's worktree. Without a conflict the merge is concluded at
/// once. Blocks.
pub(super) fn start_resolution(
    context: &DriverContext,
    effect: &effect::StartResolution,
) -> Result<ResolutionStarted, Failure> {
    let effect::StartResolution {
        idea,
        branch,
        worktree,
        target,
        source,
        at,
    } = effect;
    let files = context
        .repo
        .start_resolution(worktree, branch, oid(target)?)?;
    if !files.is_empty() {
        return started(context, (branch, worktree), files);
    }
    let merged = merged(source.as_ref(), Some(target))?;
    match conclude(context, idea, (branch, worktree), *at)? {
        Finish::Finished { head } => Ok(ResolutionStarted {
            head: ours(head),
            files,
            left_out: left_out(context, branch, merged, head)?,
            saved: None,
        }),
        Finish::StillConflicted { files } => started(context, (branch, worktree), files),
        // The branch holds the target already.
        Finish::NotStarted => started(context, (branch, worktree), files),
    }
}

fn started(
    context: &DriverContext,
    (branch, worktree): (&str, &str),
    files: Vec<String>,
) -> Result<ResolutionStarted, Failure> {
    let head = context.repo.branch_commit(branch)?;
    let head = head.ok_or_else(|| Failure::other(format!("the branch `{branch}` is gone")))?;
    Ok(ResolutionStarted {
        head: ours(head),
        files,
        left_out: None,
        saved: context.repo.saved_resolution(worktree)?.map(ours),
    })
}

/// The work and the target. `None` where the target is merged into work that was given back: no
/// entry of the queue names that work.
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

/// Concludes the merge in the worktree. Blocks.
pub(super) fn finish_resolution(
    context: &DriverContext,
    effect: &effect::FinishResolution,
) -> Result<FinishResolutionOutcome, Failure> {
    let effect::FinishResolution {
        idea,
        branch,
        worktree,
        target,
        source,
        at,
    } = effect;
    let merged = merged(source.as_ref(), target.as_ref())?;
    let head = match conclude(context, idea, (branch, worktree), *at)? {
        Finish::Finished { head } => head,
        Finish::StillConflicted { files } => {
            return Ok(FinishResolutionOutcome::StillConflicted { files });
        }
        Finish::NotStarted => {
            let head = concluded(context, branch, target.as_ref())?;
            head.ok_or_else(|| {
                let place = context.paths.worktree(worktree);
                Failure::other(format!(
                    "no merge is in progress in {}; merge the target there, or retry: swarm merge \
                    retry {idea}",
                    place.display()
                ))
            })?
        }
    };
    Ok(FinishResolutionOutcome::Finished {
        head: ours(head),
        left_out: left_out(context, branch, merged, head)?,
    })
}

/// Where the branch stands, if an earlier call, whose answer a kill took, has concluded the merge.
fn concluded(
    context: &DriverContext,
    branch: &str,
    target: Option<&Oid>,
) -> Result<Option<crate::git::Oid>, GitError> {
    let (Some(head), Some(target)) = (context.repo.branch_commit(branch)?, target) else {
        return Ok(None);
    };
    let contained = context.repo.contains(head, oid(target)?)?;
    Ok(contained.then_some(head))
}

/// Work that `head` settles the conflict without.
fn left_out(
    context: &DriverContext,
    branch: &str,
    merged: Option<Merged>,
    head: crate::git::Oid,
) -> Result<Option<LeftOut>, GitError> {
    let Some((source, target)) = merged else {
        return Ok(None);
    };
    // The conflict may be one with an older target: it was committed as it was, and the target has
    // moved since. What is newer is merged next, so it is not missing.
    let target = context.repo.merge_base(head, target)?.unwrap_or(target);
    let merged = (source, target);
    let found = context.repo.keep_left_out(branch, merged, head)?;
    Ok(found.map(|found| LeftOut {
        files: found.files,
        undone: found.undone,
        kept: found.kept,
    }))
}
