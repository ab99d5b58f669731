//! Errors of starting, running and repairing the daemon.
//!
//! Invariant: the message says what happened and why; [`DaemonError::suggestions`] gives the next
//! commands. The command line prints each suggestion on a line of its own.

use std::path::PathBuf;

use super::preflight::Fault;
use crate::archive::ArchiveError;
use crate::config::ConfigError;
use crate::domain::rejection::Rejection;
use crate::git::{Finding, GitError};
use crate::journal::{AppendError, JournalError};
use crate::process::ProcessError;

/// Why a daemon cannot start, or stopped because of a fault.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The repository has no `.swarm`.
    #[error("there is no .swarm in {}", .root.display())]
    NotSetUp {
        /// The repository's root.
        root: PathBuf,
    },
    /// Another process holds the lock of the state.
    #[error("{}", locked_by(*.pid))]
    Locked {
        /// The holder; `None` if it has not written its pid yet.
        pid: Option<u32>,
    },
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An agent's program is missing or unusable.
    #[error("{0}")]
    AgentUnusable(String),
    /// These profiles certainly cannot run.
    #[error("{}", join_lines(.0))]
    AgentsUnfit(Vec<Unfit>),
    /// The repository's layout keeps agents from working, or endangers the checkout.
    #[error("{}", layout_lines(.0))]
    Layout(Vec<Finding>),
    /// The target branch does not exist.
    #[error("the target branch `{0}` does not exist")]
    TargetMissing(String),
    /// No target is configured, and no branch is checked out.
    #[error("there is no target branch: HEAD is detached, and the configuration sets no `target`")]
    NoTarget,
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Git's configuration can now run programs that nobody has accepted.
    #[error(
        "the git configuration of this repository has new settings that can run programs: {0}. \
        An agent may have added them"
    )]
    GitProgramsNew(String),
    /// The list of accepted git programs cannot be read.
    #[error(
        ".git/swarm/git-programs.json, which lists the git settings you accepted, cannot be \
        read: {0}"
    )]
    GitProgramsUnreadable(String),
    /// The event log cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The log is empty or gone, but `ideas.jsonl` lists ideas.
    #[error(
        "the event log in .swarm/state/ is empty or gone, but .swarm/ideas.jsonl lists ideas, so \
        the log may have been deleted. Nothing was changed"
    )]
    LogGone,
    /// A checkpoint was made after the last event of the log.
    #[error("{0}, so the log may be truncated. Nothing was changed")]
    EndGone(String),
    /// An archive is refused, or cannot be written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The event log cannot be written.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The disk failed while the daemon was writing.
    #[error(
        "the event log can no longer be written: {0}. Running agents continue under their runners"
    )]
    DiskFailed(String),
    /// A newer version wrote the records of an unfinished run.
    #[error(transparent)]
    NewerRun(ProcessError),
    /// The command is not allowed in the current state.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The repair that was asked for does not fit the damage.
    #[error("this repair is not available for this damage")]
    WayNotOffered,
    /// Agents are still running, and the repaired state may not know them.
    #[error(
        "agents are still running, so nothing was repaired: {0}. They stop when their iteration \
        ends, or `agents.leaseMinutes` after their daemon stopped"
    )]
    RunsAlive(String),
    /// An archive cannot be imported here.
    #[error("this archive cannot be imported: {why}")]
    NotImportable {
        /// Why.
        why: String,
        /// What to do instead.
        next: String,
    },
    /// The state of an agent cannot be imported.
    #[error("this agent's state cannot be imported: {why}; nothing was changed")]
    AgentFileRefused {
        /// What is wrong with its file, as a clause about it.
        why: String,
        /// What to do instead.
        next: String,
    },
    /// An archive is only imported where no swarm is.
    #[error("a swarm of {events} events is already here; nothing was changed")]
    SwarmThere {
        /// Events in its log.
        events: u64,
    },
    /// A system call failed.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What failed, as a verb phrase: "read the checkpoints".
        doing: String,
        /// The system's error.
        source: std::io::Error,
    },
}

/// A profile that cannot run, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the agent profile `{profile}` cannot run: {fault}")]
pub struct Unfit {
    /// The profile's name.
    pub profile: String,
    /// Why, and what to do about it.
    pub fault: Fault,
}

fn join_lines(unfit: &[Unfit]) -> String {
    let lines: Vec<String> = unfit.iter().map(Unfit::to_string).collect();
    lines.join("\n")
}

fn locked_by(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!(
            "a swarm daemon is already running in this repository, or another command is changing \
            its state (pid {pid})"
        ),
        None => {
            "another swarm process is using this repository's state; try again in a moment".into()
        }
    }
}

impl DaemonError {
    /// What to do next: each a sentence, or `purpose: command`.
    pub fn suggestions(&self) -> Vec<String> {
        let suggestions: &[&str] = match self {
            Self::NotSetUp { .. } => &["set it up first: swarm init"],
            Self::Locked { pid: Some(_) } => &[
                "see what is running: swarm status",
                "stop the daemon: swarm stop",
            ],
            Self::TargetMissing(branch) => {
                return vec![
                    format!("create it: git branch {branch}"),
                    "or set another `target` in .swarm/config.json".to_owned(),
                ];
            }
            Self::NoTarget => &["set `target` in .swarm/config.json, or check out a branch"],
            Self::GitProgramsNew(_) => &[
                "if they are not yours, remove each: git config --unset-all KEY",
                "if they are yours, accept them: swarm config trust-git",
            ],
            Self::GitProgramsUnreadable(_) => {
                &["review the settings and accept them again: swarm config trust-git"]
            }
            Self::LogGone => &[
                "restore .swarm/state/ from a backup",
                "or see what can be recovered: swarm doctor",
                "or start over without these ideas: mv .swarm/ideas.jsonl ideas-before.jsonl",
            ],
            Self::EndGone(_) => &[
                "restore .swarm/state/ from a backup",
                "or see your options: swarm doctor",
            ],
            Self::DiskFailed(_) => &["fix the cause, then start again: swarm start"],
            Self::WayNotOffered => &["see what is wrong and which repairs fit: swarm doctor"],
            Self::RunsAlive(_) => &["wait until they stop, then repair again"],
            Self::Journal(error) => return error.suggestions(),
            Self::Archive(error) => return error.suggestions(),
            Self::NotImportable { next, .. } | Self::AgentFileRefused { next, .. } => {
                return vec![next.clone()];
            }
            Self::SwarmThere { .. } => &["import it in another clone of the repository"],
            Self::Rejected(rejection) => return rejection.suggestions(),
            Self::Layout(findings) => {
                return findings.iter().map(|it| it.way_out.clone()).collect();
            }
            Self::Locked { pid: None }
            | Self::Config(_)
            | Self::AgentUnusable(_)
            | Self::AgentsUnfit(_)
            | Self::Git(_)
            | Self::Append(_)
            | Self::NewerRun(_)
            | Self::Io { .. } => &[],
        };
        suggestions.iter().map(ToString::to_string).collect()
    }

    /// Wraps an I/O error, for `map_err`.
    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

fn layout_lines(findings: &[Finding]) -> String {
    let each: Vec<&str> = findings.iter().map(|it| it.what.as_str()).collect();
    each.join("\n")
}
