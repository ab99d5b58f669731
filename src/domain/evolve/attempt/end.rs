//! Folds the end of an attempt: what its idea becomes, what is kept, and which cleanup is owed.

use crate::domain::effect::{KeptWorktree, Landing};
use crate::domain::event::AttemptEnded;
use crate::domain::evolve::idea::{audit, unused, with_idea};
use crate::domain::evolve::{redirect, undo};
use crate::domain::ids::AgentId;
use crate::domain::state::message;
use crate::domain::state::prompt_cause::PromptCause;
use crate::domain::state::{
    Attempt, AttemptEnd, EndedAttempt, GaveUp, IdeaStatus, Kept, Owed, Said, State, Swarm,
    UnusedWorktree,
};
use crate::domain::time::Timestamp;

pub(in crate::domain::evolve) fn end(state: &mut State, at: Timestamp, ended: &AttemptEnded) {
    let AttemptEnded {
        agent,
        end,
        status,
        message,
        not_before,
        keep_worktree,
    } = ended;
    let Some(attempt) = state.agents.remove(agent) else {
        return;
    };
    state.queue.retain(|entry| entry.agent != *agent);
    let failed = matches!(status, IdeaStatus::Failed | IdeaStatus::Timeout);
    count_failures_in_a_row(&mut state.swarm, *status, attempt.iteration > 0);
    if let (IdeaStatus::Blocked, Some(Said::Blocked(reason))) = (status, &attempt.said) {
        count_reason(&mut state.swarm, reason);
    }
    if !*keep_worktree || is_worktree_half_made(&attempt) || attempt.lent().is_some() {
        let landed = landing(state, &attempt, *end);
        give_up(&mut state.owed, &attempt, landed);
    }
    let over = ended_attempt(&attempt, *end, at);
    state.ended.insert(agent.clone(), over);
    if *end == AttemptEnd::Stopped {
        redirect::unreserve(state, agent, &attempt);
    }
    if *end == AttemptEnd::Cancelled {
        let left = keep(agent, attempt.clone(), *end, "");
        undo::keep_cancelled(state, &attempt.idea, left);
    }
    let handed_over = redirect::hand_over(state, at, agent, &attempt, *end);
    let to = attempt.redirect.as_ref().map(|it| it.to.clone());
    with_idea(state, &attempt.idea.clone(), at, |idea| {
        idea.status = *status;
        idea.not_before = *not_before;
        idea.held &= !matches!(status, IdeaStatus::Done | IdeaStatus::Cancelled);
        idea.assigned &= is_nobodys_decision(*end) && *status == IdeaStatus::Pending;
        if message.is_some() {
            idea.last_error = message.as_deref().map(Into::into);
        }
        idea.failed_attempts += u32::from(failed);
        idea.retry_count += u32::from(*end == AttemptEnd::Crashed);
        let why = match (message, &to) {
            (None, Some(to)) => to.as_str(),
            _ => message.as_deref().unwrap_or_default(),
        };
        audit(idea, at, audit_word(*end), why);
        if handed_over.is_some() {
            idea.kept = handed_over.map(Box::new);
        } else if *keep_worktree {
            idea.kept = keep(agent, attempt, *end, why);
        }
    });
}

/// Blocked work lands as little as failed work. An idea that a hook blocked before it began is no
/// failure.
fn count_failures_in_a_row(swarm: &mut Swarm, status: IdeaStatus, began: bool) {
    let blocked = status == IdeaStatus::Blocked && began;
    if blocked || matches!(status, IdeaStatus::Failed | IdeaStatus::Timeout) {
        swarm.failures_in_a_row += 1;
    } else if status == IdeaStatus::Done {
        swarm.failures_in_a_row = 0;
        swarm.gave_up = None;
    }
}

/// Counts the agents in a row that gave up for the same reason.
fn count_reason(swarm: &mut Swarm, reason: &str) {
    let before = swarm.gave_up.take().filter(|before| before.is_for(reason));
    swarm.gave_up = Some(GaveUp {
        reason: reason.to_owned(),
        times: before.map_or(0, |before| before.times) + 1,
    });
}

/// An attempt that never got its worktree leaves at most half of a new one.
fn is_worktree_half_made(attempt: &Attempt) -> bool {
    let kept = attempt.kept.as_ref();
    let takes_over = kept.is_some_and(|kept| kept.worktree.saved.is_none());
    attempt.base.is_none() && !takes_over
}

