//! One supervised child process, whatever it is for: an iteration, a quality command, a hook.
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
//! * A run's child is executed at most once, ever. `started.json` is the claim: created exclusively and synced to disk
//!   *before* the program is executed. Without it nothing has run and a launch may be repeated; with it no launch starts anything.
//! * A run whose runner lives is locked (`lock`); one that has ended has `exit.json`; one that is claimed, not locked and has
//!   no `exit.json` is lost: its runner was killed.
//! * The daemon may die at any instruction: everything it needs to go on is in the run directory.
//! * No process is signalled by its number alone: a pidfd is opened first, then the identity behind it is compared.
//!
//! Needs Linux 5.4 (pidfd, `P_PIDFD`). What is particular to it lives in `handle`, `tree`, `identity`, and `runner`.

mod age;
mod descriptors;
mod error;
mod handle;
mod identity;
mod launch;
mod lease;
mod lock;
mod output;
mod plain_file;
mod query_program;
mod record;
mod run_status;
mod rundir;
pub mod runner;
mod spec;
mod stop;
mod tree;

pub use age::{Past, past};
pub use error::ProcessError;
pub use identity::{Identity, is_stopped};
pub use launch::{Launched, launch};
pub use lease::{Alive, Lease, hold};
pub use output::{OutputFollower, PIECE, tail, tail_lines};
pub use plain_file::open_regular;
pub use query_program::{Answer, ask};
pub use record::{EndReason, ExitRecord, RECORD_FORMAT, Started, Usage};
pub use run_status::{RunEnd, RunStatus, inspect, wait};
pub use rundir::{RunDir, prepare};
pub use spec::{RunSpec, resolve_program};
pub use stop::{Stop, StopOutcome, end_survivors, end_vanished, stop, wake};
