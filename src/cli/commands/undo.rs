//! `swarm undo`: takes back what a person did last.
//!
//! Invariant: exactly the action that was shown is taken back, or nothing.

use clap::Args;
use serde_json::Value;

use super::rollback;
use crate::cli::access::temporary_daemon::on_the_daemon;
use crate::cli::clock;
use crate::cli::confirm::agree;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::{text, texts, time};
use crate::cli::output::terminal::safe;
use crate::cli::output::write_page;
use crate::domain::ids::CheckpointName;
use crate::domain::operation::Command;

/// `undo`. Works without a daemon, except for a redirect.
#[derive(Debug, Args)]
#[command(after_help = "\
It shows first what it takes back and what changes. A rollback is undone by a rollback to the \
checkpoint that it made; swarm then stays paused. A cancelled idea becomes what it was, with its \
work; if that was finished, an agent runs again and continues from it. Approved work that has not \
landed waits for review again. After a redirect, the first idea goes on next.

Each further `swarm undo` takes back the action before that one; an undo itself is not among them. \
A landing is not taken back: use `git revert -m 1 COMMIT`, or roll back. To take back what you did \
before you approved work that has landed, use --skip-landed.

Examples:
  $ swarm undo --dry-run
  $ swarm undo")]
pub struct Undo {
    /// Show what would be taken back, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Skip approvals whose work has landed.
    #[arg(long)]
    pub skip_landed: bool,
    /// Take it back without asking.
    #[arg(short, long)]
    pub yes: bool,
}

/// Runs the command.
pub fn run(args: &Undo, context: &mut Context) -> Result<(), CliError> {
    let preview = preview(args, context)?;
    if args.dry_run {
        if context.output.json {
            return context.output.document(&preview);
        }
        return write_page(&mut context.output, &page(&preview));
    }
    refuse(&preview)?;
    for line in page(&preview) {
        context.output.note(line);
    }
    agree(context, args.yes, "Take it back?")?;
    let command = Command::Undo {
        seq: preview["seq"].as_u64().unwrap_or_default(),
        from: preview["rollback"]["from"]
            .as_str()
            .and_then(|from| from.parse().ok()),
    };
    let answer = match text(&preview, "kind") {
        "rollback" => on_the_daemon(context, &command)?,
        // As the redirect itself.
        "redirect" => context.daemon()?.execute(&command)?,
        _ => context.with_access(|access| access.execute(&command))?,
    };
    if context.output.json {
        return context.output.document(&answer);
    }
    tell(&preview, &answer, context);
    Ok(())
}

/// What would be taken back; for a rollback, with what the way back changes.
fn preview(args: &Undo, context: &Context) -> Result<Value, CliError> {
    context.with_access(|access| {
        let mut preview = access.undo(args.skip_landed)?;
        let checkpoint = text(&preview, "checkpoint").parse::<CheckpointName>();
        if let (Ok(name), true) = (checkpoint, preview["problem"].is_null()) {
            preview["rollback"] = access.preview(&name)?;
        }
        Ok(preview)
    })
}

fn refuse(preview: &Value) -> Result<(), CliError> {
    if preview["seq"].is_null() {
        return Err(CliError::refused("there is nothing left to take back")
            .details("swarm undo takes back rollbacks, cancellations, approvals and redirects")
            .hint("see what happened: swarm log"));
    }
    if let Some(problem) = preview["problem"].as_str() {
        let what = safe(text(preview, "what"));
        let error = CliError::refused(format!("the {what} cannot be taken back now"));
        let commands = texts(preview, "commands").into_iter();
        return Err(commands.fold(error.details(problem), CliError::hint));
    }
    match text(preview, "checkpoint").parse() {
        Ok(name) => rollback::refuse(&preview["rollback"], &name),
        Err(_) => Ok(()),
    }
}

fn page(preview: &Value) -> Vec<String> {
    if preview["seq"].is_null() {
        return vec!["there is nothing left to take back".to_owned()];
    }
    let now = clock::now();
    let age = time(preview, "at").map_or_else(String::new, |at| clock::ago(at, now));
    let mut page = vec![format!("last: {}, {age}", safe(text(preview, "what")))];
    if let Some(problem) = preview["problem"].as_str() {
        page.push(format!("  it cannot be taken back now: {}", safe(problem)));
    }
    let changes = texts(preview, "changes").into_iter();
    page.extend(changes.map(|change| format!("  {}", safe(change))));
    let commands = texts(preview, "commands").into_iter();
    page.extend(commands.map(|command| format!("  -> {}", safe(command))));
    if preview["rollback"].is_object() {
        page.extend(rollback::page(&preview["rollback"], false));
    }
    page
}

fn tell(preview: &Value, answer: &Value, context: &mut Context) {
    let output = &mut context.output;
    output.note(format!("taken back: {}", safe(text(preview, "what"))));
    let safety = text(answer, "safety");
    if !safety.is_empty() {
        output.next_step(format!("go forward again: swarm rollback {}", safe(safety)));
        output.note("paused: nothing starts until you resume");
        output.next_step("go on: swarm resume");
    }
}
