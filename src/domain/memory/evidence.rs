//! Evidence: who said something, when, and about which files.

use serde::{Deserialize, Serialize};

use crate::domain::ids::{AgentId, Oid};
use crate::domain::request::Author;
use crate::domain::time::Timestamp;

/// Evidence kept for one value; older evidence is only counted.
pub const MAX_EVIDENCE: usize = 16;

/// One piece of evidence. It is in the event itself, so that it outlives the run's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Seq of the event that has it; set by the fold.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub seq: u64,
    /// Time of that event; set by the fold.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub at: Timestamp,
    /// Who said it.
    pub author: Author,
    /// Their words where they differ from the value, at most 300 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// Files that it is about, relative to the repository; at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Commit of the target branch at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Oid>,
    /// Seqs of the events that the author names as evidence; at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<u64>,
    /// Who said what the synthesis names, at most 16: they count, and the synthesis does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cited: Vec<Author>,
}

fn is_unset<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Evidence {
    /// Whose word it is: the author's, or that of those whom the synthesis names.
    pub fn voices(&self) -> &[Author] {
        match self.author {
            Author::Synthesis { .. } => &self.cited,
            Author::Person
            | Author::Mcp { .. }
            | Author::Hook { .. }
            | Author::Agent { .. }
            | Author::Check { .. } => std::slice::from_ref(&self.author),
        }
    }

    /// The evidence as kept in the state, once its event has a seq and a time.
    #[must_use]
    pub fn recorded(&self, seq: u64, at: Timestamp) -> Self {
        Self {
            seq,
            at,
            ..self.clone()
        }
    }
}

/// All evidence for one value: the newest pieces, and how many there were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Sources {
    /// The first piece and the newest ones, oldest first; at most [`MAX_EVIDENCE`].
    pub kept: Vec<Evidence>,
    /// How many there were in all.
    pub count: u64,
}

impl Sources {
    /// A single piece.
    pub fn one(evidence: Evidence) -> Self {
        Self {
            kept: vec![evidence],
            count: 1,
        }
    }

    /// Adds a piece, in place of an earlier one of the same author. The first one is kept.
    pub fn add(&mut self, evidence: Evidence) {
        let known = self.kept.iter();
        let mut known = known.map(|it| is_same(&it.author, &evidence.author));
        if let Some(place) = known.position(|is_same| is_same) {
            self.kept.remove(place);
            self.count -= 1;
        }
        if self.kept.len() >= MAX_EVIDENCE {
            self.kept.remove(1);
        }
        self.kept.push(evidence);
        self.count += 1;
    }

    /// Whether this author is among those kept: the same agent, or a person if a person asks.
    pub fn has(&self, author: &Author) -> bool {
        self.kept.iter().any(|it| is_same(&it.author, author))
    }

    /// Whether all of it comes from this author's idea, or from people if a person asks. Unknown
    /// once older evidence is only counted, so then it is not.
    pub fn is_only_of(&self, author: &Author) -> bool {
        if let Author::Synthesis { .. } = author {
            let own = |it: &Evidence| it.author.is_on_side_of(author);
            return self.is_whole() && self.kept.iter().all(own);
        }
        self.all(|other| other.is_on_side_of(author))
    }

    /// Whether this agent gave it, and nobody besides it but other attempts at its idea.
    pub fn is_only_of_agent(&self, agent: &AgentId) -> bool {
        let mut authors = self.kept.iter().flat_map(Evidence::voices);
        let own = authors.find(|author| author.agent() == Some(agent));
        own.is_some_and(|own| {
            self.all(|other| other.agent() == Some(agent) || other.is_on_side_of(own))
        })
    }

    fn all(&self, is_wanted: impl Fn(&Author) -> bool) -> bool {
        self.is_whole() && self.kept.iter().flat_map(Evidence::voices).all(is_wanted)
    }

    /// Whether none is only counted.
    fn is_whole(&self) -> bool {
        self.count == self.kept.len() as u64
    }
}

fn is_same(one: &Author, other: &Author) -> bool {
    match (one.agent(), other.agent()) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one == other,
        (Some(_), None) | (None, Some(_)) => false,
    }
}
