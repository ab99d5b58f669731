//! Folds events about the merge queue.

use super::attempt::with_attempt;
use super::idea::{audit, with_idea};
use super::setup;
use crate::domain::event::{
    ApprovalWithdrawn, ConflictLaidOut, ConflictSettled, MergeApproved, MergeBuilt,
    MergeConflicted, MergeMoved, MergeQueued, MergeRejected, MergeReleased, MergeReturned,
    ResolverFailed, VerifyPassed, VerifyReady, VerifyStarted,
};
use crate::domain::hook::Passage;
use crate::domain::ids::IdeaId;
use crate::domain::lifecycle::MergePhase;
use crate::domain::state::prompt_cause::PromptCause;
use crate::domain::state::setup::VERIFY_TREE;
use crate::domain::state::{
    Conflict, FailedCheck, IdeaStatus, MergeEntry, ReviewComment, State, Task, Verified,
};
use crate::domain::time::Timestamp;

pub(super) fn with_entry(state: &mut State, id: &IdeaId, change: impl FnOnce(&mut MergeEntry)) {
    if let Some(entry) = state.queue.iter_mut().find(|entry| entry.idea == *id) {
        change(entry);
    }
}

pub(super) fn queue(state: &mut State, at: Timestamp, queued: &MergeQueued) {
    let id = &queued.id;
    with_idea(state, id, at, |idea| idea.status = IdeaStatus::Merging);
    state.queue.retain(|entry| entry.idea != *id);
    state.queue.push(MergeEntry {
        idea: id.clone(),
        agent: queued.agent.clone(),
        branch: queued.branch.clone(),
        source: queued.source.clone(),
        phase: MergePhase::Queued,
        held: queued.held,
        approved: None,
        commit: None,
        target: None,
        checked_out: false,
        setup: None,
        probe: None,
        verify_next: 0,
        run: None,
        verified: None,
        pre_merge: None,
        lost_runs: 0,
        setup_failures: 0,
        doubt: None,
        conflict: None,
        laid_out: false,
        resolver_tries: 0,
        not_before: None,
        waits: None,
        queued_at: at,
    });
    state.undo.forget_approval(id);
    // The agent has answered the comment: the work is finished again.
    with_attempt(state, &queued.agent, |attempt| attempt.review = None);
}

pub(super) fn change_phase(state: &mut State, moved: &MergeMoved) {
    with_entry(state, &moved.id, |entry| {
        entry.phase = moved.phase;
        entry.not_before = moved.not_before;
        entry.waits.clone_from(&moved.waits);
        if let (MergePhase::Landing, Some(target)) = (moved.phase, &entry.target) {
            entry.verified = Some(Verified {
                source: entry.source.clone(),
                target: target.clone(),
            });
        }
        if moved.phase == MergePhase::Queued {
            entry.commit = None;
            entry.target = None;
            entry.checked_out = false;
            entry.setup = None;
            entry.verify_next = 0;
            entry.run = None;
            // A hook that allowed it need not be called again for the same work on the same target.
            entry.pre_merge = entry.pre_merge.filter(|passed| *passed == Passage::Free);
        }
    });
}

pub(super) fn release(state: &mut State, released: &MergeReleased) {
    with_entry(state, &released.id, |entry| {
        entry.held = false;
        entry.not_before = None;
        entry.waits = None;
        entry.setup_failures = 0;
    });
}

pub(super) fn approve(state: &mut State, at: Timestamp, approved: &MergeApproved) {
    let MergeApproved { id, source } = approved;
    with_entry(state, id, |entry| {
        entry.held = false;
        entry.approved = Some(source.clone());
    });
    with_idea(state, id, at, |idea| {
        audit(idea, at, "approved", source.as_str());
    });
}

/// The work waits for review again, where it is in the queue.
pub(super) fn withdraw(state: &mut State, at: Timestamp, withdrawn: &ApprovalWithdrawn) {
    let ApprovalWithdrawn { id, undoes } = withdrawn;
    match undoes {
        Some(seq) => {
            state.undo.take_back(*seq);
        }
        None => state.undo.forget_approval(id),
    }
    with_entry(state, id, |entry| {
        entry.held = true;
        entry.approved = None;
        if entry.phase == MergePhase::Queued {
            entry.not_before = None;
            entry.waits = None;
        }
    });
    with_idea(state, id, at, |idea| {
        audit(idea, at, "approval_withdrawn", "");
    });
}

