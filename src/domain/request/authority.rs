//! What each sender may ask for.
//!
//! Invariant: a new command does not compile until someone has decided who may send it. Rights that
//! depend on the memory itself, such as whose fact may be retracted, are in `decide::memory`.

use super::{Author, Request};
use crate::domain::command::Command;
use crate::domain::memory::MemoryCommand;
use crate::domain::rejection::Rejection;
use crate::domain::state::State;

/// Who may send a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    /// People and their programs.
    Person,
    /// Agents too, if `agents.mayAddIdeas` is on.
    AddIdea,
    /// Agents too.
    Memory,
    /// Agents too, but not the synthesis: a note names no evidence.
    Note,
}

/// Refuses what its sender may not ask for.
pub(in crate::domain) fn check(state: &State, request: &Request) -> Result<(), Rejection> {
    let right = right_to(&request.command);
    let allowed = match &request.by {
        Author::Person | Author::Mcp { .. } | Author::Hook { .. } => true,
        Author::Agent { .. } => match right {
            Right::Person => false,
            Right::AddIdea => state.settings.as_ref().is_some_and(|it| it.agents_may_add),
            Right::Memory | Right::Note => true,
        },
        Author::Synthesis { .. } => right == Right::Memory,
        Author::Check { .. } => false,
    };
    if allowed {
        Ok(())
    } else {
        Err(Rejection::NotForAgents {
            by: request.by.clone(),
            may_be_allowed: right == Right::AddIdea,
        })
    }
}

fn right_to(command: &Command) -> Right {
    match command {
        Command::AddIdea(_) => Right::AddIdea,
        Command::Memory(command) => match command {
            MemoryCommand::Learn(_)
            | MemoryCommand::WriteFact(_)
            | MemoryCommand::ConfirmFact(_)
            | MemoryCommand::DisputeFact(_)
            | MemoryCommand::Retract { .. } => Right::Memory,
            MemoryCommand::PutNote(_) => Right::Note,
            MemoryCommand::Pin { .. }
            | MemoryCommand::Compact
            | MemoryCommand::Synthesize { .. } => Right::Person,
        },
        Command::EditIdea { .. }
        | Command::RetryIdea { .. }
        | Command::CancelIdea { .. }
        | Command::AssignIdea { .. }
        | Command::HoldIdea { .. }
        | Command::UnholdIdea { .. }
        | Command::StopAgent { .. }
        | Command::RedirectAgent { .. }
        | Command::ImportAgent(_)
        | Command::SayToAgent { .. }
        | Command::Pause { .. }
        | Command::Resume
        | Command::RetryMerge { .. }
        | Command::ApproveMerge { .. }
        | Command::RejectMerge { .. }
        | Command::ResolveMerge { .. }
        | Command::SettleTarget { .. }
        | Command::CreateCheckpoint { .. }
        | Command::DeleteCheckpoint { .. }
        | Command::RollBack { .. }
        | Command::Undo { .. }
        | Command::ApproveHook { .. }
        | Command::ReplayRecord { .. }
        | Command::LoadSettings { .. }
        | Command::SetMode { .. }
        | Command::Shutdown { .. }
        | Command::ShutdownNow => Right::Person,
    }
}
