//! What the stub remembers of a request.
//!
//! Invariant: an entry is made when the request has come, and only its end and what was used are
//! filled in later.

use std::fmt;

use swarm::domain::usage::Tokens;

use super::dialect::Dialect;

/// A request for an answer of the model.
#[derive(Clone)]
pub struct Asked {
    /// What its answer's own name holds, as agents write it into their records.
    pub id: String,
    /// In which language.
    pub dialect: Dialect,
    /// The model.
    pub model: String,
    /// The conversation, where the program names it.
    pub session: Option<String>,
    /// The script and the step that answered.
    pub script: String,
    /// The number of that step.
    pub step: usize,
    /// What tools had given since the script began.
    pub results: Vec<String>,
    /// What tools had given in the whole conversation.
    pub remembered: Vec<String>,
    /// What people and swarm had said, all of it.
    pub prompts: Vec<String>,
    /// A question beside the work (a title, a summary): without tools.
    pub aside: bool,
    /// How it ended.
    pub end: End,
    /// What its answer said that it used, as far as it was sent.
    pub tokens: Tokens,
}

/// Without what was said before the last: it would fill pages.
impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let session = self.session.as_deref().unwrap_or("-");
        let said = self.prompts.last().map_or("", String::as_str);
        let said: String = said.chars().take(200).collect();
        write!(
            f,
            "step {} of {session}, {:?}, {}; after {said:?}; tools gave {:?}",
            self.step, self.end, self.model, self.results
        )
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Not yet.
    Open,
    /// With this status.
    Failed(u16),
    /// The stub cut the answer.
    Cut,
    /// The agent went away before the answer's end.
    Gone,
    /// The answer was sent whole.
    Served,
}
