//! `swarm hooks`: lists, tests and approves hooks.

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::cli::access::Access;
use crate::cli::clock;
use crate::cli::confirm::agree;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::json::{text, time, to_value};
use crate::cli::output::table::Rows;
use crate::cli::output::terminal::{Tone, safe, safe_block};
use crate::cli::output::write_page;
use crate::daemon::hooks::{self, TryError};
use crate::daemon::offline;
use crate::domain::hook::{HookName, approval_wanted};
use crate::domain::ids::IdeaId;
use crate::domain::operation::Command;
use crate::domain::time::Timestamp;

/// The commands about hooks.
#[derive(Debug, Subcommand)]
pub enum Hooks {
    /// List the hooks, whether each may run, and how its last call ended.
    List(List),
    /// Call a hook now with sample data.
    Run(Run),
    /// Show how an agent's landed work changed a hook, and approve the change.
    Approve(Approve),
}

/// `hooks list`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm hooks list")]
pub struct List {}

/// `hooks run`.
#[derive(Debug, Args)]
#[command(after_help = "The exit code is 1 if the hook fails or times out.

Examples:
  $ swarm hooks run post-merge
  $ swarm hooks run post-complete --env SWARM_STATUS=failed")]
pub struct Run {
    /// The hook: pre-start, post-complete, pre-merge, post-merge, on-conflict, on-learning,
    /// on-pause, on-error or on-needs-you.
    pub name: HookName,
    /// Set a variable for the hook; replaces the sample value, on standard input too.
    #[arg(long, value_name = "K=V", value_parser = pair)]
    pub env: Vec<(String, String)>,
}

/// `hooks approve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Merges that are waiting for this approval continue by themselves.

Example:
  $ swarm hooks approve pre-merge"
)]
pub struct Approve {
    /// The hook's name.
    pub name: HookName,
    /// Approve without asking.
    #[arg(long)]
    pub yes: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it must have the form NAME=VALUE".into()),
    }
}

/// Runs the command.
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
        context.output.note("there are no hooks");
        context.output.next_step(
            "add an executable file .swarm/hooks/NAME.sh, or name a program under `hooks` in \
            .swarm/config.json",
        );
        return Ok(());
    }
    let headings = ["HOOK", "STATE", "PROGRAM", "LAST CALL", "WAITING"];
    let mut rows = Rows::new(&context.output, &headings, &[3]);
    for hook in all {
        add_row(&mut rows, hook, clock::now());
    }
    let mut page = rows.lines();
    for hook in all {
        if let Some(why) = hook.get("refused").and_then(Value::as_str) {
            page.push(safe(&format!("! {}: {why}", text(hook, "hook"))));
        }
    }
    write_page(&mut context.output, &page)
}

fn add_row(rows: &mut Rows, hook: &Value, now: Timestamp) {
    let (tone, state) = if hook["approved"] == true {
        (Tone::Good, "ok")
    } else {
        (Tone::Bad, "refused")
    };
    let last = hook.get("last").map_or_else(
        || "never".to_owned(),
        |last| {
            let at = time(last, "at").map_or_else(String::new, |at| clock::ago(at, now));
            format!("{at}: {}", text(last, "how"))
        },
    );
    let waiting = match hook["waiting"].as_u64() {
        None | Some(0) => String::new(),
        Some(1) => "1 call".to_owned(),
        Some(waiting) => format!("{waiting} calls"),
    };
    rows.row(&[
        (Tone::Plain, text(hook, "hook")),
        (tone, state),
        (Tone::Plain, text(hook, "program")),
        (Tone::Dim, &last),
        (Tone::Plain, &waiting),
    ]);
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
        "hook {} failed: {}",
        tried.hook, tried.how
    )))
}

fn not_tried(error: TryError) -> CliError {
    match error {
        TryError::Daemon(error) => (*error).into(),
        TryError::Interrupted(_) => CliError::new(Kind::Interrupted, error.to_string()),
        TryError::Unknown(_) | TryError::NotRun(_) | TryError::Unusable(_) => {
            CliError::refused(error.to_string()).hint("list the hooks: swarm hooks list")
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
        // An interrupted approval may have left merges waiting.
        let freed = release_waiting_merges(args.name, context)?;
        let words = format!(
            "nothing to approve: no agent has changed {} since it was approved",
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
        for line in safe_block(&found.patch()).lines() {
            context.output.line(line)?;
        }
    }
    let question = format!(
        "{} was changed by {} and runs with your permissions. Approve it?",
        found.program,
        found.ideas.join(", ")
    );
    agree(context, args.yes, &question)?;
    let command = Command::ApproveHook {
        hook: args.name,
        content: found.content,
    };
    let mut answer = context.with_access(|access| access.execute(&command))?;
    let freed = release_waiting_merges(args.name, context)?;
    answer["released"] = to_value(&freed)?;
    let words = format!("hook {} approved in its current form", args.name);
    confirm(context, &answer, &words)?;
    if !context.output.json {
        tell_freed(&freed, context);
    }
    Ok(())
}

/// Retries the merges that waited for this approval only, and returns their ideas. Called once the
/// approval is given and the daemon has reloaded its hooks.
fn release_waiting_merges(hook: HookName, context: &Context) -> Result<Vec<IdeaId>, CliError> {
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
            // It has left the queue meanwhile.
            Err(error) if error.stable_code() == "NOT_NOW" => {}
            Err(error) => return Err(error),
        }
    }
    Ok(freed)
}

fn tell_freed(freed: &[IdeaId], context: &mut Context) {
    for id in freed {
        context.output.note(format!(
            "the merge of {id} was waiting for this and continues"
        ));
    }
}
