//! What the log tells beyond the state, kept while the daemon runs.
//!
//! Invariant: the log is read once, in the background, when the first page is asked for; then each
//! new event is folded. No request reads the log for this.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::Site;
use crate::daemon::actor::handle::Journaled;
use crate::view::history::History;

/// The most events that are folded at once from memory.
const BATCH: usize = 1_024;
/// The shortest time between two looks at new events.
const BREATH: Duration = Duration::from_millis(50);
/// How long after a failed reading of the log it is read again.
const AGAIN: Duration = Duration::from_secs(5);

/// See the module.
pub struct Chronicle {
    kept: RwLock<History>,
    is_begun: AtomicBool,
    /// Whether all events are folded that were there at first.
    is_whole: watch::Sender<bool>,
}

impl Default for Chronicle {
    fn default() -> Self {
        Self {
            kept: RwLock::default(),
            is_begun: AtomicBool::new(false),
            is_whole: watch::Sender::new(false),
        }
    }
}

impl Chronicle {
    /// Begins to read and follow the log, once.
    pub fn begin(site: &Arc<Site>) {
        if !site.chronicle.is_begun.swap(true, Ordering::AcqRel) {
            tokio::spawn(follow(Arc::downgrade(site)));
        }
    }

    /// What is known; empty until the log was read for the first time.
    pub fn read<T>(&self, read: impl FnOnce(&History) -> T) -> T {
        read(&self.kept.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until the log was read for the first time, at most `patience`. Whether it was.
    pub async fn is_ready(&self, patience: Duration) -> bool {
        let mut whole = self.is_whole.subscribe();
        timeout(patience, whole.wait_for(|is| *is))
            .await
            .is_ok_and(|waited| waited.is_ok())
    }

    fn fold(&self, events: &[Arc<Journaled>]) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            kept.fold(event.seq, event.ts, &event.event);
        }
    }

    fn replace(&self, history: History) {
        *self.kept.write().unwrap_or_else(PoisonError::into_inner) = history;
    }
}

async fn follow(site: Weak<Site>) {
    let Some(mut published) = site.upgrade().map(|site| site.api.handle.seq()) else {
        return;
    };
    loop {
        {
            let Some(site) = site.upgrade() else {
                return;
            };
            published.borrow_and_update();
            match catch_up(&site).await {
                Ok(true) => drop(site.chronicle.is_whole.send_replace(true)),
                Ok(false) => continue,
                Err(error) => {
                    tracing::warn!(%error, "the page cannot read the event log");
                    sleep(AGAIN).await;
                    continue;
                }
            }
        }
        if published.changed().await.is_err() {
            return;
        }
        sleep(BREATH).await;
    }
}

/// Folds events that are new; true when there are no more.
async fn catch_up(site: &Arc<Site>) -> std::io::Result<bool> {
    let handle = &site.api.handle;
    let after = site.chronicle.read(|history| history.seq);
    if let Some(events) = handle.recent_after(after, BATCH) {
        site.chronicle.fold(&events);
        return Ok(events.len() < BATCH);
    }
    let (log, last) = (Arc::clone(&site.api.log), handle.read(|state| state.seq));
    let mut history = site.chronicle.read(History::clone);
    let read = move || {
        log.scan(after, last, &mut |event| {
            history.fold(event.seq, event.ts, &event.event);
        })?;
        Ok::<_, std::io::Error>(history)
    };
    let history = tokio::task::spawn_blocking(read).await??;
    let is_further = history.seq > after;
    site.chronicle.replace(history);
    // Nothing new although something is missing: wait for more.
    Ok(!is_further)
}
