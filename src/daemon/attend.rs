//! What goes on around the actor: signals, changes of files, and the wish to end when nothing is left to do.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::handle::{CommandError, Handle};
use super::inbox::Inbox;
use super::run::Reloader;
use super::signals::{self, Asked};
use super::watch::{self, Changed};
use crate::domain::command::Command;
use crate::domain::decide::KEPT_ASIDE;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::Observation;
use crate::domain::state::State;
use crate::domain::view::{self, Rest};

/// Files are looked at this long after the last sign of change, so that they are written by then.
const SETTLE: Duration = Duration::from_millis(150);

/// How long until an end is asked for again that the log had no room for.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What the attendant tells the daemon, besides what goes through the actor.
#[derive(Default)]
pub(super) struct Notes {
    again: Notify,
    given_up: Notify,
    why: Mutex<String>,
    at_rest: Mutex<Option<(Rest, Box<State>)>>,
}

impl Notes {
    /// Waits for a second Ctrl+C.
    pub(super) async fn interrupted(&self) {
        self.again.notified().await;
    }

    /// Says that there was one.
    pub(super) fn interrupt(&self) {
        self.again.notify_one();
    }

    /// Waits until the end cannot be had gracefully; why.
    pub(super) async fn given_up(&self) -> String {
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

    /// How things stood when the attendant asked for the end because nothing was left to do.
    pub(super) fn at_rest(&self) -> Option<(Rest, Box<State>)> {
        let mut at_rest = self.at_rest.lock().unwrap_or_else(PoisonError::into_inner);
        at_rest.take()
    }
}

/// See the module.
pub(super) struct Attendant {
    reloader: Reloader,
    handle: Handle,
    until_idle: bool,
    /// The last event of the daemons before this one: what they left says nothing about what this one will do.
    before: u64,
    notes: Arc<Notes>,
    asked_to_end: bool,
    again_at: Option<Instant>,
    signalled: bool,
}

impl Attendant {
    pub(super) fn new(reloader: Reloader, until_idle: bool, notes: Arc<Notes>) -> Self {
        let handle = reloader.handle.clone();
        Self {
            before: handle.read(|state| state.seq),
            handle,
            reloader,
            until_idle,
            notes,
            asked_to_end: false,
            again_at: None,
            signalled: false,
        }
    }

    /// Attends until it is dropped.
    pub(super) async fn attend(mut self) {
        let (asked, mut signalled) = mpsc::unbounded_channel();
        let signals = signals::listen(asked);
        if let Err(error) = &signals {
            tracing::error!(%error, "signals cannot be received; end with: swarm stop");
        }
        let (change, mut changed) = mpsc::unbounded_channel();
        let mut watcher = watch::watch(&self.reloader.tools.paths, change);
        if let Err(error) = &watcher {
            tracing::error!(%error, "files cannot be watched; after a change: send SIGHUP to the daemon");
        }
        let mut inbox = Inbox::new(Arc::clone(&self.reloader.tools), self.handle.clone());
        inbox.look().await;
        self.forget_what_was_taken().await;
        let mut seq = self.handle.seq();
        let mut settled: Option<(Instant, Vec<Changed>)> = None;
        loop {
            self.end_at_rest().await;
            let settle_at = settled.as_ref().map(|(at, _)| *at);
            let again_at = self.again_at;
            tokio::select! {
                Some(asked) = signalled.recv() => self.on_signal(asked).await,
                Some(what) = changed.recv() => {
                    let (at, list) = settled.get_or_insert_with(|| (Instant::now(), Vec::new()));
                    *at = Instant::now() + SETTLE;
                    list.push(what);
                }
                () = sleep_until(settle_at) => {
                    let (_, list) = settled.take().unwrap_or_else(|| (Instant::now(), Vec::new()));
                    if list.contains(&Changed::Hooks) && let Ok(watcher) = &mut watcher {
                        let paths = &self.reloader.tools.paths;
                        if let Err(error) = watch::watch_hooks(watcher, paths) {
                            tracing::warn!(%error, "the hooks' folder cannot be watched; after a change: touch .swarm/config.json");
                        }
                    }
                    self.on_changes(&list, &mut inbox).await;
                }
                () = sleep_until(again_at) => self.again_at = None,
                alive = seq.changed() => if alive.is_err() { return },
            }
        }
    }

