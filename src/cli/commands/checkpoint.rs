//! `swarm checkpoint`: named points to roll back to.

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::cli::access::Access;
use crate::cli::access::ids::Typed;
use crate::cli::access::temporary_daemon::on_the_daemon;
use crate::cli::clock;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::{list as items, text, time};
use crate::cli::output::table::Rows;
use crate::cli::output::terminal::{Tone, safe};
use crate::cli::output::{Output, write_page};
use crate::domain::ids::CheckpointName;
use crate::domain::operation::Command;

/// The commands about checkpoints.
#[derive(Debug, Subcommand)]
pub enum Checkpoint {
    /// Save the target, the ideas and every agent's work as a checkpoint.
    Create(Create),
    /// List the checkpoints, oldest first. A checkpoint keeps its number.
    List(List),
    /// Show one checkpoint.
    Show(Show),
    /// Delete a checkpoint: its file, its references and the work it keeps.
    Delete(Delete),
}

/// `checkpoint create`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm checkpoint create before-release")]
pub struct Create {
    /// The checkpoint's name: lower-case letters, digits and dashes.
    pub name: CheckpointName,
    /// Also create the tag `swarm/checkpoint/NAME`, which `git push --tags` and `git describe` see.
    #[arg(long)]
    pub tag: bool,
}

/// `checkpoint list`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm checkpoint list")]
pub struct List {}

/// `checkpoint show`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm checkpoint show 3")]
pub struct Show {
    /// The checkpoint's name or number.
    pub name: Typed<CheckpointName>,
}

/// `checkpoint delete`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm checkpoint delete before-release")]
pub struct Delete {
    /// The checkpoint's name or number.
    pub name: Typed<CheckpointName>,
}

/// Runs the command.
pub fn run(verb: &Checkpoint, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Checkpoint::Create(Create { name, tag }) => {
            let create = Command::CreateCheckpoint {
                name: name.clone(),
                tag: *tag,
            };
            let answer = on_the_daemon(context, &create)?;
            confirm(
                context,
                &answer,
                &format!(
                    "checkpoint {name} created\n  -> roll back to it later: swarm rollback {name}"
                ),
            )
        }
        Checkpoint::List(List {}) => list(context),
        Checkpoint::Show(Show { name }) => show(context, name),
        Checkpoint::Delete(Delete { name }) => {
            let name = context.with_access(|access| access.checkpoint_name(name))?;
            let answer = on_the_daemon(context, &Command::DeleteCheckpoint { name: name.clone() })?;
            confirm(context, &answer, &format!("checkpoint {name} deleted"))
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
        context.output.note("there are no checkpoints yet");
        let create = "create one: swarm checkpoint create NAME";
        context.output.next_step(create);
        return Ok(());
    }
    let page = table(&context.output, all);
    write_page(&mut context.output, &page)
}

/// Checkpoints as a table; problems follow, each on a line of its own.
fn table(output: &Output, all: &[Value]) -> Vec<String> {
    let now = clock::now();
    let headings = ["NUMBER", "NAME", "CREATED", "COMMIT", "REASON"];
    let mut rows = Rows::new(output, &headings, &[]).leave_out(&[4, 3, 2]);
    for one in all {
        let commit: String = text(one, "commit").chars().take(10).collect();
        let created = time(one, "createdAt").map_or_else(String::new, |at| clock::ago(at, now));
        let number = one["number"].as_u64().map(|number| number.to_string());
        rows.row(&[
            (Tone::Plain, number.as_deref().unwrap_or("-")),
            (Tone::Plain, text(one, "name")),
            (Tone::Dim, &created),
            (Tone::Plain, &commit),
            (Tone::Plain, text(one, "reason")),
        ]);
    }
    let mut page = rows.lines();
    for one in all {
        if let Some(problem) = one.get("problem").and_then(Value::as_str) {
            page.push(safe(&format!("! {}: {problem}", text(one, "name"))));
        }
    }
    page
}

fn show(context: &mut Context, name: &Typed<CheckpointName>) -> Result<(), CliError> {
    let one = context.with_access(|access| {
        let name = access.checkpoint_name(name)?;
        access.checkpoint(&name)
    })?;
    if context.output.json {
        return context.output.document(&one);
    }
    let mut page = table(&context.output, std::slice::from_ref(&one));
    page.push(String::new());
    page.push(format!("ref       {}", text(&one, "gitRef")));
    page.push(format!("event     {}", one["seq"]));
    let none = serde_json::Map::new();
    let ideas = one["ideaStates"].as_object().unwrap_or(&none);
    for (id, status) in ideas {
        page.push(format!("{id:<10}{}", status.as_str().unwrap_or_default()));
    }
    for agent in items(&one, "agentStates") {
        let kept = match agent["wipCommit"].as_str() {
            Some(commit) => format!("; uncommitted work saved as {commit:.10}"),
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
