//! The runner: this program as `swarm __runner DIR`, one single-threaded process per run. It
//! outlives the daemon.
//!
//! Its steps, and what `kill -9` leaves after each. The lock always goes with the process.
//! 1. It blocks signals and takes the lock: nothing ran; launch again.
//! 2. It starts `swarm __child DIR PID`, which sets PDEATHSIG on itself: nothing ran, and the child
//!    dies with the runner.
//! 3. The child claims `started.json`, durably and exclusively, then executes the program: the run
//!    is lost and its child is killed.
//! 4. After the child's end it ends the rest of the tree: the run is lost, and survivors are found
//!    by their environment.
//! 5. It renames `exit.json` into place: the run is over.
//!
//! Invariant: one thread only, because PDEATHSIG fires when the *thread* that started the child
//! ends.

mod child;
mod finish;
mod output_limit;
mod signals;
mod supervise;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use nix::sys::prctl::set_child_subreaper;
use nix::unistd::setsid;

use super::error::{Context as _, Result};
use super::os::descriptors;
use super::run_dir::RunDir;
use super::run_dir::lock;
use crate::crash;

/// The hidden subcommand of the runner.
pub(super) const PROGRAM: &str = "__runner";

/// Runs the hidden subcommands of the runner and the child; returns `None` for any other command
/// line. Call it first in `main` with all arguments, before anything starts a thread.
pub fn hidden_program(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    let program = args.next()?;
    if program == PROGRAM {
        return Some(main(Path::new(&args.next()?)));
    }
    if program == child::PROGRAM {
        return Some(child::main(
            Path::new(&args.next()?),
            args.next()?.to_str()?,
        ));
    }
    None
}

/// Runs the prepared run in `dir` to its end. Does nothing if another runner has it, or if it was
/// ever started.
pub fn main(dir: &Path) -> ExitCode {
    match run(dir) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error is `runner.log`.
            eprintln!("runner {}: {error}", std::process::id());
            ExitCode::FAILURE
        }
    }
}

fn run(path: &Path) -> Result<()> {
    // Fails only for a process group leader, such as when started by hand from a shell. That is
    // fine.
    let _ = setsid();
    // Before the lock, because whoever sees the lock may send signals, and those must not kill.
    let signals = signals::block().on("block signals for", path)?;
    descriptors::close_on_exec().on("list descriptors for", path)?;
    let dir = RunDir::open_path(path)?;
    let Some(_lock) = lock::try_take(&dir.lock()).on("lock", &dir.lock())? else {
        return Ok(());
    };
    crash::point("runner.locked");
    if dir.started().exists() || dir.exit().exists() {
        return Ok(());
    }
    signals::ignore_none().on("reset signals for", path)?;
    set_child_subreaper(true).on("become the reaper for", path)?;
    match supervise::run(&dir, &signals)? {
        Some(outcome) => finish::record(&dir, &outcome, &signals),
        None => Ok(()),
    }
}
