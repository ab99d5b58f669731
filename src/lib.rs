//! # swarm: the architecture
//!
//! A daemon that runs a backlog of ideas through coding agents in parallel git worktrees, lands
//! what passes the project's own checks, and survives everything. The promise: *no acknowledged
//! event, no commit and no minute of an agent's work is ever lost or done twice.*
//!
//! ## The house
//!
//! | room | what it does |
//! | --- | --- |
//! | [`domain`] | pure rules: what may happen and what follows. No files, git, clock, chance |
//! | [`view`] | the state as people and programs see it; its shapes are part of the contract |
//! | [`journal`] | the event log, its snapshots and its lock: bytes on disk |
//! | [`archive`] | a swarm as one file: written, and unpacked without trust |
//! | [`process`] | one supervised child under a detached runner, whatever it is for |
//! | [`probe`] | whether the checks see the tree: hides and replaces files in namespaces |
//! | [`git`] | worktrees, merges, references; every git command of the program |
//! | [`config`] | the configuration: layers, schema, checks; what `init` writes |
//! | [`hooks`] | whether a hook may run, and what it is told |
//! | [`agents`] | prompts, adapters, environments; the demo's scripted agent |
//! | [`daemon`] | the actor and its drivers; work without a daemon |
//! | [`api`] | JSON over HTTP on the unix socket, and its client |
//! | [`web`] | the page: the state as markup, forms that become commands, live updates |
//! | [`cli`] | arguments, rendering, one file for each verb |
//!
//! Every room may use `domain`. `daemon`, `api`, `web` and `cli` may use `view`. `archive`,
//! `journal`, `process`, `probe`, `git` and `config` do not know each other. `agents` stands on
//! them, then come `daemon`, `api`, `web` and `cli`. Three small files serve every room but
//! `domain`: [`crash`], the points at which tests kill the program, [`remove`], the only place that
//! removes files, and [`plain_file`], which opens files that an agent may have replaced. A test
//! reads the sources and fails when a room uses one that it must not know.
//!
//! ## The loop
//!
//! [`daemon`]'s actor is the only writer. It
//!
//! 1. takes the inputs that wait,
//! 2. decides each against the present state,
//! 3. writes their events as one batch, with one write and one sync,
//! 4. evolves the published state,
//! 5. answers,
//! 6. sends the newly requested effects to their drivers.
//!
//! *Persist, then act.* An effect is requested in the log before it is done, and stays in the
//! outbox until its outcome is in the log. After a restart, the outbox is what remains to be done:
//! the same drivers get it again, and each first looks at what is already done.
//!
//! ## The log until the first tag
//!
//! Format 1 of the event log starts at the first tag. Until then the forms of events change, and
//! nothing reads older ones. The first record of a log carries a digest of the forms, made of the
//! samples in `tests/golden/events-v1.jsonl`, and a log with another digest is refused with exit
//! 75: *made by another development version of swarm*. Use the swarm that made it, or start over
//! with `mv .swarm .swarm-before && swarm init --new`. `swarm doctor` still looks into such a log.
//! At the first tag the digest goes; from then on the samples only grow.
//!
//! ## The laws
//!
//! 1. Nothing is acknowledged and nothing is done before its event is on disk.
//! 2. Only the actor writes the log. No driver touches the state.
//! 3. Deciding is pure, evolving is total and deterministic, and replay runs no rule.
//! 4. Damage to acknowledged events is never guessed over.
//! 5. The target moves by compare-and-swap, to a commit that passed the checks. Nobody's
//!    uncommitted work is touched.
//! 6. No process is signalled by its number alone.
//! 7. Only [`remove`] removes files, and it never follows a link.
//! 8. The program has one `Command::new("git")`, and it runs nothing that an agent could have
//!    configured.

#![cfg_attr(test, allow(clippy::wildcard_enum_match_arm))] // a test may ask for one variant

pub mod agents;
pub mod api;
pub mod archive;
pub mod cli;
pub mod config;
pub mod crash;
pub mod daemon;
pub mod domain;
pub mod git;
pub mod hooks;
pub mod journal;
pub mod plain_file;
pub mod probe;
pub mod process;
pub mod remove;
pub mod view;
pub mod web;

/// Runs the program for `std::env::args`: a hidden child program (a runner, the demo's agent, the
/// bridge to an agent's protocol, the hook of an agent's program), or the command line.
pub fn main() -> std::process::ExitCode {
    if let Some(code) = process::runner::hidden_program(std::env::args_os()) {
        return code;
    }
    if let Some(code) = probe::hidden_program(std::env::args_os()) {
        return code;
    }
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(std::ffi::OsStr::to_str) {
        Some(agents::demo::SUBCOMMAND) => return agents::demo::main(args),
        Some(agents::acp::SUBCOMMAND) => return agents::acp::main(args),
        Some(agents::read_guard::SUBCOMMAND) => return agents::read_guard::main(args),
        _ => {}
    }
    cli::run(std::env::args_os())
}
