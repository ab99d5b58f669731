//! `swarm memory synthesize`.

use clap::Args;
use serde_json::Value;

use super::label;
use crate::cli::access::Access;
use crate::cli::confirm;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::{list, number, text};
use crate::cli::output::terminal::safe;
use crate::cli::output::write_page;
use crate::domain::ids::ProfileName;
use crate::domain::memory::MemoryCommand;
use crate::domain::operation::Command;

/// `memory synthesize`.
#[derive(Debug, Args)]
#[command(after_help = "\
The agent works in an empty folder. Each fact that it writes names the learnings that say so, and \
holds no number, path or identifier that they lack. The run's costs count towards the day's budget.

With `memory.synthesis.profile` set, this starts by itself after every `memory.synthesis.every` \
new learnings.

Examples:
  $ swarm memory synthesize --dry-run
  $ swarm memory synthesize --profile ed")]
pub struct Synthesize {
    /// The profile that reads them; default: memory.synthesis.profile.
    #[arg(long, value_name = "PROFILE", conflicts_with = "dry_run")]
    pub profile: Option<ProfileName>,
    /// Only show the groups of learnings that it would read.
    #[arg(long)]
    pub dry_run: bool,
}

/// Starts a synthesis, or shows what it would read.
pub(super) fn run(args: &Synthesize, context: &mut Context) -> Result<(), CliError> {
    if args.dry_run {
        return show(context);
    }
    let profile = args.profile.clone();
    let command = Command::Memory(MemoryCommand::Synthesize { profile });
    let answer = context.daemon()?.execute(&command)?;
    let run = safe(text(&answer, "run"));
    let words = format!("{run} reads the new learnings; what it does: .git/swarm/runs/{run}");
    confirm::confirm(context, &answer, &words)
}

fn show(context: &mut Context) -> Result<(), CliError> {
    let news = context.with_access(Access::news)?;
    if context.output.json {
        return context.output.document(&news);
    }
    let groups = list(&news, "groups");
    if groups.is_empty() {
        context
            .output
            .note("no learning is new since the last synthesis");
        return Ok(());
    }
    let mut page = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        if at > 0 {
            page.push(String::new());
        }
        page.extend(list(group, "learnings").iter().map(|hit| line("", hit)));
        page.extend(list(group, "facts").iter().map(|hit| line("  like ", hit)));
    }
    write_page(&mut context.output, &page)?;
    let left = number(&news, "left");
    if left > 0 {
        let note = format!("{left} more new learnings are read after these");
        context.output.note(note);
    }
    Ok(())
}

fn line(before: &str, hit: &Value) -> String {
    safe(&format!("{before}[{}] {}", label(hit), text(hit, "text")))
}
