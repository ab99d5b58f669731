//! The events that the bridge writes, one line of JSON each.
//!
//! Invariant: events correspond one to one to [`Said`](crate::agents::stream::Said). An unknown
//! kind is no failure, so a run that outlives a change of versions can still be read.

use serde::{Deserialize, Serialize};

use crate::domain::session::SessionId;
use crate::domain::usage::Usage;
use crate::domain::verdict::Cause;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// A piece of a message.
    Text {
        /// Id of the message; empty if the agent gives none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
        /// The piece.
        text: String,
    },
    /// The agent thought aloud.
    Thought(String),
    /// It calls a tool.
    ToolCall {
        /// The call's name.
        id: String,
        /// The tool.
        tool: String,
        /// What it is to do.
        input: String,
    },
    /// What a tool answered.
    ToolResult {
        /// Id of the call.
        id: String,
        /// Its output.
        output: String,
        /// Whether it went well.
        ok: bool,
    },
    /// The conversation's name, where it can be taken up.
    Session(SessionId),
    /// The model has begun to answer.
    Answered {},
    /// What was used.
    Usage(Usage),
    /// Something that people may want to know.
    Note(String),
    /// The last word.
    End(End),
}

/// How the turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// The agent's turn is complete, it said.
    pub ok: bool,
    /// What it said, or what is to be said of it.
    #[serde(default)]
    pub message: String,
    /// What was to blame, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}
