//! Why a command is refused: a stable code for programs, a sentence for people, and what to do
//! instead.

use super::ids::{AgentId, CheckpointName, IdeaId, ProfileName};
use super::lifecycle::Illegal;
use super::state::AttemptEnd;

/// A refusal. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// There is no such idea.
    #[error("there is no idea `{0}`")]
    IdeaUnknown(IdeaId),
    /// There is no such agent.
    #[error("there is no agent `{0}`")]
    AgentUnknown(AgentId),
    /// The attempt of that agent is over.
    #[error("agent `{id}` has ended: it {end}")]
    AgentOver {
        /// The agent.
        id: AgentId,
        /// How it ended.
        end: AttemptEnd,
        /// What it worked on.
        idea: IdeaId,
    },
    /// There is no such profile.
    #[error("there is no agent profile `{name}` in the configuration")]
    ProfileUnknown {
        /// What was named.
        name: ProfileName,
        /// What there is.
        known: Vec<ProfileName>,
    },
    /// The text is empty.
    #[error("an idea needs a text")]
    TextEmpty,
    /// There is nothing to say to an agent.
    #[error("there is nothing to say: the text is empty")]
    NothingSaid,
    /// The text is too long.
    #[error("the text is {bytes} bytes long as JSON; at most {max} are allowed")]
    TextTooLong {
        /// How long.
        bytes: usize,
        /// What is allowed.
        max: usize,
    },
    /// Too many or too long tags or dependencies.
    #[error("{0}")]
    TooMuch(String),
    /// Ideas would wait for each other.
    #[error("these ideas would wait for each other: {}", shown(.0))]
    Cycle(Vec<IdeaId>),
    /// There is no such checkpoint.
    #[error("there is no checkpoint `{name}`")]
    CheckpointUnknown {
        /// What was named.
        name: CheckpointName,
        /// The newest there is.
        newest: Option<CheckpointName>,
    },
    /// There is one of that name.
    #[error("there is a checkpoint `{0}` already")]
    CheckpointTaken(CheckpointName),
    /// It has no meaning in this state.
    #[error("{what} is not possible: {why}")]
    NotNow {
        /// What was asked.
        what: String,
        /// Why not.
        why: String,
        /// What would be.
        instead: Option<String>,
    },
    /// It has no meaning in this phase.
    #[error(transparent)]
    Illegal(#[from] Illegal),
}

fn shown(cycle: &[IdeaId]) -> String {
    let names: Vec<&str> = cycle.iter().map(IdeaId::as_str).collect();
    names.join(" -> ")
}

impl Rejection {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::IdeaUnknown(_) => "IDEA_UNKNOWN",
            Self::AgentUnknown(_) => "AGENT_UNKNOWN",
            Self::AgentOver { .. } => "AGENT_ENDED",
            Self::ProfileUnknown { .. } => "PROFILE_UNKNOWN",
            Self::TextEmpty | Self::NothingSaid => "TEXT_EMPTY",
            Self::TextTooLong { .. } => "TEXT_TOO_LONG",
            Self::TooMuch(_) => "TOO_MUCH",
            Self::Cycle(_) => "DEPENDENCY_CYCLE",
            Self::CheckpointUnknown { .. } => "CHECKPOINT_UNKNOWN",
            Self::CheckpointTaken(_) => "CHECKPOINT_TAKEN",
            Self::NotNow { .. } | Self::Illegal(_) => "NOT_NOW",
        }
    }

    /// What to do instead.
    pub fn suggestions(&self) -> Vec<String> {
        match self {
            Self::IdeaUnknown(id) => {
                let number: Option<u64> = id.as_str().parse().ok();
                let meant = number
                    .map(|number| format!("ids are written so: {}", IdeaId::numbered(number)));
                let list = "see the ideas: swarm idea list".to_owned();
                meant.into_iter().chain([list]).collect()
            }
            Self::AgentUnknown(_) => vec!["see the agents: swarm agent list".into()],
            Self::AgentOver { idea, .. } => {
                vec![format!("see how its idea stands: swarm idea show {idea}")]
            }
            Self::ProfileUnknown { known, .. } => {
                let names: Vec<&str> = known.iter().map(ProfileName::as_str).collect();
                vec![format!("profiles there are: {}", names.join(", "))]
            }
            Self::TextEmpty => {
                vec!["say what is to be done: swarm idea add \"add a --version flag\"".into()]
            }
            Self::NothingSaid => {
                vec!["say what it needs to know: swarm agent say ID \"use the second one\"".into()]
            }
            Self::TextTooLong { .. } => {
                vec![
                    "put the long part into a file of the repository and name it in the idea"
                        .into(),
                ]
            }
            Self::Cycle(_) => vec!["leave one of these dependencies out".into()],
            Self::NotNow { instead, .. } => {
                let instead = instead
                    .as_deref()
                    .unwrap_or("see how it stands: swarm status");
                vec![instead.to_owned()]
            }
            Self::CheckpointUnknown { newest, .. } => match newest {
                Some(newest) => vec![format!(
                    "see them: swarm checkpoint list; the newest is {newest}"
                )],
                None => vec!["make one: swarm checkpoint create NAME".into()],
            },
            Self::CheckpointTaken(name) => vec![format!(
                "choose another name, or delete that one: swarm checkpoint delete {name}"
            )],
            Self::TooMuch(_) => vec!["leave some out, or say it in the text".into()],
            Self::Illegal(_) => vec!["see how it stands: swarm status".into()],
        }
    }
}
