//! Observations of the shell, each with its run or effect.
//!
//! Invariant: an observation about something that has ended changes nothing. `daemon` makes them,
//! [`decide`](super::decide) decides on them.

use serde::{Deserialize, Serialize};

use super::event::{Findings, LandingFound, ReadCounts, ShownItem};
use super::ids::{EffectId, Oid, RunId};
use super::outcome::{Failure, Outcome, Rewrite};
use super::session::SessionId;
use super::signal::{Signal, SignalKind};
use super::state::Counters;
use super::time::Timestamp;
use super::usage::{Bill, Usage};
use super::verdict::Verdict;

/// A program that a shell does not find has ended by then, in milliseconds.
const LAUNCH_MS: i64 = 10_000;

/// Something that happened outside the log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // there are few at a time
pub enum Observation {
    /// A daemon took the lock and read the log.
    DaemonStarted {
        /// Version of the daemon.
        version: String,
        /// Higher counters than the log's, where names on disk or in git have higher numbers.
        counters: Option<Counters>,
        /// The machine, as far as checks depend on it; `None` if nobody looked.
        host: Option<Host>,
    },
    /// All unfinished effects have been dispatched again.
    RecoveryDone,
    /// The child process of a run started.
    RunStarted {
        /// The run.
        run: RunId,
        /// Process id of the child, for people; never an identity.
        pid: u32,
        /// Name of the adapter that parses its output, as configured.
        adapter: String,
        /// Whether it resumes a conversation.
        resumed: bool,
    },
    /// An agent's output contained a signal.
    SignalSeen {
        /// The run.
        run: RunId,
        /// Offset in the standard output, in bytes: the signal's identity.
        offset: u64,
        /// The signal.
        signal: Signal,
    },
    /// An agent's program reported its conversation.
    SessionSeen {
        /// The run.
        run: RunId,
        /// The conversation.
        session: SessionId,
    },
    /// An agent's model started to answer, so its provider works.
    ModelAnswered {
        /// The run.
        run: RunId,
    },
    /// An agent's program waits for its provider and retries by itself.
    ProviderAwaited {
        /// The run.
        run: RunId,
        /// Why, in the program's words.
        why: String,
    },
    /// Usage of a run so far.
    UsageSeen {
        /// The run.
        run: RunId,
        /// As reported by its program.
        usage: Usage,
    },
    /// An effect ended.
    EffectDone {
        /// The effect.
        effect: EffectId,
        /// Its outcome.
        outcome: Result<Outcome, Failure>,
    },
    /// The target branch, whose check failed, was looked up.
    TargetAt {
        /// Its commit.
        commit: Oid,
    },
    /// The target no longer contains the commit that was last seen there.
    TargetRewritten {
        /// That commit.
        from: Oid,
        /// What the target has now.
        rewrite: Rewrite,
    },
    /// Work that the rewritten target lacked was looked for there again.
    LandingsFound {
        /// Commit of the target.
        at: Oid,
        /// What is there now.
        found: Vec<LandingFound>,
    },
    /// A person accepted that these quality commands pass whatever the tree contains.
    BlindAccepted {
        /// The commands.
        commands: Vec<String>,
    },
    /// The system clock went backwards.
    ClockWentBack {
        /// Milliseconds by which it went back.
        by_ms: i64,
    },
    /// The machine was suspended.
    MachineSlept {
        /// For how many seconds.
        seconds: u64,
    },
    /// The prompt of a run shows these parts of the memory.
    MemoryShown {
        /// The run.
        run: RunId,
        /// What it shows.
        items: Vec<ShownItem>,
        /// Whether the conversation is new.
        fresh: bool,
        /// Whether it shows nothing on purpose.
        held: bool,
    },
    /// An iteration is over; it read these parts of the memory by itself.
    MemoryRead {
        /// Its run.
        run: RunId,
        /// What it looked up or found.
        items: Vec<ShownItem>,
        /// How often it read what.
        by_tool: ReadCounts,
    },
    /// The provenance record of an iteration is on disk, or can never be written.
    IterationRecorded {
        /// Its run.
        run: RunId,
        /// What was written.
        recorded: Result<Recorded, String>,
    },
    /// Provenance records have become old.
    RecordsOld {
        /// Those of iterations that ended before this time.
        before: Timestamp,
    },
    /// A problem outside any effect that people should know about.
    Trouble {
        /// Stable key, so that the same problem is one warning.
        key: String,
        /// What happened, why, and what to do; for people.
        message: String,
    },
    /// The problem is over.
    TroubleOver {
        /// Key of the problem.
        key: String,
    },
    /// Only time has passed.
    Tick,
}

/// What the checks of a daemon find on its machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Host {
    /// Processor cores that it may use.
    pub cores: u32,
    /// First of the ports that only this daemon hands out; `None` if other daemons have them all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_block: Option<u16>,
    /// What its checks get from its environment, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<CheckEnvironment>,
    /// Folder of the worktrees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<String>,
    /// Whether that folder was made at this start: nothing has been set up in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub worktrees_new: bool,
}

