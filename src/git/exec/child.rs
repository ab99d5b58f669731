//! Follows a started git process until it answers.
//!
//! Invariant: it always ends. At its time limit the whole process group is killed, and a descendant
//! that keeps a pipe open blocks nobody.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::command::MINIMUM;
use super::lock_files;
use super::running::Running;
use crate::git::GitError;
use crate::git::error::{At, is_from_full_disk, speaks_of_full_disk};
use crate::git::objects::names::printable;

const STDERR_KEPT: usize = 2_000;

/// Output and exit code of a git command.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) call: Call,
}

/// Command line and directory, for error messages.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) command: String,
    pub(crate) place: PathBuf,
}

impl Output {
    /// Turns this output into [`GitError::Failed`], or into what is known of its cause.
    pub(crate) fn failure(&self) -> GitError {
        if let Some(lock) = lock_files::named_in(&self.stderr) {
            return lock_files::held(&lock);
        }
        if speaks_of_full_disk(&self.stderr) || is_from_full_disk(&self.stderr, &self.call.place) {
            return GitError::DiskFull {
                doing: self.call.command.clone(),
            };
        }
        GitError::Failed {
            command: self.call.command.clone(),
            status: format!("exit {}", self.code),
            stderr: self.stderr.clone(),
        }
    }

    /// Pieces of NUL-terminated output.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.stdout
            .split(|byte| *byte == 0)
            .filter(|piece| !piece.is_empty())
    }

    /// Output of a command that prints one line.
    pub(crate) fn line(&self) -> &[u8] {
        self.stdout.trim_ascii_end()
    }
}

/// Blames the directory if it is missing: the system reports that like a missing program.
pub(crate) fn not_started(place: &Path, source: std::io::Error) -> GitError {
    if place.is_dir() {
        return GitError::GitMissing {
            minimum: MINIMUM,
            source,
        };
    }
    GitError::io("enter", place, source)
}

/// Collects output and exit status; kills the process group after `limit`.
pub(crate) fn finish(
    mut child: Child,
    limit: Duration,
    call: Call,
    running: &Running,
) -> Result<Output, GitError> {
    let end = Instant::now() + limit;
    let (answers, errors) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let stdout = answers.recv_timeout(limit);
    let stderr = errors.recv_timeout(end.saturating_duration_since(Instant::now()));
    let (Ok(stdout), Ok(stderr)) = (stdout, stderr) else {
        end_group(&child);
        running.wait(&mut child).at("wait for", Path::new("git"))?;
        return Err(GitError::TimedOut {
            command: call.command,
            after: limit,
        });
    };
    let status = running.wait(&mut child).at("wait for", Path::new("git"))?;
    answer(status, stdout, &stderr, call)
}

/// Reads the pipe on its own thread, so that a descendant that never closes it blocks nobody.
fn reader(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A broken pipe ends the output; the exit status then shows the failure.
            let _ = pipe.read_to_end(&mut bytes);
        }
        // Fails only when the receiver has stopped waiting.
        let _ = sender.send(bytes);
    });
    receiver
}

fn answer(
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: &[u8],
    call: Call,
) -> Result<Output, GitError> {
    let stderr = tail(stderr);
    match status.code() {
        Some(code) => Ok(Output {
            code,
            stdout,
            stderr,
            call,
        }),
        None => Err(GitError::Failed {
            command: call.command,
            status: format!("ended by signal {}", status.signal().unwrap_or_default()),
            stderr,
        }),
    }
}

fn tail(stderr: &[u8]) -> String {
    let from = stderr.len().saturating_sub(STDERR_KEPT);
    let lines = stderr[from..].trim_ascii().split(|byte| *byte == b'\n');
    let shown: Vec<String> = lines.map(printable).collect();
    shown.join("\n")
}

fn end_group(child: &Child) {
    // The child has not been waited for, so its id is still valid. An error means that it has
    // ended.
    if let Ok(id) = i32::try_from(child.id()) {
        let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command.spawn().unwrap()
    }

    fn call() -> Call {
        Call {
            command: "test".into(),
            place: "/".into(),
        }
    }

    #[test]
    fn a_command_past_its_limit_is_killed_with_its_children() {
        let stuck = shell("sleep 600 & wait");
        let group = i32::try_from(stuck.id()).unwrap();
        let refused = finish(
            stuck,
            Duration::from_millis(50),
            call(),
            &Running::default(),
        );
        assert!(
            matches!(refused, Err(GitError::TimedOut { .. })),
            "{refused:?}"
        );
        while killpg(Pid::from_raw(group), None).is_ok() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_signal_is_an_error_but_an_exit_code_is_not() {
        let limit = Duration::from_secs(60);
        let running = Running::default();
        let answered = finish(
            shell("echo out; echo err >&2; exit 3"),
            limit,
            call(),
            &running,
        )
        .unwrap();
        assert_eq!(
            (answered.code, answered.line(), answered.stderr.as_str()),
            (3, &b"out"[..], "err")
        );
        let ended = finish(shell("kill -9 $$"), limit, call(), &running);
        assert!(matches!(ended, Err(GitError::Failed { status, .. }) if status.contains('9')));
    }
}
