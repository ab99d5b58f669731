//! `swarm merge`: the merge queue.

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::access::Access;
use crate::cli::clock;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::write_page;
use crate::cli::render;
use crate::domain::command::{Command, TargetChoice};
use crate::domain::ids::IdeaId;

/// The commands about the merge queue.
#[derive(Debug, Subcommand)]
pub enum Merge {
    /// List what waits to land.
    List(List),
    /// Let a merge that waits try again now.
    Retry(Retry),
    /// Say that you have settled the conflict in the worktree.
    Resolve(Resolve),
    /// Say what to do after the target was force-pushed.
    Target(Target),
}

/// `merge list`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm merge list")]
pub struct List {}

/// `merge retry`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm merge retry idea-003")]
pub struct Retry {
    /// The idea whose work waits.
    pub idea: IdeaId,
}

/// `merge resolve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example, after the conflict is settled and committed in the worktree:
  $ swarm merge resolve idea-003"
)]
pub struct Resolve {
    /// The idea whose conflict is settled.
    pub idea: IdeaId,
}

/// `merge target`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm merge target rebase")]
pub struct Target {
    /// What to do with the work that waits.
    pub choice: Choice,
}

/// What to do with finished work after the target was force-pushed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Choice {
    /// Replay its own commits onto the new target.
    Rebase,
    /// Merge it as it is: commits that the force-push dropped may come back.
    Ignore,
    /// Take it out of the queue and cancel its ideas; the commits are kept.
    Cancel,
}

impl From<Choice> for TargetChoice {
    fn from(choice: Choice) -> Self {
        match choice {
            Choice::Rebase => Self::Rebase,
            Choice::Ignore => Self::Ignore,
            Choice::Cancel => Self::Cancel,
        }
    }
}

/// Does it.
pub fn run(verb: &Merge, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Merge::List(List {}) => list(context),
        Merge::Retry(Retry { idea }) => {
            let command = Command::RetryMerge { id: idea.clone() };
            change(
                context,
                &command,
                &format!("the merge of {idea} is tried again"),
            )
        }
        Merge::Resolve(Resolve { idea }) => {
            let command = Command::ResolveMerge { id: idea.clone() };
            resolve(idea, &command, context)
        }
        Merge::Target(Target { choice }) => {
            let choice = (*choice).into();
            change(
                context,
                &Command::SettleTarget { choice },
                "the merge queue goes on",
            )
        }
    }
}

/// What a daemon says is judged; without one nothing is, and the next one may find that the
/// conflict is still there.
fn resolve(idea: &IdeaId, command: &Command, context: &mut Context) -> Result<(), CliError> {
    let (answer, alone) = context.with_access(|access| {
        let alone = access.is_offline();
        Ok((access.execute(command)?, alone))
    })?;
    let words = if alone {
        format!(
            "noted: whether the conflict of {idea} is settled is judged by the next daemon, which \
            asks again if it is not; begin it: swarm start"
        )
    } else {
        format!("the merge of {idea} goes on")
    };
    confirm(context, &answer, &words)
}

fn change(context: &mut Context, command: &Command, words: &str) -> Result<(), CliError> {
    let answer = context.with_access(|access| access.execute(command))?;
    confirm(context, &answer, words)
}

fn list(context: &mut Context) -> Result<(), CliError> {
    let merges = context.with_access(Access::merges)?;
    if context.output.json {
        return context.output.document(&merges);
    }
    let merges = merges.as_array().map_or(&[][..], Vec::as_slice);
    if merges.is_empty() {
        context.output.note("nothing waits to land");
        return Ok(());
    }
    let page = render::merges(&context.output, merges, clock::now());
    write_page(&mut context.output, &page)
}
