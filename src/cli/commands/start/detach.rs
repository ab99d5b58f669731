//! Runs the daemon in the background: this program again, in a session of its own.
//!
//! Invariant: the command succeeds only when the daemon answers on its socket, or has already
//! finished without error. A daemon's error becomes the command's error, with the same exit code.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use nix::errno::Errno;
use nix::libc;
use serde_json::{Value, json};

use super::Start;
use crate::cli::access::remote::Daemon;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::host::own_program;
use crate::cli::repo::Repo;
use crate::view::describe;

/// How long it waits between two checks.
const PAUSE: Duration = Duration::from_millis(20);
/// After this long it says what it waits for. There is no limit: reading a long log takes time.
const LONG: Duration = Duration::from_secs(5);
/// The most that is read of the daemon's output, in bytes.
const MAX_SAID: u64 = 64 * 1024;

/// Starts the daemon and waits until it answers.
pub(super) fn run(args: &Start, repo: &Repo, context: &mut Context) -> Result<(), CliError> {
    let said = Said::open(repo).map_err(|error| CliError::io("write into .swarm/logs", &error))?;
    let program = own_program()?;
    let mut child = command(&program, args, repo, &said)?
        .spawn()
        .map_err(|error| CliError::io(format!("start {}", program.display()), &error))?;
    let ended = wait(&mut child, repo, context)?;
    if let Some(status) = ended {
        return over(status, &said, context);
    }
    let pid = child.id();
    if context.output.json {
        return context.output.document(&json!({ "pid": pid }));
    }
    context.output.line(pid)?;
    context
        .output
        .note("the daemon is running in the background");
    context.output.next_step("see what it does: swarm status");
    if !args.no_web {
        context.output.next_step("see it in a browser: swarm open");
    }
    context.output.next_step("stop it: swarm stop");
    if let Some(reason) = paused(repo) {
        context.output.note(describe::paused_for(&reason));
    }
    Ok(())
}

fn command(program: &Path, args: &Start, repo: &Repo, said: &Said) -> Result<Command, CliError> {
    let stream = || {
        let copy = said.file.try_clone();
        copy.map_err(|error| CliError::io("prepare the daemon's output", &error))
    };
    let mut command = Command::new(program);
    command
        .arg("-C")
        .arg(repo.root())
        .args(["start", "--detached"]);
    if let Some(mode) = args.mode.as_ref().and_then(ValueEnum::to_possible_value) {
        command.args(["--mode", mode.get_name()]);
    }
    if args.until_idle {
        command.arg("--until-idle");
    }
    if args.no_web {
        command.arg("--no-web");
    }
    if let Some(port) = args.port {
        command.arg("--port").arg(port.to_string());
    }
    command
        .current_dir(repo.root())
        .stdin(Stdio::null())
        .stdout(stream()?)
        .stderr(stream()?);
    Ok(command)
}

/// Waits until the daemon answers (`None`) or has ended.
fn wait(
    child: &mut Child,
    repo: &Repo,
    context: &mut Context,
) -> Result<Option<ExitStatus>, CliError> {
    let start = Instant::now();
    let mut told = false;
    loop {
        let ended = child.try_wait();
        let ended = ended.map_err(|error| CliError::io("look at the daemon", &error))?;
        if ended.is_some() || answers(child.id(), repo) {
            return Ok(ended);
        }
        if !told && start.elapsed() > LONG {
            context
                .output
                .note("the daemon is reading its event log ...");
            told = true;
        }
        thread::sleep(PAUSE);
    }
}

/// Whether this daemon answers. Errors are ignored: if they last, the daemon ends with a reason.
pub(super) fn answers(pid: u32, repo: &Repo) -> bool {
    let daemon = Daemon::connect(repo);
    daemon.is_ok_and(|daemon| daemon.is_some_and(|daemon| daemon.pid() == pid))
}

/// Why the swarm is paused; `None` if it is not, or if nobody answers.
fn paused(repo: &Repo) -> Option<String> {
    let status = Daemon::connect(repo).ok()??.get("status").ok()?;
    Some(status.get("pauseReason")?.as_str()?.to_owned())
}

fn over(status: ExitStatus, said: &Said, context: &mut Context) -> Result<(), CliError> {
    if status.success() {
        context
            .output
            .note("nothing to do: the daemon has already finished");
        return Ok(());
    }
    let text = said.text().unwrap_or_default();
    Err(error_of(status, &text).unwrap_or_else(|| {
        let mut error = CliError::refused(format!("the daemon stopped right away ({status})"));
        error.details = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        error.hint("see what is wrong: swarm doctor")
    }))
}

/// The error that the daemon wrote on its last line.
fn error_of(status: ExitStatus, text: &str) -> Option<CliError> {
    let kind = Kind::from_exit_code(u8::try_from(status.code()?).ok()?);
    let last: Value = serde_json::from_str(text.trim_end().lines().next_back()?).ok()?;
    CliError::from_json(kind, &last)
}

/// The daemon's output: errors only, its log is elsewhere.
struct Said {
    file: File,
    path: PathBuf,
    from: u64,
}

impl Said {
    fn open(repo: &Repo) -> io::Result<Self> {
        let folder = repo.logs();
        if let Err(error) = DirBuilder::new().mode(0o700).create(&folder)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(error);
        }
        if !fs::symlink_metadata(&folder)?.is_dir() {
            return Err(io::Error::other("it is not a folder, so remove it first"));
        }
        let path = folder.join("daemon.out");
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)?;
        let from = file.metadata()?.len();
        Ok(Self { file, path, from })
    }

    fn text(&self) -> io::Result<String> {
        let mut file = File::open(&self.path)?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(self.from.max(end.saturating_sub(MAX_SAID))))?;
        let mut bytes = Vec::new();
        file.take(MAX_SAID).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// In the background process: leaves the terminal, and writes errors as JSON for the parent.
pub(super) fn become_background(context: &mut Context) -> Result<(), CliError> {
    context.output.json = true;
    context.output.quiet = true;
    match nix::unistd::setsid() {
        // A session or group leader has left the terminal's group already.
        Ok(_) | Err(Errno::EPERM) => Ok(()),
        Err(errno) => Err(CliError::io("leave the terminal", &errno.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn exited(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    #[test]
    fn the_daemons_own_error_is_reported_with_its_exit_code() {
        let error = CliError::new(Kind::Damaged, "line 7 is damaged").hint("swarm doctor");
        let text = format!("a word before\n{}\n", error.to_json());
        let told = error_of(exited(75), &text).unwrap();
        assert_eq!(
            (told.kind, told.message.as_str()),
            (Kind::Damaged, "line 7 is damaged")
        );
        assert_eq!(told.hints, ["swarm doctor"]);
        assert_eq!(error_of(exited(101), "thread panicked\n"), None);
    }

    #[test]
    fn output_of_earlier_daemons_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".swarm")).unwrap();
        let repo = Repo::find(dir.path()).unwrap();
        let first = Said::open(&repo).unwrap();
        fs::write(&first.path, "old\n").unwrap();
        let mut second = Said::open(&repo).unwrap();
        io::Write::write_all(&mut second.file, b"new\n").unwrap();
        assert_eq!(second.text().unwrap(), "new\n");
    }

    #[test]
    fn a_link_in_place_of_the_output_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".swarm/logs")).unwrap();
        let repo = Repo::find(dir.path()).unwrap();
        let target = dir.path().join("precious");
        std::os::unix::fs::symlink(&target, repo.logs().join("daemon.out")).unwrap();
        assert!(Said::open(&repo).is_err());
        assert!(!target.exists());
    }
}
