//! The adapter `acp`: any agent that speaks the Agent Client Protocol (JSON-RPC over its standard input and output).
//!
//! A run's program is this very program as the bridge `swarm __acp [--model M] [--resume ID] -- COMMAND...`: it starts the agent, has one turn with
//! it and writes what comes of that as [events](event::Event), one line of JSON each. Permissions that the agent asks for are given, each for once;
//! files and terminals of its own it has itself.
//!
//! Invariant: whatever the agent does, the run ends when the agent's turn or the agent ends; success needs the agent's own word that its turn is over.

mod bridge;
mod child;
pub mod event;
mod failure_cause;
mod options;
mod reader;
mod updates;

use std::ffi::OsString;
use std::process::ExitCode;

use super::adapter::{
    Adapter, AdapterError, Launch, LaunchContext, StartedAs, Talk, Told, program_path,
};
use super::stream::{ByLine, OutputReader};

/// The hidden subcommand of this program that is the bridge.
pub const SUBCOMMAND: &str = "__acp";

/// Starts the bridge with the profile's `command` and `args`. There is no list of arguments that are its own: nothing is known of the program.
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
        if let Talk::Resume(session) = &context.talk {
            args.extend(["--resume".into(), session.as_str().into()]);
        }
        args.push("--".into());
        args.push(program_path(program, &context.work.repository).into());
        args.extend(first.iter().chain(&profile.args).map(Into::into));
        let mut launch = context.launch(context.own_program.clone(), args)?;
        // The name of a new conversation is the agent's to choose.
        if let Talk::Resume(session) = &context.talk {
            launch.started.session = Some(session.clone());
            launch.started.resumed = true;
        }
        Ok(launch)
    }

    fn reader(&self, started: &StartedAs) -> Box<dyn OutputReader + Send> {
        Box::new(ByLine::new(reader::EventReader::new(started)))
    }

    /// Not all agents do.
    fn meanwhile(&self) -> Told {
        Told::Cost
    }

    fn at_end(&self) -> Told {
        Told::Both
    }
}

/// The bridge, with the arguments after its subcommand. Exit code 0: the agent's turn is complete; 1: it is not; 2: bad arguments.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    match options::Options::parse(args) {
        Ok(options) => bridge::run(options),
        Err(error) => {
            eprintln!("{SUBCOMMAND}: {error}");
            ExitCode::from(2)
        }
    }
}
