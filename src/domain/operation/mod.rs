//! The operations: the commands that change a swarm (`command`), and the table that says of each
//! who may send it and when its work is done.
//!
//! Invariant: a new command does not compile until it has its row here. Rights that depend on the
//! memory itself, such as whose fact may be retracted, are in `decide::memory`.

mod command;

pub use command::{Command, IdeaEdit, ImportAgent, InboxFile, NewIdea, TargetChoice};

use super::memory::MemoryCommand;
use super::rejection::Rejection;
use super::request::{Author, Request};
use super::state::State;

/// What holds of a command whatever the state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Who may send it.
    pub who: Who,
    /// When its work is done.
    pub ends: Ends,
}

/// Who may send a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// People and their programs.
    People,
    /// Agents too, if `agents.mayAddIdeas` is on.
    AgentsIfConfigured,
    /// Agents and the synthesis too.
    Agents,
    /// Agents too, but not the synthesis: a note names no evidence.
    AgentsNotSynthesis,
}

/// When the work of a command is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// When its events are on disk.
    Durable,
    /// When the checkpoint is made or deleted, or the rollback is over.
    Checkpoint,
    /// When the resolution has been checked.
    Resolution,
}

const fn row(who: Who, ends: Ends) -> Operation {
    Operation { who, ends }
}

impl Command {
    /// Its row in the table of operations.
    pub const fn operation(&self) -> Operation {
        use Ends::{Checkpoint, Durable, Resolution};
        use Who::{Agents, AgentsIfConfigured, AgentsNotSynthesis, People};
        match self {
            Self::AddIdea(_) => row(AgentsIfConfigured, Durable),
            Self::EditIdea { .. }
            | Self::RetryIdea { .. }
            | Self::CancelIdea { .. }
            | Self::AssignIdea { .. }
            | Self::HoldIdea { .. }
            | Self::UnholdIdea { .. }
            | Self::StopAgent { .. }
            | Self::RedirectAgent { .. }
            | Self::ImportAgent(_)
            | Self::SayToAgent { .. }
            | Self::Pause { .. }
            | Self::Resume
            | Self::RetryMerge { .. }
            | Self::ApproveMerge { .. }
            | Self::RejectMerge { .. }
            | Self::SettleTarget { .. }
            | Self::ApproveHook { .. }
            | Self::ReplayRecord { .. }
            | Self::LoadSettings { .. }
            | Self::SetMode { .. }
            | Self::Shutdown { .. }
            | Self::ShutdownNow => row(People, Durable),
            Self::ResolveMerge { .. } => row(People, Resolution),
            Self::CreateCheckpoint { .. }
            | Self::DeleteCheckpoint { .. }
            | Self::RollBack { .. }
            | Self::Undo { .. } => row(People, Checkpoint),
            Self::Memory(command) => match command {
                MemoryCommand::Learn(_)
                | MemoryCommand::WriteFact(_)
                | MemoryCommand::ConfirmFact(_)
                | MemoryCommand::DisputeFact(_)
                | MemoryCommand::Retract { .. } => row(Agents, Durable),
                MemoryCommand::PutNote(_) => row(AgentsNotSynthesis, Durable),
                MemoryCommand::Pin { .. }
                | MemoryCommand::Compact
                | MemoryCommand::Synthesize { .. } => row(People, Durable),
            },
        }
    }
}

/// Refuses what its sender may not ask for.
///
/// # Errors
/// [`Rejection::NotForAgents`].
pub fn check(state: &State, request: &Request) -> Result<(), Rejection> {
    let who = request.command.operation().who;
    let allowed = match &request.by {
        Author::Person | Author::Mcp { .. } | Author::Hook { .. } => true,
        Author::Agent { .. } => match who {
            Who::People => false,
            Who::AgentsIfConfigured => state.settings.as_ref().is_some_and(|it| it.agents_may_add),
            Who::Agents | Who::AgentsNotSynthesis => true,
        },
        Author::Synthesis { .. } => who == Who::Agents,
        Author::Check { .. } => false,
    };
    if allowed {
        Ok(())
    } else {
        Err(Rejection::NotForAgents {
            by: request.by.clone(),
            may_be_allowed: who == Who::AgentsIfConfigured,
        })
    }
}
