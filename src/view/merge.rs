//! The merge queue: `swarm merge list`.

use serde::Serialize;
use utoipa::ToSchema;

use super::schema;
use crate::domain::ids::{AgentId, IdeaId, Oid};
use crate::domain::lifecycle::MergePhase;
use crate::domain::state::{MergeEntry, State};
use crate::domain::time::Timestamp;

/// One entry of the merge queue.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Merge)]
pub struct MergeView {
    /// The idea.
    #[schema(value_type = String)]
    pub idea_id: IdeaId,
    /// The merge's phase.
    #[schema(schema_with = schema::words::<MergePhase>, required)]
    pub state: MergePhase,
    /// The agent whose work it is.
    #[schema(value_type = String)]
    pub agent_id: AgentId,
    /// The old name of `agentId`, kept for one version.
    #[schema(value_type = String)]
    pub agent: AgentId,
    /// The agent's branch.
    pub branch: String,
    /// The commit to merge.
    #[schema(value_type = String)]
    pub source: Oid,
    /// The merge waits for a person's approval; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub held: bool,
    /// Files in conflict, or uncommitted files in the way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub files: Vec<String>,
    /// Why it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub reason: Option<String>,
    /// When it entered the queue.
    #[schema(schema_with = schema::time, required)]
    pub queued_at: Timestamp,
}

/// The merge queue.
pub fn merges(state: &State) -> Vec<MergeView> {
    state.queue.iter().map(merge).collect()
}

pub(super) fn merge(entry: &MergeEntry) -> MergeView {
    let conflict = entry.conflict.as_ref().map(|conflict| &conflict.files);
    let in_the_way = entry.waits.as_ref().map(|waits| &waits.files);
    MergeView {
        idea_id: entry.idea.clone(),
        state: entry.phase,
        agent_id: entry.agent.clone(),
        agent: entry.agent.clone(),
        branch: entry.branch.clone(),
        source: entry.source.clone(),
        held: entry.held,
        files: conflict.or(in_the_way).cloned().unwrap_or_default(),
        reason: entry.waits.as_ref().map(|waits| waits.reason.clone()),
        queued_at: entry.queued_at,
    }
}
