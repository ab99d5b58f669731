//! Decides on the outcomes of building, verifying and landing. Conflicts are in
//! [`conflict`](super::conflict), people's commands in [`commands`](super::commands).
//!
//! Invariant: an outcome counts only in the phase that requested it, except one that is a fact in
//! any phase: that the target contains the work.

use super::conflict::{conflicted, may_resolve};
use super::queue::next_check;
use crate::domain::decide::attempt::outcomes::fail;
use crate::domain::decide::attempt::run_end::{
    failure_of, is_stopped, killed_too_often, run_ended,
};
use crate::domain::decide::blame::{self, Blame};
use crate::domain::decide::decision::{End, Plan, few, shorten};
use crate::domain::decide::environment_faults::broken_commands::{
    self, CheckCommand, CheckedTree, CommandKind,
};
use crate::domain::decide::environment_faults::nobodys_fault;
use crate::domain::decide::setup;
use crate::domain::effect::{self, SetupTree};
use crate::domain::event::{
    self, ConflictSettled, IdeaLanded, LandingFound, MergeBuilt, MergeReturned, TargetRewritten,
    TargetSeen, VerifyDoubted, VerifyPassed, WorktreeReady,
};
use crate::domain::ids::{IdeaId, Oid, RunId};
use crate::domain::lifecycle::{AttemptInput, MergeInput, MergePhase};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::outcome::{
    BuildMergeOutcome, Failure, FailureKind, LandOutcome, Rewrite, VerifyReady,
};
use crate::domain::settings::Settings;
use crate::domain::state::baseline::Doubt;
use crate::domain::state::setup::VERIFY_TREE;
use crate::domain::state::{AttemptEnd, Feedback, IdeaStatus, MergeEntry, State, Waits};
use crate::domain::warning::WarningKind;

/// Time until a merge checks again whether a checkout is still blocked.
const CHECKOUT_WAIT_MS: i64 = 10_000;
/// Time until a merge is retried after a full disk or a problem of the repository.
const ROOM_WAIT_MS: i64 = 60_000;

/// The entry of an idea, if it is in the outcome's phase.
fn entry_in<'a>(plan: &Plan<'a>, id: &IdeaId, phase: MergePhase) -> Option<&'a MergeEntry> {
    plan.entry(id).filter(|entry| entry.phase == phase)
}

pub(crate) fn built(
    plan: &mut Plan<'_>,
    effect: &effect::BuildMerge,
    outcome: Result<BuildMergeOutcome, Failure>,
) {
    let id = &effect.idea;
    let Some(entry) = entry_in(plan, id, MergePhase::Building) else {
        return;
    };
    if entry.source != effect.source {
        // The log was torn after the branch was rebased by hand: this is an outcome of its earlier
        // commit.
        plan.move_merge(id, MergeInput::Requeue);
        return;
    }
    match outcome {
        Ok(BuildMergeOutcome::Built {
            commit,
            target,
            resolved,
        }) => {
            see_target(plan, &target);
            plan.emit(MergeBuilt {
                id: id.clone(),
                commit,
                target,
                resolved: few(&resolved),
            });
            plan.move_merge(id, MergeInput::Built);
        }
        Ok(BuildMergeOutcome::NothingToMerge { target }) => {
            see_target(plan, &target);
            nothing_to_merge(plan, entry);
        }
        Ok(BuildMergeOutcome::Conflicted {
            target,
            level,
            files,
        }) => {
            see_target(plan, &target);
            conflicted(plan, entry, &target, level, &files);
        }
        Ok(BuildMergeOutcome::BroughtOver { base, head }) => brought_over(plan, entry, base, head),
        Ok(BuildMergeOutcome::TargetRewritten(rewrite)) => {
            target_rewritten(plan, effect.known_target.as_ref(), rewrite);
            plan.move_merge(id, MergeInput::Requeue);
        }
        Err(failure) => cannot(plan, id, &failure),
    }
}

/// Adopts a branch that was rebased by hand, also for the next rollback.
fn brought_over(plan: &mut Plan<'_>, entry: &MergeEntry, base: Oid, head: Oid) {
    // First: in a torn log nothing may go on with work that nobody has approved.
    plan.move_merge(&entry.idea, MergeInput::Requeue);
    plan.emit(ConflictSettled {
        id: entry.idea.clone(),
        head: head.clone(),
    });
    plan.emit(WorktreeReady {
        agent: entry.agent.clone(),
        base,
        head,
        warm: true,
        setup: None,
        worktree: None,
    });
}

