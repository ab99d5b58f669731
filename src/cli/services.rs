//! The command line's own needs, met by the rest of the program: the state without a daemon, and a daemon with its socket.
//!
//! Invariant: the socket is bound and `daemon.json` written only while the lock is held, and both are gone before it is given back.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::watch;

use super::backend::{
    EndReason, Launcher, Offline, OnReady, Point, Services, StartOptions, VerifyReport,
};
use super::error::{CliError, Kind};
use super::repo::Repo;
use crate::api::{
    ApiContext, Control, DaemonFile, EventLog, ReloadError, Socket, daemon_file, router, serve,
};
use crate::crash;
use crate::daemon::actor::clock;
use crate::daemon::actor::handle::{Accepted, Journaled};
use crate::daemon::checkpoints::list::{self, Preview};
use crate::daemon::clean::{self, Report};
use crate::daemon::error::Unfit;
use crate::daemon::hooks::{self, Difference, HookView, Tried, TryError};
use crate::daemon::lifecycle::daemon::{ReloadError as DaemonReloadError, Reloader};
use crate::daemon::lifecycle::systemd_notify::Supervisor;
use crate::daemon::offline::{self, TwoWays, Upto};
use crate::daemon::repair::{self, Findings, Repaired};
use crate::daemon::{CommandError, Daemon, DaemonError, End, Options, Paths};
use crate::domain::command::Command;
use crate::domain::event::RepairWay;
use crate::domain::hook::HookName;
use crate::domain::ids::{AgentId, CheckpointName, IdeaId};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::state::State;
use crate::journal::JournalError;
use crate::view::TargetNow;

/// How long a start waits for commands that hold the lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// How long a daemon that was killed may take to be gone.
const DEATH_PATIENCE: Duration = Duration::from_secs(1);
/// How long it waits between two tries.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// The real ones.
pub fn services() -> Services {
    Services {
        offline: Box::new(|repo| {
            Ok(Box::new(Files {
                paths: Paths::new(repo.root()),
            }))
        }),
        launcher: Box::new(InProcess),
    }
}

impl From<DaemonError> for CliError {
    fn from(error: DaemonError) -> Self {
        match error {
            DaemonError::Locked { .. } => Self::new(Kind::Locked, error.to_string()),
            DaemonError::AgentUnusable(_) => Self::new(Kind::AgentUnusable, error.to_string())
                .hint("look at the configuration: swarm config check"),
            DaemonError::AgentsUnfit(unfit) => unfit_agents(&unfit),
            DaemonError::DiskFailed(_) => Self::new(Kind::Disk, error.to_string()),
            DaemonError::Append(error) => Self::new(Kind::Disk, error.to_string()),
            DaemonError::Journal(error) => error.into(),
            DaemonError::NewerRun(_) | DaemonError::LogGone | DaemonError::EndGone(_) => {
                Self::new(Kind::Damaged, error.to_string())
            }
            DaemonError::Rejected(rejection) => rejection.into(),
            DaemonError::Config(_) => Self::refused(error.to_string())
                .hint("mend it, then look again: swarm config check"),
            _ => Self::refused(error.to_string()),
        }
    }
}

/// Each with what to do about it.
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
    error.hint("look at all agents: swarm doctor")
}

impl From<JournalError> for CliError {
    fn from(error: JournalError) -> Self {
        let kind = if error.is_damage() {
            Kind::Damaged
        } else {
            Kind::Refused
        };
        Self::new(kind, error.to_string())
    }
}

/// The state of a repository, by its files.
struct Files {
    paths: Paths,
}

impl Offline for Files {
    fn read(&self) -> Result<State, CliError> {
        Ok(offline::read(&self.paths)?)
    }

    fn execute(&self, command: Command) -> Result<Accepted, CliError> {
        Ok(offline::execute(&self.paths, &command)?)
    }

    fn target(&self, branch: &str) -> TargetNow {
        offline::target(&self.paths, branch)
    }

