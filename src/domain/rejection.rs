//! Why a command was refused: a stable code for programs, a message for people, and what to do
//! instead.
//!
//! Invariant: a refused command has changed nothing. `api` and `cli` show all three parts.

use super::ids::{AgentId, CheckpointName, IdeaId, Oid, ProfileName};
use super::lifecycle::Illegal;
use super::memory::MemoryRefusal;
use super::request::Author;
use super::state::AttemptEnd;

/// A refused command. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// No idea has this id.
    #[error("there is no idea `{0}`")]
    IdeaUnknown(IdeaId),
    /// No agent has this id.
    #[error("there is no agent `{0}`")]
    AgentUnknown(AgentId),
    /// The agent's attempt has ended.
    #[error("agent `{id}` has ended: it {end}")]
    AgentOver {
        /// The agent.
        id: AgentId,
        /// How it ended.
        end: AttemptEnd,
        /// The idea that it worked on.
        idea: IdeaId,
    },
    /// The configuration has no such profile.
    #[error("there is no agent profile `{name}` in the configuration")]
    ProfileUnknown {
        /// The unknown name.
        name: ProfileName,
        /// Configured profiles.
        known: Vec<ProfileName>,
    },
    /// The idea's text is empty.
    #[error("the text of the idea is empty")]
    TextEmpty,
    /// The message to an agent is empty.
    #[error("the message is empty")]
    NothingSaid,
    /// The text does not fit into an event.
    #[error("the text takes {bytes} bytes as JSON; at most {max} are allowed")]
    TextTooLong {
        /// Size of the text as JSON, in bytes.
        bytes: usize,
        /// Largest allowed size, in bytes.
        max: usize,
    },
    /// Too many tags or dependencies, or an invalid tag.
    #[error("{0}")]
    TooMuch(String),
    /// The dependencies would form a cycle.
    #[error("these ideas would wait for each other: {}", shown(.0))]
    Cycle(Vec<IdeaId>),
    /// No checkpoint has this name.
    #[error("there is no checkpoint `{name}`{}", newest_is(newest.as_ref()))]
    CheckpointUnknown {
        /// The unknown name.
        name: CheckpointName,
        /// Newest checkpoint, if any exists.
        newest: Option<CheckpointName>,
    },
    /// A checkpoint already has this name.
    #[error("checkpoint `{0}` already exists")]
    CheckpointTaken(CheckpointName),
    /// A review without a comment.
    #[error("the comment for the agent is empty")]
    NoReason(IdeaId),
    /// The work that waits for review is not the work that the person saw.
    #[error(
        "the work of {id} has changed since you saw it: you approve commit {shown:.10}, but \
        {current:.10} waits for review"
    )]
    WorkChanged {
        /// The idea.
        id: IdeaId,
        /// The commit that the person saw.
        shown: Oid,
        /// The commit that waits now.
        current: Oid,
    },
    /// The sender may not ask for this.
    #[error("this needs a person: {by} may not do it")]
    NotForAgents {
        /// Who asked.
        by: Author,
        /// Whether a setting can allow it.
        may_be_allowed: bool,
    },
    /// A command about the memory was refused.
    #[error(transparent)]
    Memory(#[from] MemoryRefusal),
    /// The swarm has moved away.
    #[error(
        "this swarm has moved away in an archive ({manifest_sha256:.12}); it goes on where that \
        archive was imported"
    )]
    Moved {
        /// SHA-256 of the archive's manifest, in hex.
        manifest_sha256: String,
    },
    /// The command makes no sense in the current state.
    #[error("cannot {what}: {why}")]
    NotNow {
        /// The command as a verb phrase, such as `stop ed-001`.
        what: String,
        /// Why it is not possible now.
        why: String,
        /// What to do instead; `None` suggests `swarm status`.
        instead: Option<String>,
    },
    /// The command makes no sense in the current phase.
    #[error(transparent)]
    Illegal(#[from] Illegal),
}

fn shown(cycle: &[IdeaId]) -> String {
    let names: Vec<&str> = cycle.iter().map(IdeaId::as_str).collect();
    names.join(" -> ")
}

