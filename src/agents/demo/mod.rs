//! The demo's scripted agent and its adapter. The agent is this program, started like every other
//! agent, so `swarm demo` needs no model, key or network.
//!
//! Invariant: the agent's behaviour follows from its arguments, `SWARM_IDEA_ID`, `SWARM_ATTEMPT`,
//! `SWARM_ITERATION`, its prompt and its worktree. It writes only below its current directory.

mod options;
mod resolve;
pub mod scenario;
mod script;
mod worker;

use std::ffi::OsString;
use std::process::ExitCode;

use super::adapter::{Adapter, AdapterError, Launch, LaunchContext, StartedAs, UsageReporting};
use super::command::PlainReader;
use super::stream::OutputReader;

/// Hidden subcommand of the scripted agent.
pub const SUBCOMMAND: &str = "__demo-agent";

/// Line that the scripted agent prints when it stops in the middle of its work to be killed.
pub const WAITING_TO_BE_KILLED: &str = "demo: waiting to be killed";

/// Starts the scripted agent. The profile's `args` are its options (`--seed N`, `--pace PERCENT`,
/// `--patience-ms N`). Without any, the seed is 1.
#[derive(Debug)]
pub struct DemoAdapter;

impl Adapter for DemoAdapter {
    fn launch(&self, context: &LaunchContext<'_>) -> Result<Launch, AdapterError> {
        let mut args: Vec<OsString> = vec![SUBCOMMAND.into()];
        if context.profile.args.is_empty() {
            args.extend(["--seed".into(), "1".into()]);
        }
        args.extend(context.profile.args.iter().map(Into::into));
        context.launch(context.own_program.clone(), args)
    }

    fn reader(&self, _started: &StartedAs) -> Box<dyn OutputReader + Send> {
        Box::new(PlainReader)
    }

    fn at_end(&self) -> UsageReporting {
        UsageReporting::Nothing
    }
}

/// Runs the scripted agent with the arguments after its subcommand. Exit code 0 means that the
/// iteration is over, 1 that it failed, and 2 that the arguments are invalid.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let options = match options::Options::parse(args) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{SUBCOMMAND}: {error}");
            return ExitCode::from(2);
        }
    };
    match worker::work(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{SUBCOMMAND}: {error}");
            ExitCode::FAILURE
        }
    }
}
