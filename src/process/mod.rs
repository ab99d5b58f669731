//! Runs one supervised child process: an iteration, a quality command or a hook. Called by
//! `daemon`.
//!
//! ```text
//! daemon                    runner (this binary, detached)          child
//! prepare  -> runs/<id>/
//! launch   ---------------> lock, sub-reaper, signals
//!                           spawn ------------------------------->  PDEATHSIG, claim, exec
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
//! * A run with a live runner is locked (`run_dir/lock`). A run that has ended has `exit.json`. A
//!   run that is claimed, unlocked and without `exit.json` is lost: its runner was killed.
//! * The daemon may die at any instruction: everything it needs to continue is in the run
//!   directory.
//! * A process is never signalled by its pid alone: swarm opens a pidfd, then compares identities.
//!
//! | place | does |
//! | --- | --- |
//! | `launch`, `stop` | start a runner; end a run from outside |
//! | `runner` | the detached process that owns one child |
//! | `run_dir` | the directory of a run: its files, records, lease, output, age and status |
//! | `query_program` | a short question to a program, without a run |
//! | `run_above` | the live runs that a process belongs to |
//! | `os` | pidfds, identities, process trees and ancestors, descriptors |
//!
//! Needs Linux 5.4 (pidfd, `P_PIDFD`). The Linux-specific code is in `os` and `runner`.

mod error;
mod launch;
mod os;
mod query_program;
mod run_above;
mod run_dir;
pub mod runner;
mod stop;

pub use error::ProcessError;
pub use launch::{Launched, launch};
pub use os::identity::{Identity, is_stopped};
pub use query_program::{Answer, query_program};
pub use run_above::{run_above, runs_above};
pub use run_dir::age::{RunAge, run_age};
pub use run_dir::lease::{Alive, Lease, hold};
pub use run_dir::output::{OutputFollower, PIECE, tail, tail_lines};
pub use run_dir::record::{EndReason, ExitRecord, RECORD_FORMAT, Started, Usage};
pub use run_dir::spec::{RunSpec, resolve_program};
pub use run_dir::status::{RunEnd, RunStatus, inspect, wait};
pub use run_dir::{RunDir, prepare};
pub use stop::{Stop, StopOutcome, end_survivors, end_vanished, stop, wake};
