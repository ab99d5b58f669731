//! A command with its sender: who asks, and the operation that identifies the request.
//!
//! Invariant: the sender is found out by whoever receives the request, never claimed by the sender.
//! `decide` refuses what the sender may not do, and answers a repeated operation without doing
//! anything. `api`, `web` and `cli` make requests.

mod author;
mod operation;

pub use author::Author;
pub use operation::{BadOperation, Operation, OperationId, Operations};

use super::operation::Command;

/// A command with its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Who asks.
    pub by: Author,
    /// Identifies the request: sent again, it gets the first answer. `None`: it is not repeated.
    pub operation: Option<OperationId>,
    /// The command.
    pub command: Command,
}

impl Request {
    /// A request of a person.
    pub fn of_person(command: Command) -> Self {
        Self {
            by: Author::Person,
            operation: None,
            command,
        }
    }
}

impl From<Command> for Request {
    fn from(command: Command) -> Self {
        Self::of_person(command)
    }
}
