//! `swarm attach`: the full-screen view of a daemon that runs elsewhere.

use clap::Args;

use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::screen::mailbox::mailbox;
use crate::cli::screen::{self, Ended, View, signals};

/// `attach`.
#[derive(Debug, Args)]
#[command(after_help = "\
It shows what needs you with the commands to type, agents, merge queue, backlog and log. Leaving \
it with `q` or Ctrl+C does not affect the daemon. `?` shows its keys.

Example:
  $ swarm attach")]
pub struct Attach {}

/// Attaches to the daemon.
pub fn run(Attach {}: &Attach, context: &mut Context) -> Result<(), CliError> {
    context.daemon()?;
    if context.output.can_show_screen() {
        return show(context);
    }
    let message = "a full-screen view needs a terminal, and cannot be shown with --json, -q or -v";
    Err(CliError::new(Kind::Usage, message)
        .hint("see each event instead: swarm events -f")
        .hint("see the status now: swarm status"))
}

/// Shows the view until the person leaves it or the daemon ends.
pub(super) fn show(context: &mut Context) -> Result<(), CliError> {
    let repo = context.repo()?;
    context.daemon()?;
    context.output.flush()?;
    let (mailbox, inbox) = mailbox();
    signals::receive(mailbox.clone(), signals::end_by)
        .map_err(|error| CliError::io("receive signals", &error))?;
    let ended = screen::show(View {
        repo,
        colors: context.output.colors,
        interrupt: None,
        mailbox,
        inbox,
    })?;
    match ended {
        Ended::Left | Ended::HungUp => {}
        Ended::Daemon => context.output.note("the daemon has stopped"),
    }
    Ok(())
}
