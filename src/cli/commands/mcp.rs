//! `swarm mcp`: serves tools to an agent's program.

use clap::{Args, ValueEnum};

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::mcp;
use crate::domain::ids::{AgentId, ProfileName};

/// `mcp`.
#[derive(Debug, Args)]
#[command(after_help = "\
swarm configures its own agents to start this; they get the tools of the memory. Your own agent \
also gets tools to watch the swarm and to give it work. Add the server to it, for example: claude \
mcp add swarm -- swarm -C ~/project mcp

Examples:
  $ swarm mcp
  $ swarm -C ~/project mcp
  $ swarm mcp --allow read")]
pub struct Mcp {
    /// Profile that local learnings are for.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<ProfileName>,
    /// Agent whose prompts are known: answers say what changed since. Only swarm passes it.
    #[arg(long, hide = true)]
    pub agent: Option<AgentId>,
    /// Offer only these tools.
    #[arg(long, value_name = "WHAT")]
    pub allow: Option<Allow>,
}

/// Which tools are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Allow {
    /// Those that change nothing.
    Read,
}

/// Runs the command.
pub fn run(args: Mcp, context: &Context) -> Result<(), CliError> {
    let options = mcp::Options {
        profile: args.profile,
        agent: args.agent,
        only_reading: match args.allow {
            Some(Allow::Read) => true,
            None => false,
        },
        zone: context.zone.clone(),
    };
    mcp::serve(context.repo()?, options)
}
