//! The daemon's interface: JSON over HTTP under `/api/v1/`, and the client that the command line
//! uses.
//!
//! A request becomes a [`Command`](crate::domain::command::Command) and is answered when its events
//! are on disk, or it reads the durable state. The routes know nothing of the transport: [`serve`]
//! gives them the unix socket of its owner.
//!
//! | place | does |
//! | --- | --- |
//! | `routes` | one file for each family of routes; `openapi`, `schema` and `types` describe them |
//! | `events`, `logs` | the two answers that go on: durable events, and the output of runs |
//! | `server` | the unix socket, who may use it, and where clients find it |
//! | `client` | what the command line uses |
//!
//! Invariant: nothing here changes the state but by a command, and every refusal has the one shape
//! of [`ApiError`].

pub mod client;
pub mod error;
pub mod events;
mod extract;
pub mod logs;
mod openapi;
mod routes;
pub mod schema;
pub mod server;
pub mod types;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::watch;

use crate::daemon::actor::handle::Journaled;
use crate::daemon::checkpoints::list::Preview;
use crate::daemon::clean::Report;
use crate::daemon::hooks::HookView;
use crate::daemon::{CommandError, Handle};
use crate::domain::ids::CheckpointName;
use crate::view::TargetNow;

pub use client::{Client, ClientError, ConnectError};
pub use error::ApiError;
pub use extract::{BODY_TIMEOUT, MAX_BODY_BYTES};
pub use server::daemon_file::DaemonFile;
pub use server::serve;
pub use server::socket::Socket;

/// What the routes need of the daemon.
pub struct ApiContext {
    /// To ask, to read, to follow.
    pub handle: Handle,
    /// The repository's root.
    pub repo_root: PathBuf,
    /// `.swarm/runs`, where the output of runs lies.
    pub runs_dir: PathBuf,
    /// The daemon's process id.
    pub pid: u32,
    /// The address of the page, where there is one.
    pub web_url: Option<String>,
    /// The log, for events that are no longer in memory.
    pub log: Arc<dyn EventLog>,
    /// What the daemon does outside its actor.
    pub control: Arc<dyn Control>,
    /// True once the actor has published its last event: streams give what there is and end.
    pub stop: watch::Receiver<bool>,
}

/// The log on disk, for events that are no longer in memory.
pub trait EventLog: Send + Sync {
    /// Events after sequence number `after`, oldest first, without gap, at most `limit`; only such
    /// as are durable. It blocks.
    fn read(&self, after: u64, limit: usize) -> io::Result<Vec<Journaled>>;
}

/// What the daemon does outside its actor.
pub trait Control: Send + Sync {
    /// Reads the configuration again and has the actor load what changed; the last event's sequence
    /// number.
    fn reload(&self) -> BoxFuture<'_, Result<u64, ReloadError>>;

    /// Where a branch is at this moment.
    fn target(&self, branch: String) -> BoxFuture<'_, TargetNow>;

    /// Removes what is over for long enough, as far as that is safe beside the daemon; or says what
    /// would go. An error says what, why, and that nothing was removed.
    fn clean(&self, dry_run: bool) -> BoxFuture<'_, Result<Report, String>>;

    /// All checkpoints, oldest first, without the state in them.
    fn checkpoints(&self) -> BoxFuture<'_, Result<Vec<Value>, String>>;

    /// The hooks, in the order of an idea's way.
    fn hooks(&self) -> BoxFuture<'_, Result<Vec<HookView>, String>>;

    /// What a rollback to this checkpoint would change.
    fn preview(&self, name: &CheckpointName) -> BoxFuture<'_, Result<Preview, String>>;
}

/// Why the configuration was not loaded. The one before stays in force.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReloadError {
    /// It is wrong.
    #[error("the configuration is wrong, and the one before stays in force: {message}")]
    Invalid {
        /// Where, what was found, and what is allowed.
        message: String,
        /// What to do.
        suggestions: Vec<String>,
    },
    /// The actor did not take it.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// The routes, for any transport that lets only the owner in.
pub fn router(context: ApiContext) -> Router {
    let (routes, description) = openapi::describe(routes::all());
    routes
        .merge(openapi::route(&description))
        .fallback(routes::nothing_here)
        .method_not_allowed_fallback(routes::wrong_method)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(Arc::new(context))
}

/// Until the streams are to end. Cancel-safe.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that nobody can say it any more.
    drop(stop.wait_for(|stop| *stop).await);
}
