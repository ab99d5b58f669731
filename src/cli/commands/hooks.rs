//! `swarm hooks`: programs that are told of certain moments.

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::cli::access::Access;
use crate::cli::confirm::agree;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::json::text;
use crate::cli::json::to_value;
use crate::cli::output::terminal::{safe, safe_block};
use crate::cli::output::write_page;
use crate::daemon::hooks::{self, TryError};
use crate::daemon::offline;
use crate::domain::command::Command;
use crate::domain::hook::{HookName, approval_wanted};
use crate::domain::ids::IdeaId;

/// The commands about hooks.
#[derive(Debug, Subcommand)]
pub enum Hooks {
    /// List the hooks: where each comes from, whether it is run, how its last call ended.
    List(List),
    /// Call a hook with sample data, here and now.
    Run(Run),
    /// Approve what an agent's landed work made of a hook; shows it first.
    Approve(Approve),
}

/// `hooks list`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm hooks list")]
pub struct List {}

/// `hooks run`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 when the hook fails or takes too long.

Examples:
  $ swarm hooks run post-merge
  $ swarm hooks run post-complete --env SWARM_STATUS=failed")]
pub struct Run {
    /// Which: pre-start, post-complete, pre-merge, post-merge, on-conflict, on-learning, on-pause
    /// or on-error.
    pub name: HookName,
    /// A variable for the hook; one of the sample data is replaced, on its standard input too.
    #[arg(long, value_name = "K=V", value_parser = pair)]
    pub env: Vec<(String, String)>,
}

/// `hooks approve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Merges that waited for this approval go on by themselves.

Example:
  $ swarm hooks approve pre-merge"
)]
pub struct Approve {
    /// The hook's name.
    pub name: HookName,
    /// Approve without being asked.
    #[arg(long)]
    pub yes: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it must be NAME=VALUE".into()),
    }
}

/// Does it.
pub fn run(verb: &Hooks, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Hooks::List(List {}) => list(context),
        Hooks::Run(args) => try_out(args, context),
        Hooks::Approve(args) => approve(args, context),
    }
}

fn list(context: &mut Context) -> Result<(), CliError> {
    let all = context.with_access(Access::hooks)?;
    if context.output.json {
        return context.output.document(&all);
    }
    let all = all.as_array().map_or(&[][..], Vec::as_slice);
    if all.is_empty() {
        context.output.note(
            "there are no hooks; a hook is an executable file .swarm/hooks/NAME.sh, or named in \
            .swarm/config.json under `hooks`",
        );
        return Ok(());
    }
    let width = |one| text(one, "program").chars().count();
    let width = all.iter().map(width).max().unwrap_or(0);
    let page: Vec<String> = all.iter().flat_map(|one| lines(one, width)).collect();
    write_page(&mut context.output, &page)
}

fn lines(one: &Value, width: usize) -> Vec<String> {
    let state = if one["approved"] == true {
        "ok"
    } else {
        "refused"
    };
    let last = one.get("last").map_or_else(
        || "never called".to_owned(),
        |last| format!("{}  {}", text(last, "at"), text(last, "how")),
    );
    let waiting = match one["waiting"].as_u64() {
        None | Some(0) => String::new(),
        Some(waiting) => format!("  ({waiting} waiting)"),
    };
    let mut lines = vec![format!(
        "{:<14} {state:<8} {:<width$}  {last}{waiting}",
        text(one, "hook"),
        text(one, "program")
    )];
    if let Some(why) = one.get("refused").and_then(Value::as_str) {
        lines.push(format!("               {why}"));
    }
    lines.iter().map(|line| safe(line)).collect()
}