/// Stands for what checks get from a daemon's environment: search path, home folder and variables
/// that are passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckEnvironment {
    /// Key of the digest, the same for all daemons of a repository.
    pub key: String,
    /// Keyed digest, in hex.
    pub digest: String,
}

/// A provenance record on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// SHA-256 of its file, in hex.
    pub sha256: String,
    /// Tree of the worktree after the iteration, if it could be read.
    pub tree: Option<Oid>,
    /// Model that was used, if its program says so.
    pub model: Option<String>,
}

impl std::fmt::Display for RunEndKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exited { code } => write!(f, "exit code {code}"),
            Self::Signalled { signal } => write!(f, "killed by signal {signal}"),
            Self::TimedOut => f.write_str("took too long and was stopped"),
            Self::Idle => f.write_str("wrote nothing for too long and was stopped"),
            Self::Stopped => f.write_str("was stopped"),
            Self::LeaseExpired => f.write_str("was stopped because no daemon was running"),
            Self::OutputLimit => f.write_str("wrote too much and was stopped"),
            Self::NotStarted { message } => f.write_str(message),
            Self::Lost => f.write_str("its runner was killed"),
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEnd {
    /// How it ended.
    pub how: RunEndKind,
    /// Bytes that the child wrote to standard output.
    pub stdout_bytes: u64,
    /// Duration in milliseconds.
    pub duration_ms: i64,
    /// Processor time of all its processes in milliseconds, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<i64>,
    /// After an iteration: tip of the attempt's branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Oid>,
    /// After a failed run: the end of its output, as one harmless line of at most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
    /// After a failed quality command: digest of the end of its output, without what differs from
    /// run to run. `None` if the output cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// After a failed quality command: whether its output says that something that only one process
    /// can have (a port, a database) was in use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_use: bool,
    /// The port of its worktree that another program holds, if that is why it failed. The next
    /// command in the worktree gets other ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_port: Option<u16>,
    /// After a failed quality command: number of failed tests in the summary of its output, if
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_tests: Option<u32>,
    /// After an iteration: the files of the worktree as a tree in git; of a clean one, its commit.
    /// `None` if they cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// After an iteration: the program's own report; `None` if it reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Usage as reported by its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// After an iteration: the last final signal that the agent mentioned within a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mentioned: Option<SignalKind>,
    /// After a probe of the quality commands: what it found out. It has an event of its own.
    #[serde(skip)]
    pub probe: Option<Box<Findings>>,
    /// Usage of this run alone; set by `decide`, not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bill: Option<Bill>,
}

impl RunEnd {
    /// An end without further information.
    pub fn new(how: RunEndKind) -> Self {
        Self {
            how,
            stdout_bytes: 0,
            duration_ms: 0,
            cpu_ms: None,
            head: None,
            last_words: None,
            fingerprint: None,
            in_use: false,
            held_port: None,
            failed_tests: None,
            tree: None,
            verdict: None,
            usage: None,
            session: None,
            mentioned: None,
            probe: None,
            bill: None,
        }
    }

    /// Whether the program never began its work: it could not be started, or a shell or an
    /// interpreter did not find it. `head` is the branch's tip before the run.
    pub fn never_began(&self, head: Option<&Oid>) -> bool {
        let moved = self.head.is_some() && self.head.as_ref() != head;
        match &self.how {
            RunEndKind::NotStarted { .. } => true,
            RunEndKind::Exited { code: 126 | 127 } => {
                self.stdout_bytes == 0 && self.duration_ms < LAUNCH_MS && !moved
            }
            RunEndKind::Exited { .. }
            | RunEndKind::Signalled { .. }
            | RunEndKind::TimedOut
            | RunEndKind::Idle
            | RunEndKind::Stopped
            | RunEndKind::LeaseExpired
            | RunEndKind::OutputLimit
            | RunEndKind::Lost => false,
        }
    }
}

/// The ways in which a run can end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RunEndKind {
    /// It exited by itself.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// A signal killed it that swarm did not send.
    Signalled {
        /// Signal number.
        signal: i32,
    },
    /// It ran into its time limit and was stopped.
    TimedOut,
    /// It wrote nothing for too long and was stopped.
    Idle,
    /// It was stopped on request.
    Stopped,
    /// No daemon renewed its lease, and its runner stopped it.
    LeaseExpired,
    /// It wrote too much output and was stopped.
    OutputLimit,
    /// It could not be started.
    NotStarted {
        /// Reason, for people.
        message: String,
    },
    /// Its runner was killed; no process of it is left.
    Lost,
}

impl RunEndKind {
    /// Exit code, if the child exited by itself.
    pub fn exit_code(&self) -> Option<i32> {
        if let Self::Exited { code } = self {
            Some(*code)
        } else {
            None
        }
    }
}
