//! Folds what can be taken back, and what was.
//!
//! Invariant: work that an idea gets back is no longer released, and belongs to that idea alone.

use super::idea::{audit, with_idea};
use super::redirect;
use crate::domain::event::{CancelUndone, RedirectUndone, UndoRecorded, WorkRescued};
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::state::undo::{Action, Before, Undoable};
use crate::domain::state::{Ending, IdeaStatus, Kept, State, UnusedWorktree};
use crate::domain::time::Timestamp;

pub(super) fn record(state: &mut State, at: Timestamp, recorded: &UndoRecorded) {
    let action = recorded.action.clone();
    let before = match &action {
        Action::Cancel { idea } => state.ideas.get(idea).map(|idea| {
            Box::new(Before {
                status: idea.status.without_attempt(),
                held: idea.held,
                finished: idea.status == IdeaStatus::Merging,
                kept: idea.kept.clone(),
            })
        }),
        Action::Rollback { .. } | Action::Approval { .. } | Action::Redirect { .. } => None,
    };
    let seq = state.seq;
    state.undo.push(Undoable {
        seq,
        at,
        action,
        before,
    });
}

/// Keeps what the cancelled attempt leaves, so that its idea can get it back.
pub(super) fn keep_cancelled(state: &mut State, id: &IdeaId, kept: Option<Box<Kept>>) {
    if let Some(before) = state.undo.before_mut(id) {
        before.kept = kept;
    }
}

/// Replaces the worktree of a cancelled idea by the commits that its work was saved as.
pub(super) fn rescue(state: &mut State, rescued: &WorkRescued) {
    let Some(kept) = state.undo.kept_in_mut(&rescued.worktree) else {
        return;
    };
    match (&rescued.saved, kept.as_mut()) {
        (Some(saved), Some(kept)) => {
            kept.worktree.worktree.clear();
            kept.worktree.branch.clear();
            kept.worktree.saved = Some(saved.clone());
            kept.session = None;
        }
        (None, _) | (_, None) => *kept = None,
    }
}

pub(super) fn undo_cancel(state: &mut State, at: Timestamp, undone: &CancelUndone) {
    let before = state.undo.take_back(undone.undoes);
    let Some(before) = before.and_then(|undone| undone.before) else {
        return;
    };
    let id = &undone.id;
    let mut attempts = state.agents.values_mut();
    if let Some(attempt) = attempts.find(|attempt| attempt.idea == *id) {
        attempt.ending = Some(if attempt.redirect.is_some() {
            Ending::Redirected
        } else {
            Ending::Interrupted
        });
        state
            .ideas
            .change(id, |idea| audit(idea, at, "cancel_undone", ""));
        return;
    }
    let kept = before.kept.filter(|kept| is_left(state, kept));
    with_idea(state, id, at, |idea| {
        idea.status = before.status;
        idea.held = before.held;
        idea.kept = kept;
        audit(idea, at, "cancel_undone", "");
    });
}

/// Whether the work is still there; a worktree that waits to be released is not released then.
fn is_left(state: &mut State, kept: &Kept) -> bool {
    if kept.worktree.saved.is_some() {
        return true;
    }
    let other = |unused: &UnusedWorktree| unused.worktree != kept.worktree.worktree;
    let owed = &mut state.owed;
    let before = owed.worktrees.len() + owed.worktrees_failed.len();
    owed.worktrees.retain(other);
    owed.worktrees_failed.retain(other);
    owed.worktrees.len() + owed.worktrees_failed.len() < before
}

pub(super) fn undo_redirect(state: &mut State, at: Timestamp, undone: &RedirectUndone) {
    let action = state
        .undo
        .take_back(undone.undoes)
        .map(|undone| undone.action);
    let Some(Action::Redirect { agent, idea, to }) = action else {
        return;
    };
    if state.agents.contains_key(&agent) {
        redirect::take_back(state, &agent);
        super::attempt::with_attempt(state, &agent, |attempt| {
            attempt.ending = Some(Ending::Interrupted);
        });
    } else {
        give_back(state, &agent, &idea, &to);
    }
    // It goes on next, in semi-auto mode too.
    with_idea(state, &idea, at, |idea| {
        idea.assigned = true;
        audit(idea, at, "redirect_undone", agent.as_str());
    });
}

/// The other idea has not started: the worktree goes back to the idea whose work is in it.
fn give_back(state: &mut State, agent: &AgentId, own: &IdeaId, to: &IdeaId) {
    let has_work = |state: &State| state.ideas.get(own).is_some_and(|idea| idea.kept.is_some());
    let may_take = has_work(state);
    let taken = state.ideas.change(to, |idea| {
        idea.reserved.take_if(|reserved| reserved.from == *agent);
        let its = |kept: &mut Box<Kept>| may_take && kept.taken_from.as_ref() == Some(own);
        idea.kept.take_if(its)
    });
    let Some(taken) = taken.flatten() else {
        return;
    };
    state.ideas.change(own, |idea| {
        if let Some(kept) = &mut idea.kept {
            kept.worktree = taken.worktree;
            kept.session = taken.session;
        }
    });
}
