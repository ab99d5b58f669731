//! `swarm merge`: the merge queue.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use super::review::{self, Approve, Diff, Reject};
use super::several::{self, Done};
use crate::cli::access::Access;
use crate::cli::access::ids::Typed;
use crate::cli::args::at::At;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::text;
use crate::cli::output::write_page;
use crate::cli::render;
use crate::domain::ids::IdeaId;
use crate::domain::operation::{Command, TargetChoice};

/// The commands about the merge queue.
#[derive(Debug, Subcommand)]
pub enum Merge {
    /// List the work that is waiting to land.
    List(List),
    /// Show what would land.
    Diff(Diff),
    /// Approve work that waits for your review.
    Approve(Approve),
    /// Return work to its agent with a comment, until its landing begins.
    Reject(Reject),
    /// Retry waiting merges now.
    Retry(Retry),
    /// Continue a merge after you have resolved its conflict in the worktree.
    Resolve(Resolve),
    /// Choose what happens to landed ideas whose work is missing after the target was rewritten.
    Target(Target),
}

/// `merge list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm merge list
  $ swarm merge list --at 2h")]
pub struct List {
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// `merge retry`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm merge retry idea-003
  $ swarm merge retry 3 5
  $ swarm merge retry --all")]
pub struct Retry {
    /// The ideas whose work is waiting.
    #[arg(value_name = "IDEA", required_unless_present = "all")]
    pub ideas: Vec<Typed<IdeaId>>,
    /// Retry every merge that failed and waits. One that waits for you to resolve its conflict must
    /// be named.
    #[arg(long, conflicts_with = "ideas")]
    pub all: bool,
}

/// `merge resolve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example, once the conflict is resolved and committed in the worktree:
  $ swarm merge resolve idea-003"
)]
pub struct Resolve {
    /// The idea whose conflict you have resolved.
    pub idea: Typed<IdeaId>,
}

/// `merge target`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm merge target redo")]
pub struct Target {
    /// What happens to these ideas.
    pub choice: Choice,
}

/// What happens to landed ideas whose work is missing.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Choice {
    /// Agents do them again, from the target as it is now.
    Redo,
    /// They stay done, without their work.
    Ignore,
    /// They are cancelled.
    Cancel,
}

impl From<Choice> for TargetChoice {
    fn from(choice: Choice) -> Self {
        match choice {
            Choice::Redo => Self::Redo,
            Choice::Ignore => Self::Ignore,
            Choice::Cancel => Self::Cancel,
        }
    }
}

/// Runs the command.
pub fn run(verb: Merge, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Merge::List(List { at }) => list(&at, context),
        Merge::Diff(args) => review::diff(&args, context),
        Merge::Approve(args) => review::approve(&args, context),
        Merge::Reject(args) => review::reject(args, context),
        Merge::Retry(args) => retry(&args, context),
        Merge::Resolve(Resolve { idea }) => {
            let idea = context.with_access(|access| access.idea_id(&idea))?;
            let command = Command::ResolveMerge { id: idea.clone() };
            resolve(&idea, &command, context)
        }
        Merge::Target(Target { choice }) => {
            let words = match choice {
                Choice::Redo => "the ideas whose work was missing are pending again",
                Choice::Ignore => "the ideas whose work was missing stay done",
                Choice::Cancel => "the ideas whose work was missing are cancelled",
            };
            let choice = choice.into();
            let (answer, _) = execute(context, &Command::SettleTarget { choice })?;
            confirm(context, &answer, words)
        }
    }
}

fn retry(args: &Retry, context: &mut Context) -> Result<(), CliError> {
    let ids = context.with_access(|access| {
        if args.all {
            Ok(failed(&access.merges()?))
        } else {
            access.idea_ids(&args.ideas)
        }
    })?;
    if ids.is_empty() && !context.output.json {
        context.output.note("no merge has failed and waits");
        return Ok(());
    }
    several::each(context, ids, args.all, |context, idea| {
        let command = Command::RetryMerge { id: idea.clone() };
        let now = format!("retrying the merge of {idea}");
        let later = format!("retries the merge of {idea}");
        change(context, &command, &now, &later)
    })
}

/// The queued ideas whose merge gave a reason to wait, other than that a person must review it.
fn failed(merges: &Value) -> Vec<Result<IdeaId, CliError>> {
    let failed = |merge: &&Value| {
        text(merge, "state") == "queued"
            && merge.get("reason").is_some()
            && merge["held"] != Value::Bool(true)
    };
    let merges = merges.as_array().into_iter().flatten().filter(failed);
    merges
        .filter_map(|merge| text(merge, "ideaId").parse().ok().map(Ok))
        .collect()
}

/// A daemon checks the resolution before it answers. Without one, the next daemon checks it.
fn resolve(idea: &IdeaId, command: &Command, context: &mut Context) -> Result<(), CliError> {
    let (answer, offline) = execute(context, command)?;
    let words = if offline {
        format!(
            "recorded: the next daemon checks whether the conflict of {idea} is resolved, and asks \
            you again if it is not\n  -> start it: swarm start"
        )
    } else {
        format!("the merge of {idea} continues")
    };
    confirm(context, &answer, &words)
}

/// Says what happens `now` or, without a daemon, what the next start does `later`.
fn change(context: &Context, command: &Command, now: &str, later: &str) -> Result<Done, CliError> {
    let (answer, offline) = execute(context, command)?;
    let words = if offline {
        format!("recorded: the next start {later}\n  -> swarm start")
    } else {
        now.to_owned()
    };
    Ok(Done { answer, words })
}

/// The answer, and whether it came from the files instead of a daemon.
fn execute(context: &Context, command: &Command) -> Result<(Value, bool), CliError> {
    context.with_access(|access| {
        let offline = access.is_offline();
        Ok((access.execute(command)?, offline))
    })
}

fn list(at: &At, context: &mut Context) -> Result<(), CliError> {
    context.look_back(at)?;
    let merges = context.with_access(Access::merges)?;
    if context.output.json {
        return context.output.document(&merges);
    }
    let merges = merges.as_array().map_or(&[][..], Vec::as_slice);
    if merges.is_empty() {
        context.output.note("nothing is waiting to land");
        return Ok(());
    }
    let page = render::merges(&context.output, merges, context.now());
    write_page(&mut context.output, &page)
}
