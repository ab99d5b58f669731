//! The daemon's HTTP API (JSON under `/api/v1/`) and the client that the command line uses.
//!
//! A request either becomes a [`Command`](crate::domain::operation::Command), answered when its
//! events are on disk, or reads the durable state. The routes do not depend on the transport;
//! [`serve`] serves them on the owner's unix socket.
//!
//! | place | does |
//! | --- | --- |
//! | `execute`, `resolution` | the commands: what each waits for, and its answer |
//! | `command_json` | a command as clients write it |
//! | `routes` | one file for each family of views; `openapi`, `schema` and `types` describe them |
//! | `events`, `logs` | the two streamed answers: durable events, and the output of runs |
//! | `measured` | the measures of the memory, as far as the log was read for them |
//! | `sender` | who sent a request, and what agents may send |
//! | `server` | the unix socket, who may use it, and where clients find it |
//! | `client` | what the command line uses |
//!
//! Invariant: only commands change the state, and every refusal has the shape of [`ApiError`].

pub mod client;
pub(crate) mod command_json;
pub mod error;
pub mod events;
mod execute;
mod extract;
pub mod logs;
pub mod measured;
mod openapi;
mod resolution;
mod routes;
pub mod schema;
mod sender;
pub mod server;
pub mod types;

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::watch;

use crate::daemon::actor::handle::Journaled;
use crate::daemon::checkpoints::list::Preview;
use crate::daemon::clean::Report;
use crate::daemon::files::archive::Archive;
use crate::daemon::hooks::HookView;
use crate::daemon::memory::finder::Finder;
use crate::daemon::offline::Upto;
use crate::daemon::review::Wanted;
use crate::daemon::{CommandError, Handle};
use crate::domain::evolve::evolve;
use crate::domain::ids::CheckpointName;
use crate::domain::memory::Learnings;
use crate::domain::state::State;
use crate::view::memory::LogFilter;
use crate::view::{MergeDiff, TargetNow};

pub use client::{Client, ClientError, ConnectError};
pub use error::ApiError;
pub(crate) use execute::execute;
pub use extract::{BODY_TIMEOUT, MAX_BODY_BYTES};
pub use measured::Measured;
pub(crate) use routes::locate_state;
pub use sender::Origin;
pub(crate) use sender::named_run;
pub use server::daemon_file::DaemonFile;
pub use server::serve;
pub use server::socket::Socket;

/// What the routes need from the daemon.
pub struct ApiContext {
    /// Executes commands, and reads and follows the state.
    pub handle: Handle,
    /// The repository's root.
    pub repo_root: PathBuf,
    /// `<git common directory>/swarm/runs`, the folder with the output of runs.
    pub runs_dir: PathBuf,
    /// The daemon's process id.
    pub pid: u32,
    /// The address of the web page; `None` without one.
    pub web_url: Option<String>,
    /// The log, for events that are no longer in memory.
    pub log: Arc<dyn EventLog>,
    /// What the daemon does outside its actor.
    pub control: Arc<dyn Control>,
    /// Makes links to the web page; `None` without one.
    pub entrance: Option<Arc<dyn Entrance>>,
    /// Searches the memory that agents share.
    pub finder: Arc<Finder>,
    /// Measures what the memory is worth.
    pub measured: Arc<Measured>,
    /// True once the actor has published its last event: streams send the rest and end.
    pub stop: watch::Receiver<bool>,
}

/// Who lets people in to the web page.
pub trait Entrance: Send + Sync {
    /// A link that opens one session, and for how many seconds it can be used.
    fn link(&self) -> (String, u64);
}

/// The log on disk, for events that are no longer in memory.
pub trait EventLog: Send + Sync {
    /// Up to `limit` durable events after sequence number `after`, oldest first, without gaps. It
    /// blocks.
    fn read(&self, after: u64, limit: usize) -> io::Result<Vec<Journaled>>;

