//! Age of a run, for the clean-up of old runs.
//!
//! Invariant: a run with a live runner is never over. The time comes from the run's own record; a
//! file date counts only if nothing ran and so nothing was recorded.

use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::RunDir;
use super::status::{RunStatus, inspect};
use crate::domain::time::Timestamp;
use crate::process::error::{Context as _, Result};

/// Whether a run is over, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunAge {
    /// The runner is alive.
    Running,
    /// Over since this time. A lost run counts from its start, and one that never started from its
    /// preparation.
    Over(Timestamp),
}

/// Determines the age of the run `id` without disturbing it.
///
/// # Errors
/// There is no such run, or its records are damaged or from a newer version.
pub fn run_age(runs_dir: &Path, id: &str) -> Result<RunAge> {
    let dir = RunDir::open(runs_dir, id)?;
    Ok(match inspect(&dir)? {
        RunStatus::Running { .. } => RunAge::Running,
        RunStatus::Exited(record) => RunAge::Over(record.ended_at),
        RunStatus::Lost { started } => RunAge::Over(started.started_at),
        RunStatus::Prepared => RunAge::Over(prepared_at(&dir).on("inspect", dir.path())?),
    })
}

fn prepared_at(dir: &RunDir) -> io::Result<Timestamp> {
    let written = fs::metadata(dir.path())?.modified()?;
    let since = written.duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Ok(Timestamp::from_millis(millis))
}

#[cfg(test)]
mod tests {

    use super::super::prepare;
    use super::super::record::{self, EndReason, ExitRecord, Started, Usage};
    use super::super::spec::RunSpec;
    use super::*;

    fn run(runs: &Path, id: &str) -> RunDir {
        prepare(runs, &RunSpec::of_true(id), &[]).unwrap()
    }

    fn claim(dir: &RunDir) {
        let started = Started {
            runner_pid: 7,
            runner_start_time: 70,
            pid: 8,
            start_time: 80,
            boot_id: "boot".into(),
            started_at: Timestamp::from_millis(1_000),
        };
        assert!(record::claim(dir, &started).unwrap());
    }

    #[test]
    fn the_time_comes_from_the_record_not_the_file() {
        let runs = tempfile::tempdir().unwrap();
        let lost = run(runs.path(), "lost");
        claim(&lost);
        let over = |millis| RunAge::Over(Timestamp::from_millis(millis));
        assert_eq!(run_age(runs.path(), "lost").unwrap(), over(1_000));
        let ended = run(runs.path(), "ended");
        claim(&ended);
        let exit = ExitRecord {
            reason: EndReason::Exited,
            code: Some(0),
            signal: None,
            spawn_error: None,
            started_at: Timestamp::from_millis(1_000),
            ended_at: Timestamp::from_millis(2_000),
            ran_ms: 1_000,
            rusage: Usage::default(),
            stdout_bytes: 0,
            stderr_bytes: 0,
            left_behind: 0,
        };
        record::write_exit(&ended, &exit).unwrap();
        assert_eq!(run_age(runs.path(), "ended").unwrap(), over(2_000));
    }

    #[test]
    fn a_run_that_never_started_has_the_age_of_its_directory() {
        let runs = tempfile::tempdir().unwrap();
        run(runs.path(), "new");
        let RunAge::Over(at) = run_age(runs.path(), "new").unwrap() else {
            panic!("nobody holds its lock");
        };
        assert!(record::now().since(at).abs() < 60_000);
    }

    #[test]
    fn a_missing_or_damaged_run_is_an_error() {
        let runs = tempfile::tempdir().unwrap();
        std::fs::write(runs.path().join("file"), "").unwrap();
        for name in ["file", "missing", ".new-x", "../x"] {
            assert!(run_age(runs.path(), name).is_err(), "{name}");
        }
        let damaged = run(runs.path(), "damaged");
        std::fs::write(damaged.file("exit.json"), "{").unwrap();
        assert!(run_age(runs.path(), "damaged").is_err());
    }
}
