//! `swarm` runs a backlog of ideas through coding agents in parallel git worktrees and lands what passes.

pub mod agents;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod domain;
pub mod git;
pub mod journal;
pub mod process;

/// Runs the program for `std::env::args`.
pub fn main() -> std::process::ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args
        .next()
        .is_some_and(|name| name == agents::demo::SUBCOMMAND)
    {
        return agents::demo::main(args);
    }
    std::process::ExitCode::SUCCESS
}