    /// Repositories of agents that were kept aside until a person deleted them.
    async fn forget_what_was_taken(&self) {
        let kept: Vec<String> = self.handle.read(|state| {
            let keys = state.warnings.keys();
            keys.filter(|key| key.starts_with(KEPT_ASIDE))
                .cloned()
                .collect()
        });
        for key in kept {
            let worktree = key.trim_start_matches(KEPT_ASIDE);
            if !self.reloader.tools.repo.has_kept_nested(worktree) {
                self.handle.observe(Observation::TroubleOver { key }).await;
            }
        }
    }

    async fn on_signal(&mut self, asked: Asked) {
        match asked {
            Asked::Reload => self.reload().await,
            Asked::End if self.signalled => self.notes.interrupt(),
            Asked::End => {
                self.signalled = true;
                self.asked_to_end = true;
                let handle = self.handle.clone();
                // Not awaited here: a second signal must be heard while the first is carried out.
                let notes = Arc::clone(&self.notes);
                tokio::spawn(async move {
                    let until = Instant::now() + grace(&handle);
                    while let Asking::Again(why) = ask_to_end(&handle).await {
                        if Instant::now() >= until {
                            return notes.give_up(why);
                        }
                        tokio::time::sleep(AGAIN_AFTER).await;
                    }
                });
            }
        }
    }

    async fn on_changes(&self, changes: &[Changed], inbox: &mut Inbox) {
        if changes.contains(&Changed::Config) || changes.contains(&Changed::Hooks) {
            self.reload().await;
        }
        if changes.contains(&Changed::Inbox) {
            inbox.look().await;
        }
        if changes.contains(&Changed::Rules) {
            tracing::info!("rules or prompts changed; the next iterations read them");
        }
    }

    async fn reload(&self) {
        match self.reloader.reload().await {
            Ok(seq) => tracing::info!(seq, "configuration read again"),
            Err(error) => tracing::warn!(%error, "configuration not read again"),
        }
    }

    /// Asks for the end, once, when nothing is left that happens by itself.
    async fn end_at_rest(&mut self) {
        if !self.until_idle || self.asked_to_end || self.again_at.is_some() {
            return;
        }
        let at_rest = self.handle.read(|state| {
            // A daemon that was killed has left `running` as the phase.
            let recovering = matches!(
                state.swarm.phase,
                SwarmPhase::Recovering | SwarmPhase::Stopped
            );
            let begun = state.seq > self.before && !recovering;
            let rest = view::rest(state);
            (begun && rest != Rest::Busy).then(|| (rest, Box::new(state.clone())))
        });
        if at_rest.is_none() {
            return;
        }
        self.asked_to_end = true;
        *self
            .notes
            .at_rest
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = at_rest;
        if let Asking::Again(_) = ask_to_end(&self.handle).await {
            // By then there may be something to do again.
            self.asked_to_end = false;
            self.again_at = Some(Instant::now() + AGAIN_AFTER);
        }
    }
}

/// What became of asking for the end.
#[derive(PartialEq, Eq)]
enum Asking {
    Over,
    /// The log could not be written, and why.
    Again(String),
}

/// How long a graceful end may take.
fn grace(handle: &Handle) -> Duration {
    let millis = handle.read(|state| state.settings.as_deref().map_or(0, |it| it.grace_ms));
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

async fn ask_to_end(handle: &Handle) -> Asking {
    let keep_agents = false;
    match handle.command(Command::Shutdown { keep_agents }).await {
        Ok(_) => Asking::Over,
        Err(error) => {
            tracing::error!(%error, "the end could not be asked for");
            match error {
                CommandError::Unavailable(why) => Asking::Again(why),
                _ => Asking::Over,
            }
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