    fn left_running(&self, state: &State) -> Vec<(AgentId, IdeaId)> {
        offline::left_running(&self.paths, state)
    }

    fn events(&self, after: u64, limit: usize) -> Result<Vec<Journaled>, CliError> {
        Ok(offline::events(&self.paths, after, limit)?)
    }

    fn replay(&self, at: Option<Point>) -> Result<State, CliError> {
        let upto = match at {
            Some(Point::Seq(seq)) => Upto::Seq(seq),
            Some(Point::Time(time)) => Upto::Time(time),
            None => Upto::End,
        };
        let state = offline::state_at(&self.paths, upto)?;
        match at {
            // A log that was repaired may begin later.
            Some(Point::Seq(seq)) if state.seq == 0 && seq <= self.read()?.seq => Err(
                CliError::refused(format!("event {seq} is gone: the log begins later"))
                    .hint("the first event that is there: swarm events"),
            ),
            Some(Point::Seq(seq)) if seq > state.seq => Err(CliError::refused(format!(
                "there is no event {seq}: the log ends with event {}",
                state.seq
            ))),
            _ => Ok(state),
        }
    }

    fn verify(&self) -> Result<VerifyReport, CliError> {
        Ok(report(&offline::both_ways(&self.paths)?))
    }

    fn clean(&self, dry_run: bool) -> Result<Report, CliError> {
        Ok(clean::offline(&self.paths, dry_run)?)
    }

    fn checkpoints(&self) -> Result<Vec<Value>, CliError> {
        Ok(list::list(&self.paths, &offline::read(&self.paths)?))
    }

    fn checkpoint(&self, name: &CheckpointName) -> Result<Value, CliError> {
        let state = offline::read(&self.paths)?;
        Ok(list::show(&self.paths, &state, name)?)
    }

    fn sound_checkpoints(&self) -> Result<list::Soundness, CliError> {
        Ok(offline::sound_checkpoints(&self.paths)?)
    }

    fn preview(&self, name: &CheckpointName) -> Result<Preview, CliError> {
        Ok(offline::preview(&self.paths, name)?)
    }

    fn hooks(&self) -> Result<Vec<HookView>, CliError> {
        Ok(hooks::list_in(&self.paths, &self.read()?)?)
    }

    fn hook_difference(&self, hook: HookName) -> Result<Difference, CliError> {
        let found = hooks::difference(&self.paths, &self.read()?, hook);
        found.map_err(not_tried)
    }

    fn try_hook(&self, hook: HookName, variables: &[(String, String)]) -> Result<Tried, CliError> {
        let tried = hooks::try_out(&self.paths, &self.read()?, hook, variables);
        tried.map_err(not_tried)
    }

    fn examine(&self) -> Result<Findings, CliError> {
        Ok(repair::examine(&self.paths)?)
    }

    fn repair(&self, way: RepairWay) -> Result<Option<Repaired>, CliError> {
        Ok(repair::take(&self.paths, way)?)
    }

    fn finish_repair(&self) -> Result<Option<Repaired>, CliError> {
        Ok(repair::finish(&self.paths)?)
    }

    fn is_locked(&self) -> Result<bool, CliError> {
        Ok(offline::is_locked(&self.paths)?)
    }
}

fn not_tried(error: TryError) -> CliError {
    match error {
        TryError::Daemon(error) => (*error).into(),
        TryError::Interrupted(_) => CliError::new(Kind::Interrupted, error.to_string()),
        error => CliError::refused(error.to_string()).hint("see which there are: swarm hooks list"),
    }
}

fn report(ways: &TwoWays) -> VerifyReport {
    let as_json = |state: &State| serde_json::to_value(state).unwrap_or(Value::Null);
    let difference = (ways.by_snapshot != ways.by_replay).then(|| {
        first_difference("", &as_json(&ways.by_snapshot), &as_json(&ways.by_replay))
            .unwrap_or_else(|| "the states differ in what JSON does not show".to_owned())
    });
    let last_seq = ways.by_replay.seq;
    VerifyReport {
        events: last_seq,
        last_seq,
        snapshot_seq: ways.snapshot_seq,
        tail_events: last_seq - ways.snapshot_seq.unwrap_or(0),
        difference,
    }
}

