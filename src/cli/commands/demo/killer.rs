//! Kills one of the demo's agents, like an accident would.
//!
//! Invariant: it kills only a child of one of the demo's runs, whose output says that it waits to
//! be killed, and whose identity (boot, pid, start time) matches its runner's record.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::agents::demo::WAITING_TO_BE_KILLED;
use crate::daemon::actor::handle::Handle;
use crate::domain::ids::RunId;
use crate::domain::state::State;
use crate::process::{RunDir, RunStatus, inspect, tail};

/// How long it waits between two checks.
const PAUSE: Duration = Duration::from_millis(100);
/// How many bytes at the end of an output it reads.
const TAIL: usize = 4 * 1024;

/// Waits for an agent that asks to be killed.
pub(super) struct Killer {
    runs: PathBuf,
    at_work: Arc<Mutex<Option<AtWork>>>,
}

struct AtWork {
    /// Dropping it ends the thread.
    stop: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Killer {
    pub(super) fn new(runs: PathBuf) -> Self {
        Self {
            runs,
            at_work: Arc::default(),
        }
    }

    /// Starts to watch when the daemon is ready.
    pub(super) fn on_ready(&self) -> Box<dyn FnOnce(Handle) + Send> {
        let (runs, at_work) = (self.runs.clone(), Arc::clone(&self.at_work));
        Box::new(move |handle| {
            let (stop, stopped) = mpsc::channel();
            let thread = thread::spawn(move || {
                let mut killed = BTreeSet::new();
                while stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                    find_victims(&runs, &handle, &mut killed);
                }
            });
            let begun = Some(AtWork { stop, thread });
            *at_work.lock().unwrap_or_else(PoisonError::into_inner) = begun;
        })
    }

    /// Ends the thread.
    pub(super) fn finish(self) {
        let at_work = self
            .at_work
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(AtWork { stop, thread }) = at_work {
            drop(stop);
            // A panic there means only that nobody was killed.
            drop(thread.join());
        }
    }
}

fn live_runs(state: &State) -> Vec<RunId> {
    let runs = state
        .agents
        .values()
        .filter_map(|attempt| attempt.run.clone());
    runs.collect()
}

fn find_victims(runs: &Path, handle: &Handle, killed: &mut BTreeSet<RunId>) {
    for run in handle.read(live_runs) {
        if !killed.contains(&run) && waits(runs, &run) && strike(runs, &run) {
            killed.insert(run);
        }
    }
}

fn waits(runs: &Path, run: &RunId) -> bool {
    let Ok(dir) = RunDir::open(runs, run.as_str()) else {
        return false;
    };
    tail(&dir.stdout(), TAIL).is_ok_and(|text| text.contains(WAITING_TO_BE_KILLED))
}

/// Kills the child of a run. Its runner has not reaped it while its identity exists, so the pid is
/// still its own.
fn strike(runs: &Path, run: &RunId) -> bool {
    let Ok(dir) = RunDir::open(runs, run.as_str()) else {
        return false;
    };
    let Ok(RunStatus::Running {
        started: Some(started),
        ..
    }) = inspect(&dir)
    else {
        return false;
    };
    started.child().exists().unwrap_or(false)
        && kill(Pid::from_raw(started.pid), Signal::SIGKILL).is_ok()
}
