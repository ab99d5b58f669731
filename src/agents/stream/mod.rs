//! Turns the standard output of an agent's program into events, the same kinds for every program.
//!
//! Invariant: events depend on the bytes alone, however they are split. All [`Said::Text`] joined
//! are the agent's own messages: neither its prompt nor the output of its tools. A torn, foreign or
//! unknown line is no failure.

mod by_line;
pub mod failure_cause;
pub mod json;
pub mod limit_reset;
mod lines;
mod messages;
pub mod records;
pub mod verdict;

pub use by_line::{ByLine, ObjectReader, hear_session};
pub use lines::{Line, Lines};
pub use messages::Words;

use crate::domain::observation::RunEndKind;
use crate::domain::session::SessionId;
use crate::domain::usage::Usage;
use crate::domain::verdict::Verdict;

/// One thing that a program's output says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A piece of the agent's message; pieces are joined as they are, line ends between messages
    /// included.
    Text(Vec<u8>),
    /// The agent thought aloud; not a message, and never searched for signals.
    Thought(String),
    /// The agent calls a tool.
    ToolCall {
        /// The call's name in this output; empty where there is none.
        id: String,
        /// The tool.
        tool: String,
        /// What it is to do: the command of a shell, the path of a file; else its input as one line
        /// of JSON.
        input: String,
    },
    /// What a tool answered.
    ToolResult {
        /// Id of the call.
        id: String,
        /// Output as reported.
        output: String,
        /// Whether it went well.
        ok: bool,
    },
    /// The conversation's name.
    Session(SessionId),
    /// The model has begun to answer: the service works.
    Answered,
    /// What the run has used up to here.
    Usage(Usage),
    /// The program waits for its provider and retries on its own.
    Retry {
        /// Why, as it said it.
        why: String,
    },
    /// Something that people may want to know: a warning, an error, a line that is no event.
    Note(String),
    /// The program's last word about the run, for people.
    End {
        /// Whether it called that a success.
        ok: bool,
        /// What it said.
        message: String,
    },
}

/// What a run came to, by its output and by how its process ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conclusion {
    /// How it went; none: the program has no words for it, and its exit code counts.
    pub verdict: Option<Verdict>,
    /// What it used, as far as it told.
    pub usage: Option<Usage>,
    /// Its conversation.
    pub session: Option<SessionId>,
}

impl Conclusion {
    /// Whether all is told of what it used.
    pub fn tells_usage(&self) -> bool {
        self.usage.as_ref().is_some_and(|usage| !usage.partial)
    }
}

/// Reads the raw standard output of one run, from its first byte.
pub trait OutputReader {
    /// Takes the next raw bytes and appends what they say to `said`.
    fn push(&mut self, raw: &[u8], said: &mut Vec<Said>);

    /// The output has ended; appends what was held back.
    fn finish(&mut self, said: &mut Vec<Said>);

    /// What it came to; asked after [`finish`](Self::finish). `stderr` is the end of the run's
    /// standard error.
    fn conclude(&self, end: &RunEndKind, stderr: &str) -> Conclusion;
}

/// The text of the agent's messages among these.
pub fn text_of(said: &[Said]) -> Vec<u8> {
    let mut whole = Vec::new();
    for said in said {
        if let Said::Text(text) = said {
            whole.extend_from_slice(text);
        }
    }
    whole
}