fn try_out(args: &Run, context: &mut Context) -> Result<(), CliError> {
    let paths = context.repo()?.paths();
    let state = offline::read(&paths)?;
    let tried = hooks::try_out(&paths, &state, args.name, &args.env).map_err(not_tried)?;
    if context.output.json {
        context.output.document(&to_value(&tried)?)?;
    } else {
        for line in safe_block(&tried.stdout).lines() {
            context.output.line(line)?;
        }
        for line in safe_block(&tried.stderr).lines() {
            context.output.note(line);
        }
        context
            .output
            .note(format!("{} ({}): {}", tried.hook, tried.program, tried.how));
    }
    if tried.well {
        return Ok(());
    }
    Err(CliError::refused(format!(
        "the hook {} failed: {}",
        tried.hook, tried.how
    )))
}

fn not_tried(error: TryError) -> CliError {
    match error {
        TryError::Daemon(error) => (*error).into(),
        TryError::Interrupted(_) => CliError::new(Kind::Interrupted, error.to_string()),
        TryError::Unknown(_) | TryError::NotRun(_) | TryError::Unusable(_) => {
            CliError::refused(error.to_string()).hint("see which there are: swarm hooks list")
        }
        TryError::Git(_) | TryError::Process(_) | TryError::Io(_) => {
            CliError::refused(error.to_string())
        }
    }
}

fn approve(args: &Approve, context: &mut Context) -> Result<(), CliError> {
    let paths = context.repo()?.paths();
    let state = offline::read(&paths)?;
    let found = hooks::difference(&paths, &state, args.name).map_err(not_tried)?;
    if found.ideas.is_empty() {
        // An approval that was cut short may have left them.
        let freed = let_go_on(args.name, context)?;
        let words = format!(
            "nothing is to be approved: no agent's landed work has changed {} since it was \
            approved",
            found.program
        );
        if context.output.json {
            return context
                .output
                .document(&serde_json::json!({ "approved": true, "released": freed }));
        }
        context.output.note(&words);
        tell_freed(&freed, context);
        return Ok(());
    }
    if !context.output.json {
        let patch = found
            .patch()
            .map_err(|error| CliError::refused(error.to_string()))?;
        for line in safe_block(&patch).lines() {
            context.output.line(line)?;
        }
    }
    let question = format!(
        "approve this? {} was changed by {}, and runs with your rights",
        found.program,
        found.ideas.join(", ")
    );
    agree(context, args.yes, &question)?;
    let command = Command::ApproveHook {
        hook: args.name,
        content: found.content,
    };
    let mut answer = context.with_access(|access| access.execute(&command))?;
    let freed = let_go_on(args.name, context)?;
    answer["released"] = to_value(&freed)?;
    let words = format!("the hook {} is approved as it is now", args.name);
    confirm(context, &answer, &words)?;
    if !context.output.json {
        tell_freed(&freed, context);
    }
    Ok(())
}

/// The merges that waited for this approval and for nothing else are tried again: once it is given,
/// and the daemon has looked which hooks there are now. Which they were.
fn let_go_on(hook: HookName, context: &Context) -> Result<Vec<IdeaId>, CliError> {
    let merges = context.with_access(Access::merges)?;
    let merges = merges.as_array().map_or(&[][..], Vec::as_slice);
    let wanted = Some(hook.approval());
    let waits = merges
        .iter()
        .filter(|merge| approval_wanted(text(merge, "reason")) == wanted);
    let mut freed = Vec::new();
    for id in waits.filter_map(|merge| text(merge, "ideaId").parse::<IdeaId>().ok()) {
        let retry = Command::RetryMerge { id: id.clone() };
        match context.with_access(|access| access.execute(&retry)) {
            Ok(_) => freed.push(id),
            // Somebody else was quicker, and it is in the queue no more.
            Err(error) if error.stable_code() == "NOT_NOW" => {}
            Err(error) => return Err(error),
        }
    }
    Ok(freed)
}

fn tell_freed(freed: &[IdeaId], context: &mut Context) {
    for id in freed {
        context
            .output
            .note(format!("the merge of {id} waited for that and goes on"));
    }
}
