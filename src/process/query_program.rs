//! A short question to a program, such as for its version: what it says within a time.
//!
//! Invariant: when the answer is there, nothing of the program runs on: what carries the question's mark in its environment, and all that descends
//! from it, is ended. As with runs, a process that changed its environment *and* lost every ancestor that had not cannot be seen.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::handle::ProcessHandle;
use super::stop::end_all;

/// Variable by which what a question started is found again.
const MARK: &str = "SWARM_QUESTION";
/// So much of each output counts; who writes more is not heard any more.
const HEARD: u64 = 64 * 1024;
/// How long ending what is left may take.
const END_WITHIN: Duration = Duration::from_secs(2);
/// How long output may take whose writers have ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What a program answered.
#[derive(Debug)]
pub enum Answer {
    /// It ended by itself.
    Said {
        /// How.
        status: ExitStatus,
        /// Its output, the beginning of it.
        stdout: Vec<u8>,
        /// Its messages, the beginning of them.
        stderr: Vec<u8>,
    },
    /// It did not end in time.
    TooLate,
    /// The system cannot execute it.
    NotStarted(io::Error),
}

/// Starts `program` in `cwd` with this environment and an empty standard input, and waits for its end, at most `limit`.
///
/// # Errors
/// Not of the program: the system does not let its processes be looked at or ended.
pub fn ask(
    program: &Path,
    args: &[String],
    env: &BTreeMap<String, String>,
    cwd: &Path,
    limit: Duration,
) -> io::Result<Answer> {
    let deadline = Instant::now() + limit;
    let name = uuid::Uuid::new_v4().to_string();
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .envs(env)
        .env(MARK, &name)
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Answer::NotStarted(error)),
    };
    let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
    // Not reaped yet, so the number is its own.
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    let in_time = match ProcessHandle::open(pid)? {
        Some(handle) => handle.wait_until(deadline)?,
        None => true,
    };
    // One that goes on is found by its mark, too, and by it its descendants.
    let mark = format!("{MARK}={name}");
    let carries = |environ: &[u8]| {
        let mut entries = environ.split(|byte| *byte == 0);
        entries.any(|entry| entry == mark.as_bytes())
    };
    let ended = end_all("a question", END_WITHIN, carries);
    if !in_time {
        // What could not be ended by its mark is ended by its number, which is its own still.
        child.kill()?;
    }
    let status = child.wait()?;
    ended.map_err(io::Error::other)?;
    if !in_time {
        return Ok(Answer::TooLate);
    }
    let heard = |output: mpsc::Receiver<Vec<u8>>| {
        // Nobody is left who could write; a pipe that is open all the same holds up nobody.
        output.recv_timeout(LAST_WORDS).unwrap_or_default()
    };
    Ok(Answer::Said {
        status,
        stdout: heard(stdout),
        stderr: heard(stderr),
    })
}

/// Reads on a thread of its own, so that a program that writes much is not held up by who waits for its end.
fn reader(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // A pipe that breaks ends the output; the exit status then tells.
            let _ = pipe.take(HEARD).read_to_end(&mut bytes);
        }
        // Fails only when nobody waits any more.
        let _ = sender.send(bytes);
    });
    receiver
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tree;
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str, limit: Duration) -> Answer {
        let env = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let args = ["-c", script].map(str::to_owned);
        ask(Path::new("/bin/sh"), &args, &env, Path::new("/"), limit).unwrap()
    }

    /// Whether a process with this variable in its environment runs.
    fn runs(variable: &str) -> bool {
        tree::all().unwrap().keys().any(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ
                .split(|byte| *byte == 0)
                .any(|entry| entry == variable.as_bytes())
        })
    }

    #[test]
    fn what_it_says_and_how_it_ends() {
        let Answer::Said {
            status,
            stdout,
            stderr,
        } = shell("echo out; echo err >&2; cat; exit 3", LONG)
        else {
            panic!("it ends by itself");
        };
        assert_eq!(
            (status.code(), &*stdout, &*stderr),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
    }

    #[test]
    fn one_that_never_stops_writing_ends() {
        let Answer::Said { stdout, .. } = shell("yes", LONG) else {
            panic!("its pipe is closed");
        };
        assert_eq!(stdout.len() as u64, HEARD);
    }

    #[test]
    fn one_that_takes_too_long_is_ended_with_all_that_it_started() {
        let script = "OF=too-long-a-question; export OF; setsid sleep 600 & sleep 600";
        let answer = shell(script, Duration::from_millis(300));
        assert!(matches!(answer, Answer::TooLate), "{answer:?}");
        assert!(!runs("OF=too-long-a-question"));
    }

    #[test]
    fn what_one_leaves_behind_is_ended() {
        let script = "OF=left-by-a-question; export OF; setsid sleep 600 & echo 1.2.3";
        let Answer::Said { stdout, .. } = shell(script, LONG) else {
            panic!("it ends by itself");
        };
        assert_eq!(&*stdout, b"1.2.3\n");
        assert!(!runs("OF=left-by-a-question"));
    }

    #[test]
    fn what_the_system_cannot_execute_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("tool");
        fs::write(&script, "#!/no/such/interpreter\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&script, mode).unwrap();
        let answer = ask(&script, &[], &BTreeMap::new(), dir.path(), LONG).unwrap();
        assert!(matches!(answer, Answer::NotStarted(_)), "{answer:?}");
    }
}
