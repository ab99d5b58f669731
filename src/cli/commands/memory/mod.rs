//! `swarm memory`: what agents and people have found out.
//!
//! `board` shows facts, `learnings` learnings, `write` changes facts, `log` shows what happened,
//! `stats` what all of it is worth; `synthesize` makes facts of learnings.

mod board;
mod learnings;
mod log;
mod stats;
mod synthesize;
mod write;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::{list, number, text};
use crate::cli::output::Output;
use crate::cli::output::terminal::safe;
use crate::domain::memory::{Claim, Reference};
use crate::domain::request::Author;

/// The commands about the memory that agents share.
#[derive(Debug, Subcommand)]
pub enum Memory {
    /// Show the events about the memory, oldest first.
    Log(log::Log),
    /// List what agents and people have learned, oldest first, and which agents reported it.
    Learnings(learnings::Learnings),
    /// Record a learning for all agents, or for one profile.
    Learn(learnings::Learn),
    /// List the facts: pinned ones first, then by confidence.
    Board(board::Board),
    /// Show one fact with its evidence, and what contradicts it.
    Get(board::Get),
    /// List the values that a fact has had, newest first.
    History(board::History),
    /// Write a fact, whatever its value is now.
    Put(write::Put),
    /// Write a fact if it is still at the version that you saw.
    Cas(write::Cas),
    /// Add evidence to a fact.
    Confirm(write::Confirm),
    /// Contradict a fact, with another value or without.
    Dispute(write::Dispute),
    /// Settle a contradicted fact with one value.
    Resolve(write::Resolve),
    /// Pin a fact: it comes first in every prompt, and agents cannot write it.
    Pin(write::Pin),
    /// Release a pinned fact.
    Unpin(write::Unpin),
    /// Take back a learning, a fact, or what one agent said and no other idea supports.
    Retract(write::Retract),
    /// Search facts and learnings by their words.
    Search(board::Search),
    /// Show what an agent's conversation was shown of the memory.
    Shown(board::Shown),
    /// Show what the memory is worth: what is said again, how fast finds spread, what they help.
    Stats(stats::Stats),
    /// Drop old learnings and values from the state; the event log keeps them.
    Compact(write::Compact),
    /// Let an agent make facts of the new learnings.
    Synthesize(synthesize::Synthesize),
}

/// Where a claim comes from.
#[derive(Debug, Args)]
pub struct Source {
    /// What it relies on: the number of an event, or the id of a learning; may be repeated.
    #[arg(long, value_name = "REF")]
    pub evidence: Vec<String>,
    /// A file that it is about, relative to the repository; may be repeated.
    #[arg(long = "path", value_name = "PATH")]
    pub paths: Vec<String>,
    /// Why, for people.
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
}

impl Source {
    fn claim(&self) -> Claim {
        let evidence = self.evidence.iter();
        Claim {
            evidence: evidence.map(|it| Reference::from(it.as_str())).collect(),
            paths: self.paths.clone(),
            why: self.why.clone(),
        }
    }
}

/// Runs the command.
pub fn run(verb: &Memory, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Memory::Log(args) => log::run(args, context),
        Memory::Learnings(args) => learnings::list(args, context),
        Memory::Learn(args) => learnings::learn(args, context),
        Memory::Board(args) => board::board(args, context),
        Memory::Get(args) => board::get(args, context),
        Memory::History(args) => board::history(args, context),
        Memory::Put(args) => write::put(args, context),
        Memory::Cas(args) => write::cas(args, context),
        Memory::Confirm(args) => write::confirm(args, context),
        Memory::Dispute(args) => write::dispute(args, context),
        Memory::Resolve(args) => write::resolve(args, context),
        Memory::Pin(args) => write::pin(&args.key, true, context),
        Memory::Unpin(args) => write::pin(&args.key, false, context),
        Memory::Retract(args) => write::retract(args, context),
        Memory::Search(args) => board::search(args, context),
        Memory::Shown(args) => board::shown(args, context),
        Memory::Stats(args) => stats::run(args, context),
        Memory::Compact(write::Compact {}) => write::compact(context),
        Memory::Synthesize(args) => synthesize::run(args, context),
    }
}

/// The author in a view, for people.
pub(super) fn author(view: &Value) -> String {
    let by = view.get("by").cloned().unwrap_or_default();
    let author: Result<Author, _> = serde_json::from_value(by);
    author.map_or_else(
        |_| "somebody".to_owned(),
        |author| safe(&author.to_string()),
    )
}

/// Names the facts and learnings that are similar to what was written.
fn tell_similar(output: &mut Output, answer: &Value) {
    let similar = list(answer, "similar");
    if similar.is_empty() {
        return;
    }
    output.note("similar, in case one of them says the same:");
    for hit in similar {
        output.note(format!("  [{}] {}", label(hit), safe(text(hit, "text"))));
    }
}

/// `api.port v3`, or the id of a learning.
fn label(hit: &Value) -> String {
    let reference = safe(text(hit, "ref"));
    if reference.starts_with("learning-") {
        return reference;
    }
    format!("{reference} v{}", number(hit, "version"))
}