/// Where two documents differ first, as `path: one | other`.
fn first_difference(path: &str, one: &Value, other: &Value) -> Option<String> {
    if one == other {
        return None;
    }
    if let (Value::Object(left), Value::Object(right)) = (one, other) {
        let keys: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
        return keys.into_iter().find_map(|key| {
            let value = |object: &serde_json::Map<String, Value>| {
                object.get(key).cloned().unwrap_or(Value::Null)
            };
            first_difference(&format!("{path}/{key}"), &value(left), &value(right))
        });
    }
    let short = |value: &Value| value.to_string().chars().take(200).collect::<String>();
    Some(format!("{path}: {} | {}", short(one), short(other)))
}

/// A daemon in this process.
struct InProcess;

impl Launcher for InProcess {
    fn run_daemon(&self, options: StartOptions) -> Result<EndReason, CliError> {
        let daemon = open_when_free(&options)?;
        daemon.handle().read(options.on_open);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| CliError::io("start the daemon's threads", &error))?;
        let end = runtime.block_on(host(daemon, &options.repo, options.on_ready));
        // What hangs in a driver is the next start's; nobody waits for it here.
        runtime.shutdown_background();
        Ok(match end? {
            End::Stopped => EndReason::Stopped,
            End::AtRest(rest, state) => EndReason::AtRest(rest, state),
            End::Interrupted => EndReason::Interrupted,
        })
    }
}

/// A command holds the lock for a moment, and is waited for; a daemon holds it until it ends, and says so in its file. One that was killed a
/// moment ago may still be on its way out.
fn open_when_free(options: &StartOptions) -> Result<Daemon, CliError> {
    let begun = Instant::now();
    loop {
        let opened = Daemon::open(Options {
            root: options.repo.root().to_owned(),
            mode: options.mode,
            until_idle: options.until_idle,
        });
        match opened {
            Err(DaemonError::Locked { pid }) if begun.elapsed() < patience_with(pid, options) => {
                thread::sleep(LOCK_PAUSE);
            }
            opened => return Ok(opened?),
        }
    }
}

fn patience_with(pid: Option<u32>, options: &StartOptions) -> Duration {
    let announced = DaemonFile::read(&options.repo.state()).ok().flatten();
    if announced.is_some_and(|file| Some(file.pid) == pid) {
        DEATH_PATIENCE
    } else {
        LOCK_PATIENCE
    }
}

