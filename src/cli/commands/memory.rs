//! `swarm memory`: what agents have learned.

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::cli::access::Access;
use crate::cli::clock;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::{list, text, time};
use crate::cli::output::terminal::safe;
use crate::cli::output::write_page;
use crate::domain::time::Timestamp;

/// The commands about learnings.
#[derive(Debug, Subcommand)]
pub enum Memory {
    /// List what agents have learned, oldest first, and which agents reported it.
    Log(Log),
}

/// `memory log`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm memory log
  $ swarm memory log --json | jq -r '.[].content'")]
pub struct Log {}

/// Runs the command.
pub fn run(verb: &Memory, context: &mut Context) -> Result<(), CliError> {
    let Memory::Log(Log {}) = verb;
    let all = context.with_access(Access::learnings)?;
    if context.output.json {
        return context.output.document(&all);
    }
    let all = all.as_array().map_or(&[][..], Vec::as_slice);
    if all.is_empty() {
        context
            .output
            .note("no agent has reported a learning yet; prompts tell agents how to do it");
        return Ok(());
    }
    let now = clock::now();
    let page: Vec<String> = all
        .iter()
        .flat_map(|one| lines(one, now))
        .map(|line| safe(&line))
        .collect();
    write_page(&mut context.output, &page)
}

/// A heading line, and below it the whole learning.
fn lines(one: &Value, now: Timestamp) -> Vec<String> {
    let at = time(one, "learnedAt").map_or_else(String::new, |at| clock::ago(at, now));
    let scope = match text(one, "scope") {
        "local" => format!("local to {}", text(one, "profile")),
        other => other.to_owned(),
    };
    let sources: Vec<String> = list(one, "sources").iter().map(source).collect();
    let head = format!("{}  {at}  {scope}  {}", text(one, "id"), sources.join(", "));
    let found = text(one, "content").lines();
    let found = found.map(|line| format!("    {line}"));
    std::iter::once(head).chain(found).collect()
}

fn source(one: &Value) -> String {
    match text(one, "ideaId") {
        "" => text(one, "agentId").to_owned(),
        idea => format!("{} ({idea})", text(one, "agentId")),
    }
}
