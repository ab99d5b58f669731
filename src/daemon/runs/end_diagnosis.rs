//! What a run leaves on the disk, looked at when it is over: whether there was room, and its last
//! words.
//!
//! Invariant: none of this is done on one of the daemon's own workers, of which there are two. To
//! cut what a hook wrote to its limit frees the pages of gigabytes, and whoever asks the daemon
//! something would wait for that.

use std::io;
use std::path::{Path, PathBuf};

use tokio::task::{JoinError, spawn_blocking};

use super::script::HOOK_OUTPUT_BYTES;
use crate::agents::text;
use crate::domain::effect::Purpose;
use crate::domain::observation::RunEndKind;
use crate::process::{self, RunDir};

/// How much of the end of an agent's standard error is looked at, in bytes, and how much of it is
/// told, in characters.
const STDERR_END: usize = 2_048;
const LAST_WORDS: usize = 200;
/// Free space (bytes) with which next to nothing can be written any more.
const NO_ROOM: u64 = 1024 * 1024;

/// See the module.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EndDiagnosis {
    /// It failed on a full disk: then that says nothing about its agent, nor about what it checked.
    DiskFull,
    /// The end of what it wrote, where that says why it failed.
    LastWords(Option<String>),
}

/// Of a run in `dir`, one of those in `runs`, that ended like this.
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
                keep_to_the_limit(&dir);
                hooks_last_words(&dir, &how)
            }
            Purpose::Gate { .. } | Purpose::Verify { .. } => None,
        })
    })
    .await
}

/// The end of what an agent that failed wrote to its standard error: often it says at once what is
/// wrong. The whole is with the run.
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

/// One that writes as fast as it can has written more than it may before it is ended.
fn keep_to_the_limit(dir: &RunDir) {
    for file in [dir.stdout(), dir.stderr()] {
        let cut = || -> io::Result<()> {
            if file.metadata()?.len() > HOOK_OUTPUT_BYTES {
                let file = std::fs::OpenOptions::new().write(true).open(&file)?;
                file.set_len(HOOK_OUTPUT_BYTES)?;
            }
            Ok(())
        };
        if let Err(error) = cut() {
            tracing::warn!(%error, file = %file.display(), "the output of a hook could not be cut \
                to its limit");
        }
    }
}

/// Of a hook, what it wrote to its standard output will do where it wrote no error.
fn hooks_last_words(dir: &RunDir, how: &RunEndKind) -> Option<String> {
    if *how == (RunEndKind::Exited { code: 0 }) {
        return None;
    }
    end_of(&dir.stderr()).or_else(|| end_of(&dir.stdout()))
}

/// The end of a file, as one harmless line.
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

/// Whether next to nothing can be written there. Blocks for a moment.
pub(crate) fn is_full(place: &Path) -> bool {
    nix::sys::statvfs::statvfs(place).is_ok_and(|disk| {
        #[allow(clippy::useless_conversion)] // On some systems the counters are narrower.
        let free = u64::from(disk.blocks_available()).saturating_mul(disk.fragment_size());
        free < NO_ROOM || (disk.files() > 0 && disk.files_available() == 0)
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

    async fn seen(dir: &RunDir, how: RunEndKind) -> EndDiagnosis {
        let runs = dir.path().parent().unwrap().to_owned();
        diagnose_end(dir.clone(), runs, hook(), how).await.unwrap()
    }

    /// The only thread for what waits for a disk is held: a disk that takes its time.
    #[test]
    fn while_the_disk_takes_its_time_the_only_worker_serves_others() {
        let runs = tempfile::tempdir().unwrap();
        let dir = run_in(runs.path());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (goes_on, its_time) = mpsc::channel();
            let disk = spawn_blocking(move || its_time.recv_timeout(PATIENCE));
            let mut remains = pin!(seen(&dir, RunEndKind::Exited { code: 3 }));
            tokio::select! {
                biased;
                early = &mut remains => panic!("looked at on the worker itself: {early:?}"),
                served = tokio::spawn(async {}) => served.unwrap(),
            }
            goes_on.send(()).unwrap();
            assert_eq!(remains.await, EndDiagnosis::LastWords(None));
            disk.await.unwrap().unwrap();
        });
    }

    #[tokio::test]
    async fn what_a_hook_wrote_is_kept_to_its_limit_and_told_where_it_failed() {
        let runs = tempfile::tempdir().unwrap();
        let dir = run_in(runs.path());
        fs::write(dir.stderr(), "one\ntwo").unwrap();
        let file = fs::File::create(dir.stdout()).unwrap();
        file.set_len(HOOK_OUTPUT_BYTES + 1).unwrap();
        let well = seen(&dir, RunEndKind::Exited { code: 0 }).await;
        assert_eq!(well, EndDiagnosis::LastWords(None));
        assert_eq!(file.metadata().unwrap().len(), HOOK_OUTPUT_BYTES);
        let badly = seen(&dir, RunEndKind::Exited { code: 1 }).await;
        assert_eq!(badly, EndDiagnosis::LastWords(Some("one two".into())));
    }
}
