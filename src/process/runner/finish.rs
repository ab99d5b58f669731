//! Writes the exit record, the last step of a runner.
//!
//! Invariant: a full disk delays the record but never cancels it. The lock stays held meanwhile, so
//! the run counts as running until the record exists.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::sys::time::{TimeVal, TimeValLike as _};
use rustix::process::WaitStatus;

use super::super::error::{Context as _, Result};
use super::supervise::Outcome;
use crate::crash;
use crate::process::os::pidfd::poll_readable;
use crate::process::run_dir::RunDir;
use crate::process::run_dir::record::{self, ExitRecord, RESERVE, Usage};
use crate::remove;

/// How often to try to write the record on a failing disk.
const TRIES: u32 = 3;

/// Writes `exit.json`. Retries each second while the disk is full, unless asked to end now, and a
/// few times on other errors: without the record the run is lost, and its work is repeated.
pub(super) fn record(dir: &RunDir, outcome: &Outcome, signals: &SignalFd) -> Result<()> {
    // Exists only if the child failed before its claim, and may hold secrets. An error, most often
    // that it is gone, is ignored: the record counts more, and the folder is closed to others.
    let _ = remove::file(&dir.env());
    let record = exit_record(dir, outcome);
    let mut tries = 1;
    loop {
        match record::write_exit(dir, &record) {
            Err(error) if is_full(&error) => {
                eprintln!("the disk is full, retrying to write the exit record: {error}");
                if asked_to_end_now(signals) {
                    return Err(error).on("write", &dir.exit());
                }
            }
            Err(error) if tries < TRIES => {
                eprintln!("cannot write the exit record, retrying: {error}");
                tries += 1;
                // A file whose sync failed cannot be trusted to sync again, so write a new one. An
                // error is ignored: the next write meets the same disk and reports it.
                let _ = remove::file(&dir.exit_reserve());
                if asked_to_end_now(signals) {
                    return Err(error).on("write", &dir.exit());
                }
            }
            other => {
                crash::point("runner.after-exit-record");
                return other.on("write", &dir.exit());
            }
        }
    }
}

/// Waits for a signal, at most one second; returns whether it asks to end now.
fn asked_to_end_now(signals: &SignalFd) -> bool {
    let ready = poll_readable(signals.as_fd(), Some(Duration::from_secs(1)));
    let signal = ready
        .ok()
        .and_then(|_| signals.read_signal().ok().flatten());
    signal.is_some_and(|info| i64::from(info.ssi_signo) == i64::from(Signal::SIGUSR1 as i32))
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

fn exit_record(dir: &RunDir, outcome: &Outcome) -> ExitRecord {
    ExitRecord {
        reason: outcome.reason,
        code: outcome.status.and_then(WaitStatus::exit_status),
        signal: outcome.status.and_then(WaitStatus::terminating_signal),
        spawn_error: outcome.spawn_error.as_deref().map(fit),
        started_at: outcome.started_at,
        ended_at: record::now(),
        ran_ms: i64::try_from(outcome.began.elapsed().as_millis()).unwrap_or(i64::MAX),
        rusage: usage(),
        stdout_bytes: size(&dir.stdout()),
        stderr_bytes: size(&dir.stderr()),
        left_behind: outcome.left_behind,
    }
}

/// Cuts `text` so that it fits the reserved space even if every character is escaped.
fn fit(text: &str) -> String {
    text.chars().take(RESERVE / 8).collect()
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

fn usage() -> Usage {
    let Ok(used) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return Usage::default(); // it only fails for an unknown argument
    };
    let millis = |time: TimeVal| u64::try_from(time.num_milliseconds()).unwrap_or(0);
    Usage {
        user_ms: millis(used.user_time()),
        system_ms: millis(used.system_time()),
        max_rss_kb: u64::try_from(used.max_rss()).unwrap_or(0),
    }
}
