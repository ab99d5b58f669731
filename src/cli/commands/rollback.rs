//! `swarm rollback`: the target, the ideas and the agents' work as they were at a checkpoint.

use clap::Args;
use serde_json::Value;

use crate::cli::access::temporary_daemon::on_the_daemon;
use crate::cli::confirm::agree;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::{list, text};
use crate::cli::output::terminal::safe;
use crate::cli::output::write_page;
use crate::domain::command::Command;
use crate::domain::ids::CheckpointName;

/// So many of a kind are shown; `--json` has all.
const SHOWN: usize = 20;
/// How often it is looked again when the target moves in between.
const TRIES: u32 = 5;

/// Go back to a checkpoint.
///
/// Shows first what changes: ideas, commits that leave the target, agents that are stopped, your
/// own files in the way. Everything as it is before is kept as a checkpoint of its own; rolling
/// back to that undoes it. Killed at any moment, the next start finishes it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm rollback before-release --dry-run
  $ swarm rollback before-release
  $ swarm rollback before-release --yes --pause")]
pub struct Rollback {
    /// The checkpoint.
    pub name: CheckpointName,
    /// Show what would change, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub yes: bool,
    /// Stay paused afterwards.
    #[arg(long)]
    pub pause: bool,
}

/// Does it.
pub fn run(args: &Rollback, context: &mut Context) -> Result<(), CliError> {
    let mut preview = context.with_access(|access| access.preview(&args.name))?;
    if args.dry_run {
        if context.output.json {
            return context.output.document(&preview);
        }
        return write_page(&mut context.output, &page(&preview));
    }
    let mut tries = 1;
    let answer = loop {
        let error = match once(args, context, &preview) {
            Ok(answer) => break answer,
            Err(error) if error.stable_code() != "ROLLBACK_ABANDONED" => return Err(error),
            Err(error) => error,
        };
        // A landing, or a person's commit, came in between: that was not among what was agreed to.
        let now = context.with_access(|access| access.preview(&args.name));
        let moved = |now: &Value| now["from"] != preview["from"];
        match now {
            Ok(now) if tries < TRIES && !preview["from"].is_null() && moved(&now) => preview = now,
            _ => return Err(error),
        }
        tries += 1;
        context.output.note("the target has moved meanwhile:");
    };
    if context.output.json {
        return context.output.document(&answer);
    }
    let safety = text(&answer, "safety");
    context.output.note(safe(&format!(
        "rolled back to {}; to undo: swarm rollback {safety}",
        args.name
    )));
    Ok(())
}

/// As it was shown, or not at all.
fn once(args: &Rollback, context: &mut Context, preview: &Value) -> Result<Value, CliError> {
    refuse(preview, args)?;
    for line in page(preview) {
        context.output.note(line);
    }
    agree(context, args.yes, &format!("Roll back to {}?", args.name))?;
    let command = Command::RollBack {
        name: args.name.clone(),
        pause: args.pause,
        from: preview["from"].as_str().and_then(|from| from.parse().ok()),
    };
    on_the_daemon(context, &command)
}

/// What cannot be done as things are is not asked about.
fn refuse(preview: &Value, args: &Rollback) -> Result<(), CliError> {
    let dry_run = format!("see all of it: swarm rollback {} --dry-run", args.name);
    if let Some(problem) = preview["problem"].as_str() {
        return Err(CliError::refused(format!(
            "the checkpoint `{}` cannot be rolled back to: {problem}",
            args.name
        ))
        .details("nothing has changed")
        .hint(dry_run));
    }
    let files: Vec<&str> = list(preview, "dirtyFiles")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if files.is_empty() {
        return Ok(());
    }
    let more = match files.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let some = &files[..files.len().min(SHOWN)];
    let mut refused = CliError::refused(format!(
        "your uncommitted changes would be overwritten: {}{more}",
        some.join(", ")
    ))
    .details(format!("nothing has changed; {dry_run}"))
    .code("CHECKOUT_BLOCKED");
    for command in commands(preview) {
        refused = refused.hint(format!("put them aside: {command}"));
    }
    Err(refused.hint("bring them back after the rollback: git stash pop"))
}

/// What puts the files in the way aside.
fn commands(preview: &Value) -> Vec<&str> {
    let all = list(preview, "commands").iter();
    all.filter_map(Value::as_str).collect()
}

fn page(preview: &Value) -> Vec<String> {
    let commit: String = text(preview, "commit").chars().take(10).collect();
    let mut page = vec![format!(
        "rollback to {} ({commit})",
        text(preview, "checkpoint")
    )];
    if let Some(problem) = preview["problem"].as_str() {
        page.push(format!("  it cannot be done as things are: {problem}"));
    }
    section(
        &mut page,
        "ideas that change",
        preview,
        "ideasReverted",
        |it| {
            format!(
                "{}: {} -> {}",
                text(it, "id"),
                text(it, "from"),
                text(it, "to")
            )
        },
    );
    section(
        &mut page,
        "commits that leave the target",
        preview,
        "commitsLost",
        commit_line,
    );
    section(
        &mut page,
        "commits that come back",
        preview,
        "commitsRegained",
        commit_line,
    );
    section(
        &mut page,
        "agents that are stopped, their work kept",
        preview,
        "agentsStopped",
        |it| {
            format!(
                "{} on {}, iteration {}",
                text(it, "id"),
                text(it, "ideaId"),
                it["iteration"]
            )
        },
    );
    section(
        &mut page,
        "messages to agents that nobody will be told",
        preview,
        "messagesDropped",
        |it| format!("{}: {}", text(it, "ideaId"), text(it, "message")),
    );
    section(
        &mut page,
        "your uncommitted files in the way",
        preview,
        "dirtyFiles",
        |it| it.as_str().unwrap_or_default().to_owned(),
    );
    for command in commands(preview) {
        page.push(format!("    put them aside: {command}"));
    }
    if page.len() == 1 {
        page.push("  nothing changes".to_owned());
    }
    page.iter().map(|line| safe(line)).collect()
}

fn commit_line(it: &Value) -> String {
    let commit: String = text(it, "commit").chars().take(10).collect();
    format!("{commit} {}", text(it, "subject"))
}

fn section(
    page: &mut Vec<String>,
    title: &str,
    preview: &Value,
    key: &str,
    line: impl Fn(&Value) -> String,
) {
    let all = list(preview, key);
    if all.is_empty() {
        return;
    }
    page.push(format!("  {title}: {}", all.len()));
    page.extend(all.iter().take(SHOWN).map(|it| format!("    {}", line(it))));
    if all.len() > SHOWN {
        page.push(format!("    and {} more", all.len() - SHOWN));
    }
}
