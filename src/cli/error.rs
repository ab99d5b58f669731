//! Errors of commands: message, hints and exit code.
//!
//! Invariant: the kind alone decides the exit code, and every exit code of the contract has a kind.
//! A message says what happened and why; the hints say what to do next.

use std::borrow::Cow;
use std::io;

use serde_json::{Value, json};

use crate::api::error::current_of;
use crate::archive::ArchiveError;
use crate::daemon::DaemonError;
use crate::daemon::error::Unfit;
use crate::domain::rejection::Rejection;
use crate::journal::JournalError;

/// The exit codes and their meaning, for the help text and the reference page.
pub const EXIT_CODES: [(u8, &str); 10] = [
    (0, "done"),
    (
        1,
        "refused or failed; the message says what, why and what to do next",
    ),
    (2, "wrong usage"),
    (3, "no daemon is running and this command needs one"),
    (4, "the agent's CLI is missing or not usable"),
    (
        5,
        "an idea failed, hit its limit or is blocked (`wait`, `start --until-idle`), or a replay \
        is worse than `--expect`",
    ),
    (6, "something needs you"),
    (74, "the disk failed while the daemon was writing"),
    (75, "damaged state: refused to start (see `swarm doctor`)"),
    (130, "interrupted by a second Ctrl+C"),
];

/// The kind of failure; it decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Refused or failed.
    Refused,
    /// Another process holds the state lock: a daemon that has just started, or a command that is
    /// changing the state.
    Locked,
    /// Wrong command line.
    Usage,
    /// No daemon is running, and this command needs one.
    NoDaemon,
    /// The agent's CLI is missing or not usable.
    AgentUnusable,
    /// What the command waited for ended badly.
    EndedBadly,
    /// A person is needed.
    NeedsPerson,
    /// The disk failed while the daemon was writing.
    Disk,
    /// The state is damaged.
    Damaged,
    /// Interrupted by a second Ctrl+C.
    Interrupted,
    /// The reader closed the output; not a failure.
    BrokenPipe,
}

/// How text output shows an error. With `--json` every error is shown in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presentation {
    /// As an error.
    Error,
    /// Not at all: the output has said it.
    Shown,
}

impl Kind {
    const ALL: [Self; 11] = [
        Self::Refused,
        Self::Locked,
        Self::Usage,
        Self::NoDaemon,
        Self::AgentUnusable,
        Self::EndedBadly,
        Self::NeedsPerson,
        Self::Disk,
        Self::Damaged,
        Self::Interrupted,
        Self::BrokenPipe,
    ];

    /// The exit code of the contract.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::BrokenPipe => 0,
            Self::Refused | Self::Locked => 1,
            Self::Usage => 2,
            Self::NoDaemon => 3,
            Self::AgentUnusable => 4,
            Self::EndedBadly => 5,
            Self::NeedsPerson => 6,
            Self::Disk => 74,
            Self::Damaged => 75,
            Self::Interrupted => 130,
        }
    }

    /// The kind behind the exit code of a child that is this program.
    pub fn from_exit_code(code: u8) -> Self {
        let means = |kind: &&Self| kind.exit_code() == code;
        Self::ALL
            .iter()
            .find(means)
            .copied()
            .unwrap_or(Self::Refused)
    }

    const fn code(self) -> &'static str {
        match self {
            Self::Refused => "REFUSED",
            Self::Locked => "LOCKED",
            Self::Usage => "USAGE",
            Self::NoDaemon => "NO_DAEMON",
            Self::AgentUnusable => "AGENT_UNUSABLE",
            Self::EndedBadly => "ENDED_BADLY",
            Self::NeedsPerson => "NEEDS_PERSON",
            Self::Disk => "DISK",
            Self::Damaged => "DAMAGED",
            Self::Interrupted => "INTERRUPTED",
            Self::BrokenPipe => "BROKEN_PIPE",
        }
    }
}

/// Why a command failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CliError {
    /// Decides the exit code.
    pub kind: Kind,
    /// What happened and why.
    pub message: String,
    /// Further lines, if there is more to say.
    pub details: Option<String>,
    /// What to do next, each a sentence or `words: command`.
    pub hints: Vec<String>,
    /// How text output shows it.
    pub presentation: Presentation,
    /// What is there instead of what the command expected, for programs.
    pub current: Option<Box<Value>>,
    code: Option<Cow<'static, str>>,
}

