//! Why a daemon cannot start, or ended badly.

use std::path::PathBuf;

use super::preflight::Fault;
use crate::config::ConfigError;
use crate::domain::rejection::Rejection;
use crate::git::GitError;
use crate::journal::{AppendError, JournalError};
use crate::process::ProcessError;

/// See the variants; each says what, why and what to do.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// There is no `.swarm` here.
    #[error("there is no .swarm in {}; set it up first: swarm init", .root.display())]
    NotSetUp {
        /// The repository.
        root: PathBuf,
    },
    /// Somebody else has the lock.
    #[error("{}", held(*.pid))]
    Locked {
        /// Who, where that is known.
        pid: Option<u32>,
    },
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An agent's program is missing or not usable.
    #[error("{0}")]
    AgentUnusable(String),
    /// These profiles cannot work, for certain.
    #[error("{}", all(.0))]
    AgentsUnfit(Vec<Unfit>),
    /// The target branch does not exist.
    #[error(
        "the target branch `{0}` does not exist; create it (git branch {0}) or name another as \
        `target` in .swarm/config.json"
    )]
    TargetMissing(String),
    /// No target is configured, and no branch is checked out.
    #[error(
        "no target branch: HEAD is detached and the configuration names none; set `target` in \
        .swarm/config.json"
    )]
    NoTarget,
    /// Git refuses.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Git's configuration can run programs that it could not when a daemon worked here last.
    #[error(
        "the git configuration of this repository has settings that can run programs and were not \
        there before: {0}. An agent may have put them there. Remove them (git config --unset-all \
        KEY); or, if they are yours, accept them: swarm config trust-git"
    )]
    GitProgramsNew(String),
    /// The record of what git's configuration may run is not readable.
    #[error(
        ".swarm/state/git-programs.json, the record of the programs that git's configuration may \
        run here, cannot be read: {0}. Look at them and record them anew: swarm config trust-git"
    )]
    GitProgramsUnreadable(String),
    /// The event log cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// There is no event, and yet there are ideas.
    #[error(
        "there is no event in .swarm/state/, but .swarm/ideas.jsonl tells of ideas: the event log \
        was removed? Nothing is changed. Put .swarm/state/ back from where it went or from a \
        backup; without one, see what can be put together again: swarm doctor. To begin anew \
        instead, move the list away: mv .swarm/ideas.jsonl ideas-before.jsonl"
    )]
    LogGone,
    /// The log ends before a checkpoint that was made of it.
    #[error(
        "{0}: the log has lost its end. Nothing was changed. Restore .swarm/state/ from a backup, \
        or see your options: swarm doctor"
    )]
    EndGone(String),
    /// The event log cannot be written.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The disk failed while the daemon was writing.
    #[error(
        "the event log cannot be written any more: {0}. Agents that run go on under their runners. \
        Mend that, then: swarm start"
    )]
    DiskFailed(String),
    /// A run that is under way has records that a newer version wrote.
    #[error(transparent)]
    NewerRun(ProcessError),
    /// The rules refuse a command.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// Damaged state cannot be repaired in this way.
    #[error("this way out is not open here; what is wrong, and the ways that are: swarm doctor")]
    WayNotOffered,
    /// Agents are at work whose events may be gone.
    #[error(
        "agents still work under their runners, and nothing is repaired under them: {0}. They end \
        by themselves when their iteration does, at the latest `agents.leaseMinutes` after their \
        daemon was gone; then repair again"
    )]
    RunsAlive(String),
    /// The operating system refuses.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// What keeps a profile from working.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the agent profile `{profile}` cannot run: {fault}")]
pub struct Unfit {
    /// The profile's name.
    pub profile: String,
    /// What it is, and what to do about it.
    pub fault: Fault,
}

fn all(unfit: &[Unfit]) -> String {
    let each: Vec<String> = unfit.iter().map(Unfit::to_string).collect();
    each.join("\n")
}

fn held(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!(
            "a swarm daemon runs in this repository already, or another command is changing its \
            state (pid {pid}); see: swarm status, end a daemon: swarm stop"
        ),
        None => {
            "another swarm process is using this repository's state; try again in a moment".into()
        }
    }
}

impl DaemonError {
    /// For `map_err`.
    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}
