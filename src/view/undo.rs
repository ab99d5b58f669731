//! What `swarm undo` takes back.

use serde::Serialize;
use utoipa::ToSchema;

use super::schema;
use crate::domain::attention::names;
use crate::domain::decide;
use crate::domain::ids::{CheckpointName, IdeaId};
use crate::domain::operation::Command;
use crate::domain::state::undo::{Action, Undoable};
use crate::domain::state::{Idea, IdeaStatus, Kept, State};
use crate::domain::time::Timestamp;

/// The last thing that can be taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = UndoPreview)]
pub struct UndoView {
    /// The number of the action; null if there is nothing to take back.
    #[schema(required)]
    pub seq: Option<u64>,
    /// `rollback`, `cancel`, `approval` or `redirect`.
    #[schema(required)]
    pub kind: Option<&'static str>,
    /// The action in words.
    #[schema(required)]
    pub what: Option<String>,
    /// When it was done.
    #[schema(schema_with = schema::time, required = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// What would change, in words. What a rollback changes is in the checkpoint's preview.
    pub changes: Vec<String>,
    /// For a rollback: the checkpoint that the undo goes back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub checkpoint: Option<CheckpointName>,
    /// Why it cannot be taken back now.
    #[schema(required)]
    pub problem: Option<String>,
    /// What to do instead.
    pub commands: Vec<String>,
}

/// What an undo would take back now. With `skip_landed`, an approval whose work has landed is not
/// the last action.
pub fn undo(state: &State, skip_landed: bool) -> UndoView {
    let last = if skip_landed {
        state.last_before_landings()
    } else {
        state.last_undoable()
    };
    let Some(last) = last else {
        return UndoView::default();
    };
    let (kind, changes, checkpoint) = match &last.action {
        Action::Rollback { safety, .. } => ("rollback", Vec::new(), Some(safety.clone())),
        Action::Cancel { idea } => ("cancel", cancelled(state, last, idea), None),
        Action::Approval { idea, .. } => ("approval", vec![approved(idea)], None),
        Action::Redirect { idea, to, .. } => ("redirect", redirected(state, idea, to), None),
    };
    let refusal = refusal(state, last);
    UndoView {
        seq: Some(last.seq),
        kind: Some(kind),
        what: Some(last.action.to_string()),
        at: Some(last.at),
        changes: if refusal.is_some() {
            Vec::new()
        } else {
            changes
        },
        checkpoint,
        problem: refusal.as_ref().map(|(why, _)| why.clone()),
        commands: refusal.map(|(_, commands)| commands).unwrap_or_default(),
    }
}

/// The rules of the command itself. Those of a rollback need a daemon; its preview says what is in
/// the way.
fn refusal(state: &State, last: &Undoable) -> Option<(String, Vec<String>)> {
    if let Action::Rollback { safety, .. } = &last.action {
        let gone = !state.checkpoints.contains_key(safety);
        return gone.then(|| {
            let why = format!("its checkpoint {safety} was deleted");
            (why, vec!["list the others: swarm checkpoint list".into()])
        });
    }
    let command = Command::Undo {
        seq: last.seq,
        from: None,
    };
    let refused = decide::command(state, &command, state.swarm.last_event_at).err()?;
    let mut commands = refused.suggestions();
    if state.landing_of(&last.action).is_some()
        && let Some(older) = state.last_before_landings()
    {
        let older = &older.action;
        commands.push(format!(
            "take back what was done before it, the {older}: swarm undo --skip-landed"
        ));
    }
    Some((refused.to_string(), commands))
}

fn approved(id: &IdeaId) -> String {
    format!("{id} waits for your review again; it does not land until you approve it")
}

fn cancelled(state: &State, last: &Undoable, id: &IdeaId) -> Vec<String> {
    if let Some((agent, _)) = state.attempt_at(id) {
        let again =
            format!("{id} becomes pending again when {agent} has ended, and keeps its work");
        return [again].into_iter().chain(followers(state, id)).collect();
    }
    let Some(before) = &last.before else {
        return Vec::new();
    };
    let held = if before.held { " and held" } else { "" };
    let status = before.status.as_str();
    let mut changes = vec![
        format!("{id} becomes {status}{held} again"),
        work(id, before.kept.as_deref()),
    ];
    if before.finished {
        changes.push(format!(
            "{id} had finished work in the merge queue: an agent runs again, and its commit \
            becomes another one"
        ));
    }
    changes.extend(followers(state, id));
    changes
}

/// The ideas that waited in vain for a cancelled one.
fn followers(state: &State, id: &IdeaId) -> Option<String> {
    let waits = |(_, idea): &(&IdeaId, &Idea)| {
        idea.status == IdeaStatus::Pending && idea.after.contains(id)
    };
    let waiting = state.ideas.iter().filter(waits);
    let waiting: Vec<&IdeaId> = waiting.map(|(id, _)| id).collect();
    (!waiting.is_empty()).then(|| format!("{} can start once {id} is done", names(&waiting)))
}

fn work(id: &IdeaId, kept: Option<&Kept>) -> String {
    match kept {
        None => format!("{id} has no earlier work to continue from"),
        Some(kept) if kept.worktree.saved.is_some() => {
            format!("{id} continues from its work, but for files that git ignores")
        }
        Some(_) => format!("{id} continues in its worktree"),
    }
}

fn redirected(state: &State, own: &IdeaId, to: &IdeaId) -> Vec<String> {
    match state.attempt_at(to) {
        Some((agent, _)) => vec![
            format!("{agent} stops, and {to} becomes pending again and keeps its work"),
            format!("{own} goes on next, from its own work in a new worktree"),
        ],
        None => vec![format!("{own} goes on next, and {to} waits again")],
    }
}
