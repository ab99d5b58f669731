//! Errors of running a child process, worded for the person who has to act.
//!
//! Invariant: every message says what failed, on which file or process, and what to do next if
//! there is something to do.

use std::io;
use std::path::{Path, PathBuf};

use super::run_dir::record::RECORD_FORMAT;

/// A failure of this room. A child that fails is an [`ExitRecord`](super::ExitRecord) instead.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum ProcessError {
    /// The id would not be safe as a file name.
    #[error(
        "`{0}` is not a valid run id: use 1 to 64 characters from `a-z`, `0-9` and `-`, not \
         starting with `-`"
    )]
    BadId(String),
    /// The file would be outside the run's directory, or overwrite one of the runner's files.
    #[error("`{0}` cannot name a file of a run: use a plain name that the runner does not reserve")]
    BadFileName(String),
    /// There is no such program on the child's `PATH`, or at the given path.
    #[error(
        "program `{program}` not found in {searched}; install it or correct the command in the \
        configuration"
    )]
    ProgramMissing {
        /// The program as configured.
        program: String,
        /// The `PATH`, or the one file, that was searched.
        searched: String,
    },
    /// The program exists, but this user may not execute it.
    #[error(
            "program `{}` is not an executable file; run `chmod +x` on it or correct the command \
            in the configuration",
            .0.display()
        )]
    NotExecutable(PathBuf),
    /// The directory of all runs is a link or a file.
    #[error(
            "`{}` is a symbolic link or not a directory, so swarm does not use it; move it away, \
            and swarm creates a directory there",
        .0.display()
    )]
    LinkRefused(PathBuf),
    /// A directory that swarm did not create is in the place of a run.
    #[error(
        "swarm did not create `{}`, so it does not remove it; move it away and try again",
        .0.display()
    )]
    NotARun(PathBuf),
    /// A system call on a file or directory of a run failed.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// A verb, as in "cannot read".
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A JSON file of a run does not parse.
    #[error(
            "`{}` is damaged: {source}; swarm cannot tell how the run ended. To forget the run, \
            remove its directory",
            path.display()
        )]
    Damaged {
        path: PathBuf,
        source: serde_json::Error,
    },
    /// A newer version wrote the JSON file.
    #[error(
            "`{}` has format {found}, but this version reads formats up to {RECORD_FORMAT}. \
            Nothing was changed; use the newer swarm that wrote it",
            path.display()
        )]
    Newer { path: PathBuf, found: u64 },
    /// JSON cannot hold the specification, because its working directory is not UTF-8.
    #[error("cannot write the specification of run `{id}` as JSON: {source}")]
    Unwritable {
        id: String,
        source: serde_json::Error,
    },
    /// A system call on a process failed.
    #[error("cannot {action} process {pid}: {source}")]
    Process {
        /// A verb, as in "cannot signal".
        action: &'static str,
        pid: i32,
        source: io::Error,
    },
    /// The process has ended, so nobody can tell what it belonged to.
    #[error("process {0} has ended")]
    Gone(i32),
    /// A process that is invisible from here holds the lock.
    #[error(
        "process {pid} holds run `{id}`, but it is not visible from here (another container?); \
             stop it where it runs"
    )]
    HolderInvisible { id: String, pid: i32 },
    /// Survivors can be ended only once the runner is gone.
    #[error("the runner of run `{id}` is still alive (process {pid}); stop the run instead")]
    RunnerAlive { id: String, pid: i32 },
    /// Processes survived SIGKILL, usually stuck in the kernel on a dead disk or network mount.
    #[error(
        "{count} processes of {owner} did not end after SIGKILL; find them in state D with \
             `ps -eo pid,stat,wchan,args`"
    )]
    SurvivorsLeft {
        /// Whose processes, as in "run `r1`".
        owner: String,
        count: usize,
    },
}

/// Result with this room's error.
pub(super) type Result<T> = std::result::Result<T, ProcessError>;

/// Adds to an `io::Result` what was being done.
pub(super) trait Context<T> {
    /// The operation on a file that failed.
    fn on(self, action: &'static str, path: &Path) -> Result<T>;
    /// The operation on a process that failed.
    fn of(self, action: &'static str, pid: i32) -> Result<T>;
}

impl<T, E: Into<io::Error>> Context<T> for std::result::Result<T, E> {
    fn on(self, action: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| ProcessError::Io {
            action,
            path: path.to_owned(),
            source: source.into(),
        })
    }

    fn of(self, action: &'static str, pid: i32) -> Result<T> {
        self.map_err(|source| ProcessError::Process {
            action,
            pid,
            source: source.into(),
        })
    }
}