/// Adopts the rewritten target. Nobody is asked unless landed work is missing there, and nothing
/// waits for the answer.
fn target_rewritten(plan: &mut Plan<'_>, from: Option<&Oid>, rewrite: Rewrite) {
    let seen = plan.state.swarm.target.as_ref();
    // Another inspection may have found it before.
    let Some(seen) = seen.filter(|seen| Some(&seen.commit) == from) else {
        return;
    };
    for landing in rewrite.kept {
        plan.emit(landing);
    }
    // Last: if the log contains only a part of this, the next look finds it again.
    plan.emit(TargetRewritten {
        from: seen.commit.clone(),
        to: rewrite.found,
        dropped: rewrite.dropped,
    });
}

/// As [`target_rewritten`], noticed while no merge was built. A rollback moves the target itself.
pub(crate) fn target_seen_rewritten(plan: &mut Plan<'_>, from: &Oid, rewrite: &Rewrite) {
    if plan.state.rollback.is_none() {
        target_rewritten(plan, Some(from), rewrite.clone());
    }
}

/// Missing work is on the target after all: somebody has brought it back.
pub(crate) fn found_again(plan: &mut Plan<'_>, at: &Oid, found: &[LandingFound]) {
    let Some(rewritten) = &plan.state.swarm.rewritten else {
        return;
    };
    let missing = |landing: &&LandingFound| {
        let idea = plan.state.ideas.get(&landing.id);
        rewritten.dropped.contains(&landing.id)
            && idea.is_some_and(|idea| idea.status == IdeaStatus::Done)
    };
    let found: Vec<&LandingFound> = found.iter().filter(missing).collect();
    if found.is_empty() {
        return;
    }
    // First: a rewrite that takes it away again is noticed only from where it is.
    see_target(plan, at);
    for landing in found {
        plan.emit(landing.clone());
    }
}

fn see_target(plan: &mut Plan<'_>, commit: &Oid) {
    let Some(settings) = &plan.state.settings else {
        return;
    };
    let seen = plan.state.swarm.target.as_ref();
    if seen.is_none_or(|seen| seen.commit != *commit || seen.branch != settings.target) {
        plan.emit(TargetSeen {
            branch: settings.target.clone(),
            commit: commit.clone(),
        });
    }
}

fn nothing_to_merge(plan: &mut Plan<'_>, entry: &MergeEntry) {
    let why = "the agent said COMPLETE, and its branch holds nothing that the target lacks";
    plan.end(
        &entry.agent,
        End {
            end: AttemptEnd::NothingToMerge,
            status: IdeaStatus::Done,
            message: Some(why.into()),
            not_before: None,
            keep_worktree: false,
        },
    );
}

/// Handles a failed merge: after a full disk, a problem of the repository or of a filter, or while
/// another program holds a lock it is retried automatically, otherwise it waits for `merge retry`.
/// A lock needs a person only after some time.
fn cannot(plan: &mut Plan<'_>, id: &IdeaId, failure: &Failure) {
    let (after_ms, person) = match failure.kind {
        FailureKind::Locked { long } => (Some(CHECKOUT_WAIT_MS), long),
        FailureKind::NoSpace | FailureKind::Repository | FailureKind::Content => {
            (Some(ROOM_WAIT_MS), true)
        }
        FailureKind::AgentUnusable | FailureKind::Other => (None, true),
    };
    let not_before = after_ms.map(|after| plan.now.plus_millis(after));
    let waits = Waits {
        reason: shorten(&failure.message),
        files: vec![],
        person,
        target: false,
    };
    plan.move_merge_waiting(id, MergeInput::Requeue, not_before, Some(waits));
}

pub(crate) fn verify_ready(
    plan: &mut Plan<'_>,
    effect: &effect::PrepareVerify,
    outcome: Result<VerifyReady, Failure>,
) {
    let id = &effect.idea;
    if entry_in(plan, id, MergePhase::Verifying).is_none() {
        return;
    }
    match outcome {
        Ok(VerifyReady { warm, setup, probe }) => {
            let setup = setup::prepared(plan, VERIFY_TREE, warm, &setup);
            plan.emit(event::VerifyReady {
                id: id.clone(),
                warm,
                setup,
                probe,
            });
        }
        Err(failure) => cannot(plan, id, &failure),
    }
}

