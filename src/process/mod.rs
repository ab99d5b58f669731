//! Runs one supervised child process: an iteration, a quality command or a hook. Called by
//! `daemon`.
//!
//! ```text
//! daemon                    runner (this binary, detached)          child
//! prepare  -> runs/<id>/
//! launch   ---------------> lock, sub-reaper, signals
//!                           spawn ------------------------------->  PDEATHSIG, claim started.json, exec
//! wait     (pidfd)          timeout, stop, output limit             stdout.log, stderr.log
//!                           <------------------------------ exit --
//!                           end the rest of the tree, exit.json
//! inspect  <- exit.json
//! ```
//!
//! Invariants of the whole room:
//! * A run's child is executed at most once, ever. `started.json` is the claim: it is created
//!   exclusively and synced to disk *before* the program is executed. Without it nothing has run
//!   and the launch may be repeated; with it no launch starts anything.
//! * A run with a live runner is locked (`lock`). A run that has ended has `exit.json`. A run that
//!   is claimed, unlocked and without `exit.json` is lost: its runner was killed.
//! * The daemon may die at any instruction: everything it needs to continue is in the run
//!   directory.
//! * A process is never signalled by its pid alone: swarm opens a pidfd, then compares identities.
//!
//! Needs Linux 5.4 (pidfd, `P_PIDFD`). The Linux-specific code is in `handle`, `tree`, `identity`
//! and `runner`.

mod age;
mod descriptors;
mod error;
mod handle;
mod identity;
mod launch;
mod lease;
mod lock;
mod output;
mod query_program;
mod record;
mod run_status;
mod rundir;
pub mod runner;
mod spec;
mod stop;
mod tree;

pub use age::{RunAge, run_age};
pub use error::ProcessError;
pub use identity::{Identity, is_stopped};
pub use launch::{Launched, launch};
pub use lease::{Alive, Lease, hold};
pub use output::{OutputFollower, PIECE, tail, tail_lines};
pub use query_program::{Answer, query_program};
pub use record::{EndReason, ExitRecord, RECORD_FORMAT, Started, Usage};
pub use run_status::{RunEnd, RunStatus, inspect, wait};
pub use rundir::{RunDir, prepare};
pub use spec::{RunSpec, resolve_program};
pub use stop::{Stop, StopOutcome, end_survivors, end_vanished, stop, wake};
