//! Acts on file changes below `.swarm/`, and shuts an idle daemon down (`--until-idle`). Started by
//! `daemon`.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::file_events::{self, Changed};
use super::reload::{Reloader, reload};
use super::shutdown::{Notes, RETRY_AFTER, ShutdownRequest, request_shutdown};
use super::target_watch::TargetWatch;
use crate::daemon::actor::handle::Handle;
use crate::daemon::effects::inbox::Inbox;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::Observation;
use crate::domain::state::State;
use crate::domain::warning::WarningKind;
use crate::view::{self, Rest};

/// Files are read this long after the last change, so that they are complete by then.
const SETTLE: Duration = Duration::from_millis(150);

/// The task that watches the files and the end of all work.
pub(crate) struct Watcher {
    reloader: Reloader,
    handle: Handle,
    until_idle: bool,
    /// The last event before this daemon; earlier events say nothing about what it will do.
    before: u64,
    notes: Arc<Notes>,
    shutdown_requested: bool,
    retry_at: Option<Instant>,
    target: TargetWatch,
}

impl Watcher {
    pub(crate) fn new(reloader: Reloader, until_idle: bool, notes: Arc<Notes>) -> Self {
        let handle = reloader.handle.clone();
        let target = TargetWatch::new(Arc::clone(&reloader.context), handle.clone());
        Self {
            before: handle.read(|state| state.seq),
            handle,
            reloader,
            until_idle,
            notes,
            shutdown_requested: false,
            retry_at: None,
            target,
        }
    }

    /// Watches until it is dropped.
    pub(crate) async fn watch(mut self) {
        let (change, mut changed) = mpsc::unbounded_channel();
        let mut watcher = file_events::watch(&self.reloader.context.paths, change);
        if let Err(error) = &watcher {
            tracing::error!(%error, "files cannot be watched; after a change, send SIGUSR1 to the \
                daemon");
        }
        self.reloader.warn_of_webhook().await;
        let mut inbox = Inbox::new(Arc::clone(&self.reloader.context), self.handle.clone());
        inbox.scan().await;
        self.drop_solved_warnings().await;
        let mut seq = self.handle.seq();
        let mut settled: Option<(Instant, Vec<Changed>)> = None;
        loop {
            self.end_when_idle().await;
            let settle_at = settled.as_ref().map(|(at, _)| *at);
            let retry_at = self.retry_at;
            let look_at = self.target.due();
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
                                change, run: touch .swarm/config.json");
                        }
                    }
                    self.on_changes(&list, &mut inbox).await;
                }
                () = sleep_until(retry_at) => self.retry_at = None,
                () = sleep_until(look_at) => self.target.look().await,
                alive = seq.changed() => if alive.is_err() { return },
            }
        }
    }

    /// Drops warnings about kept repositories and dropped changes that a person has deleted since.
    async fn drop_solved_warnings(&self) {
        let kept: Vec<String> = self.handle.read(|state| {
            let keys = state.warnings.keys();
            keys.filter(|key| is_solved_by_hand(key)).cloned().collect()
        });
        let repo = &self.reloader.context.repo;
        for key in kept {
            let is_there = match WarningKind::NestedRepository.thing(&key) {
                Some(worktree) => repo.has_kept_nested(worktree),
                // If it cannot be read, the warning stays.
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

    /// Requests a shutdown, once, when nothing is left that happens by itself.
    async fn end_when_idle(&mut self) {
        let is_requested = self.shutdown_requested || self.notes.is_requested();
        if !self.until_idle || is_requested || self.retry_at.is_some() || self.target.is_behind() {
            return;
        }
        let at_rest = self.handle.read(|state| {
            // A killed daemon leaves `running` as the phase.
            let recovering = matches!(
                state.swarm.phase,
                SwarmPhase::Recovering | SwarmPhase::Stopped
            );
            let has_started = state.seq > self.before && !recovering;
            let rest = view::rest(state);
            (has_started && rest != Rest::Busy && !is_recording(state))
                .then(|| (rest, Box::new(state.clone())))
        });
        if at_rest.is_none() {
            return;
        }
        self.shutdown_requested = true;
        self.notes.set_at_rest(at_rest);
        if let ShutdownRequest::NotWritten(_) = request_shutdown(&self.handle).await {
            // There may be work again by then.
            self.shutdown_requested = false;
            self.retry_at = Some(Instant::now() + RETRY_AFTER);
        }
    }
}

/// Whether a provenance record is about to be written. One that cannot be is waited for no longer.
fn is_recording(state: &State) -> bool {
    let fails = state.warnings.contains_key(WarningKind::Records.only());
    state.record_due().is_some() && !fails
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Whether a person ends what the warning is about by deleting something.
fn is_solved_by_hand(key: &str) -> bool {
    let kinds = [WarningKind::NestedRepository, WarningKind::DroppedChanges];
    WarningKind::of(key).is_some_and(|kind| kinds.contains(&kind))
}
