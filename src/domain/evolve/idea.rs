//! Folds events about ideas.

use super::{baseline, transfer};
use crate::domain::event::{
    IdeaAdded, IdeaAssigned, IdeaCancelled, IdeaEdited, IdeaHeld, IdeaLanded, IdeaRetried,
    IdeaUnheld, LandingFound,
};
use crate::domain::ids::{IdeaId, Oid};
use crate::domain::operation::IdeaEdit;
use crate::domain::state::{Audit, Idea, IdeaStatus, Kept, LANDED, State, UnusedWorktree};
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;

/// Number of audit lines that an idea keeps.
const AUDIT_KEPT: usize = 20;

pub(super) fn with_idea(
    state: &mut State,
    id: &IdeaId,
    at: Timestamp,
    change: impl FnOnce(&mut Idea),
) {
    state.ideas.change(id, |idea| {
        idea.updated_at = at;
        change(idea);
    });
}

pub(super) fn audit(idea: &mut Idea, at: Timestamp, what: &str, detail: &str) {
    if idea.audit.len() >= AUDIT_KEPT {
        idea.audit.remove(0);
    }
    idea.audit.push(Audit {
        at,
        what: what.to_owned(),
        detail: detail.chars().take(300).collect(),
    });
}

pub(super) fn add(state: &mut State, at: Timestamp, added: &IdeaAdded) {
    let new = &added.idea;
    state.counters.ideas += 1;
    state.owed.inbox.extend(new.inbox.clone());
    let mut idea = Idea {
        status: IdeaStatus::Pending,
        text: new.text.as_str().into(),
        after: new.after.clone(),
        tags: new.tags.clone(),
        priority: new.priority,
        profile: new.profile.clone(),
        review: new.review,
        assigned: false,
        held: false,
        retry_count: 0,
        failed_attempts: 0,
        attempts: 0,
        not_before: None,
        kept: None,
        imported: None,
        reserved: None,
        commit: None,
        landed_since: None,
        last_error: None,
        used: Spent::default(),
        used_before: Spent::default(),
        audit: Vec::new(),
        created_at: at,
        updated_at: at,
    };
    if let Some(imported) = &new.imported {
        transfer::go_on_from(&mut idea, imported);
    }
    state.ideas.insert(added.id.clone(), idea);
}

pub(super) fn edit(state: &mut State, at: Timestamp, edited: &IdeaEdited) {
    keep_text(state, &edited.id, &edited.edit);
    with_idea(state, &edited.id, at, |idea| apply(idea, &edited.edit));
}

/// An attempt whose first prompt is written keeps the text it started with.
fn keep_text(state: &mut State, id: &IdeaId, edit: &IdeaEdit) {
    let before = state.ideas.get(id).map(|idea| idea.text.clone());
    let changes = edit.text.is_some() && edit.text.as_deref() != before.as_deref();
    let mut attempts = state.agents.values_mut();
    if let Some(attempt) = attempts.find(|attempt| changes && attempt.idea == *id)
        && attempt.iteration > 0
        && attempt.text.is_none()
    {
        attempt.text = before;
    }
}

fn apply(idea: &mut Idea, edit: &IdeaEdit) {
    if let Some(text) = &edit.text {
        idea.text = text.as_str().into();
    }
    if let Some(after) = &edit.after {
        idea.after.clone_from(after);
    }
    if let Some(tags) = &edit.tags {
        idea.tags.clone_from(tags);
    }
    if let Some(priority) = edit.priority {
        idea.priority = priority;
    }
}

pub(super) fn retry(state: &mut State, at: Timestamp, retried: &IdeaRetried) {
    with_idea(state, &retried.id, at, |idea| {
        // A cancelled idea starts from scratch.
        if idea.status == IdeaStatus::Cancelled {
            idea.imported = None;
        }
        idea.status = IdeaStatus::Pending;
        idea.used_before = idea.used;
        idea.retry_count = 0;
        idea.not_before = None;
        idea.forget_landing();
        audit(idea, at, "retried", "");
    });
}

pub(super) fn cancel(state: &mut State, at: Timestamp, cancelled: &IdeaCancelled) {
    let kept = state.ideas.change(&cancelled.id, |idea| {
        idea.reserved = None;
        idea.kept.take()
    });
    let left = kept.flatten().and_then(|kept| unused(*kept));
    state.owed.worktrees.extend(left);
    with_idea(state, &cancelled.id, at, |idea| {
        idea.status = IdeaStatus::Cancelled;
        idea.assigned = false;
        idea.held = false;
        idea.forget_landing();
        audit(idea, at, "cancelled", "");
    });
}

pub(super) fn assign(state: &mut State, at: Timestamp, assigned: &IdeaAssigned) {
    with_idea(state, &assigned.id, at, |idea| {
        idea.assigned = true;
        if assigned.profile.is_some() {
            idea.profile.clone_from(&assigned.profile);
        }
    });
}

pub(super) fn hold(state: &mut State, at: Timestamp, held: &IdeaHeld) {
    with_idea(state, &held.id, at, |idea| {
        idea.held = true;
        audit(idea, at, "held", "");
    });
}

pub(super) fn unhold(state: &mut State, at: Timestamp, unheld: &IdeaUnheld) {
    with_idea(state, &unheld.id, at, |idea| {
        idea.held = false;
        audit(idea, at, "released from its hold", "");
    });
}

pub(super) fn land(state: &mut State, at: Timestamp, landed: &IdeaLanded) {
    let IdeaLanded {
        id,
        commit,
        checked,
    } = landed;
    let probe = state.entry(id).and_then(|entry| entry.probe.clone());
    state.queue.retain(|entry| entry.idea != *id);
    state.swarm.failures_in_a_row = 0;
    state.swarm.gave_up = None;
    state.swarm.landed_since_checkpoint += 1;
    state.swarm.last_landed = Some(id.clone());
    if let Some(target) = &mut state.swarm.target {
        target.commit = commit.clone();
    }
    baseline::land(state, at, commit, *checked, probe.as_deref());
    with_idea(state, id, at, |idea| is_done(idea, at, commit));
}

/// Marks the idea as done: the target contains its work.
pub(super) fn is_done(idea: &mut Idea, at: Timestamp, commit: &Oid) {
    idea.status = IdeaStatus::Done;
    idea.held = false;
    idea.commit = Some(commit.clone());
    idea.landed_since = None;
    idea.last_error = None;
    audit(idea, at, LANDED, commit.as_str());
}

/// The rewritten target has its work as another commit.
pub(super) fn find_landing(state: &mut State, at: Timestamp, found: &LandingFound) {
    let LandingFound { id, commit, since } = found;
    with_idea(state, id, at, |idea| {
        idea.commit = Some(commit.clone());
        idea.landed_since.clone_from(since);
        audit(idea, at, "found_as", commit.as_str());
    });
    if let Some(rewritten) = &mut state.swarm.rewritten {
        rewritten.dropped.retain(|dropped| dropped != id);
    }
    state
        .swarm
        .rewritten
        .take_if(|rewritten| rewritten.dropped.is_empty());
}

/// Worktree that is no longer needed; work saved by a checkpoint has none.
pub(super) fn unused(kept: Kept) -> Option<UnusedWorktree> {
    let worktree = kept.worktree;
    worktree.saved.is_none().then_some(UnusedWorktree {
        worktree: worktree.worktree,
        branch: worktree.branch,
        landed: None,
    })
}
