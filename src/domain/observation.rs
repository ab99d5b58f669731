//! What the shell saw, always with the run or effect that it belongs to. An observation of
//! something that is over changes nothing.

use serde::{Deserialize, Serialize};

use super::ids::{EffectId, Oid, RunId};
use super::outcome::{Failure, Outcome};
use super::session::SessionId;
use super::signal::Signal;
use super::usage::{Bill, Usage};
use super::verdict::Verdict;

/// Something that happened outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// A daemon took the lock and read the log.
    DaemonStarted {
        /// Its version.
        version: String,
    },
    /// All effects without an outcome have been dispatched again.
    RecoveryDone,
    /// The child of a run is running.
    RunStarted {
        /// The run.
        run: RunId,
        /// The child's process id, for people; never an identity.
        pid: u32,
        /// How its output is read, as the configuration names it.
        adapter: String,
        /// Whether it goes on with a conversation.
        resumed: bool,
    },
    /// An agent's output held a signal.
    SignalSeen {
        /// In which run.
        run: RunId,
        /// Where in its standard output, in bytes: the signal's identity.
        offset: u64,
        /// What it said.
        signal: Signal,
    },
    /// An agent's program named its conversation.
    SessionSeen {
        /// In which run.
        run: RunId,
        /// The conversation.
        session: SessionId,
    },
    /// An agent's model has begun to answer: its service works.
    ModelAnswered {
        /// In which run.
        run: RunId,
    },
    /// What a run has used up to now.
    UsageSeen {
        /// Which run.
        run: RunId,
        /// As its program told it.
        usage: Usage,
    },
    /// An effect ended.
    EffectDone {
        /// The effect.
        effect: EffectId,
        /// How.
        outcome: Result<Outcome, Failure>,
    },
    /// The wall clock went back.
    ClockWentBack {
        /// By how many milliseconds.
        by_ms: i64,
    },
    /// Something that people should know, found outside of any effect.
    Trouble {
        /// A short stable name, so that the same trouble is one warning.
        key: String,
        /// What, why and what to do.
        message: String,
    },
    /// Such trouble is over.
    TroubleOver {
        /// The same name.
        key: String,
    },
    /// Nothing but time passed.
    Tick,
}

impl std::fmt::Display for RunEndKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exited { code } => write!(f, "exit code {code}"),
            Self::Signalled { signal } => write!(f, "killed by signal {signal}"),
            Self::TimedOut => f.write_str("took too long and was ended"),
            Self::Idle => f.write_str("wrote nothing for too long and was ended"),
            Self::Stopped => f.write_str("was ended"),
            Self::LeaseExpired => f.write_str("was ended, because no daemon lived"),
            Self::OutputLimit => f.write_str("wrote too much and was ended"),
            Self::NotStarted { message } => f.write_str(message),
            Self::Lost => f.write_str("its runner was killed"),
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEnd {
    /// In which way.
    pub how: RunEndKind,
    /// Bytes that the child wrote to its standard output.
    pub stdout_bytes: u64,
    /// How long it took.
    pub duration_ms: i64,
    /// After an iteration: where the attempt's branch stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Oid>,
    /// After an agent's run that failed: the end of its standard error, as one harmless line of at
    /// most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
    /// After an iteration: how it went, by its program's own word; none: the program has no words
    /// for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What it used, as its program told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The conversation that it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// What it used by itself; decided, not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bill: Option<Bill>,
}

impl RunEnd {
    /// An end of which nothing else is known.
    pub fn new(how: RunEndKind) -> Self {
        Self {
            how,
            stdout_bytes: 0,
            duration_ms: 0,
            head: None,
            last_words: None,
            verdict: None,
            usage: None,
            session: None,
            bill: None,
        }
    }
}

/// The ways in which a run can end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RunEndKind {
    /// By itself.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// By a signal that swarm did not send.
    Signalled {
        /// Its number.
        signal: i32,
    },
    /// It took too long and was ended.
    TimedOut,
    /// It wrote nothing for too long and was ended.
    Idle,
    /// It was ended because that was asked for.
    Stopped,
    /// No daemon lived for longer than its lease, and its runner ended it.
    LeaseExpired,
    /// It wrote more than it may and was ended.
    OutputLimit,
    /// It could not be started.
    NotStarted {
        /// Why.
        message: String,
    },
    /// Its runner was killed; nothing of it lives.
    Lost,
}

impl RunEndKind {
    /// The exit code, where the child ended by itself.
    pub fn exit_code(&self) -> Option<i32> {
        if let Self::Exited { code } = self {
            Some(*code)
        } else {
            None
        }
    }
}
