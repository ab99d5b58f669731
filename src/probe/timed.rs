//! Runs a command with a time limit and keeps the end of its output.
//!
//! Invariant: nothing of the command's process group is left running. The group is signalled while
//! its leader is not reaped yet, so the number is its own.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::verdict::Ended;

/// Bytes of output that are kept, from its end.
const KEPT: u64 = 256 * 1024;
/// Why a command that misses a program has no verdict.
pub(super) const MISSING: &str = "a program of it is missing";
const TICK: Duration = Duration::from_millis(10);

/// Why a probe has no result.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A person pressed Ctrl+C.
    #[error("interrupted")]
    Interrupted,
    /// The system refused something that every command needs.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// How a run went.
pub(super) struct Ran {
    pub ended: Ended,
    pub took: Duration,
    pub output: String,
}

/// Runs `command`, whose output goes to `file`, until it ends, for at most `limit`, or until `stop`
/// is set.
pub(super) fn run(
    command: &mut Command,
    file: &Path,
    limit: Duration,
    stop: &AtomicBool,
) -> Result<Ran, ProbeError> {
    let mut output = File::options()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(file)?;
    command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    let begun = Instant::now();
    let mut child = command.spawn()?;
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    let ended_itself = wait(pid, begun + limit, stop);
    // Meant for what the command left running. It fails if nothing is left, which is as well.
    let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    let status = child.wait()?;
    if stop.load(Ordering::Relaxed) {
        return Err(ProbeError::Interrupted);
    }
    let ended = if ended_itself? {
        ended(status)
    } else {
        let seconds = limit.as_secs();
        Ended::NoVerdict(format!("it did not end within {seconds} s"))
    };
    Ok(Ran {
        ended,
        took: begun.elapsed(),
        output: tail(&mut output)?,
    })
}

/// Waits for the end of the child without reaping it; false if the time is over.
fn wait(pid: i32, deadline: Instant, stop: &AtomicBool) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let id = rustix::process::Pid::from_raw(pid).ok_or_else(|| io::Error::other("no such pid"))?;
    loop {
        if waitid(WaitId::Pid(id), options)?.is_some() {
            return Ok(true);
        }
        if Instant::now() >= deadline || stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        std::thread::sleep(TICK);
    }
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ended::Green,
        (Some(126 | 127), _) => Ended::NoVerdict(MISSING.into()),
        (Some(137), _) => Ended::NoVerdict("it was killed".into()),
        (None, Some(signal)) => Ended::NoVerdict(format!("signal {signal} ended it")),
        (Some(_) | None, _) => Ended::Red,
    }
}

fn tail(file: &mut File) -> io::Result<String> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(KEPT)))?;
    let mut bytes = Vec::new();
    file.take(KEPT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Ran {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let stop = AtomicBool::new(false);
        run(&mut command, &dir.path().join("out"), limit, &stop).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn only_an_exit_code_of_its_own_is_a_verdict() {
        for (script, is_verdict) in [
            ("exit 0", true),
            ("exit 1", true),
            ("no-such-program", false),
            ("exit 137", false),
            ("kill -9 $$", false),
        ] {
            let ended = shell(script, LONG).ended;
            let is_none = matches!(ended, Ended::NoVerdict(_));
            assert_eq!(!is_none, is_verdict, "{script}: {ended:?}");
        }
    }

    #[test]
    fn a_command_that_takes_too_long_has_no_verdict() {
        let ran = shell(
            "echo begun; sleep 600 & sleep 600",
            Duration::from_millis(500),
        );
        assert!(matches!(ran.ended, Ended::NoVerdict(_)), "{:?}", ran.ended);
        assert_eq!(ran.output, "begun\n");
    }

    #[test]
    fn a_stop_interrupts_the_command() {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new("/bin/sleep");
        command.arg("600");
        let stop = AtomicBool::new(true);
        let ran = run(&mut command, &dir.path().join("out"), LONG, &stop);
        assert!(matches!(ran, Err(ProbeError::Interrupted)));
    }
}
