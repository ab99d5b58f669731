//! The whole program with real agents: the daemon, the command line, git, and the agents' own
//! programs, whose model is a script on loopback. They need no key and no network, once
//! `tests/agents/install.sh` has installed the programs.
//!
//! Invariant: as in `tests/it`: a test knows only what the contract promises and what the model
//! saw, lives in a sandbox of its own, waits for conditions and never for time alone, and leaves no
//! process behind.

#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)] // a test fails by panicking

mod conversations;
mod failures;
#[allow(dead_code, unused_imports)] // it is shared with tests/it, and not all of it is used here
#[path = "../it/harness/mod.rs"]
mod harness;
mod inspector;
mod kills;
mod lab;
mod landing;
mod long_runs;
mod memory;
mod moves;
mod other_programs;
mod process_trees;
mod programs;
mod read_guard;
mod stub;
mod stub_programs;
mod views_and_settings;
