//! The adapter `acp`: any agent that speaks the Agent Client Protocol (JSON-RPC on standard input
//! and output). A run starts this program as a bridge, `swarm __acp [--model M] [--resume ID]
//! [--mcp-server JSON] -- COMMAND...`. The bridge starts the agent, runs one turn and writes
//! [events](event::Event) as lines of JSON. It switches to the freest mode that the agent offers,
//! and grants each permission that the agent asks for, once.
//!
//! Invariant: the run ends when the agent's turn or the agent ends. Success needs the agent's own
//! report that its turn is complete.

mod bridge;
mod child;
pub mod event;
mod failure_cause;
mod modes;
mod options;
mod reader;
mod updates;

use std::ffi::OsString;
use std::process::ExitCode;

use super::adapter::{
    Adapter, AdapterError, Conversation, Launch, LaunchContext, StartedAs, UsageReporting,
    program_path,
};
use super::stream::{ByLine, OutputReader};

/// Hidden subcommand of the bridge.
pub const SUBCOMMAND: &str = "__acp";

/// Starts the bridge with the profile's `command` and `args`. swarm does not know the program, so
/// no argument is refused.
#[derive(Debug)]
pub struct AcpAdapter;

impl Adapter for AcpAdapter {
    fn launch(&self, context: &LaunchContext<'_>) -> Result<Launch, AdapterError> {
        let profile = context.profile;
        let Some((program, first)) = profile.command.split_first() else {
            return Err(AdapterError::NoCommand {
                profile: profile.name.clone(),
            });
        };
        let mut args: Vec<OsString> = vec![SUBCOMMAND.into()];
        if let Some(model) = &profile.model {
            args.extend(["--model".into(), model.into()]);
        }
        if let Conversation::Resume(session) = &context.talk {
            args.extend(["--resume".into(), session.as_str().into()]);
        }
        if let Some(memory) = &context.memory {
            args.extend(["--mcp-server".into(), memory.for_acp().to_string().into()]);
        }
        args.push("--".into());
        args.push(program_path(program, &context.work.repository).into());
        args.extend(first.iter().chain(&profile.args).map(Into::into));
        let mut launch = context.launch(context.own_program.clone(), args)?;
        launch.has_memory_tools = context.memory.is_some();
        // The agent chooses the id of a new conversation.
        if let Conversation::Resume(session) = &context.talk {
            launch.started.session = Some(session.clone());
            launch.started.resumed = true;
        }
        Ok(launch)
    }

    fn reader(&self, started: &StartedAs) -> Box<dyn OutputReader + Send> {
        Box::new(ByLine::new(reader::EventReader::new(started)))
    }

    /// Not all agents report their cost.
    fn meanwhile(&self) -> UsageReporting {
        UsageReporting::Cost
    }

    fn at_end(&self) -> UsageReporting {
        UsageReporting::Both
    }
}

/// Runs the bridge with the arguments after its subcommand. Exit code 0 means that the agent's turn
/// is complete, 1 that it is not, and 2 that the arguments are invalid.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    match options::Options::parse(args) {
        Ok(options) => bridge::run(options),
        Err(error) => {
            eprintln!("{SUBCOMMAND}: {error}");
            ExitCode::from(2)
        }
    }
}
