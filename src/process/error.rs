//! What can go wrong around a child process, in words for the person who has to act.
//!
//! Invariant: every message says what failed, on which file or process, and what to do next where there is something to do.

use std::io;
use std::path::{Path, PathBuf};

use super::record::RECORD_FORMAT;

/// A failure of this room. A child that fails is not one: that is an [`ExitRecord`](super::ExitRecord).
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The id would not be safe as a file name.
    #[error("`{0}` is not a run id: use 1 to 64 of a-z, 0-9 and `-`, not `-` first")]
    BadId(String),
    /// A file of the run would leave its directory or overwrite one of the runner's own.
    #[error(
        "`{0}` cannot be a file of a run: use a plain name that the runner does not use itself"
    )]
    BadFileName(String),
    /// Nothing of that name on the child's `PATH`, or at that path.
    #[error(
        "program `{program}` not found in {searched}; install it or correct the command in the configuration"
    )]
    ProgramMissing {
        /// As it was asked for.
        program: String,
        /// The `PATH`, or the one file, that was looked at.
        searched: String,
    },
    /// It is there, but this user may not execute it.
    #[error("program `{}` is not an executable file; try `chmod +x` on it or correct the command in the configuration", .0.display())]
    NotExecutable(PathBuf),
    /// The folder that has the runs is not a folder of ours.
    #[error(
        "`{}` is a symbolic link or not a folder, so swarm does not use it; move it away and swarm makes a folder there",
        .0.display()
    )]
    LinkRefused(PathBuf),
    /// Where a run is to be prepared lies something that no run's preparation wrote.
    #[error(
        "`{}` was not made by swarm, so swarm does not remove it; move it away, then try again",
        .0.display()
    )]
    NotARun(PathBuf),
    /// A file or directory of a run could not be used.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A JSON file of a run is not what it should be.
    #[error("`{}` is damaged: {source}; the run cannot be judged, remove its directory to forget it", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A JSON file of a run was written by a newer version.
    #[error(
        "`{}` has format {found}, and this version knows formats up to {RECORD_FORMAT}. Nothing was changed; use the newer swarm that wrote it",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
    },
    /// A specification that JSON cannot hold: a working directory that is not UTF-8.
    #[error("the specification of run `{id}` cannot be written as JSON: {source}")]
    Unwritable {
        /// The run.
        id: String,
        /// What the serialiser said.
        source: serde_json::Error,
    },
    /// A process could not be opened, asked or waited for.
    #[error("cannot {action} process {pid}: {source}")]
    Process {
        /// What was tried.
        action: &'static str,
        /// On which process.
        pid: i32,
        /// Why not.
        source: io::Error,
    },
    /// The lock is held by a process that cannot be seen from here.
    #[error(
        "run `{id}` is held by process {pid}, which is not visible from here (another container?); stop it where it runs"
    )]
    HolderInvisible {
        /// The run.
        id: String,
        /// The number that the kernel gives for the holder.
        pid: i32,
    },
    /// Survivors are only looked for once the runner is gone.
    #[error("run `{id}` still has its runner (process {pid}); stop the run instead")]
    RunnerAlive {
        /// The run.
        id: String,
        /// Its runner.
        pid: i32,
    },
    /// Processes that SIGKILL did not end in time, usually stuck in the kernel on a dead disk or network file system.
    #[error(
        "run `{id}`: {count} processes did not end after SIGKILL; see `ps -o pid,stat,wchan,args` for state D"
    )]
    SurvivorsLeft {
        /// The run.
        id: String,
        /// How many are still there.
        count: usize,
    },
}

/// The result of nearly everything here.
pub(super) type Result<T> = std::result::Result<T, ProcessError>;

/// Says of an `io::Result` what was being done.
pub(super) trait Context<T> {
    /// On a file.
    fn on(self, action: &'static str, path: &Path) -> Result<T>;
    /// On a process.
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
