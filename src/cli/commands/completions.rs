//! `swarm completions`: completion scripts.

use clap::Args;
use clap_complete::Shell;

use crate::cli::complete;
use crate::cli::context::Context;
use crate::cli::error::CliError;

/// `completions`.
#[derive(Debug, Args)]
#[command(
    after_help = "The script asks this program, so that it completes ids too.

Examples:
  $ swarm completions bash > ~/.local/share/bash-completion/completions/swarm
  $ swarm completions zsh > ~/.zfunc/_swarm
  $ swarm completions fish > ~/.config/fish/completions/swarm.fish"
)]
pub struct Completions {
    /// The shell to print it for.
    pub shell: Shell,
}

/// Writes the script.
pub fn run(args: &Completions, context: &mut Context) -> Result<(), CliError> {
    let script = complete::script(args.shell)?;
    context.output.raw(&script)
}
