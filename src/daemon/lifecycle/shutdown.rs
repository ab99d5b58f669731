//! Shutdown by signals, and ending everything that would otherwise outlive the daemon. Called by
//! `daemon` and `watcher`.
//!
//! Invariant: a second Ctrl+C works until the process is gone, whatever the first one waits for.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::reload::{Reloader, reload};
use super::signals::Request;
use crate::daemon::actor::handle::{CommandError, Handle};
use crate::daemon::effects::context::DriverContext;
use crate::daemon::runs::run;
use crate::domain::operation::Command;
use crate::domain::state::State;
use crate::view::Rest;

/// The pause before a shutdown that could not be written is requested again.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What the tasks around the actor tell the daemon directly.
#[derive(Default)]
pub(crate) struct Notes {
    requested: watch::Sender<bool>,
    repeated: Notify,
    given_up: Notify,
    why: Mutex<String>,
    at_rest: Mutex<Option<(Rest, Box<State>)>>,
}

impl Notes {
    /// Becomes true when a signal requests a shutdown.
    pub(crate) fn requested(&self) -> watch::Receiver<bool> {
        self.requested.subscribe()
    }

    /// Whether a signal has requested a shutdown.
    pub(crate) fn is_requested(&self) -> bool {
        *self.requested.borrow()
    }

    /// Waits for a second Ctrl+C.
    pub(crate) async fn interrupted(&self) {
        self.repeated.notified().await;
    }

    /// Waits until a graceful shutdown turns out to be impossible; returns why.
    pub(crate) async fn given_up(&self) -> String {
        self.given_up.notified().await;
        self.why
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn give_up(&self, why: String) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = why;
        self.given_up.notify_one();
    }

    /// The state when the daemon requested its own shutdown because it was idle.
    pub(crate) fn at_rest(&self) -> Option<(Rest, Box<State>)> {
        let mut at_rest = self.at_rest.lock().unwrap_or_else(PoisonError::into_inner);
        at_rest.take()
    }

    /// Sets the answer of [`Self::at_rest`].
    pub(crate) fn set_at_rest(&self, how: Option<(Rest, Box<State>)>) {
        *self.at_rest.lock().unwrap_or_else(PoisonError::into_inner) = how;
    }
}

/// Acts on signals until it is dropped.
pub(crate) async fn handle_signals(
    mut signals: mpsc::UnboundedReceiver<Request>,
    reloader: Reloader,
    notes: Arc<Notes>,
) {
    while let Some(request) = signals.recv().await {
        match request {
            // Nothing is awaited here, so that the next signal is received meanwhile.
            Request::Reload => {
                let reloader = reloader.clone();
                tokio::spawn(async move { reload(&reloader).await });
            }
            Request::Interrupt if notes.is_requested() => notes.repeated.notify_one(),
            Request::End if notes.is_requested() => {}
            Request::Interrupt | Request::End => {
                notes.requested.send_replace(true);
                tokio::spawn(end(reloader.handle.clone(), Arc::clone(&notes)));
            }
        }
    }
}

async fn end(handle: Handle, notes: Arc<Notes>) {
    let until = Instant::now() + grace(&handle);
    while let ShutdownRequest::NotWritten(why) = request_shutdown(&handle).await {
        if Instant::now() >= until {
            return notes.give_up(why);
        }
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

/// How long a graceful shutdown may take.
fn grace(handle: &Handle) -> Duration {
    let millis = handle.read(|state| state.settings.as_deref().map_or(0, |it| it.grace_ms));
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// The result of requesting a shutdown.
#[derive(PartialEq, Eq)]
pub(crate) enum ShutdownRequest {
    /// The daemon is shutting down.
    Accepted,
    /// The log cannot be written at the moment; the reason.
    NotWritten(String),
}

/// Requests a graceful shutdown.
pub(crate) async fn request_shutdown(handle: &Handle) -> ShutdownRequest {
    let keep_agents = false;
    match handle.command(Command::Shutdown { keep_agents }).await {
        Ok(_) => ShutdownRequest::Accepted,
        Err(error) => {
            tracing::error!(%error, "the shutdown could not be requested");
            match error {
                CommandError::Unavailable(why) => ShutdownRequest::NotWritten(why),
                CommandError::Rejected(_)
                | CommandError::Lost(_)
                | CommandError::Ended
                | CommandError::Unknown => ShutdownRequest::Accepted,
            }
        }
    }
}

/// After the actor has ended: starts nothing more, and ends git commands that do not finish within
/// `patience`, and the runs of `runs`. The next start finds what was cut off in the log. Returns
/// whether no git command is left.
pub(crate) async fn cut_off(
    context: &Arc<DriverContext>,
    runs: Option<State>,
    patience: Duration,
) -> bool {
    let context = Arc::clone(context);
    let cut = spawn_blocking(move || {
        run::close(&context);
        let over = context.repo.end_commands(patience);
        if !over {
            tracing::warn!("a git command could not be stopped; the next start waits for it");
        }
        if let Some(state) = runs {
            run::end_all(&context, &state);
        }
        over
    });
    cut.await.unwrap_or_else(|error| {
        tracing::warn!(%error, "stopping the remaining work crashed");
        false
    })
}
