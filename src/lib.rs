//! `swarm` runs a backlog of ideas through coding agents in parallel git worktrees and lands what passes.

pub mod api;
pub mod daemon;
pub mod domain;

/// Runs the program for `std::env::args`.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
