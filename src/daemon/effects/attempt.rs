//! Effects in git: what each asks of the git room, and what its answer means.

use super::context::DriverContext;
use super::failure::{oid, ours};
use super::local_files;
use super::setup_key::setup_key;
use crate::daemon::actor::clock;
use crate::daemon::files::settings::{keep_ignored, stays_idle};
use crate::domain::effect::{self, Landing, Saved};
use crate::domain::ids::{IdeaId, attempt_name};
use crate::domain::outcome::{
    Failure, FailureKind, LendOutcome, SealOutcome, TreeSetup, WorktreePrepared, WorktreeReleased,
};
use crate::git::{
    self, BranchProblem, Earlier, FinishResolution, FreshStart, GitError, Prepare, Proof, Release,
    Seal, Sealed, Stray, rescue_ref,
};

/// The warning about a target that went past the checks.
pub(crate) fn moved_by_an_agent(target: &str, stray: &Stray, agent: &str) -> String {
    let Stray { worktree, commit } = stray;
    format!(
        "{agent} in {worktree} moved the target `{target}` to its own commit {commit:.10}, which \
        has passed no check. Review it: git show {commit:.10}"
    )
}

/// Makes the worktree of an attempt, or takes over a kept one. Blocks.
pub(super) fn prepare(
    context: &DriverContext,
    effect: &effect::PrepareWorktree,
) -> Result<WorktreePrepared, Failure> {
    let target = &effect.target;
    let Some(tip) = context.repo.branch_commit(target)? else {
        return Err(Failure {
            kind: FailureKind::Repository,
            message: format!(
                "the target branch `{target}` is gone; swarm status has the command that brings it \
                back, with its last known commit; or name another as `target` in .swarm/config.json"
            ),
        });
    };
    let asked = wanted(context, effect, tip)?;
    let fresh = FreshStart {
        target: target.clone(),
        tip,
        identity: context.repo.identity()?,
        time: clock::wall(),
    };
    // First: it brings back what a resolver threw away, which is no empty past.
    if let Some(earlier) = &asked.from {
        leave_merge(context, earlier)?;
    }
    require_work(context, effect)?;
    let repo = &context.repo;
    let want = repo.fresh_start_if_empty(asked, fresh);
    let want = want.map_err(Failure::of_worktree)?;
    let prepared = repo.prepare_worktree(&want).map_err(Failure::of_worktree)?;
    let head = prepared.head;
    // Where the branch leaves what the target has; a kept branch left it where its attempt began.
    let base = match &effect.from {
        Some(kept) if !context.repo.contains(tip, head)? => kept.base.clone(),
        _ => ours(head),
    };
    let head = ours(head);
    Ok(WorktreePrepared {
        head,
        base,
        warm: prepared.warm,
        setup: tree_setup(context, &effect.worktree)?,
    })
}

/// Work whose last commit git has lost is the trouble of this idea alone: others can begin.
fn require_work(context: &DriverContext, effect: &effect::PrepareWorktree) -> Result<(), Failure> {
    let earlier = effect.from.iter().filter(|kept| kept.saved.is_none());
    let branches = earlier.map(|kept| &kept.branch).chain([&effect.branch]);
    for branch in branches {
        if let Some(tip) = context.repo.branch_commit(branch)?
            && context.repo.resolve_commit(&tip.to_string())?.is_none()
        {
            return Err(Failure::other(format!(
                "git has lost commit {tip:.10}, the work on `{branch}`. If a backup of the \
                repository has it, bring it back and go on: swarm idea retry {idea}; otherwise \
                give it up, and add the idea again: swarm idea cancel {idea}",
                idea = effect.idea
            )));
        }
    }
    Ok(())
}

/// The worktree as it is asked for; one without an earlier attempt begins at the target's `tip`.
fn wanted(
    context: &DriverContext,
    effect: &effect::PrepareWorktree,
    tip: git::Oid,
) -> Result<Prepare, Failure> {
    let from = effect.from.as_ref();
    // A base that a rewrite and a clean-up have taken away cannot be gone on from.
    let left = match from {
        Some(kept) => context.repo.resolve_commit(kept.base.as_str())?,
        None => None,
    };
    Ok(Prepare {
        name: effect.worktree.clone(),
        branch: effect.branch.clone(),
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
        keep: keep_ignored(&context.config()),
    })
}

