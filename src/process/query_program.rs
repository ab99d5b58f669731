//! Runs a program for a short query, such as its version, with a time limit.
//!
//! Invariant: after the answer, nothing of the program's process group is left running.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::os::pidfd::ProcessHandle;

/// Limit on the bytes read from each output.
const HEARD: u64 = 64 * 1024;
/// Time limit for reading the output after all its writers have ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Result of a query.
#[derive(Debug)]
pub enum Answer {
    /// The program ended on its own. Each output holds at most 64 KiB.
    #[allow(missing_docs)]
    Said {
        status: ExitStatus,
        stdout: Vec<u8>,
        stderr: Vec<u8>,
    },
    /// The program did not end in time and was killed.
    TooLate,
    /// The system cannot execute the program.
    NotStarted(io::Error),
}

/// Starts `program` in `cwd` with exactly this environment and an empty standard input, and waits
/// until it ends, at most `limit`.
///
/// # Errors
/// The system does not allow swarm to watch or kill the program. A failure of the program itself is
/// an [`Answer`].
pub fn query_program(
    program: &Path,
    args: &[String],
    env: &BTreeMap<String, String>,
    cwd: &Path,
    limit: Duration,
) -> io::Result<Answer> {
    let deadline = Instant::now() + limit;
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .envs(env)
        .current_dir(cwd)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Answer::NotStarted(error)),
    };
    let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
    // The child is not reaped yet, so the pid is still its own.
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    let in_time = match ProcessHandle::open(pid)? {
        Some(handle) => handle.wait_until(deadline)?,
        None => true,
    };
    // The child is not reaped yet, so the group's number is still its own too.
    match killpg(Pid::from_raw(pid), Signal::SIGKILL) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => return Err(error.into()),
    }
    let status = child.wait()?;
    if !in_time {
        return Ok(Answer::TooLate);
    }
    let heard = |output: mpsc::Receiver<Vec<u8>>| {
        // No writer should be left; if one is, do not wait for it.
        output.recv_timeout(LAST_WORDS).unwrap_or_default()
    };
    Ok(Answer::Said {
        status,
        stdout: heard(stdout),
        stderr: heard(stderr),
    })
}

/// Reads on its own thread, so that a full pipe never blocks the program while its end is awaited.
fn reader(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // A broken pipe ends the output; the exit status shows the failure.
            let _ = pipe.take(HEARD).read_to_end(&mut bytes);
        }
        // Fails only if the receiver is gone.
        let _ = sender.send(bytes);
    });
    receiver
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::os::tree;
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str, limit: Duration) -> Answer {
        let env = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let args = ["-c", script].map(str::to_owned);
        query_program(Path::new("/bin/sh"), &args, &env, Path::new("/"), limit).unwrap()
    }

    /// Waits until no process has this variable in its environment.
    fn wait_until_gone(variable: &str) {
        let deadline = Instant::now() + LONG;
        let has_it = |pid: &i32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ
                .split(|byte| *byte == 0)
                .any(|entry| entry == variable.as_bytes())
        };
        while tree::all().unwrap().keys().any(has_it) {
            assert!(Instant::now() < deadline, "{variable} is still running");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn output_and_exit_status_are_returned() {
        let Answer::Said {
            status,
            stdout,
            stderr,
        } = shell("echo out; echo err >&2; cat; exit 3", LONG)
        else {
            panic!("it ends on its own");
        };
        assert_eq!(
            (status.code(), &*stdout, &*stderr),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
    }

    #[test]
    fn a_program_that_never_stops_writing_is_cut_off() {
        let Answer::Said { stdout, .. } = shell("yes", LONG) else {
            panic!("its pipe is closed");
        };
        assert_eq!(stdout.len() as u64, HEARD);
    }

    #[test]
    fn a_program_that_takes_too_long_is_killed_with_its_descendants() {
        let script = "OF=too-long-a-question; export OF; sleep 600 & sleep 600";
        let answer = shell(script, Duration::from_millis(300));
        assert!(matches!(answer, Answer::TooLate), "{answer:?}");
        wait_until_gone("OF=too-long-a-question");
    }

    #[test]
    fn processes_left_behind_are_killed() {
        let script = "OF=left-by-a-question; export OF; sleep 600 & echo 1.2.3";
        let Answer::Said { stdout, .. } = shell(script, LONG) else {
            panic!("it ends on its own");
        };
        assert_eq!(&*stdout, b"1.2.3\n");
        wait_until_gone("OF=left-by-a-question");
    }

    #[test]
    fn a_program_that_cannot_be_executed_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("tool");
        fs::write(&script, "#!/no/such/interpreter\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&script, mode).unwrap();
        let answer = query_program(&script, &[], &BTreeMap::new(), dir.path(), LONG).unwrap();
        assert!(matches!(answer, Answer::NotStarted(_)), "{answer:?}");
    }
}
