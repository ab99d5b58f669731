//! The merge queue: `swarm merge list`, and what a merge would change: `swarm merge diff`.

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
    /// The agent's branch.
    pub branch: String,
    /// The commit to merge.
    #[schema(value_type = String)]
    pub source: Oid,
    /// The work waits for a person's review; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub held: bool,
    /// The commit that a person approved; if `source` becomes another one, that waits for review.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub approved: Option<Oid>,
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
    state.queue.iter().map(|it| merge(state, it)).collect()
}

pub(super) fn merge(state: &State, entry: &MergeEntry) -> MergeView {
    let conflict = entry.conflict.as_ref().map(|conflict| &conflict.files);
    let in_the_way = entry.waits.as_ref().map(|waits| &waits.files);
    MergeView {
        idea_id: entry.idea.clone(),
        state: entry.phase,
        agent_id: entry.agent.clone(),
        branch: entry.branch.clone(),
        source: entry.source.clone(),
        held: entry.held,
        approved: entry.approved.clone(),
        files: conflict.or(in_the_way).cloned().unwrap_or_default(),
        reason: match &entry.waits {
            Some(waits) => Some(waits.reason.clone()),
            None => waits_for_probe(state, entry).map(str::to_owned),
        },
        queued_at: entry.queued_at,
    }
}

/// Why finished work waits because of its checks.
fn waits_for_probe(state: &State, entry: &MergeEntry) -> Option<&'static str> {
    if entry.phase != MergePhase::Queued || entry.held {
        None
    } else if state.blind_checks().is_some() {
        Some("a check cannot be trusted")
    } else if state.awaits_probe() {
        Some("swarm is finding out whether the checks see the tree that they check")
    } else {
        None
    }
}

/// What landing an idea would change now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MergeDiff {
    /// The idea.
    #[schema(value_type = String)]
    pub idea_id: IdeaId,
    /// The agent's branch.
    pub branch: String,
    /// The commit of the branch that would land: an approval is for this commit.
    #[schema(value_type = String)]
    pub source_commit: Oid,
    /// The target's commit.
    #[schema(value_type = String)]
    pub target_commit: Oid,
    /// The commit that the changes start from: the target's or, with conflicts, the one at which
    /// the branch left the target.
    #[schema(value_type = String)]
    pub base: Oid,
    /// The tree or commit that the changes lead to.
    #[schema(value_type = String)]
    pub result: Oid,
    /// The work waits for a person's review; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub held: bool,
    /// Files in conflict with the target.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub conflicts: Vec<String>,
    /// The changed files, by path.
    pub files: Vec<ChangedFile>,
    /// The changes as a patch; bytes that are not UTF-8 are replaced.
    pub diff: String,
    /// The patch is too long and ends early; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub truncated: bool,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    /// Its path; after a rename, the new one.
    pub path: String,
    /// Its path before a rename.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub from: Option<String>,
    /// `added`, `deleted`, `modified`, `renamed` or `typeChanged`.
    #[schema(value_type = String)]
    pub status: &'static str,
    /// Lines added; null for a binary file.
    #[schema(required)]
    pub insertions: Option<u64>,
    /// Lines removed; null for a binary file.
    #[schema(required)]
    pub deletions: Option<u64>,
}
