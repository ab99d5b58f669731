//! One file per command: its arguments, whose doc comments are the help text, and what it does.
//!
//! Invariant: a command reads the state through [`Access`](super::access::Access), or says that it
//! needs the daemon; no command touches a state file itself.

pub mod agent;
pub mod attach;
pub mod checkpoint;
pub mod checks;
pub mod clean;
pub mod completions;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod events;
pub mod hooks;
pub mod idea;
pub mod init;
pub mod log;
pub mod man;
pub mod mcp;
pub mod memory;
pub mod merge;
pub mod open;
pub mod path;
pub mod pause;
pub mod provenance;
pub mod replay;
pub mod report;
pub mod review;
pub mod rollback;
pub mod scratch;
pub mod service;
mod several;
pub mod snapshot;
pub mod start;
pub mod status;
pub mod stop;
pub mod undo;
pub mod wait;

use clap::CommandFactory as _;

use super::access::speaker;
use super::args::{Cli, Verb};
use super::context::Context;
use super::error::CliError;

/// Runs the command.
pub fn run(verb: Verb, context: &mut Context) -> Result<(), CliError> {
    speaker::admit(&verb, context)?;
    match verb {
        Verb::Init(args) => init::run(&args, context),
        Verb::Demo(args) => demo::run(&args, context),
        Verb::Start(args) => start::run(&args, context),
        Verb::Attach(args) => attach::run(&args, context),
        Verb::Open(args) => open::run(&args, context),
        Verb::Stop(args) => stop::run(&args, context),
        Verb::Status(args) => status::run(&args, context),
        Verb::Idea(verb) => idea::run(verb, context),
        Verb::Agent(verb) => agent::run(verb, context),
        Verb::Path(args) => path::run(&args, context),
        Verb::Pause(args) => pause::pause(args, context),
        Verb::Resume(args) => pause::resume(&args, context),
        Verb::Merge(verb) => merge::run(verb, context),
        Verb::Hooks(verb) => hooks::run(&verb, context),
        Verb::Memory(verb) => memory::run(&verb, context),
        Verb::Mcp(args) => mcp::run(args, context),
        Verb::Scratch(verb) => scratch::run(verb, context),
        Verb::Report(args) => report::run(&args, context),
        Verb::Log(args) => log::run(&args, context),
        Verb::Events(args) => events::run(&args, context),
        Verb::Replay(args) => replay::run(&args, context),
        Verb::Provenance(verb) => provenance::run(&verb, context),
        Verb::Snapshot(verb) => snapshot::run(&verb, context),
        Verb::Wait(args) => wait::run(&args, context),
        Verb::Config(verb) => config::run(&verb, context),
        Verb::Checks(verb) => checks::run(&verb, context),
        Verb::Doctor(args) => doctor::run(&args, context),
        Verb::Clean(args) => clean::run(&args, context),
        Verb::Checkpoint(verb) => checkpoint::run(&verb, context),
        Verb::Rollback(args) => rollback::run(&args, context),
        Verb::Undo(args) => undo::run(&args, context),
        Verb::Service(verb) => service::run(&verb, context),
        Verb::Man(args) => man::run(&args, Cli::command(), context),
        Verb::Completions(args) => completions::run(&args, context),
    }
}