fn ended_attempt(attempt: &Attempt, end: AttemptEnd, at: Timestamp) -> EndedAttempt {
    EndedAttempt {
        idea: attempt.idea.clone(),
        number: attempt.number,
        profile: attempt.profile.clone(),
        branch: attempt.branch.clone(),
        worktree: attempt.last_worktree().to_owned(),
        end,
        iteration: attempt.iteration,
        runs: attempt.runs.clone(),
        claimed_at: attempt.claimed_at,
        ended_at: at,
        heard: attempt.heard.clone(),
        used: attempt.used,
        session: attempt.own_session().map(|session| session.id.clone()),
        imported: attempt.imported.clone(),
    }
}

/// Nobody decided against the idea, so it continues by itself, even in semi-auto mode.
fn is_nobodys_decision(end: AttemptEnd) -> bool {
    matches!(
        end,
        AttemptEnd::Crashed | AttemptEnd::Interrupted | AttemptEnd::Released
    )
}

/// Proof that its branch may be deleted.
fn landing(state: &State, attempt: &Attempt, end: AttemptEnd) -> Option<Landing> {
    let merged = matches!(end, AttemptEnd::Merged | AttemptEnd::NothingToMerge);
    let tip = attempt.head.clone().filter(|_| merged)?;
    let target = state.settings.as_ref()?.target.clone();
    Some(Landing { tip, target })
}

/// Releases its worktree, and the one that it was to take over but never did. Both may be the same,
/// under the branch that has the work.
fn give_up(owed: &mut Owed, attempt: &Attempt, landed: Option<Landing>) {
    let kept = attempt.kept.as_deref().filter(|_| attempt.base.is_none());
    let kept = kept.cloned().and_then(unused);
    let same = |kept: &UnusedWorktree| kept.worktree == attempt.worktree;
    if !kept.as_ref().is_some_and(same) {
        owed.worktrees.push(UnusedWorktree {
            worktree: attempt.worktree.clone(),
            branch: attempt.branch.clone(),
            landed,
        });
    }
    owed.worktrees.extend(kept);
}

fn audit_word(end: AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::Merged => "merged",
        AttemptEnd::NothingToMerge => "nothing_to_merge",
        AttemptEnd::Blocked => "blocked",
        AttemptEnd::Failed => "failed",
        AttemptEnd::TimedOut => "timeout",
        AttemptEnd::Crashed => "crash_recovery",
        AttemptEnd::Stopped => "stopped",
        AttemptEnd::Interrupted => "interrupted",
        AttemptEnd::Cancelled => "cancelled",
        AttemptEnd::Released => "released",
        AttemptEnd::Redirected => "redirected",
    }
}

/// Why the next attempt gets its first prompt.
fn cause_after(attempt: &Attempt, end: AttemptEnd, why: &str) -> PromptCause {
    match end {
        AttemptEnd::Crashed => PromptCause::Crashed,
        AttemptEnd::Blocked | AttemptEnd::Failed | AttemptEnd::TimedOut => PromptCause::Retried {
            end,
            why: why.to_owned(),
        },
        AttemptEnd::Stopped
        | AttemptEnd::Interrupted
        | AttemptEnd::Released
        | AttemptEnd::Redirected
        | AttemptEnd::Cancelled
        | AttemptEnd::Merged
        | AttemptEnd::NothingToMerge => attempt.cause.clone(),
    }
}

/// What the attempt leaves for the next. An attempt that never got its worktree passes on what it
/// was to take over.
fn keep(agent: &AgentId, attempt: Attempt, end: AttemptEnd, why: &str) -> Option<Box<Kept>> {
    let cause = cause_after(&attempt, end, why);
    let last_run = attempt.last_iteration().cloned();
    let session = attempt.own_session().cloned().map(Box::new);
    // Whoever has started no iteration has not used it.
    let unused = attempt.kept.as_ref().filter(|_| attempt.iteration == 0);
    let prompt = unused.and_then(|kept| kept.prompt.clone());
    let saved = attempt.lent_work();
    let Some(base) = attempt.base else {
        return attempt.kept;
    };
    // A worktree that was lent is another idea's, and the branch is saved and goes.
    let (worktree, branch) = match saved {
        Some(_) => (String::new(), String::new()),
        None => (attempt.worktree, attempt.branch),
    };
    let session = session.filter(|_| saved.is_none());
    Some(Box::new(Kept {
        last_run,
        worktree: KeptWorktree {
            worktree,
            branch,
            base,
            agent: agent.clone(),
            crashed: end == AttemptEnd::Crashed,
            saved,
        },
        feedback: attempt.feedback,
        review: attempt.review,
        said: message::waiting(&attempt.heard),
        messages: attempt.messages,
        iterations: attempt.iteration,
        taken_from: None,
        cause,
        session,
        prompt,
    }))
}
