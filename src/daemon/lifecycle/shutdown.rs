//! The end that signals ask for, and what is seen to so that nothing of ours runs on after it.
//!
//! Invariant: a second Ctrl+C is heard until the process is gone, whatever the first one waits for.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::reload::{Reloader, reload};
use super::signals::Asked;
use crate::daemon::actor::handle::{CommandError, Handle};
use crate::daemon::effects::context::DriverContext;
use crate::daemon::runs::run;
use crate::domain::command::Command;
use crate::domain::state::State;
use crate::view::Rest;

/// How long until an end is asked for again that the log had no room for.
pub(crate) const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What those around the actor tell the daemon, besides what goes through the actor.
#[derive(Default)]
pub(crate) struct Notes {
    asked: watch::Sender<bool>,
    again: Notify,
    given_up: Notify,
    why: Mutex<String>,
    at_rest: Mutex<Option<(Rest, Box<State>)>>,
}

impl Notes {
    /// Becomes true when a signal asks for the end.
    pub(crate) fn asked(&self) -> watch::Receiver<bool> {
        self.asked.subscribe()
    }

    /// Whether a signal has asked for the end.
    pub(crate) fn is_asked(&self) -> bool {
        *self.asked.borrow()
    }

    /// Waits for a second Ctrl+C.
    pub(crate) async fn interrupted(&self) {
        self.again.notified().await;
    }

    /// Waits until the end cannot be had gracefully; why.
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

    /// How things stood when the end was asked for because nothing was left to do.
    pub(crate) fn at_rest(&self) -> Option<(Rest, Box<State>)> {
        let mut at_rest = self.at_rest.lock().unwrap_or_else(PoisonError::into_inner);
        at_rest.take()
    }

    /// Keeps how things stand for [`Self::at_rest`].
    pub(crate) fn rests(&self, how: Option<(Rest, Box<State>)>) {
        *self.at_rest.lock().unwrap_or_else(PoisonError::into_inner) = how;
    }
}

/// Heeds signals until it is dropped.
pub(crate) async fn handle_signals(
    mut heard: mpsc::UnboundedReceiver<Asked>,
    reloader: Reloader,
    notes: Arc<Notes>,
) {
    while let Some(asked) = heard.recv().await {
        match asked {
            // Nothing is awaited here: the next signal must be heard while this one is carried out.
            Asked::Reload => {
                let reloader = reloader.clone();
                tokio::spawn(async move { reload(&reloader).await });
            }
            Asked::Interrupt if notes.is_asked() => notes.again.notify_one(),
            Asked::End if notes.is_asked() => {}
            Asked::Interrupt | Asked::End => {
                notes.asked.send_replace(true);
                tokio::spawn(end(reloader.handle.clone(), Arc::clone(&notes)));
            }
        }
    }
}

async fn end(handle: Handle, notes: Arc<Notes>) {
    let until = Instant::now() + grace(&handle);
    while let Asking::Again(why) = ask_to_end(&handle).await {
        if Instant::now() >= until {
            return notes.give_up(why);
        }
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}

/// How long a graceful end may take.
fn grace(handle: &Handle) -> Duration {
    let millis = handle.read(|state| state.settings.as_deref().map_or(0, |it| it.grace_ms));
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// What became of asking for the end.
#[derive(PartialEq, Eq)]
pub(crate) enum Asking {
    /// It comes, or has come.
    Over,
    /// The log could not be written, and why.
    Again(String),
}

/// Asks for a graceful end.
pub(crate) async fn ask_to_end(handle: &Handle) -> Asking {
    let keep_agents = false;
    match handle.command(Command::Shutdown { keep_agents }).await {
        Ok(_) => Asking::Over,
        Err(error) => {
            tracing::error!(%error, "the end could not be asked for");
            match error {
                CommandError::Unavailable(why) => Asking::Again(why),
                CommandError::Rejected(_)
                | CommandError::Lost(_)
                | CommandError::Ended
                | CommandError::Unknown => Asking::Over,
            }
        }
    }
}

/// After the actor: nothing is begun any more, and the git commands that run are ended, unless they
/// end by themselves within `patience`; so are the runs of `runs`. What is cut off is for the next
/// start, which finds it in the log. Whether no git command is left.
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
            tracing::warn!("a git command could not be ended; the next start waits for it");
        }
        if let Some(state) = runs {
            run::end_all(&context, &state);
        }
        over
    });
    cut.await.unwrap_or_else(|error| {
        tracing::warn!(%error, "ending what still ran stopped");
        false
    })
}