impl Rejection {
    /// Stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::IdeaUnknown(_) => "IDEA_UNKNOWN",
            Self::AgentUnknown(_) => "AGENT_UNKNOWN",
            Self::AgentOver { .. } => "AGENT_ENDED",
            Self::ProfileUnknown { .. } => "PROFILE_UNKNOWN",
            Self::TextEmpty | Self::NothingSaid | Self::NoReason(_) => "TEXT_EMPTY",
            Self::WorkChanged { .. } => "WORK_CHANGED",
            Self::TextTooLong { .. } => "TEXT_TOO_LONG",
            Self::TooMuch(_) => "TOO_MUCH",
            Self::Cycle(_) => "DEPENDENCY_CYCLE",
            Self::CheckpointUnknown { .. } => "CHECKPOINT_UNKNOWN",
            Self::CheckpointTaken(_) => "CHECKPOINT_TAKEN",
            Self::NotForAgents { .. } => "NOT_FOR_AGENTS",
            Self::Memory(refusal) => refusal.code(),
            Self::Moved { .. } => "SWARM_MOVED",
            Self::NotNow { .. } | Self::Illegal(_) => "NOT_NOW",
        }
    }

    /// What the command should have been about, if something else than it expected is there now.
    pub fn current(&self) -> Option<&Oid> {
        if let Self::WorkChanged { current, .. } = self {
            Some(current)
        } else {
            None
        }
    }

    /// Next steps for a person; each names a command where one helps.
    pub fn suggestions(&self) -> Vec<String> {
        match self {
            Self::IdeaUnknown(id) => ids_look_like(id),
            Self::AgentUnknown(_) => vec!["see the agents: swarm agent list".into()],
            Self::AgentOver { idea, .. } => {
                vec![format!("see its idea: swarm idea show {idea}")]
            }
            Self::ProfileUnknown { known, .. } => {
                let names: Vec<&str> = known.iter().map(ProfileName::as_str).collect();
                vec![format!("configured profiles: {}", names.join(", "))]
            }
            Self::TextEmpty => {
                vec!["describe the work: swarm idea add \"add a --version flag\"".into()]
            }
            Self::NothingSaid => {
                vec!["say what it needs to know: swarm agent say ID \"use the second one\"".into()]
            }
            Self::NoReason(id) => {
                vec![format!(
                    "say what must change: swarm merge reject {id} \"add a test\""
                )]
            }
            Self::WorkChanged { id, .. } => vec![format!("look at it: swarm merge diff {id}")],
            Self::TextTooLong { .. } => {
                vec![
                    "put the long part into a file of the repository and name it in the idea"
                        .into(),
                ]
            }
            Self::Cycle(_) => vec!["remove one of these dependencies".into()],
            Self::NotNow { instead, .. } => {
                let instead = instead
                    .as_deref()
                    .unwrap_or("see the current state: swarm status");
                vec![instead.to_owned()]
            }
            Self::CheckpointUnknown { newest, .. } => match newest {
                Some(_) => vec!["list the checkpoints: swarm checkpoint list".into()],
                None => vec!["create one: swarm checkpoint create NAME".into()],
            },
            Self::CheckpointTaken(name) => vec![format!(
                "choose another name, or delete this one: swarm checkpoint delete {name}"
            )],
            Self::NotForAgents { may_be_allowed, .. } => {
                let ask = "ask a person: `<swarm>NEEDS_HUMAN:question</swarm>`".to_owned();
                let allow = "a person can allow it: swarm config set agents.mayAddIdeas true";
                let allow = may_be_allowed.then(|| allow.to_owned());
                allow.into_iter().chain([ask]).collect()
            }
            Self::Memory(refusal) => refusal.suggestions(),
            Self::Moved { .. } => {
                vec!["if nothing works there, work here again: swarm snapshot reclaim".into()]
            }
            Self::TooMuch(_) => vec!["use fewer, or put it in the text".into()],
            Self::Illegal(_) => vec!["see the current state: swarm status".into()],
        }
    }
}

fn ids_look_like(id: &IdeaId) -> Vec<String> {
    let number: Option<u64> = id.as_str().parse().ok();
    let meant = number.map(|number| format!("ids look like this: {}", IdeaId::numbered(number)));
    let list = "see the ideas: swarm idea list".to_owned();
    meant.into_iter().chain([list]).collect()
}

fn newest_is(newest: Option<&CheckpointName>) -> String {
    newest.map_or_else(
        || "; there are none yet".to_owned(),
        |newest| format!("; the newest is `{newest}`"),
    )
}
