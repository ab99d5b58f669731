//! Ends a demo so that nothing remains: no process, and no folder unless it is kept.
//!
//! Invariant: from [`Interrupts::catch`] on, Ctrl+C, SIGTERM and SIGHUP never end this process
//! before it has tidied up.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, raise};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tempfile::TempDir;

use crate::cli::error::CliError;
use crate::process::{self, RunDir, RunStatus, Stop};
use crate::remove;

/// How long the processes of all runs may take to end, and the folder to be removed.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it waits between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Whether somebody has asked the demo to end.
#[derive(Debug, Clone)]
pub(super) struct Interrupts(Arc<AtomicBool>);

impl Interrupts {
    /// From now on a signal is remembered. A daemon that runs receives it too.
    pub(super) fn catch() -> Result<Self, CliError> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&asked))
                .map_err(|error| CliError::io("catch signals", &error))?;
        }
        Ok(Self(asked))
    }

    pub(super) fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sends the daemon in this process a signal that came before it could receive any.
    pub(super) fn repeat(&self) {
        if self.asked() {
            // A signal that cannot be raised leaves the demo to end by itself.
            let _ = raise(Signal::SIGINT);
        }
    }
}

/// Ends every run that a daemon left running.
pub(super) fn end_runs(runs: &Path) {
    let until = Instant::now() + PATIENCE;
    let Ok(entries) = fs::read_dir(runs) else {
        // No run was ever prepared.
        return;
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let runs: Vec<RunDir> = names
        .filter_map(|id| RunDir::open(runs, &id).ok())
        .collect();
    let is_running = |run: &&RunDir| {
        let status = process::inspect(run);
        matches!(status, Ok(RunStatus::Running { .. }))
    };
    for run in runs.iter().filter(is_running) {
        // A run that cannot be stopped now is tried by the wait below, and named by the removal.
        drop(process::stop(run, Stop::Now));
    }
    while runs.iter().any(|run| is_running(&run)) && Instant::now() < until {
        thread::sleep(PAUSE);
    }
    for run in &runs {
        if matches!(process::inspect(run), Ok(RunStatus::Lost { .. })) {
            drop(process::end_survivors(run, Duration::from_secs(1)));
        }
    }
}

/// Removes the folder, also while a last git command still writes to it.
pub(super) fn remove_folder(folder: TempDir) -> Result<(), CliError> {
    let path = folder.keep();
    let until = Instant::now() + PATIENCE;
    loop {
        match remove::tree_if_there(&path) {
            Err(_) if Instant::now() < until => thread::sleep(PAUSE),
            removed => {
                let what = format!("remove {}", path.display());
                return removed.map_err(|error| CliError::io(what, &error));
            }
        }
    }
}
