//! `swarm memory`: what agents found out.

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::cli::access::Access;
use crate::cli::clock;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::{list, text, time};
use crate::cli::output::terminal::safe;
use crate::cli::output::write_page;

/// The commands about what agents found out.
#[derive(Debug, Subcommand)]
pub enum Memory {
    /// List what agents found out, oldest first, and who found it.
    Log(Log),
}

/// `memory log`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm memory log
  $ swarm memory log --json | jq -r '.[].content'")]
pub struct Log {}

/// Does it.
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
            .note("no agent has found anything out yet; the prompt tells them how to say it");
        return Ok(());
    }
    let page: Vec<String> = all
        .iter()
        .flat_map(|one| lines(one, context))
        .map(|line| safe(&line))
        .collect();
    write_page(&mut context.output, &page)
}

/// What it is, and below it what was found out, whole.
fn lines(one: &Value, context: &Context) -> Vec<String> {
    let at = time(one, "learnedAt").map_or_else(String::new, |at| clock::local(at, &context.zone));
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
        "" => text(one, "agent").to_owned(),
        idea => format!("{} ({idea})", text(one, "agent")),
    }
}