/// Runs a daemon with its socket.
async fn host(daemon: Daemon, repo: &Repo, on_ready: OnReady) -> Result<End, CliError> {
    let state_dir = repo.state();
    let socket = Socket::bind(&state_dir)
        .map_err(|error| CliError::refused(format!("the daemon's socket: {error}")))?;
    let file = DaemonFile {
        pid: std::process::id(),
        socket: socket.path().to_owned(),
        started_at: clock::wall(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        web_url: None,
        state: daemon_file::place(&state_dir).ok(),
    };
    let supervisor = Supervisor::of_environment().map(Arc::new);
    let (stop, stopped) = watch::channel(false);
    let api = router(ApiContext {
        handle: daemon.handle(),
        repo_root: repo.root().to_owned(),
        runs_dir: repo.runs(),
        pid: std::process::id(),
        web_url: None,
        log: Arc::new(Log {
            paths: daemon.paths().clone(),
        }),
        control: Arc::new(Controls {
            reloader: daemon.reloader(),
        }),
        stop: stopped.clone(),
    });
    crash::point("daemon.socket-bound");
    file.write(&state_dir)
        .map_err(|error| CliError::io("write daemon.json", &error))?;
    crash::point("daemon.announced");
    let server = tokio::spawn(serve(socket, api, stopped));
    let ready = tokio::spawn(when_ready(
        daemon.handle(),
        daemon.end_asked(),
        on_ready,
        supervisor.clone(),
    ));
    let ended = daemon
        .run(async move {
            if let Some(supervisor) = supervisor {
                supervisor.stopping();
            }
            // The socket answers until the last event is published, and is gone before the lock is.
            stop.send_replace(true);
            if let Ok(Err(error)) = server.await {
                tracing::warn!(%error, "the socket was not closed cleanly");
            }
            if let Err(error) = DaemonFile::remove(&state_dir) {
                tracing::warn!(%error, "daemon.json could not be removed");
            }
        })
        .await;
    ready.abort();
    Ok(ended?)
}

/// Tells when the daemon has recovered; a service manager, from then on, also how it stands.
async fn when_ready(
    handle: crate::daemon::Handle,
    end_asked: watch::Receiver<bool>,
    on_ready: OnReady,
    supervisor: Option<Arc<Supervisor>>,
) {
    let mut seq = handle.seq();
    let recovering = |state: &State| {
        matches!(
            state.swarm.phase,
            SwarmPhase::Recovering | SwarmPhase::Stopped
        )
    };
    while handle.read(recovering) || handle.read(|state| state.settings.is_none()) {
        if seq.changed().await.is_err() {
            return;
        }
    }
    on_ready(handle.clone(), end_asked);
    if let Some(supervisor) = supervisor {
        supervisor.inform(handle).await;
    }
}

/// The log on disk, for the API.
struct Log {
    paths: Paths,
}

impl EventLog for Log {
    fn read(&self, after: u64, limit: usize) -> std::io::Result<Vec<Journaled>> {
        offline::events(&self.paths, after, limit).map_err(std::io::Error::other)
    }
}

/// What the daemon does outside its actor, for the API.
struct Controls {
    reloader: Reloader,
}

impl Control for Controls {
    fn reload(&self) -> BoxFuture<'_, Result<u64, ReloadError>> {
        Box::pin(async {
            self.reloader.reload().await.map_err(|error| match error {
                DaemonReloadError::Wrong(error) => ReloadError::Invalid {
                    message: error.to_string(),
                    suggestions: vec!["look at it: swarm config check".to_owned()],
                },
                DaemonReloadError::Refused(error) => command_error(error),
            })
        })
    }

    fn target(&self, branch: String) -> BoxFuture<'_, TargetNow> {
        Box::pin(self.reloader.target(branch))
    }

    fn clean(&self, dry_run: bool) -> BoxFuture<'_, Result<Report, String>> {
        Box::pin(async move {
            let cleaned = self.reloader.clean(dry_run).await;
            cleaned.map_err(|error| error.to_string())
        })
    }

    fn checkpoints(&self) -> BoxFuture<'_, Result<Vec<Value>, String>> {
        Box::pin(async move {
            let all = self.reloader.checkpoints().await;
            all.map_err(|error| error.to_string())
        })
    }

    fn hooks(&self) -> BoxFuture<'_, Result<Vec<HookView>, String>> {
        Box::pin(async move {
            let hooks = self.reloader.hook_views().await;
            hooks.map_err(|error| error.to_string())
        })
    }

    fn preview(&self, name: &CheckpointName) -> BoxFuture<'_, Result<Preview, String>> {
        let name = name.clone();
        Box::pin(async move {
            let preview = self.reloader.preview(name).await;
            preview.map_err(|error| error.to_string())
        })
    }
}

fn command_error(error: CommandError) -> ReloadError {
    ReloadError::Command(error)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_named_by_its_path() {
        let one = json!({"a": {"b": 1}, "c": [1, 2]});
        assert_eq!(first_difference("", &one, &one), None);
        let other = json!({"a": {"b": 2}, "c": [1, 2]});
        assert_eq!(
            first_difference("", &one, &other).as_deref(),
            Some("/a/b: 1 | 2")
        );
        let longer = json!({"a": {"b": 1}, "c": [1, 2], "d": 0});
        assert_eq!(
            first_difference("", &one, &longer).as_deref(),
            Some("/d: null | 0")
        );
    }
}