    /// Passes the durable events after `after` and up to `upto` to `each`, oldest first, without
    /// gaps. It blocks.
    fn scan(&self, after: u64, upto: u64, each: &mut dyn FnMut(Journaled)) -> io::Result<()> {
        let limit = usize::try_from(upto.saturating_sub(after)).unwrap_or(usize::MAX);
        self.read(after, limit)?.into_iter().for_each(each);
        Ok(())
    }

    /// Passes the durable events about the memory up to `last` that the filter wants to `each`,
    /// oldest first, until that has had enough. It blocks.
    fn memory_log(
        &self,
        filter: &LogFilter,
        last: u64,
        each: &mut dyn FnMut(Journaled) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut flow = ControlFlow::Continue(());
        self.scan(filter.read_after(), last, &mut |one| {
            if flow.is_continue() && filter.wants(one.seq, one.ts, &one.event) {
                flow = each(one);
            }
        })
    }

    /// The state at a point, by a replay. It blocks.
    fn state_at(&self, upto: Upto) -> io::Result<State>;

    /// The same, from the state at an earlier event. It blocks.
    fn state_from(&self, mut state: State, seq: u64) -> io::Result<State> {
        let after = state.seq;
        self.scan(after, seq, &mut |one| {
            evolve(&mut state, one.seq, one.ts, &one.event);
        })?;
        Ok(state)
    }

    /// All learnings up to an event, those too that were dropped from the state. It blocks.
    fn learned(&self, upto: u64) -> io::Result<Learnings> {
        let mut archive = Archive::default();
        self.scan(0, upto, &mut |one| archive.see(one.seq, one.ts, &one.event))?;
        Ok(archive.into_learnings())
    }
}

/// What the daemon does outside its actor.
pub trait Control: Send + Sync {
    /// Reads the configuration again and has the actor load the changes. Returns the last event's
    /// sequence number.
    fn reload(&self) -> BoxFuture<'_, Result<u64, ReloadError>>;

    /// The commit of a branch at this moment.
    fn target(&self, branch: String) -> BoxFuture<'_, TargetNow>;

    /// What landing an idea would change.
    fn merge_diff(&self, wanted: Wanted) -> BoxFuture<'_, Result<MergeDiff, String>>;

    /// Removes old output and leftovers, as far as that is safe while the daemon runs; with
    /// `dry_run`, only lists them. After an error nothing was removed.
    fn clean(&self, dry_run: bool) -> BoxFuture<'_, Result<Report, String>>;

    /// All checkpoints, oldest first, without the state in them.
    fn checkpoints(&self) -> BoxFuture<'_, Result<Vec<Value>, String>>;

    /// The hooks, in the order in which an idea meets them.
    fn hooks(&self) -> BoxFuture<'_, Result<Vec<HookView>, String>>;

    /// What a rollback to this checkpoint would change.
    fn preview(&self, name: &CheckpointName) -> BoxFuture<'_, Result<Preview, String>>;
}

/// Why the configuration was not loaded. The previous one stays in force.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReloadError {
    /// It is invalid.
    #[error("the configuration is invalid, so the previous one stays in force: {message}")]
    Invalid {
        /// Where the problem is, what was found, and what is allowed.
        message: String,
        /// What to do next.
        suggestions: Vec<String>,
    },
    /// The actor refused it.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// The routes, for a transport that admits only the owner.
pub fn router(context: Arc<ApiContext>) -> Router {
    let (routes, description) = openapi::describe(routes::all());
    let who_sends = middleware::from_fn_with_state(Arc::clone(&context), sender::refuse_agents);
    routes
        .route_layer(who_sends)
        .merge(openapi::route(&description))
        .fallback(routes::nothing_here)
        .method_not_allowed_fallback(routes::wrong_method)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(context)
}

/// Waits until the streams must end. Cancel-safe.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, so the daemon is ending too.
    drop(stop.wait_for(|stop| *stop).await);
}