impl CliError {
    /// An error without hints, except one for a read-only disk.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            kind,
            hints: read_only_hint(&message).into_iter().collect(),
            message,
            details: None,
            presentation: Presentation::Error,
            current: None,
            code: None,
        }
    }

    /// Refused or failed: exit code 1.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(Kind::Refused, message)
    }

    /// A system error: what was tried and the system's reason.
    pub fn io(tried: impl std::fmt::Display, error: &io::Error) -> Self {
        Self::refused(format!("cannot {tried}: {error}"))
    }

    /// This command needs a daemon and none is running.
    pub fn no_daemon() -> Self {
        Self::new(
            Kind::NoDaemon,
            "no daemon is running in this repository, and this command needs one",
        )
        .hint("start it: swarm start")
    }

    /// `swarm stop` without a daemon.
    pub fn nothing_to_stop() -> Self {
        let message = "no daemon is running in this repository, so there is nothing to stop";
        Self::new(Kind::NoDaemon, message)
    }

    /// Text output has shown all of it already.
    #[must_use]
    pub fn shown(mut self) -> Self {
        self.presentation = Presentation::Shown;
        self
    }

    /// Adds a next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Sets the further lines.
    #[must_use]
    pub fn details(mut self, details: impl Into<String>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// Sets a code for programs that is more precise than the kind's own.
    #[must_use]
    pub fn code(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// The stable code for programs.
    pub fn stable_code(&self) -> &str {
        self.code.as_deref().unwrap_or(self.kind.code())
    }

    /// The error as one JSON document, in the API's shape.
    pub fn to_json(&self) -> Value {
        let mut error = json!({
            "code": self.stable_code(),
            "message": self.message,
            "details": self.details.as_deref().unwrap_or_default(),
            "suggestions": self.hints,
        });
        if let Some(current) = &self.current {
            error["current"] = Value::clone(current);
        }
        json!({ "error": error })
    }

    /// Reads what [`Self::to_json`] wrote.
    pub fn from_json(kind: Kind, document: &Value) -> Option<Self> {
        let error = document.get("error")?;
        let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
        let hints = error.get("suggestions").and_then(Value::as_array);
        let details = Some(text("details").to_owned()).filter(|details| !details.is_empty());
        Some(Self {
            kind,
            message: error.get("message")?.as_str()?.to_owned(),
            details,
            presentation: Presentation::Error,
            current: error.get("current").cloned().map(Box::new),
            hints: hints
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            code: Some(text("code").to_owned().into()),
        })
    }
}

/// Any command can meet a disk that is mounted read-only.
fn read_only_hint(message: &str) -> Option<String> {
    let read_only = io::Error::from_raw_os_error(nix::libc::EROFS).to_string();
    message.contains(&read_only).then(|| {
        "the repository's disk is mounted read-only, perhaps after a disk error; make it writable, \
        then try again"
            .to_owned()
    })
}

/// Output that cannot be written. Closing a pipe is the reader's choice, not a failure.
impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(Kind::BrokenPipe, "the reader closed the output");
        }
        Self::io("write the output", &error)
    }
}

/// Code of a file that is no agent's state; the API answers with the same.
pub const AGENT_FILE: &str = "AGENT_FILE";

impl From<DaemonError> for CliError {
    fn from(error: DaemonError) -> Self {
        let suggestions = error.suggestions();
        let error = match error {
            DaemonError::Locked { .. } => Self::new(Kind::Locked, error.to_string()),
            DaemonError::AgentUnusable(_) => Self::new(Kind::AgentUnusable, error.to_string())
                .hint("check the configuration: swarm config check"),
            DaemonError::AgentsUnfit(unfit) => unfit_agents(&unfit),
            DaemonError::Layout(_) => Self::new(Kind::AgentUnusable, error.to_string()),
            DaemonError::DiskFailed(_) => Self::new(Kind::Disk, error.to_string()),
            DaemonError::Append(error) => Self::new(Kind::Disk, error.to_string()),
            DaemonError::Journal(error) => return error.into(),
            DaemonError::NewerRun(_) | DaemonError::LogGone | DaemonError::EndGone(_) => {
                Self::new(Kind::Damaged, error.to_string())
            }
            DaemonError::Rejected(rejection) => return rejection.into(),
            DaemonError::Config(_) => Self::refused(error.to_string())
                .hint("fix it, then check again: swarm config check"),
            DaemonError::AgentFileRefused { .. } => {
                Self::refused(error.to_string()).code(AGENT_FILE)
            }
            DaemonError::NotSetUp { .. }
            | DaemonError::TargetMissing(_)
            | DaemonError::NoTarget
            | DaemonError::Git(_)
            | DaemonError::GitProgramsNew(_)
            | DaemonError::GitProgramsUnreadable(_)
            | DaemonError::WayNotOffered
            | DaemonError::RunsAlive(_)
            | DaemonError::Archive(_)
            | DaemonError::NotImportable { .. }
            | DaemonError::SwarmThere { .. }
            | DaemonError::Io { .. } => Self::refused(error.to_string()),
        };
        suggestions.into_iter().fold(error, Self::hint)
    }
}

