//! What the import of an agent's state does, or would do: `swarm agent import --json`.
//!
//! Invariant: names, once released, keep their meaning.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::message_log::Repair;
use crate::domain::ids::{AgentId, IdeaId, ProfileName};

/// The result of an import.
#[allow(clippy::struct_excessive_bools)] // each is a field of its own in the JSON
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentImportResult)]
pub struct ImportResult {
    /// Nothing was changed: this is what an import would do.
    pub check: bool,
    /// The idea whose next attempts go on from the agent; of a check that would add one, the
    /// number that it would get now.
    #[schema(value_type = Option<String>, required)]
    pub idea_id: Option<IdeaId>,
    /// The idea is new.
    pub added: bool,
    /// The agent, by its id in its own swarm.
    #[schema(value_type = String)]
    pub agent_id: AgentId,
    /// Identity of that swarm; null if the file names none.
    #[schema(required)]
    pub swarm_id: Option<String>,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Profile of the next attempt.
    #[schema(value_type = String)]
    pub profile: ProfileName,
    /// Why that one.
    pub profile_from: ProfileSource,
    /// Messages in the file.
    pub messages: u64,
    /// What the export had to add to them or leave out.
    pub repairs: Vec<Repair>,
    /// What becomes of its commits.
    pub commits: Commits,
    /// What becomes of the program's own conversation.
    pub conversation: Conversation,
    /// Whether the idea starts by itself: not while it has ended badly.
    pub starts: bool,
    /// The operation was done before; nothing was changed now.
    pub done_before: bool,
    /// Number of the last event.
    pub seq: u64,
}

/// Why a profile was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentImportProfile)]
pub enum ProfileSource {
    /// It was asked for.
    Asked,
    /// The agent had it, and it is configured here.
    File,
    /// It is the idea's own.
    Idea,
    /// It is the default one.
    Default,
}

/// The conversation of an imported agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentImportConversation)]
pub struct Conversation {
    /// What becomes of it.
    pub fate: ConversationFate,
    /// Why it is not carried over; null if it is.
    #[schema(required)]
    pub why: Option<WhyBrief>,
}

/// What becomes of the conversation of an imported agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentImportConversationFate)]
pub enum ConversationFate {
    /// The next attempt goes on with it.
    Carried,
    /// The prompt says what the agent did instead.
    Brief,
}

/// Why a conversation is not carried over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentImportWhyBrief)]
pub enum WhyBrief {
    /// The file has none.
    NotInFile,
    /// Swarm cannot move conversations of that program, or the file gives it an odd name.
    NotPortable,
    /// The profile of the next attempt runs another program.
    AdapterDiffers,
    /// The idea has work of its own, with which the next attempt goes on.
    OwnWork,
    /// `completion.resume` is off: each iteration starts a new conversation.
    NotResumed,
}

/// The commits of an imported agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentImportCommits)]
pub struct Commits {
    /// The last one; null if the file names none.
    #[schema(required)]
    pub tip: Option<String>,
    /// What becomes of them.
    pub fate: CommitsFate,
}

/// What becomes of the commits of an imported agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentImportFate)]
pub enum CommitsFate {
    /// The next attempt begins with them.
    Taken,
    /// The idea has work of its own, with which the next attempt begins.
    OwnWork,
    /// The file names none.
    NotNamed,
    /// They are not in this repository.
    NotHere,
    /// They have no history in common with the target.
    Unrelated,
    /// The target has them.
    InTarget,
}
