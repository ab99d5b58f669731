//! Ideas: `swarm idea list`, `swarm idea show`.

use serde::Serialize;
use utoipa::ToSchema;

use super::agent::worktree_path;
use super::merge::{MergeView, merge};
use super::needs_you::{NeedsYou, needs_you};
use super::usage::UsedView;
use super::{schema, usage};
use crate::domain::ids::{AgentId, IdeaId, Oid, ProfileName};
use crate::domain::state::{Audit, Idea, IdeaStatus, State};
use crate::domain::time::Timestamp;

/// One idea.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Idea)]
pub struct IdeaView {
    /// Its id.
    #[schema(value_type = String)]
    pub id: IdeaId,
    /// How it stands.
    #[schema(schema_with = schema::words::<IdeaStatus>, required)]
    pub status: IdeaStatus,
    /// What is to be done.
    pub content: String,
    /// Free words.
    pub tags: Vec<String>,
    /// Added to its score.
    pub priority: i64,
    /// The ideas that must be done before.
    #[schema(value_type = Vec<String>)]
    pub after: Vec<IdeaId>,
    /// Crashes since it was added or retried.
    pub retry_count: u32,
    /// Attempts in all.
    pub attempts: u32,
    /// The merge commit that landed it.
    #[schema(required, value_type = Option<String>)]
    pub commit: Option<Oid>,
    /// Why it did not go on, last.
    #[schema(required)]
    pub last_error: Option<String>,
    /// The profile that it asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub profile: Option<ProfileName>,
    /// When it was added.
    #[schema(schema_with = schema::time, required)]
    pub created_at: Timestamp,
    /// When it last changed.
    #[schema(schema_with = schema::time, required)]
    pub updated_at: Timestamp,
}

/// One idea with its history: all of an idea's fields, and these.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdeaDetail {
    /// The idea's own fields.
    #[serde(flatten)]
    pub idea: IdeaView,
    /// The agent that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub agent: Option<AgentId>,
    /// Ideas that wait on it.
    #[schema(value_type = Vec<String>)]
    pub dependents: Vec<IdeaId>,
    /// The worktree kept for its next attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub kept_worktree: Option<String>,
    /// Its merge, while it is in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub merge: Option<MergeView>,
    /// What only a person can do about it.
    pub needs_you: Vec<NeedsYou>,
    /// What its attempts used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub used: Option<UsedView>,
    /// What happened to it.
    #[schema(value_type = Vec<schema::HistoryLine>)]
    pub history: Vec<Audit>,
}

/// An idea.
pub fn idea(id: &IdeaId, idea: &Idea) -> IdeaView {
    IdeaView {
        id: id.clone(),
        status: idea.status,
        content: idea.text.to_string(),
        tags: idea.tags.clone(),
        priority: idea.priority,
        after: idea.after.clone(),
        retry_count: idea.retry_count,
        attempts: idea.attempts,
        commit: idea.commit.clone(),
        last_error: idea.last_error.as_deref().map(str::to_owned),
        profile: idea.profile.clone(),
        created_at: idea.created_at,
        updated_at: idea.updated_at,
    }
}

/// The ideas, oldest first; those of one status where one is named.
pub fn ideas(state: &State, status: Option<IdeaStatus>) -> Vec<IdeaView> {
    let mut list: Vec<IdeaView> = state
        .ideas
        .iter()
        .filter(|(_, idea)| status.is_none_or(|status| idea.status == status))
        .map(|(id, this)| idea(id, this))
        .collect();
    // By number: as text, idea-1000 would come before idea-999.
    list.sort_by(|a, b| (a.id.as_str().len(), &a.id).cmp(&(b.id.as_str().len(), &b.id)));
    list
}

/// An idea with its history.
pub fn idea_detail(state: &State, id: &IdeaId) -> Option<IdeaDetail> {
    let this = state.ideas.get(id)?;
    let waits_on = |(_, other): &(&IdeaId, &Idea)| other.after.contains(id);
    Some(IdeaDetail {
        idea: idea(id, this),
        agent: state.attempt_at(id).map(|(agent, _)| agent.clone()),
        dependents: state
            .ideas
            .iter()
            .filter(waits_on)
            .map(|(id, _)| id.clone())
            .collect(),
        kept_worktree: this
            .kept
            .as_ref()
            .map(|kept| kept.worktree.worktree.as_str())
            // Handed over to another idea: its work is kept, no worktree is.
            .filter(|worktree| !worktree.is_empty())
            .map(worktree_path),
        merge: state.entry(id).map(merge),
        needs_you: {
            let about = |need: &NeedsYou| need.idea_id.as_ref() == Some(id);
            needs_you(state).into_iter().filter(about).collect()
        },
        used: usage::any_used(&this.used),
        history: this.audit.clone(),
    })
}

/// What people who have edited an idea should know: an attempt at it goes on with the text that it
/// began with.
pub fn edited(state: &State, id: &IdeaId) -> Option<String> {
    let (agent, attempt) = state.attempt_at(id)?;
    let text = state.ideas.get(id).map(|idea| &idea.text);
    let differs = attempt.text.is_some() && attempt.text.as_ref() != text;
    differs.then(|| {
        format!(
            "{agent} goes on with the text that it began with; the new one is for the next \
            attempt. To have it now: swarm agent stop {agent} (its work is kept)"
        )
    })
}
