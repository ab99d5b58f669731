//! What the command line needs of the rest of the program, as traits: state without a daemon, and the daemon itself.
//!
//! Invariant: only [`Offline::execute`], [`Offline::clean`] and the repairs take the lock and write; everything else reads, takes no lock, and is right while a daemon
//! appends to the same log.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use super::error::CliError;
use super::repo::Repo;
use crate::daemon::actor::handle::{Accepted, Handle, Journaled};
use crate::daemon::checkpoints::list::{Preview, Soundness};
use crate::daemon::clean::Report;
use crate::daemon::hooks::{Difference, HookView, Tried};
use crate::daemon::repair::{Findings, Repaired};
use crate::domain::command::Command;
use crate::domain::event::RepairWay;
use crate::domain::hook::HookName;
use crate::domain::ids::{AgentId, CheckpointName, IdeaId};
use crate::domain::settings::Mode;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::{Rest, TargetNow};

/// The state of a repository, with no daemon in between.
pub trait Offline {
    /// The state after the last event.
    fn read(&self) -> Result<State, CliError>;

    /// Takes the lock, decides, makes the events durable, rewrites the views, releases the lock. When somebody else holds the lock the error's kind
    /// is [`Locked`](super::error::Kind::Locked) and nothing has changed.
    fn execute(&self, command: Command) -> Result<Accepted, CliError>;

    /// Where a branch is at this moment.
    fn target(&self, branch: &str) -> TargetNow;

    /// The agents that run on although no daemon does.
    fn left_running(&self, state: &State) -> Vec<(AgentId, IdeaId)>;

    /// Events after `after`, oldest first, at most `limit`.
    fn events(&self, after: u64, limit: usize) -> Result<Vec<Journaled>, CliError>;

    /// The state at a point of the log, by folding events; `None`: after the last event. A point beyond the end is an error that names
    /// the end.
    fn replay(&self, at: Option<Point>) -> Result<State, CliError>;

    /// Compares the newest snapshot and the events after it with a full replay.
    fn verify(&self) -> Result<VerifyReport, CliError>;

    /// Removes what is over for long enough, under the lock; a dry run takes no lock and says what would go.
    fn clean(&self, dry_run: bool) -> Result<Report, CliError>;

    /// Looks for damage, and for what each way out would lose; no daemon may be at work.
    fn examine(&self) -> Result<Findings, CliError>;

    /// Takes a way out, under the lock, or finishes the one that was interrupted; none: nothing is damaged.
    fn repair(&self, way: RepairWay) -> Result<Option<Repaired>, CliError>;

    /// Finishes a repair that was interrupted, under the lock; none: there is no such.
    fn finish_repair(&self) -> Result<Option<Repaired>, CliError>;

    /// All checkpoints, oldest first, without the state in them.
    fn checkpoints(&self) -> Result<Vec<Value>, CliError>;

    /// One of them.
    fn checkpoint(&self, name: &CheckpointName) -> Result<Value, CliError>;

    /// Those that can be rolled back to, oldest first; and of the others, why not.
    fn sound_checkpoints(&self) -> Result<Soundness, CliError>;

    /// What a rollback to it would change.
    fn preview(&self, name: &CheckpointName) -> Result<Preview, CliError>;

    /// The hooks, in the order of an idea's way.
    fn hooks(&self) -> Result<Vec<HookView>, CliError>;

    /// What there is to approve of a hook.
    fn hook_difference(&self, hook: HookName) -> Result<Difference, CliError>;

    /// Calls a hook with sample data.
    fn try_hook(&self, hook: HookName, variables: &[(String, String)]) -> Result<Tried, CliError>;

    /// Whether a daemon or another command holds the lock at this moment.
    fn is_locked(&self) -> Result<bool, CliError>;
}

/// A point of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// After the event with this number; 0: before the first one.
    Seq(u64),
    /// After the last event that is not later than this.
    Time(Timestamp),
}

/// What a comparison of snapshot and log gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyReport {
    /// Events in the log.
    pub events: u64,
    /// The last one.
    pub last_seq: u64,
    /// The event at which the snapshot was taken; none: there is no usable snapshot, and the start is a full replay.
    pub snapshot_seq: Option<u64>,
    /// Events that are read after the snapshot.
    pub tail_events: u64,
    /// The first difference between the two states, as `path: snapshot | replay`; none: they agree.
    pub difference: Option<String>,
}

/// How to run a daemon.
pub struct StartOptions {
    /// The repository.
    pub repo: Repo,
    /// Another mode than the configuration's.
    pub mode: Option<Mode>,
    /// End when nothing is active, ready or merging.
    pub until_idle: bool,
    /// The daemon has no terminal: it was sent to the background.
    pub detached: bool,
    /// Called once, with what the log says before anything happens. It must return at once.
    pub on_open: OnOpen,
    /// Called once, when the daemon has recovered and its socket answers. It must return at once; it may keep what it is given.
    pub on_ready: OnReady,
}

/// What is called with the state.
pub type OnOpen = Box<dyn FnOnce(&State) + Send>;

/// What is called with the handle, and with what becomes true when a signal asks for the end.
pub type OnReady = Box<dyn FnOnce(Handle, watch::Receiver<bool>) + Send>;

/// Why a daemon ended, when it was not by an error.
#[derive(Debug, Clone, PartialEq)]
pub enum EndReason {
    /// It was asked to: `swarm stop` or one Ctrl+C.
    Stopped,
    /// Nothing is left that happens by itself (`until_idle`), and the state at that moment.
    AtRest(Rest, Box<State>),
    /// A second Ctrl+C.
    Interrupted,
}

/// Runs daemons.
pub trait Launcher {
    /// Runs a daemon in this process until it ends. Refused when one runs already: the error names its pid.
    fn run_daemon(&self, options: StartOptions) -> Result<EndReason, CliError>;

    /// How to start this program again, for the background: the program, without arguments.
    fn own_program(&self) -> Result<PathBuf, CliError> {
        std::env::current_exe()
            .map_err(|error| CliError::io("find this program's own file", &error))
    }
}

/// Gives access to the state of a repository without a daemon.
pub type OpenOffline = dyn Fn(&Repo) -> Result<Box<dyn Offline>, CliError>;

/// The rest of the program, as the command line sees it.
pub struct Services {
    /// Opens the state of a repository.
    pub offline: Box<OpenOffline>,
    /// Runs daemons.
    pub launcher: Box<dyn Launcher>,
}