/// Makes the worktree of an attempt again that somebody removed or moved away, on the last commit
/// of its branch. If that fails, whatever needs it says so.
pub(crate) fn restore_worktree(context: &DriverContext, name: &str, branch: &str) {
    let keep = keep_ignored(&context.config());
    match context.repo.restore_worktree(name, branch, keep) {
        Ok(told) => tracing::warn!(name, branch, told, "this worktree was gone"),
        Err(error) => tracing::warn!(%error, name, branch, "this worktree is gone"),
    }
}

/// Brings the copies of local files in a prepared tree up to date, and looks at what its setup
/// depends on. Blocks.
pub(super) fn tree_setup(context: &DriverContext, worktree: &str) -> Result<TreeSetup, Failure> {
    let not_copied = local_files::copy(context, worktree)?;
    let key = setup_key(context, worktree)?;
    Ok(TreeSetup { key, not_copied })
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

/// Commits what is left over in the worktree, if that is asked for. Blocks.
pub(super) fn seal(context: &DriverContext, effect: &effect::Seal) -> Result<SealOutcome, Failure> {
    let effect::Seal { branch, base, .. } = effect;
    if !effect.commit {
        let head = context.repo.branch_commit(branch)?;
        let head = head.ok_or_else(|| Failure::other(format!("the branch `{branch}` is gone")))?;
        return fit(context, effect, (head, false, vec![]));
    }
    let want = Seal {
        name: effect.worktree.clone(),
        branch: branch.clone(),
        base: oid(base)?,
        message: leftovers(&effect.idea),
        identity: context.repo.identity()?,
        time: effect.at,
        hooks: effect.hooks,
    };
    let sealed = match context.repo.seal(&want) {
        Err(GitError::WorktreeMissing { .. } | GitError::WorktreeBroken { .. }) => {
            restore_worktree(context, &effect.worktree, &effect.branch);
            context.repo.seal(&want)
        }
        sealed => sealed,
    }?;
    Ok(match sealed {
        Sealed::Done {
            head,
            committed,
            links,
            ..
        } => fit(context, effect, (head, committed, links))?,
        Sealed::HooksDue => SealOutcome::HooksDue,
        Sealed::Strayed {
            head,
            branch: other,
        } => SealOutcome::Unsealable {
            message: match other {
                Some(other) => format!(
                    "the worktree is on the branch `{other}` at {head:.10} instead of `{branch}`; \
                    switch back (git switch {branch}) and bring the work there"
                ),
                None => format!(
                    "the worktree is on the detached commit {head:.10}, which is not on \
                    `{branch}`; switch back (git switch {branch}) and bring the work there"
                ),
            },
        },
        Sealed::Unfinished { what, files } => SealOutcome::Unsealable {
            message: format!(
                "a {what} is in progress in the worktree{}; finish or abort it",
                in_files(&files)
            ),
        },
    })
}

/// The branch as it is sealed, if it can be merged at all; otherwise what its agent has to mend.
fn fit(
    context: &DriverContext,
    effect: &effect::Seal,
    (head, committed, links): (git::Oid, bool, Vec<String>),
) -> Result<SealOutcome, Failure> {
    let effect::Seal { branch, base, .. } = effect;
    let copied = &context.config().worktree.copy;
    let copied = context.repo.added_paths(head, oid(base)?, copied)?;
    if !copied.is_empty() {
        let files = copied.join(", ");
        let message = format!(
            "`{branch}` has {files} in its commits. swarm copied it from a person's checkout, \
            and it may hold secrets; remove it from the commits (git reset --soft {base:.10}; git \
            rm --cached {files}; then commit)"
        );
        return Ok(SealOutcome::Unsealable { message });
    }
    let message = match context.repo.branch_problem(head, oid(base)?)? {
        None => {
            return Ok(SealOutcome::Sealed {
                head: ours(head),
                committed,
                setup: setup_key(context, &effect.worktree)?,
                links,
            });
        }
        Some(BranchProblem::Unrelated) => format!(
            "`{branch}` at {head:.10} shares no history with its base {base:.10}, so it cannot be \
            merged; put the work on top of that commit (git reset --soft {base:.10}, then commit)"
        ),
        Some(BranchProblem::Private(folders)) => format!(
            "`{branch}` has files in {}, where swarm keeps this machine's state; remove them from \
            the commits (git rm -r --cached)",
            folders.join(", ")
        ),
    };
    Ok(SealOutcome::Unsealable { message })
}

fn in_files(files: &[String]) -> String {
    if files.is_empty() {
        String::new()
    } else {
        format!(" (open: {})", files.join(", "))
    }
}

pub(crate) fn leftovers(idea: &IdeaId) -> String {
    format!("Work on {idea} that its agent left uncommitted\n\nSwarm-Idea: {idea}\n")
}

/// Gives back the worktree and its branch. Blocks.
pub(super) fn release(
    context: &DriverContext,
    effect: &effect::ReleaseWorktree,
) -> Result<WorktreeReleased, Failure> {
    let worktree = &effect.worktree;
    let proof = match &effect.landed {
        Some(landing) if is_contained(context, landing)? => Proof::Contained {
            tip: oid(&landing.tip)?,
            target: landing.target.clone(),
        },
        // Given up, or landed by way of replayed commits: what the branch holds is kept under a
        // rescue reference.
        _ => Proof::Abandoned,
    };
    let branch = context.repo.branch_commit(&effect.branch)?;
    let released = context.repo.release_worktree(&Release {
        name: worktree.clone(),
        branch: effect.branch.clone(),
        proof,
        identity: context.repo.identity()?,
        time: effect.at,
        reuse: stays_idle(&context.config(), worktree),
    })?;
    if let Some(commit) = released.rescued {
        tracing::info!(%commit, worktree, "uncommitted work kept under refs/swarm/rescue/");
    }
    let attempt = attempt_name(&effect.branch);
    let place = || {
        let path = context.paths.worktree(&git::kept_name(&attempt));
        path.display().to_string()
    };
    let kept = released.nested.then(place);
    let rescued = rescued(context, effect, branch, released.rescued)?;
    Ok(WorktreeReleased { kept, rescued })
}

/// Releases the worktree of finished work, unless it holds more than its branch. Blocks.
pub(super) fn lend(
    context: &DriverContext,
    effect: &effect::LendWorktree,
) -> Result<LendOutcome, Failure> {
    let release = Release {
        name: effect.worktree.clone(),
        branch: effect.branch.clone(),
        proof: Proof::Keep,
        identity: context.repo.identity()?,
        time: effect.at,
        reuse: stays_idle(&context.config(), &effect.worktree),
    };
    let more = context.repo.lend_worktree(&release, oid(&effect.head)?)?;
    Ok(match more {
        None => LendOutcome::Lent,
        Some(what) => LendOutcome::HoldsMore { what },
    })
}

/// The work of a branch that did not land: its tip, from the rescue reference if an earlier call
/// deleted the branch, and the uncommitted files on top of it.
fn rescued(
    context: &DriverContext,
    effect: &effect::ReleaseWorktree,
    branch: Option<git::Oid>,
    uncommitted: Option<git::Oid>,
) -> Result<Option<Saved>, GitError> {
    if effect.landed.is_some() {
        return Ok(None);
    }
    let tip = match branch {
        Some(tip) => Some(tip),
        None => context.repo.read_ref(&rescue_ref(&effect.branch))?,
    };
    let Some(tip) = tip else {
        return Ok(None);
    };
    // A reference of that name may be older work of another branch.
    let on_top = |commit: git::Oid| context.repo.contains(commit, tip);
    let wip = match uncommitted {
        Some(commit) if commit != tip && on_top(commit)? => Some(ours(commit)),
        Some(_) | None => None,
    };
    let tip = ours(tip);
    Ok(Some(Saved { tip, wip }))
}

fn is_contained(context: &DriverContext, landing: &Landing) -> Result<bool, GitError> {
    match context.repo.branch_commit(&landing.target)? {
        Some(target) => context.repo.contains(target, oid(&landing.tip)?),
        None => Ok(false),
    }
}
