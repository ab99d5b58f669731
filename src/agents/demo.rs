//! The demo's scripted agent and its adapter: this very program, started again through the path that every agent takes, so that
//! `swarm demo` needs no model, no key and no network.
//!
//! Invariant: what the agent does follows from its arguments, `SWARM_IDEA_ID`, `SWARM_ATTEMPT`, `SWARM_ITERATION`, its prompt and its worktree;
//! it writes only below its current directory.

mod options;
mod resolve;
pub mod scenario;
mod script;
mod worker;

use std::ffi::OsString;
use std::process::ExitCode;

use super::adapter::{Adapter, AdapterError, Launch, LaunchContext, StartedAs, Told};
use super::command::PlainReader;
use super::stream::OutputReader;

/// The hidden subcommand of this program that is the scripted agent.
pub const SUBCOMMAND: &str = "__demo-agent";

/// What the scripted agent of a scenario prints when it stops in the middle of its work, in order to be killed.
pub const WAITING_TO_BE_KILLED: &str = "demo: waiting to be killed";

/// Starts the scripted agent. The profile's `args` are its options (`--seed N`, `--pace PERCENT`, `--patience-ms N`); without any its
/// seed is 1.
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

    fn at_end(&self) -> Told {
        Told::Nothing
    }
}

/// The scripted agent, with the arguments after its subcommand. Exit code 0: the iteration is over; 1: it failed; 2: bad arguments.
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
