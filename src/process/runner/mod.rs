//! The runner: this very program as `swarm __runner DIR`, one process per run, single-threaded, outliving the daemon.
//!
//! Order, and what `kill -9` leaves at each step (the lock goes with the process every time):
//! 1. signals blocked, then the lock taken: nothing yet; launch again.
//! 2. child program started (`swarm __child DIR PID`), PDEATHSIG set on itself: dies with the runner; nothing was executed.
//! 3. the child claims `started.json`, durably and exclusively, then executes the program: the run is lost, its child killed.
//! 4. the child ended, the rest of its tree is ended too: lost; the tree's survivors are found by their environment.
//! 5. `exit.json` renamed into place: over.
//!
//! Invariant: one thread only. PDEATHSIG fires when the *thread* that started the child ends.

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

use super::descriptors;
use super::error::{Context as _, Result};
use super::lock;
use super::rundir::RunDir;
use crate::crash;

/// The hidden child programs. Call first in `main`, with all arguments, before anything else looks at them or starts a thread:
/// `Some` is the exit code of the runner or the child that this process was.
pub fn hidden_program(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    let program = args.next()?;
    if program == "__runner" {
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

/// Runs the prepared run in `dir` to its end. Does nothing when another runner has it, or when it was ever started.
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
    // Fails only for a process group leader, as when started by hand from a shell: then it has a group of its own anyway.
    let _ = setsid();
    // Before the lock: whoever sees the lock may signal, and that must never be deadly.
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