pub(crate) fn verify_over(
    plan: &mut Plan<'_>,
    id: &IdeaId,
    run: &RunId,
    command: CheckCommand<'_>,
    outcome: &Result<RunEnd, Failure>,
) {
    let end = run_ended(plan, run, outcome);
    let Some(entry) = entry_in(plan, id, MergePhase::Verifying) else {
        return;
    };
    if let Err(failure) = outcome
        && nobodys_fault(failure).is_some()
    {
        return cannot(plan, id, failure);
    }
    // The commands have changed: the new gate starts from its first command.
    if !command.is_next(plan.state, entry.setup.as_deref(), entry.verify_next) {
        return;
    }
    let stopped = is_stopped(plan.state, run, &end.how);
    let tree = CheckedTree::Merged(id);
    if !stopped && broken_commands::hold(plan, &tree, command, &end.how) {
        plan.move_merge(id, MergeInput::Requeue);
        return;
    }
    if let Some(how) = killed_too_often(plan.state, &end.how, entry.lost_runs) {
        let why = format!("the runner of `{}` {how}", command.command);
        return cannot(plan, id, &Failure::other(why));
    }
    match failure_of(&end.how) {
        None if matches!(end.how, RunEndKind::Exited { .. }) => passed(plan, id, command),
        Some(how) if !stopped => failed(plan, entry, run, command, (how, &end)),
        // Stopped or lost: not judged; built and verified again when the swarm continues.
        _ => {
            plan.move_merge(id, MergeInput::Requeue);
        }
    }
}

fn passed(plan: &mut Plan<'_>, id: &IdeaId, command: CheckCommand<'_>) {
    let (id, index) = (id.clone(), command.index);
    match (command.kind, plan.state.settings.as_deref()) {
        (CommandKind::Quality, _) => plan.emit(VerifyPassed { id, index }),
        (CommandKind::Setup, Some(settings)) => {
            setup::pass(plan, SetupTree::Merged { idea: id }, index, settings);
        }
        (CommandKind::Setup, None) => {}
    }
}

/// A command failed on the merged tree. The agent is charged only for a quality command that the
/// target itself has passed.
fn failed(
    plan: &mut Plan<'_>,
    entry: &MergeEntry,
    run: &RunId,
    command: CheckCommand<'_>,
    (how, end): (String, &RunEnd),
) {
    match command.kind {
        CommandKind::Setup => setup::failed_on_merge(plan, entry, run, command, (&how, end)),
        CommandKind::Quality => red(plan, entry, run, command.command, (how, end)),
    }
}

/// A quality command failed on a merged tree.
fn red(
    plan: &mut Plan<'_>,
    entry: &MergeEntry,
    run: &RunId,
    command: &str,
    (how, end): (String, &RunEnd),
) {
    let before = entry.doubt.as_deref();
    let blame = blame::judge(plan.state, before, command, (run, end));
    if blame == Blame::Collision {
        blame::warn_of_collision(plan, command, VERIFY_TREE, end);
        return check_again(plan, entry, command);
    }
    if blame == Blame::Work && !is_unproven(plan.state, entry) {
        let feedback = Feedback {
            command: command.to_owned(),
            how,
            run: Some(run.clone()),
            merged: true,
        };
        return give_back(plan, entry, feedback);
    }
    let known = before.is_some_and(|before| before.run == *run);
    if blame == Blame::InDoubt && !known {
        let doubt = blame::doubt(plan.state, command, (run, &how, end));
        plan.emit(VerifyDoubted {
            id: entry.idea.clone(),
            doubt: Doubt {
                repeat: !blame::is_repeated(before, &doubt),
                ..doubt
            },
        });
    }
    hold_for_target(plan, entry, command, &how);
}

/// The check of a merged tree met another check or program: it runs again at once.
fn check_again(plan: &mut Plan<'_>, entry: &MergeEntry, command: &str) {
    let reason = format!(
        "`{command}` met another check or program that uses the same port, file or database; \
        nobody is charged, and it runs again"
    );
    let waits = Waits {
        reason: shorten(&reason),
        files: vec![],
        person: false,
        target: false,
    };
    plan.move_merge_waiting(&entry.idea, MergeInput::Requeue, None, Some(waits));
}

/// Whether the target that it was merged with may itself be what fails.
fn is_unproven(state: &State, entry: &MergeEntry) -> bool {
    let checks = state
        .settings
        .as_deref()
        .is_some_and(Settings::checks_baseline);
    let passed = &state.swarm.baseline.passed;
    let proven = entry.target.as_ref().is_some_and(|it| passed.contains(it));
    checks && !proven
}

