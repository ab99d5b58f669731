//! Access to the state: through the daemon if one is running, otherwise through the files.
//! `speaker` says who may type which command.
//!
//! Invariant: both give the same views. A change is sent at most once; it is retried only if it
//! certainly had no effect.

pub mod agent_output;
mod files;
pub mod ids;
mod memory;
pub mod remote;
pub mod speaker;
pub mod temporary_daemon;

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::commands::agent::import;
use super::error::{CliError, Kind};
use super::json::to_value;
use super::repo::Repo;
use crate::api::{DaemonFile, Origin};
use crate::daemon::actor::handle::Accepted;
use crate::daemon::agent_import::{self, AgentFile, Sender, Wanted};
use crate::daemon::memory::finder::Finder;
use crate::daemon::{Paths, clean, hooks, offline};
use crate::domain::ids::{AgentId, CheckpointName, IdeaId};
use crate::domain::operation::Command;
use crate::domain::rejection::Rejection;
use crate::domain::request::Request;
use crate::domain::state::{IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::view::answer::{Answer, compared_text};
use crate::view::{self, Outside, TargetNow};
pub use files::{Files, Past};
use remote::Daemon;

/// How long a command retries while a daemon is starting or stopping, or while other commands
/// change the state. Each of those takes milliseconds, but there may be many.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it waits between two tries.
const PAUSE: Duration = Duration::from_millis(25);

/// A way to read and change the state.
pub enum Access {
    /// Through the daemon.
    Daemon(Box<Daemon>),
    /// Through the files.
    Offline(Files),
}

/// Does `work` through the daemon or, without one, through the files. Retries for a moment if a
/// daemon starts or stops meanwhile.
pub fn with_access<T>(
    repo: &Repo,
    mut work: impl FnMut(&mut Access) -> Result<T, CliError>,
) -> Result<T, CliError> {
    patiently(|| open(repo).and_then(|mut access| work(&mut access)))
}

/// As [`with_access`]. An earlier point is read from the files, with and without a daemon.
pub fn with_access_then<T>(
    repo: &Repo,
    past: Option<&Past>,
    mut work: impl FnMut(&mut Access) -> Result<T, CliError>,
) -> Result<T, CliError> {
    match past {
        Some(past) => {
            let files = Files::then(repo.paths(), past.clone());
            work(&mut Access::Offline(files))
        }
        None => with_access(repo, work),
    }
}

/// Retries `work` for up to [`PATIENCE`] while [`is_race`] says that nothing was done.
pub fn patiently<T>(mut work: impl FnMut() -> Result<T, CliError>) -> Result<T, CliError> {
    let start = Instant::now();
    loop {
        match work() {
            Err(error) if is_race(&error) && start.elapsed() < PATIENCE => thread::sleep(PAUSE),
            result => return result,
        }
    }
}

/// Whether nothing was done and a retry may succeed: the daemon stopped before it read the request,
/// is about to stop, or another process holds the lock.
pub fn is_race(error: &CliError) -> bool {
    matches!(error.kind, Kind::NoDaemon | Kind::Locked) || error.stable_code() == "ENDING"
}

fn open(repo: &Repo) -> Result<Access, CliError> {
    Ok(match Daemon::connect(repo)? {
        Some(daemon) => Access::Daemon(Box::new(daemon)),
        None => Access::Offline(Files::now(repo.paths())),
    })
}

impl Access {
    /// Whether no daemon answers now. An earlier point is read from the files in any case.
    pub const fn is_offline(&self) -> bool {
        match self {
            Self::Daemon(_) => false,
            Self::Offline(files) => !files.is_past(),
        }
    }

    /// `agent list --json`.
    pub fn agents(&mut self) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get("agents"),
            Self::Offline(files) => to_value(&view::agents(&files.state()?)),
        }
    }

    /// One agent, running or ended.
    pub fn agent(&mut self, id: &AgentId) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get(&format!("agents/{id}")),
            Self::Offline(files) => {
                let agent = view::agent(&files.state()?, id);
                to_value(&agent.ok_or_else(|| Rejection::AgentUnknown(id.clone()))?)
            }
        }
    }

    /// `status --json`.
    pub fn status(&mut self) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get("status"),
            Self::Offline(files) if files.is_past() => {
                let outside = Outside {
                    is_past: true,
                    ..Outside::default()
                };
                to_value(&view::status(&files.state()?, outside))
            }
            Self::Offline(Files { paths, .. }) => {
                let state = offline::read(paths)?;
                let target = state
                    .settings
                    .as_deref()
                    .map_or(TargetNow::Unknown, |settings| {
                        offline::target(paths, &settings.target)
                    });
                let outside = Outside {
                    target,
                    left_running: offline::left_running(paths, &state),
                    killed: killed_daemon(paths),
                    ..Outside::default()
                };
                to_value(&view::status(&state, outside))
            }
        }
    }

    /// `idea list --json`.
    pub fn ideas(&mut self, status: Option<IdeaStatus>) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => match status {
                Some(status) => daemon.get(&format!("ideas?status={}", status.as_str())),
                None => daemon.get("ideas"),
            },
            Self::Offline(files) => to_value(&view::ideas(&files.state()?, status)),
        }
    }

    /// The ideas as a person wants to see them: open ones first, each with what it used.
    pub fn ideas_open_first(&mut self, status: Option<IdeaStatus>) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => {
                let only = status
                    .map_or_else(String::new, |status| format!("&status={}", status.as_str()));
                daemon.get(&format!("ideas?openFirst=true{only}"))
            }
            Self::Offline(files) => to_value(&view::ideas_open_first(&files.state()?, status)),
        }
    }

    /// One idea with its history.
    pub fn idea(&mut self, id: &IdeaId) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get(&format!("ideas/{id}")),
            Self::Offline(files) => idea_of(&files.state()?, id),
        }
    }

    /// The merge queue.
    pub fn merges(&mut self) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get("merges"),
            Self::Offline(files) => to_value(&view::merges(&files.state()?)),
        }
    }

    /// `merge diff --json`.
    pub fn merge_diff(&mut self, id: &IdeaId) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get(&format!("merges/{id}/diff")),
            Self::Offline(Files { paths, .. }) => to_value(&offline::merge_diff(paths, id)?),
        }
    }

    /// `memory learnings --json`.
    pub fn learnings(&mut self) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get("learnings"),
            Self::Offline(files) => to_value(&view::learnings(&files.state()?)),
        }
    }

    /// `report --json`.
    pub fn report(&mut self, since: Option<Timestamp>) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => {
                let since = since.map_or_else(String::new, |since| format!("?since={since}"));
                daemon.get(&format!("report{since}"))
            }
            Self::Offline(files) => to_value(&view::report(&files.state()?, since)),
        }
    }

    /// Up to `limit` events after `after`, oldest first, as `{"seq","ts","kind","data"}`.
    pub fn events(&mut self, after: u64, limit: usize) -> Result<Vec<Value>, CliError> {
        match self {
            Self::Daemon(daemon) => {
                let page = daemon.fetch(&format!("events?since={after}&limit={limit}"))?;
                Ok(page.as_array().cloned().unwrap_or_default())
            }
            Self::Offline(files) => {
                let mut events = offline::events(&files.paths, after, limit)?;
                if let Some(last) = files.last_seq() {
                    events.retain(|event| event.seq <= last);
                }
                events.iter().map(super::event_json::to_json).collect()
            }
        }
    }

    /// `checkpoint list --json`.
    pub fn checkpoints(&mut self) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get("checkpoints"),
            Self::Offline(Files { paths, .. }) => Ok(Value::Array(offline::checkpoints(paths)?)),
        }
    }

    /// `hooks list --json`.
    pub fn hooks(&mut self) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get("hooks"),
            Self::Offline(Files { paths, .. }) => {
                to_value(&hooks::list_in(paths, &offline::read(paths)?)?)
            }
        }
    }

    /// `checkpoint show --json`.
    pub fn checkpoint(&mut self, name: &CheckpointName) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get(&format!("checkpoints/{name}")),
            Self::Offline(Files { paths, .. }) => Ok(offline::checkpoint(paths, name)?),
        }
    }

    /// `rollback --dry-run --json`.
    pub fn preview(&mut self, name: &CheckpointName) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get(&format!("checkpoints/{name}/preview")),
            Self::Offline(Files { paths, .. }) => to_value(&offline::preview(paths, name)?),
        }
    }

    /// `undo --dry-run --json`.
    pub fn undo(&mut self, skip_landed: bool) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get(&format!("undo?skipLanded={skip_landed}")),
            Self::Offline(Files { paths, .. }) => {
                to_value(&view::undo(&offline::read(paths)?, skip_landed))
            }
        }
    }

    /// Removes old output and leftovers: `clean --json`.
    pub fn clean(&mut self, dry_run: bool) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.post("clean", &json!({ "dryRun": dry_run })),
            Self::Offline(Files { paths, .. }) => to_value(&clean::offline(paths, dry_run)?),
        }
    }

    /// Lets an idea go on from an agent's state: `agent import --json`.
    /// The daemon gets the state alone, and finds the rest where it is kept.
    pub fn import_agent(
        &mut self,
        paths: &Paths,
        file: &mut AgentFile,
        wanted: &Wanted,
    ) -> Result<Value, CliError> {
        let sender = || -> Result<Sender, CliError> {
            Ok(Sender {
                by: speaker::author(paths)?,
                operation: None,
            })
        };
        match self {
            Self::Daemon(_) if file.is_packed() && wanted.check => {
                let result = agent_import::check(paths, file, wanted.clone(), sender()?)?;
                to_value(&result)
            }
            Self::Daemon(daemon) => {
                if file.is_packed() {
                    agent_import::keep_for_daemon(paths, file, wanted.clone(), sender()?)?;
                }
                daemon.post_file(&import::query(wanted), file.state().to_vec())
            }
            Self::Offline(_) => {
                let result = agent_import::offline(paths, file, wanted.clone(), sender()?)?;
                to_value(&result)
            }
        }
    }

    /// Executes a command. The answer has the `seq` of its last event and, for a new idea, its
    /// `id`.
    pub fn execute(&mut self, command: &Command) -> Result<Value, CliError> {
        self.execute_for(&Origin::default(), command)
    }

    /// Executes a command that comes from elsewhere. Sent again as the same operation, it gets the
    /// first answer.
    pub fn execute_for(&mut self, origin: &Origin, command: &Command) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => {
                daemon.set_origin(origin.clone());
                daemon.execute(command)
            }
            Self::Offline(Files { paths, .. }) => {
                let request = Request {
                    by: speaker::author(paths)?.through(origin.client.as_deref()),
                    operation: origin.operation.clone(),
                    command: command.clone(),
                };
                let accepted = offline::execute(paths, &request)?;
                answer(paths, command, &accepted)
            }
        }
    }
}

/// The process id of a daemon that ended without removing its file. While the lock is held, one is
/// starting or stopping.
fn killed_daemon(paths: &Paths) -> Option<u32> {
    let file = DaemonFile::read(&paths.private).ok()??;
    let is_locked = offline::is_locked(paths).ok()?;
    (!is_locked).then_some(file.pid)
}

fn idea_of(state: &State, id: &IdeaId) -> Result<Value, CliError> {
    let detail = view::idea_detail(state, id).ok_or_else(|| Rejection::IdeaUnknown(id.clone()))?;
    to_value(&detail)
}

/// The answer to a command that was carried out without a daemon, as the API gives it.
fn answer(paths: &Paths, command: &Command, accepted: &Accepted) -> Result<Value, CliError> {
    let state = offline::read(paths)?;
    let taken = accepted.taken();
    let similar = compared_text(&state, command, &taken).map(|compared| {
        let except: Vec<&str> = compared.except.iter().map(String::as_str).collect();
        Finder::default().similar(&|each| each(&state), &compared.text, &except)
    });
    to_value(&Answer::of(
        &state,
        command,
        &taken,
        similar.unwrap_or_default(),
    ))
}
