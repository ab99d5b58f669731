//! `swarm memory learnings` and `learn`.

use clap::Args;
use serde_json::Value;

use super::{Source, author, tell_similar};
use crate::cli::access::Access;
use crate::cli::args::at::At;
use crate::cli::clock;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::{list as items, text, time};
use crate::cli::output::terminal::safe;
use crate::cli::output::write_page;
use crate::domain::ids::ProfileName;
use crate::domain::memory::{self, FactKey, MemoryCommand};
use crate::domain::operation::Command;
use crate::domain::time::Timestamp;

/// `memory learnings`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm memory learnings
  $ swarm memory learnings --at 2h
  $ swarm memory learnings --json | jq -r '.[].content'")]
pub struct Learnings {
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// `memory learn`.
#[derive(Debug, Args)]
#[command(after_help = "\
A learning is one sentence. With a key it is a claim about a fact: it becomes the fact's value, or \
evidence for it, or it contradicts it. `[api.port] TEXT` is the same as `--key api.port`.

The answer names similar facts and learnings. If one of them says the same in other words, learn \
it again with `--same-as`.

Examples:
  $ swarm memory learn \"The tests need Redis on port 6379\"
  $ swarm memory learn \"The API listens on 8080\" --key api.port --path src/api.rs
  $ swarm memory learn \"Redis must run for the tests\" --same-as learning-001")]
pub struct Learn {
    /// The sentence.
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub text: String,
    /// The fact that it is a claim about.
    #[arg(long, value_name = "KEY")]
    pub key: Option<FactKey>,
    /// The profile that it is for; default: all agents.
    #[arg(long, value_name = "PROFILE", conflicts_with = "key")]
    pub profile: Option<ProfileName>,
    /// The learning that says the same in other words.
    #[arg(long, value_name = "ID")]
    pub same_as: Option<String>,
    /// Where it comes from.
    #[command(flatten)]
    pub source: Source,
}

/// Lists the learnings.
pub(super) fn list(args: &Learnings, context: &mut Context) -> Result<(), CliError> {
    context.look_back(&args.at)?;
    let all = context.with_access(Access::learnings)?;
    if context.output.json {
        return context.output.document(&all);
    }
    let all = all.as_array().map_or(&[][..], Vec::as_slice);
    if all.is_empty() {
        context
            .output
            .note("nobody has reported a learning yet; prompts tell agents how to do it");
        return Ok(());
    }
    let now = context.now();
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
    let mut sources: Vec<String> = items(one, "sources").iter().map(source).collect();
    if sources.is_empty() {
        sources.push(author(one));
    }
    let mut head = format!("{}  {at}  {scope}  {}", text(one, "id"), sources.join(", "));
    if !text(one, "key").is_empty() {
        head = format!("{head}  [{}]", text(one, "key"));
    }
    if one["retracted"] == true {
        head.push_str("  retracted");
    }
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

/// Records a learning and prints its id.
pub(super) fn learn(args: &Learn, context: &mut Context) -> Result<(), CliError> {
    let learn = memory::Learn {
        content: args.text.clone(),
        key: args.key.clone(),
        profile: args.profile.clone(),
        same_as: args.same_as.clone(),
        claim: args.source.claim(),
    };
    let command = Command::Memory(MemoryCommand::Learn(learn));
    let answer = context.with_access(|access| access.execute(&command))?;
    if context.output.json {
        return context.output.document(&answer);
    }
    context.output.line(safe(text(&answer, "id")))?;
    if answer["known"] == true {
        let words = "it was known already; yours counts as evidence";
        context.output.note(words);
    }
    if let Some(fact) = answer.get("fact") {
        let (key, version) = (safe(text(fact, "key")), &fact["version"]);
        let effect = match text(fact, "effect") {
            "wrote" => format!("it is the value of {key} now (version {version})"),
            "confirmed" => format!("it is evidence for {key} (version {version})"),
            _ => format!("it contradicts {key} (version {version})"),
        };
        context.output.note(effect);
        if text(fact, "effect") == "disputed" {
            let see = format!("see both sides: swarm memory get {key}");
            context.output.next_step(see);
        }
    }
    tell_similar(&mut context.output, &answer);
    Ok(())
}
