//! `swarm status`: the swarm at a glance.

use std::thread;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::attach;
use crate::cli::access::Access;
use crate::cli::args::at::At;
use crate::cli::clock;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::json::list;
use crate::cli::output::Output;
use crate::cli::output::write_page;
use crate::cli::render;
use crate::domain::state::IdeaStatus;
use crate::domain::time::Timestamp;

/// How often `--watch` looks for a change without a full-screen view.
const INTERVAL: Duration = Duration::from_secs(1);

/// `status`. Works with and without a daemon; `--watch` needs it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm status
  $ swarm status --watch
  $ swarm status --at 2h
  $ swarm status --json")]
pub struct Status {
    /// Keep showing it: on a terminal as a full-screen view, otherwise a page for each change.
    #[arg(long, short, conflicts_with = "at")]
    pub watch: bool,
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// Shows it.
pub fn run(args: &Status, context: &mut Context) -> Result<(), CliError> {
    if args.watch {
        return if context.output.can_show_screen() {
            attach::show(context)
        } else {
            watch(context)
        };
    }
    context.look_back(&args.at)?;
    let json = context.output.json;
    let look = context.with_access(|access| read_page(access, json))?;
    if json {
        return context.output.document(&look.status);
    }
    let page = look.page(&context.output, context.now());
    write_page(&mut context.output, &page)
}

/// The views at one moment.
#[derive(PartialEq)]
struct Look {
    status: Value,
    /// The active and merging ideas, for their titles.
    busy: Vec<Value>,
}

impl Look {
    fn page(&self, output: &Output, now: Timestamp) -> Vec<String> {
        render::status(output, &self.status, &self.busy, now)
    }
}

fn read_page(access: &mut Access, json: bool) -> Result<Look, CliError> {
    let status = access.status()?;
    let mut busy = Vec::new();
    if !json && !list(&status, "agents").is_empty() {
        for status in [IdeaStatus::Active, IdeaStatus::Merging] {
            let ideas = access.ideas(Some(status))?;
            busy.extend(ideas.as_array().cloned().unwrap_or_default());
        }
    }
    Ok(Look { status, busy })
}

/// Prints each change until the daemon stops.
fn watch(context: &mut Context) -> Result<(), CliError> {
    let mut access = Access::Daemon(Box::new(context.daemon()?));
    let json = context.output.json;
    let mut last = None;
    loop {
        let look = match read_page(&mut access, json) {
            Err(error) if error.kind == Kind::NoDaemon && last.is_some() => {
                context.output.note("the daemon has stopped");
                return Ok(());
            }
            look => look?,
        };
        if last.as_ref() != Some(&look) {
            show(&mut context.output, &look)?;
        }
        last = Some(look);
        thread::sleep(INTERVAL);
    }
}

fn show(output: &mut Output, look: &Look) -> Result<(), CliError> {
    if output.json {
        output.json_line(&look.status)?;
        return output.flush();
    }
    let page = look.page(output, clock::now());
    write_page(output, &page)?;
    output.line("")?;
    output.flush()
}
