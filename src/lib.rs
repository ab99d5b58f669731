//! # swarm: the architecture
//!
//! A daemon that runs a backlog of ideas through coding agents in parallel git worktrees, lands what passes the project's own checks, and
//! survives everything. The promise: *no acknowledged event, no commit and no minute of an agent's work is ever lost or done twice.*
//!
//! ## The house
//!
//! | room | what it does |
//! | --- | --- |
//! | [`domain`] | pure: what may happen, and what follows. No files, processes, git, clock or randomness |
//! | [`view`] | the state as people and programs see it: its names and shapes are part of the contract |
//! | [`journal`] | the event log, its snapshots and its lock: bytes on disk |
//! | [`process`] | one supervised child under a detached runner, whatever it is for |
//! | [`git`] | worktrees, merges, references; every git command of the program |
//! | [`config`] | the configuration: layers, schema, check; what `init` writes |
//! | [`agents`] | prompts, adapters, environments; the demo's scripted agent |
//! | [`daemon`] | the actor and the drivers that it sends out; work without a daemon |
//! | [`api`] | JSON over HTTP on the unix socket, and its client |
//! | [`cli`] | arguments, rendering, one file for each verb |
//!
//! Two small files are known to all but the domain: [`crash`], the points at which tests kill the program, and [`remove`], the
//! only place that removes files. `domain` is known to all, `view` to `daemon`, `api` and `cli`. `journal`, `process`, `git` and
//! `config` are siblings that do not know each other; `agents` stands on them, then `daemon`, then `api`, then `cli`. A test reads
//! the sources and fails when this is broken.
//!
//! ## The loop
//!
//! One writer, [`daemon`]'s actor: (1) take the inputs that wait; (2) decide each against the state evolved so far; (3) write their events as
//! one batch, one write, one sync; (4) evolve the published state; (5) answer; (6) send the newly requested effects to their drivers.
//!
//! *Persist, then act.* An effect is a fact: requested in the log before it is done, in the outbox until its outcome is in the log. What must be
//! done after a restart *is* the outbox, sent to the same drivers again; each driver sees what is done already.
//!
//! ## The laws
//!
//! 1. Nothing is acknowledged and nothing is done before its event is on disk.
//! 2. Only the actor writes the log; no driver touches the state.
//! 3. Deciding is pure, evolving is total and deterministic, replay runs no rule.
//! 4. Damage to acknowledged events is never guessed over.
//! 5. The target moves by compare-and-swap, to a commit that the gate has passed, and nobody's uncommitted work is touched.
//! 6. No process is signalled by its number alone.
//! 7. Nothing is removed but by [`remove`], which never follows a link.
//! 8. One `Command::new("git")` in the program, and it runs nothing that an agent could have configured.

pub mod agents;
pub mod api;
pub mod cli;
pub mod config;
pub mod crash;
pub mod daemon;
pub mod domain;
pub mod git;
pub mod hooks;
pub mod journal;
pub mod process;
pub mod remove;
pub mod view;

/// Runs the program for `std::env::args`: a hidden child program (a runner, the demo's agent, the bridge to an agent's protocol), or the command line.
pub fn main() -> std::process::ExitCode {
    if let Some(code) = process::runner::hidden_program(std::env::args_os()) {
        return code;
    }
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(std::ffi::OsStr::to_str) {
        Some(agents::demo::SUBCOMMAND) => return agents::demo::main(args),
        Some(agents::acp::SUBCOMMAND) => return agents::acp::main(args),
        _ => {}
    }
    cli::run(std::env::args_os())
}
