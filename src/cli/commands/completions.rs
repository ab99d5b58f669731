//! `swarm completions`: completion scripts.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::cli::context::Context;
use crate::cli::error::CliError;

/// `completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm completions bash > ~/.local/share/bash-completion/completions/swarm
  $ swarm completions zsh > ~/.zfunc/_swarm
  $ swarm completions fish > ~/.config/fish/completions/swarm.fish")]
pub struct Completions {
    /// The shell to print it for.
    pub shell: Shell,
}

/// Writes the script for the command line `cli`.
pub fn run(args: &Completions, mut cli: Command, context: &mut Context) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "swarm", &mut script);
    context.output.raw(&String::from_utf8_lossy(&script))
}
