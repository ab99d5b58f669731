//! `swarm pause` and `swarm resume`.

use clap::Args;

use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::domain::operation::Command;

/// `pause`. Needs the daemon; the pause survives a restart.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm pause
  $ swarm pause --reason \"release today\"")]
pub struct Pause {
    /// The reason, shown in the status.
    #[arg(long, value_name = "REASON")]
    pub reason: Option<String>,
}

/// `resume`. Needs the daemon.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm resume")]
pub struct Resume {}

/// Pauses the swarm.
pub fn pause(args: Pause, context: &mut Context) -> Result<(), CliError> {
    let reason = args.reason;
    let answer = context.daemon()?.execute(&Command::Pause { reason })?;
    let words = "paused: nothing new starts; running iterations finish first\n  -> continue: swarm \
        resume";
    confirm(context, &answer, words)
}

/// Resumes the swarm.
pub fn resume(_: &Resume, context: &mut Context) -> Result<(), CliError> {
    let answer = context.daemon()?.execute(&Command::Resume)?;
    confirm(context, &answer, "resumed")
}
