//! The state of an agent, of another swarm or of another idea, that an idea goes on from.
//!
//! Invariant: its file is kept until the idea is over or another file takes its place. JSON names
//! are part of events and snapshots.

use serde::{Deserialize, Serialize};

use crate::domain::effect::{KeptWorktree, Saved};
use crate::domain::ids::{AgentId, Oid, ProfileName};
use crate::domain::session::{Session, SessionId};
use crate::domain::state::Kept;
use crate::domain::state::prompt_cause::PromptCause;
use crate::domain::usage::Counted;

/// An imported agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedAgent {
    /// Its id in the swarm that it comes from.
    pub agent: AgentId,
    /// Identity of that swarm: SHA-256 of the first record of its log; `None` if the file names
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swarm_id: Option<String>,
    /// SHA-256 of the file, in hex.
    pub sha256: String,
    /// The kept file, relative to `.swarm/`.
    pub file: String,
    /// Its commits, if the next attempt begins with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<ImportedCommits>,
    /// The conversation of its program, if the next attempt goes on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ImportedConversation>,
}

/// The conversation of an imported agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedConversation {
    /// The adapter whose program keeps it.
    pub adapter: String,
    /// The id that the copy here has, which no other conversation has.
    pub session: SessionId,
    /// What it had used before, as its program counts.
    #[serde(default, skip_serializing_if = "Counted::is_nothing")]
    pub counted: Counted,
    /// Whether an attempt has begun with it; the next ones start anew or with what that one left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub taken: bool,
}

/// The commits of an imported agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedCommits {
    /// The newest commit that they have in common with the target.
    pub base: Oid,
    /// The last one.
    pub tip: Oid,
}

impl ImportedAgent {
    /// Whether an import of `other` after this one would change nothing. Each import of a
    /// conversation has another id for it.
    pub fn is_as_good_as(&self, other: &Self) -> bool {
        let conversation = match (&self.conversation, &other.conversation) {
            (Some(known), Some(new)) => !known.taken && known.adapter == new.adapter,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let bare = |agent: &Self| Self {
            conversation: None,
            ..agent.clone()
        };
        conversation && bare(self) == bare(other)
    }

    /// The conversation that the first attempt under this profile resumes.
    pub fn session(&self, profile: &ProfileName) -> Option<Session> {
        let conversation = self.conversation.as_ref().filter(|it| !it.taken)?;
        Some(Session {
            id: conversation.session.clone(),
            profile: profile.clone(),
            counted: conversation.counted,
            failures: 0,
        })
    }

    /// Its name among all swarms: `<swarm>/<agent>`, or the agent alone.
    pub fn origin(&self) -> String {
        match &self.swarm_id {
            Some(swarm) => format!("{swarm}/{}", self.agent),
            None => self.agent.to_string(),
        }
    }

    /// What the next attempt begins with, if it begins with its commits.
    pub fn kept(&self) -> Option<Kept> {
        let work = self.work.as_ref()?;
        Some(Kept {
            worktree: KeptWorktree {
                worktree: String::new(),
                branch: String::new(),
                base: work.base.clone(),
                agent: self.agent.clone(),
                crashed: false,
                saved: Some(Saved {
                    tip: work.tip.clone(),
                    wip: None,
                }),
            },
            feedback: None,
            review: None,
            messages: Vec::new(),
            iterations: 0,
            last_run: None,
            said: Vec::new(),
            taken_from: None,
            cause: PromptCause::Restored,
            session: None,
            prompt: None,
        })
    }
}
