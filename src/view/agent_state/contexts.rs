//! What an agent was told from elsewhere: one type for each source, each with its own id.
//!
//! Invariant: a context stands for itself: none refers to another.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::domain::ids::AgentId;
use crate::domain::reads::Read;
use crate::domain::state::State;
use crate::view::memory;

/// All of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Contexts {
    /// Rules of the project and of its profile.
    #[schema(required)]
    pub rules: RulesContext,
    /// Its profile; null if the configuration no longer has it.
    #[schema(required)]
    pub profile: Option<ProfileContext>,
    /// What it was shown of the memory.
    #[schema(required)]
    pub learnings: LearningsContext,
    /// Tracked files that it read.
    #[schema(required)]
    pub reads: ReadsContext,
    /// The scratchpad that all agents share.
    #[schema(required)]
    pub notes: NotesContext,
    /// What it was told of the attempt before it; null if nothing.
    #[schema(required)]
    pub recovery: Option<RecoveryContext>,
    /// Its worktree.
    #[schema(required)]
    pub worktree: WorktreeContext,
}

/// Rules that were in its prompts, as their files are now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RulesContext {
    /// `rules/` and the profile's folder.
    pub id: String,
    /// The files.
    pub files: Vec<RulesFile>,
}

/// A file of rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RulesFile {
    /// Its path below `.swarm/`.
    pub path: String,
    /// SHA-256 of its content.
    pub sha256: String,
    /// Its content.
    pub text: String,
}

/// A profile without the values of its environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileContext {
    /// Its name.
    pub id: String,
    /// How swarm talks to its program.
    pub adapter: String,
    /// The model that it asks for.
    #[schema(required)]
    pub model: Option<String>,
    /// The program and its first arguments, without text that looks like a secret.
    pub command: Vec<String>,
    /// Further arguments, likewise.
    pub args: Vec<String>,
    /// Names of its environment variables.
    pub env_names: Vec<String>,
}

/// What an agent was shown of the memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LearningsContext {
    /// The agent.
    pub id: String,
    /// Facts and learnings, with the versions that were shown.
    pub items: Vec<ShownItem>,
}

/// A fact or learning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentStateShownItem)]
pub struct ShownItem {
    /// The fact's key, or the learning's id.
    #[serde(rename = "ref")]
    #[schema(rename = "ref")]
    pub reference: String,
    /// Version that was shown.
    pub version: u64,
    /// What it says now; null if it no longer exists.
    #[schema(required)]
    pub text: Option<String>,
}

/// Tracked files that its tools' calls read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadsContext {
    /// The agent.
    pub id: String,
    /// The files, by path.
    #[schema(value_type = Vec<Object>)]
    pub files: Vec<Read>,
}

/// The scratchpad.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotesContext {
    /// Always `notes`.
    pub id: String,
    /// The notes, by key.
    pub items: Vec<NoteItem>,
}

/// A note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoteItem {
    /// Its key.
    pub key: String,
    /// Its version.
    pub version: u64,
    /// What it is about.
    pub title: String,
    /// Its text.
    pub content: String,
}

/// What an agent was told of the attempt before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryContext {
    /// The run whose prompt told it.
    pub id: String,
    /// What it was told: `recovery.json` of that run.
    #[schema(value_type = Object)]
    pub told: Value,
}

/// An agent's worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeContext {
    /// Its name.
    pub id: String,
    /// Its branch.
    pub branch: String,
    /// Commit where the branch left the target; null if it is not known any more.
    #[schema(required)]
    pub base: Option<String>,
    /// Last commit of the branch; null if it is gone.
    #[schema(required)]
    pub tip: Option<String>,
    /// Commit with what was not committed when its attempt began; null if none.
    #[schema(required)]
    pub wip: Option<String>,
}

impl Contexts {
    /// What the state knows. What the log and files know comes later.
    pub(super) fn from_state(state: &State, id: &AgentId, worktree: WorktreeContext) -> Self {
        let notes = state.notes.iter().map(|(key, note)| NoteItem {
            key: key.to_string(),
            version: note.version,
            title: note.title.clone(),
            content: note.content.clone(),
        });
        Self {
            rules: RulesContext {
                id: "rules".to_owned(),
                files: vec![],
            },
            learnings: match memory::shown(state, id) {
                Some(shown) => LearningsContext::of(&shown),
                None => LearningsContext {
                    id: id.to_string(),
                    items: vec![],
                },
            },
            reads: ReadsContext {
                id: id.to_string(),
                files: vec![],
            },
            notes: NotesContext {
                id: "notes".to_owned(),
                items: notes.collect(),
            },
            worktree,
            profile: None,
            recovery: None,
        }
    }
}

impl LearningsContext {
    /// From what an agent was shown.
    pub fn of(shown: &memory::ShownView) -> Self {
        let items = shown.items.iter().map(|item| ShownItem {
            reference: item.reference.clone(),
            version: item.version,
            text: item.text.clone(),
        });
        Self {
            id: shown.agent_id.to_string(),
            items: items.collect(),
        }
    }
}