/// Keeps the work in the queue, approved as it is, until the target has passed its own check.
fn hold_for_target(plan: &mut Plan<'_>, entry: &MergeEntry, command: &str, how: &str) {
    let settings = plan.state.settings.as_deref();
    let branch = settings.map_or("the target", |settings| &settings.target);
    let reason = format!(
        "`{command}` fails on the merged tree ({how}), and {branch} has to pass its own checks \
        first; the merge continues once it has"
    );
    let waits = Waits {
        reason: shorten(&reason),
        files: vec![],
        person: false,
        target: true,
    };
    plan.move_merge_waiting(&entry.idea, MergeInput::Requeue, None, Some(waits));
}

/// The merged tree failed: returns the work to its agent, a limited number of times.
fn give_back(plan: &mut Plan<'_>, entry: &MergeEntry, feedback: Feedback) {
    let Some(attempt) = plan.attempt(&entry.agent) else {
        return;
    };
    if !may_resolve(plan, attempt.returns) {
        let why = format!(
            "merged with the target, `{}` fails ({}); the agent had {} tries to fix it",
            feedback.command, feedback.how, attempt.returns
        );
        return fail(plan, &entry.agent, why);
    }
    plan.emit(MergeReturned {
        id: entry.idea.clone(),
        feedback,
    });
    plan.move_attempt(&entry.agent, AttemptInput::Returned);
}

pub(crate) fn landed(
    plan: &mut Plan<'_>,
    effect: &effect::Land,
    outcome: Result<LandOutcome, Failure>,
) {
    let effect::Land {
        idea: id, commit, ..
    } = effect;
    // Also if the log knows the landing from before a crash and the driver can no longer tell.
    let idea = plan.state.ideas.get(id);
    if idea.is_some_and(|idea| idea.status == IdeaStatus::Done) {
        return has_landed(plan, id, commit);
    }
    let landing = entry_in(plan, id, MergePhase::Landing).is_some();
    match outcome {
        Ok(LandOutcome::Landed) => {
            plan.clear_warning(WarningKind::Submodules.only());
            has_landed(plan, id, commit);
        }
        Ok(LandOutcome::LandedBehind { submodules }) => {
            plan.warn(WarningKind::Submodules.only(), &submodules);
            has_landed(plan, id, commit);
        }
        Ok(LandOutcome::TargetMoved { .. }) if landing => {
            plan.move_merge(id, MergeInput::Requeue);
        }
        Ok(LandOutcome::CheckoutBlocked(blocked)) if landing => {
            let waits = Waits {
                reason: shorten(&blocked.reason),
                files: few(&blocked.files),
                person: !blocked.passes,
                target: false,
            };
            let again = plan.now.plus_millis(CHECKOUT_WAIT_MS);
            plan.move_merge_waiting(id, MergeInput::Requeue, Some(again), Some(waits));
        }
        Err(failure) if landing => cannot(plan, id, &failure),
        Ok(LandOutcome::TargetMoved { .. } | LandOutcome::CheckoutBlocked(_)) | Err(_) => {}
    }
}

/// Records that the target contains the work: a fact in any phase. The log may know it already, but
/// not that the attempt ended.
fn has_landed(plan: &mut Plan<'_>, id: &IdeaId, commit: &Oid) {
    if let Some(entry) = plan.entry(id) {
        plan.emit(IdeaLanded {
            id: id.clone(),
            commit: commit.clone(),
            checked: is_checked(plan.state, entry),
        });
    }
    let Some((agent, _)) = plan.state.attempt_at(id) else {
        return;
    };
    let settings = plan.state.settings.as_ref();
    let cleanup = settings.is_some_and(|settings| settings.cleanup_on_success);
    plan.end(
        agent,
        End {
            end: AttemptEnd::Merged,
            status: IdeaStatus::Done,
            message: None,
            not_before: None,
            keep_worktree: !cleanup,
        },
    );
}

/// Whether its merged tree passed the present quality commands.
fn is_checked(state: &State, entry: &MergeEntry) -> bool {
    let checks = |settings: &&Settings| settings.verify && settings.checks_baseline();
    let settings = state.settings.as_deref().filter(checks);
    settings.is_some_and(|settings| next_check(entry, settings).is_none())
}
