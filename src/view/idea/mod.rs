//! Ideas: `swarm idea list`, `swarm idea show`.

pub(super) mod graph;
pub(super) mod list;
pub(super) mod story;

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::attention::worktree_path;
use crate::domain::ids::{AgentId, IdeaId, Oid, ProfileName};
use crate::domain::state::{Audit, Idea, IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::view::merge::{MergeView, merge};
use crate::view::needs_you::{NeedsYou, needs_you};
use crate::view::usage::UsedView;
use crate::view::{schema, usage};

/// One idea.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Idea)]
pub struct IdeaView {
    /// The idea's id.
    #[schema(value_type = String)]
    pub id: IdeaId,
    /// Its status.
    #[schema(schema_with = schema::words::<IdeaStatus>, required)]
    pub status: IdeaStatus,
    /// What to do.
    pub content: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Added to the score that orders ideas.
    pub priority: i64,
    /// The ideas that must be done first.
    #[schema(value_type = Vec<String>)]
    pub after: Vec<IdeaId>,
    /// Whether a person holds it: it does not start until `swarm idea unhold`.
    pub held: bool,
    /// Crashes since it was added or last retried.
    pub retry_count: u32,
    /// Number of attempts so far.
    pub attempts: u32,
    /// The merge commit that landed it.
    #[schema(required, value_type = Option<String>)]
    pub commit: Option<Oid>,
    /// Why its last attempt did not finish.
    #[schema(required)]
    pub last_error: Option<String>,
    /// The agent profile that it asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub profile: Option<ProfileName>,
    /// A person must approve its work even if `merge.autoMerge` is on; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub review: bool,
    /// What its attempts used; in lists only with `openFirst`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub used: Option<UsedView>,
    /// When it was added.
    #[schema(schema_with = schema::time, required)]
    pub created_at: Timestamp,
    /// When it last changed.
    #[schema(schema_with = schema::time, required)]
    pub updated_at: Timestamp,
}

/// One idea with its history: the fields of an idea, and these.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdeaDetail {
    /// The idea's own fields.
    #[serde(flatten)]
    pub idea: IdeaView,
    /// The agent that works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub agent_id: Option<AgentId>,
    /// Ideas that wait for it.
    #[schema(value_type = Vec<String>)]
    pub dependents: Vec<IdeaId>,
    /// The worktree kept for its next attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub kept_worktree: Option<String>,
    /// Its entry in the merge queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub merge: Option<MergeView>,
    /// What it needs from a person.
    pub needs_you: Vec<NeedsYou>,
    /// What happened to it, oldest first.
    #[schema(value_type = Vec<schema::HistoryLine>)]
    pub history: Vec<Audit>,
}

/// A status as the verb of a sentence: `idea-001 failed`.
pub fn status_verb(status: IdeaStatus) -> &'static str {
    match status {
        IdeaStatus::Pending => "is pending",
        IdeaStatus::Active => "is active",
        IdeaStatus::Merging => "is merging",
        IdeaStatus::Blocked => "is blocked",
        IdeaStatus::Done => "is done",
        IdeaStatus::Failed => "failed",
        IdeaStatus::Timeout => "hit its limit",
        IdeaStatus::Cancelled => "is cancelled",
    }
}

/// The view of an idea.
pub fn idea(id: &IdeaId, idea: &Idea) -> IdeaView {
    IdeaView {
        id: id.clone(),
        status: idea.status,
        content: idea.text.to_string(),
        tags: idea.tags.clone(),
        priority: idea.priority,
        after: idea.after.clone(),
        held: idea.held,
        retry_count: idea.retry_count,
        attempts: idea.attempts,
        commit: idea.commit.clone(),
        last_error: idea.last_error.as_deref().map(str::to_owned),
        profile: idea.profile.clone(),
        review: idea.review,
        used: None,
        created_at: idea.created_at,
        updated_at: idea.updated_at,
    }
}

/// The ideas, oldest first; only those with `status`, if given.
pub fn ideas(state: &State, status: Option<IdeaStatus>) -> Vec<IdeaView> {
    let mut list: Vec<IdeaView> = state
        .ideas
        .iter()
        .filter(|(_, idea)| status.is_none_or(|status| idea.status == status))
        .map(|(id, this)| idea(id, this))
        .collect();
    // Sort by number: as text, idea-1000 would come before idea-999.
    list.sort_by(|a, b| (a.id.as_str().len(), &a.id).cmp(&(b.id.as_str().len(), &b.id)));
    list
}

pub(in crate::view) fn with_usage(id: &IdeaId, this: &Idea) -> IdeaView {
    IdeaView {
        used: usage::any_used(&this.used),
        ..idea(id, this)
    }
}

/// An idea with its history; `None` if there is no such idea.
pub fn idea_detail(state: &State, id: &IdeaId) -> Option<IdeaDetail> {
    let this = state.ideas.get(id)?;
    let waits_on = |(_, other): &(&IdeaId, &Idea)| other.after.contains(id);
    Some(IdeaDetail {
        idea: with_usage(id, this),
        agent_id: state.attempt_at(id).map(|(agent, _)| agent.clone()),
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
            // After a redirect only the work is kept; another idea has the worktree.
            .filter(|worktree| !worktree.is_empty())
            .map(|worktree| worktree_path(state, worktree)),
        merge: state.entry(id).map(|entry| merge(state, entry)),
        needs_you: {
            let about = |need: &NeedsYou| need.idea_id.as_ref() == Some(id);
            needs_you(state).into_iter().filter(about).collect()
        },
        history: this.audit.clone(),
    })
}

/// A note for the person who held an idea that an agent works on.
pub fn held(state: &State, id: &IdeaId) -> Option<String> {
    let (agent, _) = state.attempt_at(id)?;
    Some(match state.entry(id) {
        None => format!(
            "{agent} goes on; the hold is for the next attempt\n  -> to stop it too (the work is \
            kept): swarm agent stop {agent}"
        ),
        Some(_) => {
            "its work is complete and lands; the hold is for the next attempt, if there is one"
                .to_owned()
        }
    })
}

/// A note for the person who edited an idea: a running attempt keeps the old text.
pub fn edited(state: &State, id: &IdeaId) -> Option<String> {
    let (agent, attempt) = state.attempt_at(id)?;
    if attempt
        .review
        .as_deref()
        .is_some_and(|comment| comment.edited)
    {
        return Some(format!(
            "its work goes back to {agent}, which continues with the new text"
        ));
    }
    let text = state.ideas.get(id).map(|idea| &idea.text);
    let differs = attempt.text.is_some() && attempt.text.as_ref() != text;
    differs.then(|| {
        format!(
            "{agent} continues with the old text; the next attempt gets the new one\n  -> to use \
            it now (the work is kept): swarm agent stop {agent}"
        )
    })
}
