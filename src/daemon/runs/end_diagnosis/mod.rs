//! Diagnosis of a run's end: whether the disk was full, and what its output says: `failed_tests`
//! counts, `failure_fingerprint` tells whether it is the same failure as the last one, wherever in
//! a file (`failure_positions`). Called by `run`.
//!
//! Invariant: never blocks one of the daemon's two worker threads. Truncating the output of a hook
//! may free gigabytes, and every request would wait for that.

mod failed_tests;
mod failure_fingerprint;
mod failure_positions;

use std::io;
use std::path::{Path, PathBuf};

use tokio::task::{JoinError, spawn_blocking};

use super::script::HOOK_OUTPUT_BYTES;
use crate::agents::text;
use crate::domain::effect::Purpose;
use crate::domain::observation::RunEndKind;
use crate::process::{self, RunDir};
use failure_fingerprint::fingerprint;

/// Bytes read from the end of an agent's standard error.
const STDERR_END: usize = 2_048;
/// Bytes read from the end of each output of a quality command.
const CHECK_END: usize = 64 * 1024;
/// Most characters of an output that are reported.
const LAST_WORDS: usize = 200;
/// Free bytes below which hardly anything can be written.
const FULL_BELOW: u64 = 1024 * 1024;
/// Free bytes below which a program that speaks of a full disk is believed: what filled it, or the
/// program itself, may have given a part back by then.
const LOW_BELOW: u64 = 64 * 1024 * 1024;

/// Why a run failed, as far as its files tell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EndDiagnosis {
    /// The disk was full, so the failure says nothing about the agent or the checked work.
    DiskFull,
    /// What its output says if it failed.
    Output(FailedOutput),
}

/// What the output of a failed run says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FailedOutput {
    /// Its end, as one line.
    pub(crate) last_words: Option<String>,
    /// Of a quality command: see [`fingerprint`].
    pub(crate) fingerprint: Option<String>,
    /// Of a quality command: the number of failed tests in its summary.
    pub(crate) failed_tests: Option<u32>,
    /// Of a quality command: whether it says that a port or a database was in use.
    pub(crate) in_use: bool,
    /// Of a quality command: whether it says that a port was in use.
    pub(crate) port_in_use: bool,
}

/// What programs print when another process has the port that they need, in lower case.
const PORT_IN_USE: &[&str] = &[
    "address already in use",
    "address in use",
    "eaddrinuse",
    "port is already allocated",
    "port already in use",
    "is already in use",
];
/// The same for a database.
const DATABASE_IN_USE: &[&str] = &[
    "database is locked",
    "database table is locked",
    "sqlite_busy",
    "is being accessed by other users",
];

/// What programs print when they cannot write, in lower case. A shell says `I/O error` of a full
/// disk too.
const CANNOT_WRITE: &[&str] = &[
    "no space left on device",
    "enospc",
    "disk quota exceeded",
    "i/o error",
    "input/output error",
];

/// Whether an output has one of these words.
fn says(output: &str, any: &[&str]) -> bool {
    let output = output.to_lowercase();
    any.iter().any(|words| output.contains(words))
}

