//! `swarm` runs a backlog of ideas through coding agents in parallel git worktrees and lands what passes.

pub mod agents;
pub mod cli;
pub mod config;
pub mod crash;
pub mod domain;
pub mod git;
pub mod journal;
pub mod process;

/// Runs the program for `std::env::args`.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