/// The work leaves the queue. Only the comment counts for its agent, not what it did before.
pub(super) fn reject(state: &mut State, at: Timestamp, rejected: &MergeRejected) {
    let MergeRejected {
        id,
        agent,
        source,
        why,
        edited,
        renewed,
    } = rejected;
    state.queue.retain(|entry| entry.idea != *id);
    state.undo.forget_approval(id);
    with_idea(state, id, at, |idea| {
        idea.status = IdeaStatus::Active;
        audit(idea, at, "rejected", why);
    });
    with_attempt(state, agent, |attempt| {
        attempt.review = Some(Box::new(ReviewComment {
            commit: source.clone(),
            text: why.clone(),
            edited: *edited,
        }));
        attempt.cause = PromptCause::Rejected { edited: *edited };
        attempt.feedback = None;
        attempt.check = FailedCheck::default();
        attempt.without_change = 0;
        attempt.without_commit = 0;
        attempt.task = Task::Work;
        if *edited {
            attempt.text = None;
        }
        if *renewed {
            attempt.excused.before_review += attempt.counted_iterations();
            attempt.spent_ms = 0;
        }
    });
}

pub(super) fn build(state: &mut State, built: &MergeBuilt) {
    with_entry(state, &built.id, |entry| {
        if !entry.is_verified_on(&built.target) {
            entry.pre_merge = None;
        }
        entry.commit = Some(built.commit.clone());
        entry.target = Some(built.target.clone());
        entry.conflict = None;
        entry.laid_out = false;
    });
}

pub(super) fn meet_conflict(state: &mut State, conflicted: &MergeConflicted) {
    with_entry(state, &conflicted.id, |entry| {
        entry.laid_out = false;
        entry.conflict = Some(Conflict {
            level: conflicted.level,
            files: conflicted.files.clone(),
            target: conflicted.target.clone(),
        });
    });
}

pub(super) fn lay_out(state: &mut State, laid_out: &ConflictLaidOut) {
    with_entry(state, &laid_out.id, |entry| {
        entry.laid_out = true;
        if let Some(conflict) = &mut entry.conflict {
            conflict.files.clone_from(&laid_out.files);
        }
    });
}

/// The branch now contains the target, and so does its agent's worktree.
pub(super) fn settle_conflict(state: &mut State, settled: &ConflictSettled) {
    let mut agent = None;
    with_entry(state, &settled.id, |entry| {
        entry.conflict = None;
        entry.laid_out = false;
        entry.resolver_tries = 0;
        entry.source = settled.head.clone();
        // Nobody has approved the resolution.
        entry.held |= entry.approved.take().is_some();
        agent = Some(entry.agent.clone());
    });
    state.undo.forget_approval(&settled.id);
    if let Some(agent) = agent {
        with_attempt(state, &agent, |attempt| {
            attempt.head = Some(settled.head.clone());
            attempt.tree = None;
        });
    }
}

pub(super) fn fail_resolver(state: &mut State, failed: &ResolverFailed) {
    with_entry(state, &failed.id, |entry| entry.resolver_tries += 1);
}

pub(super) fn check_out(state: &mut State, ready: &VerifyReady) {
    let setup = setup::require(state, VERIFY_TREE, ready.setup.as_deref());
    with_entry(state, &ready.id, |entry| {
        entry.checked_out = true;
        entry.setup = setup;
        entry.probe.clone_from(&ready.probe);
    });
}

pub(super) fn start_verify(state: &mut State, started: &VerifyStarted) {
    state.counters.runs += 1;
    with_entry(state, &started.id, |entry| {
        entry.run = Some(started.run.clone());
    });
}

pub(super) fn pass_verify(state: &mut State, passed: &VerifyPassed) {
    with_entry(state, &passed.id, |entry| {
        entry.verify_next = passed.index + 1;
        entry.doubt = None;
    });
}

pub(super) fn give_back(state: &mut State, at: Timestamp, returned: &MergeReturned) {
    let MergeReturned { id, feedback } = returned;
    let Some(entry) = state.entry(id) else {
        return;
    };
    let (agent, target) = (entry.agent.clone(), entry.target.clone());
    state.queue.retain(|entry| entry.idea != *id);
    with_idea(state, id, at, |idea| {
        idea.status = IdeaStatus::Active;
        audit(idea, at, "returned", &feedback.command);
    });
    with_attempt(state, &agent, |attempt| {
        attempt.returns += 1;
        attempt.feedback = Some(feedback.clone());
        attempt.cause = PromptCause::FailedCheck;
        attempt.task = Task::Work;
        attempt.catch_up = target;
    });
}