/// Diagnoses the run in `dir` that ended with `how`. It may have filled the disks of `places`.
pub(crate) async fn diagnose_end(
    dir: RunDir,
    places: [PathBuf; 2],
    purpose: Purpose,
    how: RunEndKind,
) -> Result<EndDiagnosis, JoinError> {
    spawn_blocking(move || {
        if may_be_from_full_disk(&how) && places.iter().any(|place| fills(place, &dir)) {
            return EndDiagnosis::DiskFull;
        }
        let only = |last_words| FailedOutput {
            last_words,
            ..FailedOutput::default()
        };
        EndDiagnosis::Output(match purpose {
            Purpose::Iteration { .. } | Purpose::Synthesis { .. } | Purpose::Replay { .. } => {
                only(last_words(&dir, &how))
            }
            Purpose::Canary { .. } => only(command_last_words(&dir, &how)),
            Purpose::Hook { .. } => {
                truncate_output(&dir);
                only(command_last_words(&dir, &how))
            }
            Purpose::Baseline { .. } => FailedOutput {
                last_words: command_last_words(&dir, &how),
                fingerprint: None,
                ..check_output(&dir, &how)
            },
            Purpose::Gate { .. }
            | Purpose::CommitHooks { .. }
            | Purpose::Verify { .. }
            | Purpose::Setup { .. } => check_output(&dir, &how),
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

/// The output of a failed quality command: tools disagree about which stream tells the reason.
fn check_output(dir: &RunDir, how: &RunEndKind) -> FailedOutput {
    if *how == (RunEndKind::Exited { code: 0 }) {
        return FailedOutput::default();
    }
    let ends = [dir.stdout(), dir.stderr()].map(|file| process::tail(&file, CHECK_END));
    let fingerprint = match &ends {
        [Ok(stdout), Ok(stderr)] => Some(fingerprint(&[stdout, stderr])),
        _ => None,
    };
    let said = |any| ends.iter().flatten().any(|end| says(end, any));
    let port_in_use = said(PORT_IN_USE);
    let in_use = port_in_use || said(DATABASE_IN_USE);
    let failed_tests = match &ends {
        [Ok(stdout), Ok(stderr)] => failed_tests::count(&format!("{stdout}\n{stderr}")),
        _ => None,
    };
    let lines = ends.map(|end| text::one_line(&end.unwrap_or_default()));
    let filled: Vec<&str> = lines.iter().map(String::as_str).collect();
    let filled: Vec<&str> = filled.into_iter().filter(|line| !line.is_empty()).collect();
    let room = LAST_WORDS / filled.len().max(1) - 2;
    let words: Vec<String> = filled
        .into_iter()
        .map(|line| line_end(line, room))
        .collect();
    FailedOutput {
        last_words: (!words.is_empty()).then(|| words.join(" | ")),
        fingerprint,
        in_use,
        port_in_use,
        failed_tests,
    }
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
    (!line.is_empty()).then(|| line_end(&line, LAST_WORDS))
}

/// The last characters of a line, at most `most`.
fn line_end(line: &str, most: usize) -> String {
    match line.chars().count().checked_sub(most) {
        None | Some(0) => line.to_owned(),
        Some(over) => std::iter::once('\u{2026}')
            .chain(line.chars().skip(over + 1))
            .collect(),
    }
}

/// Whether a full disk can end a run like this.
fn may_be_from_full_disk(how: &RunEndKind) -> bool {
    match how {
        RunEndKind::Exited { code } => *code != 0,
        RunEndKind::Signalled { .. } | RunEndKind::NotStarted { .. } => true,
        RunEndKind::TimedOut
        | RunEndKind::Idle
        | RunEndKind::Stopped
        | RunEndKind::LeaseExpired
        | RunEndKind::OutputLimit
        | RunEndKind::Lost => false,
    }
}

/// Whether the disk at `place` is full, or so nearly full that the words of the run are believed.
fn fills(place: &Path, dir: &RunDir) -> bool {
    is_full(place) || free(place).is_some_and(|free| free < LOW_BELOW) && could_not_write(dir)
}

/// Whether the run says that it could not write.
fn could_not_write(dir: &RunDir) -> bool {
    let ends = [dir.stdout(), dir.stderr()].map(|file| process::tail(&file, STDERR_END));
    ends.iter().flatten().any(|end| says(end, CANNOT_WRITE))
}

/// Whether the disk at `place` is full. Blocks for a moment.
pub(crate) fn is_full(place: &Path) -> bool {
    let no_inode = nix::sys::statvfs::statvfs(place)
        .is_ok_and(|disk| disk.files() > 0 && disk.files_available() == 0);
    no_inode || free(place).is_some_and(|free| free < FULL_BELOW)
}

/// The free bytes of the disk at `place`; `None` if it does not say.
fn free(place: &Path) -> Option<u64> {
    let disk = nix::sys::statvfs::statvfs(place).ok()?;
    #[allow(clippy::useless_conversion)] // The counters are narrower on some systems.
    let blocks = u64::from(disk.blocks_available());
    Some(blocks.saturating_mul(disk.fragment_size()))
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

    fn said(words: &str) -> EndDiagnosis {
        EndDiagnosis::Output(FailedOutput {
            last_words: Some(words.into()),
            ..FailedOutput::default()
        })
    }

    async fn diagnose(dir: &RunDir, how: RunEndKind) -> EndDiagnosis {
        let runs = dir.path().parent().unwrap().to_owned();
        diagnose_end(dir.clone(), [runs.clone(), runs], hook(), how)
            .await
            .unwrap()
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
            assert_eq!(
                diagnosis.await,
                EndDiagnosis::Output(FailedOutput::default())
            );
            disk.await.unwrap().unwrap();
        });
    }

    #[test]
    fn what_another_process_holds_is_recognised_in_an_output() {
        for output in [
            "Error: listen EADDRINUSE: address already in use 127.0.0.1:3000",
            "OSError: [Errno 98] Address already in use",
            "Bind for 0.0.0.0:5432 failed: port is already allocated",
        ] {
            assert!(says(output, PORT_IN_USE), "{output}");
        }
        let locked = "sqlite3.OperationalError: database is locked";
        assert!(says(locked, DATABASE_IN_USE) && !says(locked, PORT_IN_USE));
        for output in [
            "",
            "the address is wrong",
            "1 test failed: port 3000 is closed",
        ] {
            assert!(!says(output, PORT_IN_USE), "{output}");
            assert!(!says(output, DATABASE_IN_USE), "{output}");
        }
    }

    #[test]
    fn a_program_that_could_not_write_is_recognised_by_its_output() {
        for output in [
            "claude: 20: echo: echo: I/O error",
            "Error: ENOSPC: no space left on device, write",
            "OSError: [Errno 122] Disk quota exceeded",
        ] {
            let runs = tempfile::tempdir().unwrap();
            let dir = run_in(runs.path());
            assert!(!could_not_write(&dir));
            fs::write(dir.stderr(), output).unwrap();
            assert!(could_not_write(&dir), "{output}");
        }
    }

    #[tokio::test]
    async fn hook_output_is_truncated_and_reported_if_the_hook_failed() {
        let runs = tempfile::tempdir().unwrap();
        let dir = run_in(runs.path());
        fs::write(dir.stderr(), "one\ntwo").unwrap();
        let file = fs::File::create(dir.stdout()).unwrap();
        file.set_len(HOOK_OUTPUT_BYTES + 1).unwrap();
        let passed = diagnose(&dir, RunEndKind::Exited { code: 0 }).await;
        assert_eq!(passed, EndDiagnosis::Output(FailedOutput::default()));
        assert_eq!(file.metadata().unwrap().len(), HOOK_OUTPUT_BYTES);
        let failed = diagnose(&dir, RunEndKind::Exited { code: 1 }).await;
        assert_eq!(failed, said("one two"));
    }

    #[test]
    fn a_failed_check_is_reported_with_the_end_of_both_outputs() {
        let runs = tempfile::tempdir().unwrap();
        let dir = run_in(runs.path());
        let output = |how: &RunEndKind| check_output(&dir, how);
        let failed = RunEndKind::Exited { code: 2 };
        fs::write(dir.stdout(), "1 failed in 0.10s\n").unwrap();
        let first = output(&failed);
        assert_eq!(first.last_words.as_deref(), Some("1 failed in 0.10s"));
        fs::write(dir.stdout(), "1 failed in 2.25s\n").unwrap();
        assert_eq!(output(&failed).fingerprint, first.fingerprint);
        fs::write(dir.stderr(), "make: *** [check] Error 1\n").unwrap();
        let both = output(&failed);
        let words = "1 failed in 2.25s | make: *** [check] Error 1";
        assert_eq!(both.last_words.as_deref(), Some(words));
        assert_ne!(both.fingerprint, first.fingerprint);
        fs::write(dir.stdout(), "x".repeat(1_000)).unwrap();
        let long = output(&failed).last_words.unwrap();
        assert!(long.chars().count() <= LAST_WORDS, "{long}");
        assert_eq!(
            output(&RunEndKind::Exited { code: 0 }),
            FailedOutput::default()
        );
    }
}
