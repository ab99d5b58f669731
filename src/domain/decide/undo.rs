//! Takes back what a person did last: a rollback, a cancellation, an approval or a redirect.
//!
//! Invariant: only the action that was shown to the person is taken back, and only once. Taking
//! back is not recorded itself, so that repeated undos go further back. An approval whose work has
//! landed is not taken back, and hides older actions until the person skips it.

use super::decision::Plan;
use super::merge::review;
use super::{redirect, rollback};
use crate::domain::effect::Effect;
use crate::domain::event::{
    ApprovalWithdrawn, CancelUndone, RedirectUndone, UndoRecorded, WorkRescued,
};
use crate::domain::ids::{AgentId, IdeaId, Oid};
use crate::domain::lifecycle::MergeInput;
use crate::domain::outcome::WorktreeReleased;
use crate::domain::rejection::Rejection;
use crate::domain::state::undo::{Action, Undoable};
use crate::domain::state::{Ending, IdeaStatus, State};

/// Records an action that can be taken back.
pub(super) fn record(plan: &mut Plan<'_>, action: Action) {
    plan.emit(UndoRecorded { action });
}

/// Records what a released worktree had, if it was a cancelled idea's.
pub(super) fn rescued(plan: &mut Plan<'_>, worktree: &str, released: &WorktreeReleased) {
    if plan.state.undo.has_work_in(worktree) {
        plan.emit(WorkRescued {
            worktree: worktree.to_owned(),
            saved: released.rescued.clone(),
        });
    }
}

pub(super) fn undo(plan: &mut Plan<'_>, seq: u64, from: Option<&Oid>) -> Result<(), Rejection> {
    let state = plan.state;
    let under_way = state.rollback.as_ref().and_then(|rollback| rollback.undoes);
    if under_way == Some(seq) || state.undo.last_undone == Some(seq) {
        return Ok(());
    }
    let Some(last) = state.last_undoable() else {
        return Err(refused("there is nothing left to take back", "swarm log"));
    };
    let skipping = state.last_before_landings();
    let last = skipping.filter(|older| older.seq == seq).unwrap_or(last);
    if last.seq != seq {
        return Err(refused(
            "it is not the last thing that was done",
            "see what that is: swarm undo --dry-run",
        ));
    }
    match &last.action {
        Action::Rollback { safety, .. } => {
            let pause = true;
            rollback::begin(plan, safety, pause, from, Some(seq))
        }
        Action::Cancel { idea } => undo_cancel(plan, last, idea),
        Action::Approval { idea, .. } => undo_approval(plan, last, idea),
        Action::Redirect { agent, idea, to } => undo_redirect(plan, seq, agent, idea, to),
    }
}

/// The undo that takes back the cancellation of this idea next, if one does.
pub(super) fn of_cancel(state: &State, id: &IdeaId) -> Option<&'static str> {
    let is_it = |last: &Undoable| matches!(&last.action, Action::Cancel { idea } if idea == id);
    if state.last_undoable().is_some_and(is_it) {
        return Some("swarm undo");
    }
    let older = state.last_before_landings().is_some_and(is_it);
    older.then_some("swarm undo --skip-landed")
}

fn undo_cancel(plan: &mut Plan<'_>, last: &Undoable, id: &IdeaId) -> Result<(), Rejection> {
    let before = last.before.as_ref();
    let kept = before.and_then(|before| before.kept.as_ref());
    let releasing = kept.is_some_and(|kept| {
        plan.state.is_pending(|effect| {
            matches!(effect, Effect::ReleaseWorktree(it) if it.worktree == kept.worktree.worktree)
        })
    });
    if releasing {
        return Err(refused(
            &format!("the work of {id} is being put aside at this moment"),
            "try again in a moment (a daemon must be running): swarm undo",
        ));
    }
    plan.emit(CancelUndone {
        id: id.clone(),
        undoes: last.seq,
    });
    Ok(())
}

fn undo_approval(plan: &mut Plan<'_>, last: &Undoable, id: &IdeaId) -> Result<(), Rejection> {
    if let Some(commit) = plan.state.landing_of(&last.action) {
        return Err(refused(
            &format!("{id} has landed as {commit:.10}"),
            &format!("revert it: git revert -m 1 {commit:.10}"),
        ));
    }
    if review::is_landing(plan.state, id) {
        return Err(refused(
            &format!("{id} is landing at this moment"),
            "see whether it has landed: swarm log; if no daemon runs: swarm start",
        ));
    }
    // First: in a torn log the merge may start again, but never lands without the approval.
    if plan.entry(id).is_some_and(|entry| entry.phase.is_busy()) {
        plan.move_merge(id, MergeInput::Requeue);
    }
    plan.emit(ApprovalWithdrawn {
        id: id.clone(),
        undoes: Some(last.seq),
    });
    Ok(())
}

fn undo_redirect(
    plan: &mut Plan<'_>,
    undoes: u64,
    agent: &AgentId,
    own: &IdeaId,
    to: &IdeaId,
) -> Result<(), Rejection> {
    let state = plan.state;
    if state.rollback.is_some() {
        return Err(super::checkpoints::rolling_back("take back the redirect"));
    }
    let stopping = state.agents.get(agent);
    let stopping = stopping.filter(|attempt| attempt.ending == Some(Ending::Redirected));
    let own_status = state.ideas.get(own).map(|idea| idea.status);
    let other = state.ideas.get(to);
    let waits = other.and_then(|other| other.reserved.as_ref());
    let waits = waits.is_some_and(|reserved| reserved.from == *agent);
    if stopping.is_some() || (waits && own_status == Some(IdeaStatus::Pending)) {
        plan.emit(RedirectUndone {
            agent: agent.clone(),
            undoes,
        });
        return Ok(());
    }
    if let Some((successor, _)) = state.attempt_at(to) {
        // Both ideas have work now, so the first one goes on in a worktree of its own.
        return redirect::request(plan, successor, own, true, Some(undoes));
    }
    let status = other.map_or("is gone", |other| other.status.predicate());
    let instead = match own_status {
        Some(IdeaStatus::Pending) => format!("go on with it: swarm idea assign {own}"),
        Some(_) | None => format!("see its state: swarm idea show {own}"),
    };
    let why = format!("{to}, which took the place of {own}, {status}");
    Err(refused(&why, &instead))
}

fn refused(why: &str, instead: &str) -> Rejection {
    Rejection::NotNow {
        what: "undo".into(),
        why: why.to_owned(),
        instead: Some(instead.to_owned()),
    }
}
