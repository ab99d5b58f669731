//! Who sent a request or wrote a part of the memory.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::effect::Purpose;
use crate::domain::ids::{AgentId, IdeaId, RunId};
use crate::domain::state::State;

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Author {
    /// A person, or a program that a person started.
    #[default]
    Person,
    /// A person's own agent, through the MCP server.
    Mcp {
        /// Name of the client, as it gave it.
        client: String,
    },
    /// A hook.
    Hook {
        /// Its run.
        run: RunId,
    },
    /// An agent in an iteration.
    Agent {
        /// The agent.
        id: AgentId,
        /// The idea that it works on; `None` if its attempt is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idea_id: Option<IdeaId>,
        /// Its run.
        run: RunId,
    },
    /// The run that summarises learnings into facts.
    Synthesis {
        /// Its run.
        run: RunId,
    },
    /// A quality or setup command, or a replay. It may only read.
    Check {
        /// Its run.
        run: RunId,
    },
}

impl Author {
    /// Whoever speaks from a live run. A run that is not under way is a leftover; it may only read.
    pub fn of_run(state: &State, run: RunId) -> Self {
        let Some((_, purpose)) = state.run_effect(&run) else {
            return Self::Check { run };
        };
        match purpose {
            Purpose::Iteration { agent, .. } => Self::Agent {
                id: agent.clone(),
                idea_id: state.agents.get(agent).map(|attempt| attempt.idea.clone()),
                run,
            },
            Purpose::Hook { .. } => Self::Hook { run },
            Purpose::Synthesis { .. } => Self::Synthesis { run },
            Purpose::Gate { .. }
            | Purpose::CommitHooks { .. }
            | Purpose::Verify { .. }
            | Purpose::Baseline { .. }
            | Purpose::Canary { .. }
            | Purpose::Setup { .. }
            | Purpose::Replay { .. } => Self::Check { run },
        }
    }

    /// Whoever names its run itself: a run that is under way, else a person. The name only takes
    /// rights away.
    pub fn who_names(state: &State, run: Option<RunId>) -> Self {
        let under_way = run.filter(|run| state.run_effect(run).is_some());
        under_way.map_or(Self::Person, |run| Self::of_run(state, run))
    }

    /// The same, through the program of this name that uses the MCP server. Only a person has
    /// programs of their own.
    #[must_use]
    pub fn through(self, client: Option<&str>) -> Self {
        match (self, client) {
            (Self::Person, Some(client)) => Self::Mcp {
                client: one_word(client),
            },
            (author, _) => author,
        }
    }

    /// Whether a person or a program of theirs speaks: what they decide stays in force.
    pub const fn is_person(&self) -> bool {
        match self {
            Self::Person | Self::Mcp { .. } | Self::Hook { .. } => true,
            Self::Agent { .. } | Self::Synthesis { .. } | Self::Check { .. } => false,
        }
    }

    /// Whether both work on the same idea, are people, or are both the synthesis.
    pub fn is_on_side_of(&self, other: &Self) -> bool {
        match self {
            Self::Person | Self::Mcp { .. } | Self::Hook { .. } => other.is_person(),
            Self::Agent { .. } => self.idea().is_some() && self.idea() == other.idea(),
            Self::Synthesis { .. } => matches!(other, Self::Synthesis { .. }),
            Self::Check { .. } => false,
        }
    }

    /// The agent, if an agent speaks.
    pub const fn agent(&self) -> Option<&AgentId> {
        if let Self::Agent { id, .. } = self {
            Some(id)
        } else {
            None
        }
    }

    /// The idea that the speaking agent works on.
    pub fn idea(&self) -> Option<&IdeaId> {
        if let Self::Agent { idea_id, .. } = self {
            idea_id.as_ref()
        } else {
            None
        }
    }

    /// The run that speaks.
    pub fn run(&self) -> Option<&RunId> {
        match self {
            Self::Person | Self::Mcp { .. } => None,
            Self::Agent { run, .. }
            | Self::Hook { run }
            | Self::Synthesis { run }
            | Self::Check { run } => Some(run),
        }
    }
}

/// A program's name as it is kept: at most 60 plain characters.
fn one_word(name: &str) -> String {
    let plain = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | '/' | '@');
    let name: String = name.chars().filter(plain).take(60).collect();
    let name = name.trim();
    if name.is_empty() {
        return "unnamed".to_owned();
    }
    name.to_owned()
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person => f.write_str("a person"),
            Self::Mcp { client } => write!(f, "a person's {client}"),
            Self::Hook { .. } => f.write_str("a hook"),
            Self::Agent { id, idea_id, .. } => match idea_id {
                Some(idea) => write!(f, "{id} ({idea})"),
                None => write!(f, "{id}"),
            },
            Self::Synthesis { .. } => f.write_str("the synthesis"),
            Self::Check { .. } => f.write_str("a check"),
        }
    }
}