/// Lists every unfit agent with its fix.
fn unfit_agents(unfit: &[Unfit]) -> CliError {
    let mut each = unfit.iter().map(Unfit::to_string);
    let first = each.next().unwrap_or_default();
    let others: Vec<String> = each.collect();
    let mut error = CliError::new(Kind::AgentUnusable, first);
    if !others.is_empty() {
        error = error.details(others.join("\n"));
    }
    for one in unfit {
        if !error.hints.contains(&one.fault.advice) {
            error = error.hint(&one.fault.advice);
        }
    }
    error.hint("check all agents: swarm doctor")
}

impl From<ArchiveError> for CliError {
    fn from(error: ArchiveError) -> Self {
        DaemonError::from(error).into()
    }
}

impl From<JournalError> for CliError {
    fn from(error: JournalError) -> Self {
        let kind = if error.is_damage() {
            Kind::Damaged
        } else {
            Kind::Refused
        };
        let suggestions = error.suggestions();
        let error = Self::new(kind, error.to_string());
        suggestions.into_iter().fold(error, Self::hint)
    }
}

impl From<Rejection> for CliError {
    fn from(rejection: Rejection) -> Self {
        let mut error = Self::refused(rejection.to_string()).code(rejection.code());
        error.hints = rejection.suggestions();
        error.current = current_of(&rejection).map(Box::new);
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_the_contract() {
        let codes: Vec<u8> = Kind::ALL.iter().map(|kind| kind.exit_code()).collect();
        assert_eq!(codes, [1, 1, 2, 3, 4, 5, 6, 74, 75, 130, 0]);
        for code in [1, 2, 3, 4, 5, 6, 74, 75, 130] {
            assert_eq!(Kind::from_exit_code(code).exit_code(), code);
        }
        let mut told: Vec<u8> = codes;
        told.sort_unstable();
        told.dedup();
        assert_eq!(EXIT_CODES.map(|(code, _)| code), told[..]);
        assert_eq!(Kind::from_exit_code(101), Kind::Refused);
    }

    #[test]
    fn an_error_survives_a_round_trip_through_json() {
        let error = CliError::new(Kind::Damaged, "line 7 is damaged")
            .details("seq 7")
            .hint("see your options: swarm doctor")
            .code("LOG_DAMAGED");
        let mut error = error;
        error.current = Some(Box::new(json!({ "version": 3 })));
        let back = CliError::from_json(Kind::Damaged, &error.to_json());
        assert_eq!(back, Some(error));
    }

    #[test]
    fn a_rejection_keeps_its_code_and_suggestions() {
        let id = "idea-009".parse().unwrap();
        let error = CliError::from(Rejection::IdeaUnknown(id));
        assert_eq!(error.stable_code(), "IDEA_UNKNOWN");
        assert_eq!(error.hints, ["see the ideas: swarm idea list"]);
        assert_eq!(error.kind.exit_code(), 1);
        let error = CliError::from(Rejection::IdeaUnknown("7".parse().unwrap()));
        assert_eq!(error.hints[0], "ids look like this: idea-007");
    }

    #[test]
    fn a_read_only_disk_gets_a_hint() {
        let error = CliError::io("lock x", &io::Error::from_raw_os_error(nix::libc::EROFS));
        assert!(error.hints[0].contains("mounted read-only"), "{error:?}");
        assert_eq!(CliError::refused("no").hints, [""; 0]);
    }

    #[test]
    fn a_closed_pipe_is_not_a_failure() {
        let error = CliError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(error.kind.exit_code(), 0);
        let error = CliError::from(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(error.kind.exit_code(), 1);
    }
}
