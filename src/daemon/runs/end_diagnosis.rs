//! Diagnosis of a run's end: whether the disk was full, and the last lines of its output. Called by
//! `run`.
//!
//! Invariant: never blocks one of the daemon's two worker threads. Truncating the output of a hook
//! may free gigabytes, and every request would wait for that.

use std::io;
use std::path::{Path, PathBuf};

use tokio::task::{JoinError, spawn_blocking};

use super::script::HOOK_OUTPUT_BYTES;
use crate::agents::text;
use crate::domain::effect::Purpose;
use crate::domain::observation::RunEndKind;
use crate::process::{self, RunDir};

/// Bytes read from the end of an agent's standard error.
const STDERR_END: usize = 2_048;
/// Most characters of it that are reported.
const LAST_WORDS: usize = 200;
/// Free bytes below which hardly anything can be written.
const FULL_BELOW: u64 = 1024 * 1024;

/// Why a run failed, as far as its files tell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EndDiagnosis {
    /// The disk was full, so the failure says nothing about the agent or the checked work.
    DiskFull,
    /// The end of its output if it failed.
    LastWords(Option<String>),
}

/// Diagnoses the run in `dir`, a directory below `runs`, that ended with `how`.
pub(crate) async fn diagnose_end(
    dir: RunDir,
    runs: PathBuf,
    purpose: Purpose,
    how: RunEndKind,
) -> Result<EndDiagnosis, JoinError> {
    spawn_blocking(move || {
        if is_from_full_disk(&how, &runs) {
            return EndDiagnosis::DiskFull;
        }
        EndDiagnosis::LastWords(match purpose {
            Purpose::Iteration { .. } => last_words(&dir, &how),
            Purpose::Hook { .. } => {
                truncate_output(&dir);
                command_last_words(&dir, &how)
            }
            Purpose::Baseline { .. } => command_last_words(&dir, &how),
            Purpose::Gate { .. } | Purpose::Verify { .. } => None,
        })
    })
    .await
}

/// The end of a failed agent's standard error, which often names the cause. All of it stays in the
/// run's directory.
fn last_words(dir: &RunDir, how: &RunEndKind) -> Option<String> {
    let failed = match how {
        RunEndKind::Exited { code } => *code != 0,
        RunEndKind::Signalled { .. } => true,
        RunEndKind::TimedOut
        | RunEndKind::Idle
        | RunEndKind::Stopped
        | RunEndKind::LeaseExpired
        | RunEndKind::OutputLimit
        | RunEndKind::NotStarted { .. }
        | RunEndKind::Lost => false,
    };
    failed.then(|| end_of(&dir.stderr()))?
}

/// Truncates the output to its limit: a fast writer exceeds it before it is stopped.
fn truncate_output(dir: &RunDir) {
    for file in [dir.stdout(), dir.stderr()] {
        let truncate = || -> io::Result<()> {
            if file.metadata()?.len() > HOOK_OUTPUT_BYTES {
                let file = std::fs::OpenOptions::new().write(true).open(&file)?;
                file.set_len(HOOK_OUTPUT_BYTES)?;
            }
            Ok(())
        };
        if let Err(error) = truncate() {
            tracing::warn!(%error, file = %file.display(), "the output of a hook could not be \
                truncated to its limit");
        }
    }
}

/// The end of a failed command's standard error, or of its standard output if that is empty.
fn command_last_words(dir: &RunDir, how: &RunEndKind) -> Option<String> {
    if *how == (RunEndKind::Exited { code: 0 }) {
        return None;
    }
    end_of(&dir.stderr()).or_else(|| end_of(&dir.stdout()))
}

/// The end of a file, as one line without control characters.
fn end_of(file: &Path) -> Option<String> {
    let end = process::tail(file, STDERR_END);
    let line = text::one_line(&end.unwrap_or_default());
    let characters = line.chars().count();
    let words: String = match characters.checked_sub(LAST_WORDS) {
        None | Some(0) => line,
        Some(over) => std::iter::once('\u{2026}')
            .chain(line.chars().skip(over + 1))
            .collect(),
    };
    (!words.is_empty()).then_some(words)
}

fn is_from_full_disk(how: &RunEndKind, place: &Path) -> bool {
    let failed = match how {
        RunEndKind::Exited { code } => *code != 0,
        RunEndKind::Signalled { .. } | RunEndKind::NotStarted { .. } => true,
        RunEndKind::TimedOut
        | RunEndKind::Idle
        | RunEndKind::Stopped
        | RunEndKind::LeaseExpired
        | RunEndKind::OutputLimit
        | RunEndKind::Lost => false,
    };
    failed && is_full(place)
}

/// Whether the disk at `place` is full. Blocks for a moment.
pub(crate) fn is_full(place: &Path) -> bool {
    nix::sys::statvfs::statvfs(place).is_ok_and(|disk| {
        #[allow(clippy::useless_conversion)] // The counters are narrower on some systems.
        let free = u64::from(disk.blocks_available()).saturating_mul(disk.fragment_size());
        free < FULL_BELOW || (disk.files() > 0 && disk.files_available() == 0)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::pin::pin;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::domain::hook::HookName;

    /// Long enough for a busy machine.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn run_in(runs: &Path) -> RunDir {
        process::prepare(runs, &process::RunSpec::of_true("r1"), &[]).unwrap()
    }

    fn hook() -> Purpose {
        Purpose::Hook {
            hook: HookName::OnLearning,
            seq: 1,
            agent: None,
            idea: None,
        }
    }

    async fn diagnose(dir: &RunDir, how: RunEndKind) -> EndDiagnosis {
        let runs = dir.path().parent().unwrap().to_owned();
        diagnose_end(dir.clone(), runs, hook(), how).await.unwrap()
    }

    /// The only blocking thread is occupied, which stands for a slow disk.
    #[test]
    fn a_slow_disk_does_not_block_the_worker() {
        let runs = tempfile::tempdir().unwrap();
        let dir = run_in(runs.path());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (release, released) = mpsc::channel();
            let disk = spawn_blocking(move || released.recv_timeout(PATIENCE));
            let mut diagnosis = pin!(diagnose(&dir, RunEndKind::Exited { code: 3 }));
            tokio::select! {
                biased;
                early = &mut diagnosis => panic!("diagnosed on the worker itself: {early:?}"),
                served = tokio::spawn(async {}) => served.unwrap(),
            }
            release.send(()).unwrap();
            assert_eq!(diagnosis.await, EndDiagnosis::LastWords(None));
            disk.await.unwrap().unwrap();
        });
    }

    #[tokio::test]
    async fn hook_output_is_truncated_and_reported_if_the_hook_failed() {
        let runs = tempfile::tempdir().unwrap();
        let dir = run_in(runs.path());
        fs::write(dir.stderr(), "one\ntwo").unwrap();
        let file = fs::File::create(dir.stdout()).unwrap();
        file.set_len(HOOK_OUTPUT_BYTES + 1).unwrap();
        let passed = diagnose(&dir, RunEndKind::Exited { code: 0 }).await;
        assert_eq!(passed, EndDiagnosis::LastWords(None));
        assert_eq!(file.metadata().unwrap().len(), HOOK_OUTPUT_BYTES);
        let failed = diagnose(&dir, RunEndKind::Exited { code: 1 }).await;
        assert_eq!(failed, EndDiagnosis::LastWords(Some("one two".into())));
    }
}
