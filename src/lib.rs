//! `swarm` runs a backlog of ideas through coding agents in parallel git worktrees and lands what passes.

pub mod domain;
pub mod journal;
pub mod process;
pub mod git;
pub mod agents;
pub mod config;
pub mod cli;

/// Runs the program for `std::env::args`.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
