//! What goes on around the actor: changes of files, and the wish to end when nothing is left to do.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::file_events::{self, Changed};
use super::reload::{Reloader, reload};
use super::shutdown::{AGAIN_AFTER, Asking, Notes, ask_to_end};
use crate::daemon::actor::handle::Handle;
use crate::daemon::effects::inbox::Inbox;
use crate::domain::decide::{DROPPED_CHANGES, KEPT_ASIDE};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::Observation;
use crate::view::{self, Rest};

/// Files are looked at this long after the last sign of change, so that they are written by then.
const SETTLE: Duration = Duration::from_millis(150);

/// See the module.
pub(crate) struct Watcher {
    reloader: Reloader,
    handle: Handle,
    until_idle: bool,
    /// The last event of the daemons before this one: what they left says nothing about what this
    /// one will do.
    before: u64,
    notes: Arc<Notes>,
    asked_to_end: bool,
    again_at: Option<Instant>,
}

impl Watcher {
    pub(crate) fn new(reloader: Reloader, until_idle: bool, notes: Arc<Notes>) -> Self {
        let handle = reloader.handle.clone();
        Self {
            before: handle.read(|state| state.seq),
            handle,
            reloader,
            until_idle,
            notes,
            asked_to_end: false,
            again_at: None,
        }
    }

    /// Attends until it is dropped.
    pub(crate) async fn watch(mut self) {
        let (change, mut changed) = mpsc::unbounded_channel();
        let mut watcher = file_events::watch(&self.reloader.context.paths, change);
        if let Err(error) = &watcher {
            tracing::error!(%error, "files cannot be watched; after a change: send SIGUSR1 to the \
                daemon");
        }
        let mut inbox = Inbox::new(Arc::clone(&self.reloader.context), self.handle.clone());
        inbox.scan().await;
        self.forget_what_was_taken().await;
        let mut seq = self.handle.seq();
        let mut settled: Option<(Instant, Vec<Changed>)> = None;
        loop {
            self.end_at_rest().await;
            let settle_at = settled.as_ref().map(|(at, _)| *at);
            let again_at = self.again_at;
            tokio::select! {
                Some(what) = changed.recv() => {
                    let (at, list) = settled.get_or_insert_with(|| (Instant::now(), Vec::new()));
                    *at = Instant::now() + SETTLE;
                    list.push(what);
                }
                () = sleep_until(settle_at) => {
                    let (_, list) = settled.take().unwrap_or_else(|| (Instant::now(), Vec::new()));
                    if list.contains(&Changed::Hooks) && let Ok(watcher) = &mut watcher {
                        let paths = &self.reloader.context.paths;
                        if let Err(error) = file_events::watch_hooks(watcher, paths) {
                            tracing::warn!(%error, "the hooks' folder cannot be watched; after a \
                                change: touch .swarm/config.json");
                        }
                    }
                    self.on_changes(&list, &mut inbox).await;
                }
                () = sleep_until(again_at) => self.again_at = None,
                alive = seq.changed() => if alive.is_err() { return },
            }
        }
    }

    /// What was kept until a person deleted it: repositories of agents, and work that a conflict
    /// was settled without.
    async fn forget_what_was_taken(&self) {
        let kept: Vec<String> = self.handle.read(|state| {
            let keys = state.warnings.keys();
            keys.filter(|key| key.starts_with(KEPT_ASIDE) || key.starts_with(DROPPED_CHANGES))
                .cloned()
                .collect()
        });
        let repo = &self.reloader.context.repo;
        for key in kept {
            let is_there = match key.strip_prefix(KEPT_ASIDE) {
                Some(worktree) => repo.has_kept_nested(worktree),
                // What cannot be read is asked again.
                None => !matches!(repo.is_kept(&key), Ok(false)),
            };
            if !is_there {
                self.handle.observe(Observation::TroubleOver { key }).await;
            }
        }
    }

    async fn on_changes(&self, changes: &[Changed], inbox: &mut Inbox) {
        if changes.contains(&Changed::Config) || changes.contains(&Changed::Hooks) {
            reload(&self.reloader).await;
        }
        if changes.contains(&Changed::Inbox) {
            inbox.scan().await;
        }
        if changes.contains(&Changed::Rules) {
            tracing::info!("rules or prompts changed; the next iterations read them");
        }
    }

    /// Asks for the end, once, when nothing is left that happens by itself.
    async fn end_at_rest(&mut self) {
        let asked = self.asked_to_end || self.notes.is_asked();
        if !self.until_idle || asked || self.again_at.is_some() {
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
        self.notes.rests(at_rest);
        if let Asking::Again(_) = ask_to_end(&self.handle).await {
            // By then there may be something to do again.
            self.asked_to_end = false;
            self.again_at = Some(Instant::now() + AGAIN_AFTER);
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
