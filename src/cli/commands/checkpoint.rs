//! `swarm checkpoint`: named points to roll back to.

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::cli::access::Access;
use crate::cli::access::temporary_daemon::on_the_daemon;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::{list as items, text};
use crate::cli::output::terminal::safe;
use crate::cli::output::write_page;
use crate::domain::command::Command;
use crate::domain::ids::CheckpointName;

/// The commands about checkpoints.
#[derive(Debug, Subcommand)]
pub enum Checkpoint {
    /// Make a checkpoint of the target, the ideas and the work of every agent.
    Create(Create),
    /// List the checkpoints, oldest first.
    List(List),
    /// Show a checkpoint.
    Show(Show),
    /// Delete a checkpoint: its file, its tag, the work that it kept.
    Delete(Delete),
}

/// `checkpoint create`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm checkpoint create before-release")]
pub struct Create {
    /// Its name: lower-case letters, digits and dashes.
    pub name: CheckpointName,
}

/// `checkpoint list`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm checkpoint list")]
pub struct List {}

/// `checkpoint show`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm checkpoint show before-release")]
pub struct Show {
    /// The checkpoint's name.
    pub name: CheckpointName,
}

/// `checkpoint delete`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm checkpoint delete before-release")]
pub struct Delete {
    /// The checkpoint's name.
    pub name: CheckpointName,
}

/// Does it.
pub fn run(verb: &Checkpoint, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Checkpoint::Create(Create { name }) => {
            let answer = on_the_daemon(context, &Command::CreateCheckpoint { name: name.clone() })?;
            confirm(
                context,
                &answer,
                &format!(
                    "the checkpoint {name} is there; to come back to it: swarm rollback {name}"
                ),
            )
        }
        Checkpoint::List(List {}) => list(context),
        Checkpoint::Show(Show { name }) => show(context, name),
        Checkpoint::Delete(Delete { name }) => {
            let answer = on_the_daemon(context, &Command::DeleteCheckpoint { name: name.clone() })?;
            confirm(
                context,
                &answer,
                &format!("the checkpoint {name} is deleted"),
            )
        }
    }
}

fn list(context: &mut Context) -> Result<(), CliError> {
    let all = context.with_access(Access::checkpoints)?;
    if context.output.json {
        return context.output.document(&all);
    }
    let all = all.as_array().map_or(&[][..], Vec::as_slice);
    if all.is_empty() {
        context
            .output
            .note("there is no checkpoint; make one: swarm checkpoint create NAME");
        return Ok(());
    }
    let page: Vec<String> = all.iter().map(line).collect();
    write_page(&mut context.output, &page)
}

fn line(one: &Value) -> String {
    let commit: String = text(one, "gitCommit").chars().take(10).collect();
    let problem = match one.get("problem").and_then(Value::as_str) {
        Some(problem) => format!("  {problem}"),
        None => String::new(),
    };
    safe(&format!(
        "{:<44} {}  {commit}  {}{problem}",
        text(one, "name"),
        text(one, "createdAt"),
        text(one, "reason")
    ))
}

fn show(context: &mut Context, name: &CheckpointName) -> Result<(), CliError> {
    let one = context.with_access(|access| access.checkpoint(name))?;
    if context.output.json {
        return context.output.document(&one);
    }
    let mut page = vec![line(&one)];
    page.push(format!("tag       {}", text(&one, "gitTag")));
    page.push(format!("event     {}", one["seq"]));
    let none = serde_json::Map::new();
    let ideas = one["ideaStates"].as_object().unwrap_or(&none);
    for (id, status) in ideas {
        page.push(format!("{id:<10}{}", status.as_str().unwrap_or_default()));
    }
    for agent in items(&one, "agentStates") {
        let kept = match agent["wipCommit"].as_str() {
            Some(commit) => format!("; uncommitted work {commit:.10}"),
            None => String::new(),
        };
        page.push(format!(
            "{:<10}{}, iteration {}{kept}",
            text(agent, "id"),
            text(agent, "ideaId"),
            agent["iteration"]
        ));
    }
    let page: Vec<String> = page.iter().map(|line| safe(line)).collect();
    write_page(&mut context.output, &page)
}
