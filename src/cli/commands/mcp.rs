//! `swarm mcp`: serves the memory to an agent's program.

use clap::Args;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::mcp;
use crate::domain::ids::{AgentId, ProfileName};

/// `mcp`.
#[derive(Debug, Args)]
#[command(after_help = "\
swarm configures its own agents to start this. To give your own agent the memory, add the server \
to it, for example: claude mcp add swarm -- swarm -C ~/project mcp

Examples:
  $ swarm mcp
  $ swarm -C ~/project mcp")]
pub struct Mcp {
    /// Profile that local learnings are for.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<ProfileName>,
    /// Agent whose prompts are known: answers say what changed since. Only swarm passes it.
    #[arg(long, hide = true)]
    pub agent: Option<AgentId>,
}

/// Runs the command.
pub fn run(args: Mcp, context: &Context) -> Result<(), CliError> {
    mcp::serve(context.repo()?, args.profile, args.agent)
}
